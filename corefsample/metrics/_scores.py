"""Scores of a clustering against the annotated one, MUC, B3, CEAF, LEA, BLANC and CoNLL; posteriors and bootstrap.

Conventions of all metrics
    Mentions that only the key or only the response has ("twinless") count as they are, as in the reference scorer
    v8.01, the CorefUD scorer, and scorch's functions: nothing is added to the key or removed from the response.
    (scorch's command line differs: it adds the response's twinless mentions to the key as singletons.)

    A response that repeats a span (in one entity, or in two) has it once: the first one counts, and the others are
    removed before anything is scored, as in v8.01 (cases A7 to A9 of its tests). v8.01 does so for mentions of the key
    alone, and gives up after ten; here it is so for twinless ones too. A span that the key repeats may be repeated as
    often.

    0/0 is 0. A key without coreference links has MUC 0 for every response, the perfect one included. If the key has
    only one kind of links (coreference or non-coreference), BLANC is the score of that kind, as in v8.01 and scorch.
    A key of fewer than two mentions has neither kind: BLANC is then 1 if the response has the same mentions as the
    key, else 0. (v8.01 always gives 0; scorch also gives 1 if the response is one entity of other mentions.)

    Without singletons, entities of one mention are removed from the key and from the response independently, which
    can make mentions twinless. Before that, mentions whose key label is None (not annotated) are removed from both.

    The CoNLL average is the mean F1 of MUC, B3 and CEAFe; its recall and precision are the means of theirs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from corefsample import _checks
from corefsample._arrays import Floats, HtmlTable, pd
from corefsample._random import agreement_bound
from corefsample.calibration._validation import generator
from corefsample.coreference._clusterings import ClusteringSamples
from corefsample.errors import ParameterError
from corefsample.metrics import _metric_counts as metric_counts


@dataclass(frozen=True, slots=True, eq=False)
class ScoreSamples(HtmlTable):
    """Posterior of one score, by samples of the clustering.

    Attributes
    ----------
    values
        float64 (n_samples,) in [0, 1], read-only: score of each sample.
    counts
        Counts from which the values are computed, by metric (see `ClusteringScores.counts`), float64
        (n_samples, width), read-only; empty for a mean over documents.
    metric, part
        Metric of the score, one of `METRICS`, and its part: "recall", "precision" or "f1".
    level
        Posterior probability of the credible interval, in (0, 1).
    singletons
        True if entities of one mention count.
    doc_id
        Id of the document; empty for a corpus.
    """

    values: Floats
    counts: metric_counts.Counts
    metric: metric_counts.Metric
    part: metric_counts.Part
    level: float
    singletons: bool
    doc_id: str = ""

    def __post_init__(self) -> None:
        for array in (self.values, *self.counts.values()):
            array.flags.writeable = False

    def __repr__(self) -> str:
        interval = f"{100 * self.level:g}% credible interval [{self.lower:.3f}, {self.upper:.3f}]"
        score = f"{self.metric} {self.part}: mean {self.mean:.3f}, {interval}"
        return f"ScoreSamples({score}, n_samples={self.n_samples}, doc_id={self.doc_id!r})"

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
    def lower(self) -> float:
        """Lower end of the credible interval, which has the equal-tailed quantiles of the samples."""
        return float(percentiles(self.values, self.level)[0])

    @property
    def upper(self) -> float:
        """Upper end of the credible interval."""
        return float(percentiles(self.values, self.level)[1])

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


def metric_posterior(
    gold: metric_counts.Labels | None,
    samples: ClusteringSamples,
    *,
    metric: metric_counts.Metric = "conll",
    part: metric_counts.Part = "f1",
    level: float = 0.95,
    singletons: bool = True,
    gold_spans: np.typing.ArrayLike | None = None,
    response_spans: np.typing.ArrayLike | None = None,
) -> ScoreSamples:
    """Posterior of the score of one document's clustering.

    In general it does not have the score of the single best clustering as its mean: the likeliest clustering scores
    higher than most samples.

    Parameters
    ----------
    gold
        Annotated entity of each mention, or None for a mention that is not annotated (see `clustering_scores`).
    samples
        Draws of the document's clustering, at least 2.
    metric
        Metric of the score, one of `METRICS`; by default the CoNLL average.
    part
        Part of the metric: "recall", "precision" or "f1" (the default).
    level
        Posterior probability of the credible interval, in (0, 1).
    singletons
        True (the default) if entities of one mention count.
    gold_spans, response_spans
        Spans of the annotated mentions and of the samples' mentions, if the two differ (see `clustering_scores`).

    Raises
    ------
    ParameterError
        If gold is missing or of the wrong length, `samples` has fewer than 2 samples or another type, the spans are
        invalid, or an option is unknown or out of range.

    Examples
    --------
    >>> from corefsample import AntecedentDistribution, sample_clusterings
    >>> even = AntecedentDistribution.from_lists([[], [0]], [[], [0.0]])  # one entity or two, each with 1/2
    >>> posterior = metric_posterior(["a", "a"], sample_clusterings(even), metric="b3")  # F1: 1 or 2/3
    >>> abs(posterior.mean - 5 / 6) < 4 * posterior.mc_se
    True
    """
    _checks.choice("metric", metric, metric_counts.METRICS)
    _checks.choice("part", part, metric_counts.PARTS)
    level = _checks.probability("level", level, below_one=True, above_zero=True)
    _checks.instance("samples", samples, ClusteringSamples)
    _checks.whole("samples.n_samples", samples.n_samples, 2)
    counts = metric_counts.counts_of(
        "gold",
        gold,
        samples.labels,
        singletons=singletons,
        key_spans=gold_spans,
        response_spans=response_spans,
        metrics=metric_counts.CONLL if metric == "conll" else (metric,),
    )
    values = metric_counts.scores_of(metric, counts)[:, metric_counts.PARTS.index(part)]
    return ScoreSamples(values, counts, metric, part, level, singletons, samples.doc_id)


def corpus_posterior(documents: Iterable[ScoreSamples]) -> ScoreSamples:
    """Posterior of a corpus's score, of summed counts, from its documents' posteriors.

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
    first: ScoreSamples | None = None
    sums: dict[str, Floats] = {}
    doc_ids: set[str] = set()
    hint = "metric_posterior(document.gold, samples) makes one"
    for posterior in _checks.elements("documents", documents, ScoreSamples, hint=hint):
        first = first or posterior
        for name in ("metric", "part", "level", "singletons", "n_samples"):
            expected, actual = getattr(first, name), getattr(posterior, name)
            rule = f"must have the same {name} ({expected})"
            _checks.require("documents", expected == actual, rule, f"{actual} for {posterior.doc_id!r}")
        is_new = posterior.doc_id not in doc_ids
        _checks.require("documents", is_new, "must have unique doc_ids", f"{posterior.doc_id!r} twice")
        doc_ids.add(posterior.doc_id)
        sums = {name: sums.get(name, 0.0) + counts for name, counts in posterior.counts.items()}
    if first is None:
        raise ParameterError("must have at least one document, got none", parameter="documents")
    values = metric_counts.scores_of(first.metric, sums)[:, metric_counts.PARTS.index(first.part)]
    return ScoreSamples(values, sums, first.metric, first.part, first.level, first.singletons)


@dataclass(frozen=True, slots=True, repr=False)
class Score(HtmlTable):
    """Recall, precision and F1 of one metric, each in [0, 1]."""

    recall: float
    precision: float
    f1: float


@dataclass(frozen=True, slots=True, repr=False)
class ClusteringScores(HtmlTable):
    """Scores of all metrics, of one document, or of a corpus by its summed counts.

    Attributes
    ----------
    muc, b3, ceafe, ceafm, lea, blanc, conll
        Recall, precision and F1 of each metric.
    counts
        Counts from which the scores are computed, read-only float64 by metric. "mentions" (3,): number in the key, in
        the response, and in both. "blanc" (6,): correct coreference links, those of the key, those of the response, and
        the same of non-coreference links. Each other metric (4,): numerator and denominator of recall, then of
        precision.
    singletons
        True if entities of one mention count.
    """

    muc: Score
    b3: Score
    ceafe: Score
    ceafm: Score
    lea: Score
    blanc: Score
    conll: Score
    counts: metric_counts.Counts = field(compare=False, kw_only=True)
    singletons: bool = field(kw_only=True)

    def __repr__(self) -> str:
        scores = ", ".join(f"{metric}={getattr(self, metric).f1:.3f}" for metric in metric_counts.METRICS)
        return f"ClusteringScores(F1: {scores})"

    def to_frame(self) -> pd.DataFrame:
        """Tidy table, one row a metric: metric, recall, precision, f1."""
        scores = [getattr(self, metric) for metric in metric_counts.METRICS]
        columns = {str(part): [getattr(score, part) for score in scores] for part in metric_counts.PARTS}
        return pd.DataFrame({"metric": metric_counts.METRICS, **columns})


def clustering_scores(
    key: metric_counts.Labels,
    response: metric_counts.Labels,
    *,
    key_spans: np.typing.ArrayLike | None = None,
    response_spans: np.typing.ArrayLike | None = None,
    singletons: bool = True,
) -> ClusteringScores:
    """Score a clustering given as labels, over the mentions of the key or over other mentions.

    Parameters
    ----------
    key
        Annotated entity of each mention: whole numbers, strings, or None (not annotated: the mention leaves key and
        response).
    response
        Entity of each mention in the system's clustering, or None for a mention that the system lacks.
    key_spans, response_spans
        int (n, 2) or (n, 3): start and end of each mention of key and of response (a third column, the head, is
        ignored), if the two have different mentions. Mentions with the same span are the same; of several with one
        span, the first of the key is the first of the response, and so on; those that the response has more often
        than the key are removed. Without spans, mention i is mention i.
    singletons
        True (the default) if entities of one mention count. Otherwise they are removed from the key and from the
        response independently, which can leave mentions that only one of the two has.

    Returns
    -------
    ClusteringScores
        Recall, precision and F1 of each metric, with the counts that they are made of.

    Raises
    ------
    ParameterError
        If labels have the wrong type or number, or spans are invalid.

    References
    ----------
    Pradhan et al. (2014), "Scoring coreference partitions of predicted mentions: a reference implementation"; Vilain
    et al. (1995) for MUC; Bagga & Baldwin (1998) for B3; Luo (2005) for CEAF; Recasens & Hovy (2011) and Luo et al.
    (2014) for BLANC; Moosavi & Strube (2016) for LEA.

    Examples
    --------
    >>> clustering_scores(["a", "a", "b"], [0, 0, 0]).muc
    Score(recall=1, precision=0.5, f1=0.6667)
    """
    codes = metric_counts.label_codes("response", response)
    counts = metric_counts.counts_of(
        "key", key, codes[None, :], singletons=singletons, key_spans=key_spans, response_spans=response_spans
    )
    return _from_counts({name: array[0] for name, array in counts.items()}, singletons)


def corpus_scores(documents: Iterable[ClusteringScores]) -> ClusteringScores:
    """Scores of a corpus, from the summed counts of its documents, as coreference scorers report them.

    Parameters
    ----------
    documents
        Scores of each document, all with or all without singletons.

    Raises
    ------
    ParameterError
        If there is no document, or some are with and some without singletons.

    Examples
    --------
    >>> corpus_scores([clustering_scores([1, 1, 2], [1, 1, 1]), clustering_scores([1, 1], [1, 1])]).muc
    Score(recall=1, precision=0.6667, f1=0.8)
    """
    sums: dict[str, Floats] = {}
    singletons: bool | None = None
    hint = "clustering_scores(gold, labels) makes those of a document"
    for document in _checks.elements("documents", documents, ClusteringScores, hint=hint):
        rule = "must be scored all with or all without singletons"
        _checks.require("documents", singletons in (None, document.singletons), rule, "both")
        singletons = document.singletons
        sums = {name: sums.get(name, 0.0) + counts for name, counts in document.counts.items()}
    if singletons is None:
        raise ParameterError("must have at least one document, got none", parameter="documents")
    return _from_counts(sums, singletons)


def _from_counts(counts: dict[str, Floats], singletons: bool) -> ClusteringScores:
    for array in counts.values():
        array.flags.writeable = False
    table = {name: array[None, :] for name, array in counts.items()}
    scores = (Score(*metric_counts.scores_of(metric, table)[0].tolist()) for metric in metric_counts.METRICS)
    return ClusteringScores(*scores, counts=counts, singletons=singletons)


_RESAMPLES_AT_ONCE = 1000  # resamples at a time


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
    n_documents, lengths = len(systems[0]), [len(documents) for documents in systems]
    same = n_documents and set(lengths) == {n_documents}
    _checks.require("systems", same, "must have the same documents, at least one", ", ".join(map(str, lengths)))
    counts = [
        {name: np.array([document.counts[name] for document in documents]) for name in documents[0].counts}
        for documents in systems
    ]
    random = generator(seed)
    f1 = np.empty((len(systems), n_resamples, len(metric_counts.METRICS)))
    for start in range(0, n_resamples, _RESAMPLES_AT_ONCE):
        size = min(_RESAMPLES_AT_ONCE, n_resamples - start)
        times = random.multinomial(n_documents, np.full(n_documents, 1.0 / n_documents), size).astype(np.float64)
        for s, by_document in enumerate(counts):
            sums = {name: times @ array for name, array in by_document.items()}
            for m, metric in enumerate(metric_counts.METRICS):
                f1[s, start : start + size, m] = metric_counts.scores_of(metric, sums)[
                    :, metric_counts.PARTS.index("f1")
                ]
    return f1


def percentiles(draws: Floats, level: float) -> Floats:
    """Ends of the equal-tailed interval of draws along the first axis: float64 (2, ...)."""
    tail = (1.0 - level) / 2.0
    ends: Floats = np.quantile(draws, [tail, 1.0 - tail], axis=0)
    return ends


def score_differences(
    first: Sequence[ClusteringScores],
    second: Sequence[ClusteringScores],
    draws: Floats | None = None,
    *,
    level: float = 0.95,
    n_resamples: int = 10_000,
    seed: int = 0,
) -> pd.DataFrame:
    """Compare two systems on the same documents, by resampling the documents for both (the paired bootstrap).

    Parameters
    ----------
    first, second
        Scores of the same documents in the same order.
    draws
        Resampled F1 of both systems, from `resampled_f1`; by default they are computed.
    level
        Nominal share of the intervals that contain the true difference, in (0, 1).
    n_resamples, seed
        Number of resamples, and seed of the random draws.

    Returns
    -------
    table with one row per metric
        Columns: metric; first and second, the F1 of each system on the corpus; difference, which is positive if the
        first system is better; lower and upper, the ends of the difference's confidence interval; p_value, twice the
        smaller share of the resamples in which the difference is at most, or at least, 0. One is added to both
        numbers, so that p_value is never 0.

    Raises
    ------
    ParameterError
        If an argument is of another type or out of range, there is no document, or the systems have different
        numbers of documents.
    """
    level = _checks.probability("level", level, below_one=True, above_zero=True)
    named = {"first": first, "second": second}
    systems = [[*_checks.elements(name, scores, ClusteringScores)] for name, scores in named.items()]
    if draws is None:
        draws = resampled_f1(systems, n_resamples=n_resamples, seed=seed)
    gaps = draws[0] - draws[1]
    lower, upper = percentiles(gaps, level)
    n_rest = np.minimum((gaps <= 0.0).sum(axis=0), (gaps >= 0.0).sum(axis=0))
    p_values = np.minimum(2.0 * (n_rest + 1) / (gaps.shape[0] + 1), 1.0)
    f1 = [corpus_scores(system).to_frame()["f1"] for system in systems]
    columns = {"first": f1[0], "second": f1[1], "difference": f1[0] - f1[1], "lower": lower, "upper": upper}
    return pd.DataFrame({"metric": metric_counts.METRICS, **columns, "p_value": p_values})
