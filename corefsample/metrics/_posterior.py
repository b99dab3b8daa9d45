"""The posterior of a clustering's score: how sure the score itself is."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample._monte_carlo import agreement_bound
from corefsample.coreference import ClusteringSamples
from corefsample.errors import ParameterError
from corefsample.metrics._alignment import Labels, key_over, label_codes
from corefsample.metrics._counts import METRICS, PARTS, Counts, Metric, Part, counted_for, counts_of, scores_of

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["CorpusPosterior", "MetricPosterior", "corpus_posterior", "metric_posterior"]

Floats = npt.NDArray[np.float64]

# Confidence of the bound that stands for the Monte Carlo standard error where all samples agree.


@dataclass(frozen=True, slots=True, eq=False)
class MetricPosterior:
    """Posterior of one score, by samples of the clustering.

    Attributes
    ----------
    values
        float64 (n_samples,) in [0, 1], read-only: the score of each sample.
    counts
        What the values are made of, by metric (see `ClusteringScores.counts`), float64 (n_samples, width), read-only;
        empty for a mean over documents.
    metric, part
        Which score: one of `METRICS`, and "recall", "precision" or "f1".
    level
        Of the credible interval.
    singletons
        Whether entities of one mention count.
    doc_id
        The document; empty for a corpus.
    """

    values: Floats
    counts: Counts
    metric: Metric
    part: Part
    level: float
    singletons: bool
    doc_id: str = ""

    def __post_init__(self) -> None:
        for array in (self.values, *self.counts.values()):
            array.flags.writeable = False

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return int(self.values.shape[0])

    @property
    def mean(self) -> float:
        """Posterior mean."""
        return float(self.values.mean())

    @property
    def sd(self) -> float:
        """Posterior standard deviation."""
        return float(self.values.std(ddof=1))

    @property
    def interval(self) -> tuple[float, float]:
        """Credible interval of the score: the equal-tailed quantiles of its samples."""
        tail = (1.0 - self.level) / 2.0
        lower, upper = np.quantile(self.values, [tail, 1.0 - tail]).tolist()
        return lower, upper

    @property
    def lower(self) -> float:
        """Lower end of the credible interval."""
        return self.interval[0]

    @property
    def upper(self) -> float:
        """Upper end of the credible interval."""
        return self.interval[1]

    @property
    def mc_se(self) -> float:
        """Monte Carlo standard error of the mean.

        Where all samples agree on a value it is a bound instead of 0: a value never seen has a probability of less
        than 1 - 0.05 ** (1 / n_samples), about 3 / n_samples, by 95% confidence, and can lie as far off as 0 or 1.
        """
        first = float(self.values[0])
        if (self.values == first).all():
            return agreement_bound(self.n_samples) * max(first, 1.0 - first)
        return self.sd / float(np.sqrt(self.n_samples))

    def to_frame(self) -> pd.DataFrame:
        """Tidy table, one row a sample: sample, value."""
        import pandas as pd

        return pd.DataFrame({"sample": np.arange(self.n_samples), "value": self.values})


@dataclass(frozen=True, slots=True, eq=False)
class CorpusPosterior:
    """Posterior of a corpus's score: sample s of every document together is sample s of the corpus.

    Attributes
    ----------
    corpus
        Of the scores of summed counts, as the field's scorers report a corpus.
    macro
        Of the mean score over documents, those left out, sample by sample, that have no mention in key and response.
    doc_ids
        The documents, in the order given.
    document_summaries
        float64 (n_documents, 5), read-only: mean, sd, lower, upper, mc_se of each document.
    """

    corpus: MetricPosterior
    macro: MetricPosterior
    doc_ids: tuple[str, ...]
    document_summaries: Floats

    def __post_init__(self) -> None:
        self.document_summaries.flags.writeable = False

    @property
    def n_documents(self) -> int:
        """Number of documents."""
        return len(self.doc_ids)

    def to_frame(self) -> pd.DataFrame:
        """Tidy table, one row a document: doc_id, metric, part, mean, sd, lower, upper, mc_se, level."""
        import pandas as pd

        frame = pd.DataFrame({"doc_id": self.doc_ids, "metric": self.corpus.metric, "part": self.corpus.part})
        frame[["mean", "sd", "lower", "upper", "mc_se"]] = self.document_summaries
        return frame.assign(level=self.corpus.level)


def metric_posterior(
    gold: Labels | None,
    samples: ClusteringSamples,
    *,
    metric: Metric = "conll",
    part: Part = "f1",
    level: float = 0.95,
    singletons: bool = True,
    gold_spans: npt.ArrayLike | None = None,
    response_spans: npt.ArrayLike | None = None,
) -> MetricPosterior:
    """Posterior of the score of one document's clustering.

    The score of the single best clustering is in general not the posterior mean: a likeliest clustering scores
    better than most samples do.

    Parameters
    ----------
    gold
        Annotated entity of each mention; None: not annotated (see `clustering_scores`).
    samples
        Draws of the document's clustering, at least 2.
    metric
        One of `METRICS`.
    part
        "recall", "precision" or "f1".
    level
        Of the credible interval, in (0, 1).
    singletons
        Whether entities of one mention count.
    gold_spans, response_spans
        Spans of the annotated mentions and of the samples' mentions, where the two differ (see `clustering_scores`).

    Raises
    ------
    ParameterError
        If gold is missing or of the wrong length, or an option breaks its rule.

    Examples
    --------
    >>> from corefsample import AntecedentDistribution, sample_clusterings
    >>> even = AntecedentDistribution.from_lists([[], [0]], [[], [0.0]])  # one entity or two, each with 1/2
    >>> posterior = metric_posterior(["a", "a"], sample_clusterings(even), metric="b3")  # F1: 1 or 2/3
    >>> abs(posterior.mean - 5 / 6) < 4 * posterior.mc_se
    True
    """
    _checks.choice("metric", metric, METRICS)
    _checks.choice("part", part, PARTS)
    level = _checks.probability("level", level, below_one=True, above_zero=True)
    if not isinstance(samples, ClusteringSamples):
        raise ParameterError(f"samples must be ClusteringSamples, got {type(samples).__name__}")
    _checks.whole("samples.n_samples", samples.n_samples, 2)
    key = key_over(
        "gold",
        label_codes("gold", gold),
        samples.n_mentions,
        singletons=singletons,
        key_spans=gold_spans,
        response_spans=response_spans,
    )
    counts = counts_of(key, key.responses(samples.labels), singletons=singletons, metrics=counted_for(metric))
    values = scores_of(metric, counts)[:, PARTS.index(part)]
    return MetricPosterior(values, counts, metric, part, level, singletons, samples.doc_id)


def corpus_posterior(documents: Iterable[MetricPosterior]) -> CorpusPosterior:
    """Posterior of a corpus's score, of its documents' posteriors.

    Documents are independent, so their samples combine as they come: sample s with sample s. Give a generator, and
    one document at a time is in memory.

    Parameters
    ----------
    documents
        Posteriors of one score, all of one metric, part, level and number of samples, and each of a doc_id of its
        own: that keeps the random streams of the documents apart.

    Raises
    ------
    ParameterError
        If there is no document, one comes twice, or the posteriors are not of one kind.
    """
    first: MetricPosterior | None = None
    sums: dict[str, Floats] = {}
    total = n_scored = np.zeros(0)
    doc_ids: dict[str, None] = {}
    summaries = []
    for posterior in documents:
        if first is None:
            first = posterior
            total, n_scored = np.zeros(first.n_samples), np.zeros(first.n_samples)
        _require_same_kind(first, posterior)
        if posterior.doc_id in doc_ids:
            raise ParameterError(f"documents must each have a doc_id of their own, got {posterior.doc_id!r} twice")
        sums = {name: sums.get(name, 0.0) + counts for name, counts in posterior.counts.items()}
        scored = posterior.counts["mentions"].any(axis=1)
        total += np.where(scored, posterior.values, 0.0)
        n_scored += scored
        doc_ids[posterior.doc_id] = None
        summaries.append([posterior.mean, posterior.sd, *posterior.interval, posterior.mc_se])
    if first is None:
        raise ParameterError("documents must be at least one, got none")
    kind = (first.metric, first.part, first.level, first.singletons)
    values = scores_of(first.metric, sums)[:, PARTS.index(first.part)]
    macro = MetricPosterior(total / np.maximum(n_scored, 1.0), {}, *kind)
    return CorpusPosterior(MetricPosterior(values, sums, *kind), macro, tuple(doc_ids), np.array(summaries))


def _require_same_kind(first: MetricPosterior, other: MetricPosterior) -> None:
    if not other.counts:
        raise ParameterError("documents must be posteriors with their counts, got a mean over documents")
    for name in ("metric", "part", "level", "singletons", "n_samples"):
        wanted, found = getattr(first, name), getattr(other, name)
        if wanted != found:
            raise ParameterError(f"documents must be of one {name} ({wanted}), got {found} of {other.doc_id!r}")
