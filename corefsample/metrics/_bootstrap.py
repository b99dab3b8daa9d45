"""Bootstrap of a corpus's scores over its documents: intervals, and the difference of two systems."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from corefsample import _checks
from corefsample._arrays import Floats
from corefsample._results import ShortRepr
from corefsample.calibration._validation import generator
from corefsample.errors import ParameterError
from corefsample.metrics._counts import METRICS, PARTS, Metric, scores_of
from corefsample.metrics._scores import ClusteringScores, corpus_scores

_BLOCK = 1000  # resamples at a time


@dataclass(frozen=True, slots=True, repr=False)
class ScoreDifference(ShortRepr):
    """F1 of a metric of a first and a second system on the same documents.

    Attributes
    ----------
    metric
        Name of the metric, one of `METRICS`.
    first, second
        F1 of each system on the corpus, in [0, 1].
    lower, upper
        Ends of the confidence interval of first - second.
    p_value
        Two-sided p-value: twice the smaller share of the resamples in which the difference is at most, or at least, 0.
        One is added to both numbers, so that it is never 0.
    """

    metric: Metric
    first: float
    second: float
    lower: float
    upper: float
    p_value: float

    @property
    def difference(self) -> float:
        """F1 of the first system minus that of the second: positive if the first is better."""
        return self.first - self.second


def resampled_f1(systems: Sequence[Sequence[ClusteringScores]], *, n_resamples: int, seed: int) -> Floats:
    """F1 of corpora drawn with replacement from the documents, the same documents for every system.

    Parameters
    ----------
    systems
        Scores of the documents by system: all systems have the same documents in the same order.
    n_resamples
        Number of resamples, at least 2.
    seed
        Seed of the random draws, in [0, 2**64).

    Returns
    -------
    array of shape (n_systems, n_resamples, 7)
        F1 by metric, in the order of `METRICS`, computed from the summed counts of the drawn documents.

    Raises
    ------
    ParameterError
        If there is no document, systems have different numbers of documents, or `n_resamples` or `seed` is out of
        range.

    References
    ----------
    Efron & Tibshirani (1993), "An introduction to the bootstrap"; Berg-Kirkpatrick, Burkett & Klein (2012), "An
    empirical investigation of statistical significance in NLP", section 2, for two systems on the same documents.
    """
    _checks.whole("n_resamples", n_resamples, 2)
    n_documents = len(systems[0])
    if not n_documents or any(len(documents) != n_documents for documents in systems):
        numbers = ", ".join(str(len(documents)) for documents in systems)
        raise ParameterError(f"must have the same documents, at least one, got {numbers}", parameter="systems")
    counts = [
        {name: np.array([document.counts[name] for document in documents]) for name in documents[0].counts}
        for documents in systems
    ]
    random = generator(seed)
    f1 = np.empty((len(systems), n_resamples, len(METRICS)))
    for start in range(0, n_resamples, _BLOCK):
        size = min(_BLOCK, n_resamples - start)
        times = random.multinomial(n_documents, np.full(n_documents, 1.0 / n_documents), size).astype(np.float64)
        for s, by_document in enumerate(counts):
            sums = {name: times @ array for name, array in by_document.items()}
            for m, metric in enumerate(METRICS):
                f1[s, start : start + size, m] = scores_of(metric, sums)[:, PARTS.index("f1")]
    return f1


def percentiles(draws: Floats, level: float) -> Floats:
    """Ends of the equal-tailed interval of draws along the first axis: float64 (2, ...)."""
    tail = (1.0 - level) / 2.0
    ends: Floats = np.quantile(draws, [tail, 1.0 - tail], axis=0)
    return ends


def score_differences(
    first: Sequence[ClusteringScores],
    second: Sequence[ClusteringScores],
    draws: Floats,
    *,
    level: float,
) -> list[ScoreDifference]:
    """Compare two systems on the same documents.

    Parameters
    ----------
    first, second
        Scores of the same documents in the same order.
    draws
        Resampled F1 of both systems, from `resampled_f1`.
    level
        Nominal share of the intervals that contain the true difference, in (0, 1).
    """
    scores = corpus_scores(first).corpus, corpus_scores(second).corpus
    gaps = draws[0] - draws[1]
    lower, upper = percentiles(gaps, level)
    n_rest = np.minimum((gaps <= 0.0).sum(axis=0), (gaps >= 0.0).sum(axis=0))
    p_values = np.minimum(2.0 * (n_rest + 1) / (gaps.shape[0] + 1), 1.0)
    f1 = [[getattr(each, metric).f1 for each in scores] for metric in METRICS]
    return [
        ScoreDifference(metric, f1[m][0], f1[m][1], float(lower[m]), float(upper[m]), float(p_values[m]))
        for m, metric in enumerate(METRICS)
    ]
