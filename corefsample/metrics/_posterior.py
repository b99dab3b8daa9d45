"""The posterior of a clustering's score, from samples of the clustering."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample._arrays import Floats
from corefsample._html import HtmlTable
from corefsample._lazy import pd
from corefsample._monte_carlo import agreement_bound
from corefsample.calibration.binning._results import Result
from corefsample.coreference._sampling import ClusteringSamples
from corefsample.errors import ParameterError
from corefsample.metrics._alignment import Labels, key_over, label_codes
from corefsample.metrics._counts import METRICS, PARTS, Counts, Metric, Part, counted_for, counts_of, scores_of


@dataclass(frozen=True, slots=True, eq=False)
class MetricPosterior(HtmlTable):
    """Posterior of one score, by samples of the clustering.

    Attributes
    ----------
    values
        float64 (n_samples,) in [0, 1], read-only: the score of each sample.
    counts
        What the values are computed from, by metric (see `ClusteringScores.counts`), float64 (n_samples, width),
        read-only; empty for a mean over documents.
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

    def __repr__(self) -> str:
        interval = f"{100 * self.level:g}% credible interval [{self.lower:.3f}, {self.upper:.3f}]"
        score = f"{self.metric} {self.part}: mean {self.mean:.3f}, {interval}"
        return f"MetricPosterior({score}, n_samples={self.n_samples}, doc_id={self.doc_id!r})"

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

        If all samples have the same value, it is a bound instead of 0: with 95% confidence all other values together
        have a probability of at most 1 - 0.05 ** (1 / n_samples), about 3 / n_samples, and they can be 0 or 1.
        """
        first = float(self.values[0])
        if (self.values == first).all():
            return agreement_bound(self.n_samples) * max(first, 1.0 - first)
        return self.sd / float(np.sqrt(self.n_samples))

    def to_frame(self) -> pd.DataFrame:
        """Tidy table, one row per sample: sample, value."""
        return pd.DataFrame({"sample": np.arange(self.n_samples), "value": self.values})


@dataclass(frozen=True, slots=True, eq=False)
class CorpusPosterior(Result):
    """Posterior of a corpus's score: sample s of every document together is sample s of the corpus.

    Attributes
    ----------
    corpus
        Of the scores of summed counts, as coreference scorers report a corpus.
    macro
        Of the mean score over documents. A sample of a document without a mention in key and response does not count.
    doc_ids
        The documents, in the order given.
    document_summaries
        float64 (n_documents, 5), read-only: mean, sd, lower, upper, mc_se of each document.
    """

    corpus: MetricPosterior
    macro: MetricPosterior
    doc_ids: tuple[str, ...]
    document_summaries: Floats

    def __repr__(self) -> str:
        return f"CorpusPosterior({self.n_documents} documents,\n  corpus={self.corpus!r},\n  macro={self.macro!r})"

    @property
    def n_documents(self) -> int:
        """Number of documents."""
        return len(self.doc_ids)

    def to_frame(self) -> pd.DataFrame:
        """Tidy table, one row per document: doc_id, metric, part, mean, sd, lower, upper, mc_se, level."""
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

    In general it does not have the score of the single best clustering as its mean: the likeliest clustering scores
    higher than most samples.

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
        Spans of the annotated mentions and of the samples' mentions, if the two differ (see `clustering_scores`).

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
        raise ParameterError(f"must be ClusteringSamples, got {type(samples).__name__}", parameter="samples")
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
    """Posterior of a corpus's score, from its documents' posteriors.

    Documents are independent, so sample s of each document together is a sample of the corpus. With a generator,
    only one document at a time is in memory.

    Parameters
    ----------
    documents
        Posteriors of one metric, part, level and number of samples. The doc_ids must differ, so that the random
        streams of the documents are independent.

    Raises
    ------
    ParameterError
        If there is no document, a doc_id is repeated, or the posteriors are not of one kind.
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
            raise ParameterError(f"must have unique doc_ids, got {posterior.doc_id!r} twice", parameter="documents")
        sums = {name: sums.get(name, 0.0) + counts for name, counts in posterior.counts.items()}
        scored = posterior.counts["mentions"].any(axis=1)
        total += np.where(scored, posterior.values, 0.0)
        n_scored += scored
        doc_ids[posterior.doc_id] = None
        summaries.append([posterior.mean, posterior.sd, *posterior.interval, posterior.mc_se])
    if first is None:
        raise ParameterError("must have at least one document, got none", parameter="documents")
    kind = (first.metric, first.part, first.level, first.singletons)
    values = scores_of(first.metric, sums)[:, PARTS.index(first.part)]
    macro = MetricPosterior(total / np.maximum(n_scored, 1.0), {}, *kind)
    return CorpusPosterior(MetricPosterior(values, sums, *kind), macro, tuple(doc_ids), np.array(summaries))


def _require_same_kind(first: MetricPosterior, other: MetricPosterior) -> None:
    if not other.counts:
        raise ParameterError("must be posteriors with counts, got a mean over documents", parameter="documents")
    for name in ("metric", "part", "level", "singletons", "n_samples"):
        expected, actual = getattr(first, name), getattr(other, name)
        if expected != actual:
            rule = f"must have the same {name} ({expected})"
            raise ParameterError(f"{rule}, got {actual} for {other.doc_id!r}", parameter="documents")
