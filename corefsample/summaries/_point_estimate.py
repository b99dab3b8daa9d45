"""Clusterings that stand for the posterior: with the smallest expected loss that a search finds, and by threshold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from corefsample import _checks
from corefsample._arrays import Bools, Floats, Ints, Ints32
from corefsample._lazy import pd
from corefsample._log import log_step
from corefsample._results import Result
from corefsample.coreference._antecedents import AntecedentDistribution
from corefsample.coreference._clusterings import canonical_labels, map_clustering
from corefsample.errors import ParameterError
from corefsample.metrics._counts import ratio
from corefsample.metrics._scores import metric_posterior
from corefsample.summaries import _kernels as kernels
from corefsample.summaries._losses import MARGINAL, Loss, check_loss, loss_under, lower_bound
from corefsample.summaries._posterior import Samples, SummaryInput, log_steps, posterior_from

_HELPER_COSTS = (1.0, 1.2, 1.4, 1.6)  # split costs of estimates from which the search under other losses starts


@dataclass(frozen=True, slots=True, eq=False)
class PointEstimate(Result):
    """A clustering that stands for the posterior.

    Attributes
    ----------
    labels
        int32 (n_mentions,), read-only: the first mention of each mention's cluster.
    loss, split_cost
        What is small: see `expected_loss`.
    expected_loss
        Its expectation under the posterior, or its mean over the samples; VI in nats.
    mc_se
        Monte Carlo standard error of `expected_loss`; 0 where it is exact. The clustering was chosen with the same
        samples, so the loss on other samples is in general slightly larger.
    lower_bound
        No clustering has a smaller expected loss (under the same samples); None where no bound is known.
    start
        The start of the search that won: "map", "average linkage at t", "sample s", "singletons" or "estimate under vi
        with a split cost of c".
    n_samples
        Samples behind the loss; 0 where it is exact.
    """

    labels: Ints32
    loss: Loss
    split_cost: float
    expected_loss: float
    mc_se: float
    lower_bound: float | None
    start: str
    n_samples: int

    def __repr__(self) -> str:
        value = f"expected_loss={self.expected_loss:.4g}, mc_se={self.mc_se:.2g}"
        return f"PointEstimate(loss={self.loss!r}, {value}, n_entities={self.n_entities}, start={self.start!r})"

    @property
    def n_entities(self) -> int:
        """Number of clusters."""
        return int(np.unique(self.labels).shape[0])

    def to_frame(self) -> pd.DataFrame:
        """Tidy table, one row per mention: mention, entity (its first mention)."""
        return pd.DataFrame({"mention": np.arange(self.labels.shape[0]), "entity": self.labels})


def point_estimate(
    posterior: AntecedentDistribution | Samples,
    *,
    loss: Loss = "vi",
    split_cost: float = 1.0,
    samples: Samples | None = None,
    n_starts: int = 3,
) -> PointEstimate:
    """Search for the clustering with the smallest expected loss.

    The likeliest antecedents, average-linkage cuts of the link marginals and some samples are compared. Under "binder"
    and "vi", each mention of the best of them moves to where the loss is least until no move lowers it; under other
    losses, estimates under "vi" with several split costs are compared, too. Then merges of clusters and moves of
    mentions are tried, and kept where they lower the loss (not under "binder", where they gain nothing).
    `PointEstimate.lower_bound` says how far the result can be from the smallest loss. Each step is logged, as INFO, to
    the logger corefsample.steps.

    Parameters
    ----------
    posterior, loss, split_cost, samples
        As for `expected_loss`.
    n_starts
        Starts from which the search goes, at least 1.

    Returns
    -------
    PointEstimate

    Raises
    ------
    ParameterError
        If an option breaks its rule, or samples have another number of mentions than the distribution.

    References
    ----------
    Binder (1978); Wade & Ghahramani (2018); Rastelli & Friel (2018) for the sweeps; Dahl, Johnson & Müller (2022),
    "Search algorithms and loss functions for Bayesian clustering", for several starts, and for the two costs.

    Examples
    --------
    >>> links = AntecedentDistribution.from_lists([[], [0], [1]], [[], [3.0], [-3.0]])
    >>> point_estimate(links, loss="binder").labels
    array([0, 0, 2], dtype=int32)
    """
    check_loss(loss, split_cost)
    n_starts = _checks.whole("n_starts", n_starts, 1)
    source = posterior_from(posterior, samples, draw=loss not in MARGINAL)
    return estimate_of(source, loss, split_cost, n_starts)


def estimate_of(source: SummaryInput, loss: Loss, split_cost: float = 1.0, n_starts: int = 3) -> PointEstimate:
    """Point estimate under checked options."""
    candidates = starts(source)
    if loss not in SWEPT:
        helper: Loss = "binder" if source.samples is None else "vi"
        names = [f"estimate under {helper} with a split cost of {cost:g}" for cost in _HELPER_COSTS]
        costs = zip(names, _HELPER_COSTS, strict=True)
        candidates |= {name: _best(source, candidates, helper, cost, 1)[0] for name, cost in costs}
    labels, start = _best(source, candidates, loss, split_cost, n_starts)
    if loss != "binder":  # for which trials gain nothing after the sweeps
        labels = improved(source, labels, loss, split_cost)
    final = loss_under(source, labels, loss, split_cost)
    return PointEstimate(
        labels=labels.copy(),
        loss=loss,
        split_cost=split_cost,
        expected_loss=final.value,
        mc_se=final.mc_se,
        lower_bound=lower_bound(source, loss, split_cost),
        start=start,
        n_samples=final.n_samples,
    )


def _best(
    source: SummaryInput, candidates: dict[str, Ints32], loss: Loss, split_cost: float, n_starts: int
) -> tuple[Ints32, str]:
    """Best of the starts with the least loss, after sweeps where the loss has them, and its name."""
    initial = {name: loss_under(source, labels, loss, split_cost).value for name, labels in candidates.items()}
    final, found = {}, {}
    for name in sorted(initial, key=initial.__getitem__)[:n_starts]:
        labels = swept(source, candidates[name], loss, split_cost) if loss in SWEPT else candidates[name]
        final[name] = loss_under(source, labels, loss, split_cost).value
        _log("from %s to an expected %s loss of %.5g", labels, name, loss, final[name])
        found[name] = labels
    start = min(final, key=lambda name: round(final[name], 12))
    return found[start], start


def _log(message: str, labels: Ints32, *values: object) -> None:
    """Log a step for a long document; others take no time that needs a sign."""
    if labels.shape[0] >= _LONG:
        log_step(f"point estimate: {message}", *values)


_LONG = 1000  # mentions
SWEPT: tuple[Loss, ...] = ("binder", "vi")
_MOST_SWEEPS = 100  # each gains, so the search ends anyway; in practice after 3 to 10
_MOST_TRIALS = 100
_LEAST_GAIN = 1e-12


def swept(source: SummaryInput, start: Ints32, loss: Loss, split_cost: float) -> Ints32:
    """Move single mentions until no move lowers the loss, which is Binder or VI."""
    n, merge_cost = start.shape[0], 2.0 - split_cost
    labels, sizes = start.astype(np.int64), np.bincount(start, minlength=n)
    if loss == "binder":
        weights = split_cost * source.marginals - merge_cost * (1.0 - source.marginals)
        arrays = weights, np.empty((n, 0), np.int32), 0.0
    else:
        arrays = source.shares, source.columns, merge_cost
    for _ in range(_MOST_SWEEPS if n > 1 else 0):
        if kernels.sweep(*arrays, log_steps(n), labels, sizes) == 0:
            break
    return canonical_labels(labels)


def improved(source: SummaryInput, start: Ints32, loss: Loss, split_cost: float) -> Ints32:
    """Try merges of clusters and moves of mentions, which are kept where they lower the loss."""
    labels, before, left = start, None, _MOST_TRIALS
    least = loss_under(source, labels, loss, split_cost).value
    while before is not labels and left > 0:
        before = labels
        for members, target in _proposals(source, labels, left):
            left -= 1
            joined = labels.copy()
            joined[members] = labels.shape[0] if target is None else labels[target]
            joined = canonical_labels(joined)
            value = loss_under(source, joined, loss, split_cost).value
            _log("%d of %d trials left, expected %s loss %.5g", labels, left, _MOST_TRIALS, loss, least)
            if value < least - _LEAST_GAIN:
                labels, least = joined, value
    return labels


def _proposals(source: SummaryInput, labels: Ints32, most: int) -> Iterator[tuple[Bools, int | None]]:
    """Mentions that could join the cluster of another mention, or form one of their own (None).

    First whole clusters join others, those with the largest mean link marginal first. Then single mentions do, or they
    leave their cluster, those with the smallest mean link marginal first.
    """
    firsts, clusters, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    n_clusters, several = firsts.shape[0], sizes[clusters] > 1
    belongs = labels[:, None] == firsts
    links = source.marginals @ belongs / sizes
    likely = np.full((n_clusters + labels.shape[0], n_clusters + 1), -1.0)  # clusters, mentions; clusters, alone
    earlier = np.tri(n_clusters, k=-1, dtype=bool)
    likely[:n_clusters, :-1] = np.where(earlier, 1.0 + belongs.T @ links / sizes[:, None], -1.0)
    likely[n_clusters:, :-1] = np.where(belongs | ~several[:, None], -1.0, links)
    with_others = ((links * sizes)[belongs] - 1.0) / np.maximum(sizes[clusters] - 1, 1)
    likely[n_clusters:, -1] = np.where(several, 1.0 - with_others, -1.0)
    for row, column in zip(*np.unravel_index(largest_places(likely.ravel(), most), likely.shape), strict=True):
        members = belongs[:, row] if row < n_clusters else np.arange(labels.shape[0]) == row - n_clusters
        yield members, int(firsts[column]) if column < n_clusters else None


def largest_places(values: Floats, most: int) -> Ints:
    """Places of the largest values that are at least 0, the largest first, and the first place first among equals."""
    n = min(most, int(np.count_nonzero(values >= 0.0)))
    if n == 0:
        return np.zeros(0, np.int64)
    least = np.partition(values, values.shape[0] - n)[-n:].min()
    places = np.flatnonzero(values >= least)
    return places[np.argsort(-values[places], kind="stable")][:n]


_CUTS = tuple(round(0.1 * cut, 1) for cut in range(1, 10))
_SAMPLES = 4


def starts(source: SummaryInput) -> dict[str, Ints32]:
    """Name clusterings that differ, with canonical labels: of equal ones, the first name.

    "map": the likeliest antecedents; "average linkage at t": average-linkage clusters whose mean link marginal is at
    least t; "sample s"; "singletons".
    """
    found: dict[bytes, str] = {}
    chosen: dict[str, Ints32] = {}
    for name, labels in _candidates(source):
        if found.setdefault(labels.tobytes(), name) == name:
            chosen[name] = labels
    return chosen


def _candidates(source: SummaryInput) -> Iterator[tuple[str, Ints32]]:
    if source.antecedents is not None:
        yield "map", map_clustering(source.antecedents)
    for cut, labels in zip(_CUTS, average_linkage(source.marginals, _CUTS), strict=True):
        yield f"average linkage at {cut:g}", labels
    if source.samples is not None:
        n_samples = source.samples.n_samples
        for s in np.unique(np.linspace(0, n_samples - 1, _SAMPLES).astype(np.int64)).tolist():
            yield f"sample {s}", np.ascontiguousarray(source.samples.labels[s])
    yield "singletons", np.arange(source.n_mentions, dtype=np.int32)


def average_linkage(marginals: Floats, cuts: tuple[float, ...]) -> list[Ints32]:
    """Average-linkage clusters of mentions, cut where the mean link marginal falls below each of `cuts`."""
    n = marginals.shape[0]
    if n < 2:
        return [np.zeros(n, np.int32)] * len(cuts)
    from scipy.cluster.hierarchy import fcluster, linkage

    tree = linkage(np.clip(1.0 - marginals[np.triu_indices(n, 1)], 0.0, 1.0), "average")
    return [canonical_labels(fcluster(tree, 1.0 - cut, "distance")) for cut in cuts]


By = Literal["link", "cost"]
BY: tuple[By, ...] = ("link", "cost")
ExpectedMetric = Literal["pairs", "muc", "b3", "ceafe", "lea", "conll"]
EXPECTED_METRICS: tuple[ExpectedMetric, ...] = ("pairs", "muc", "b3", "ceafe", "lea", "conll")
PARTS = ("precision", "recall", "f1")
_THRESHOLDS = tuple(round(0.05 * step, 2) for step in range(1, 20))


@dataclass(frozen=True, slots=True, eq=False)
class ThresholdCurve(Result):
    """Clusterings at several thresholds, and their expected scores; arrays are read-only.

    Attributes
    ----------
    thresholds
        float64 (n_thresholds,).
    by
        "link" or "cost": see `threshold_curve`.
    labels
        int32 (n_thresholds, n_mentions).
    metrics
        Names of the metrics.
    expected
        float64 (n_thresholds, n_metrics, 3) in [0, 1]: posterior means of precision, recall and F1.
    mc_se
        The same shape: their Monte Carlo standard errors.
    n_samples
        Samples behind them.
    """

    thresholds: Floats
    by: By
    labels: Ints32
    metrics: tuple[ExpectedMetric, ...]
    expected: Floats
    mc_se: Floats
    n_samples: int

    def best(self, metric: ExpectedMetric = "conll", part: str = "f1") -> int:
        """Place of the threshold whose clustering has the largest expected score; of equal ones the first."""
        _checks.choice("metric", metric, self.metrics)
        _checks.choice("part", part, PARTS)
        return int(np.argmax(self.expected[:, self.metrics.index(metric), PARTS.index(part)]))

    def to_frame(self) -> pd.DataFrame:
        """Tidy table, one row per threshold and metric.

        threshold, n_entities, metric, precision, recall, f1, precision_mc_se, recall_mc_se, f1_mc_se.
        """
        n_metrics = len(self.metrics)
        n_entities = (self.labels == np.arange(self.labels.shape[1])).sum(axis=1)
        columns = {"threshold": np.repeat(self.thresholds, n_metrics), "n_entities": np.repeat(n_entities, n_metrics)}
        table = pd.DataFrame({**columns, "metric": list(self.metrics) * self.thresholds.shape[0]})
        for p, part in enumerate(PARTS):
            table[part] = self.expected[:, :, p].ravel()
        for p, part in enumerate(PARTS):
            table[f"{part}_mc_se"] = self.mc_se[:, :, p].ravel()
        return table


def threshold_curve(
    posterior: AntecedentDistribution | Samples,
    *,
    by: By = "link",
    thresholds: Sequence[float] = _THRESHOLDS,
    metrics: Sequence[ExpectedMetric] = ("pairs", "b3", "conll"),
    samples: Samples | None = None,
) -> ThresholdCurve:
    """Trade precision for recall without gold: clusterings by threshold, with their expected scores.

    Parameters
    ----------
    posterior, samples
        As for `expected_loss`.
    by
        "link": average-linkage clusters, joined while the mean link marginal between them is at least the threshold.
        "cost": the clustering with the smallest Binder loss if joining two mentions that do not corefer costs t, and
        separating two that do costs 1 - t: a pair on its own is joined if its link marginal is above t.
    thresholds
        In [0, 1], at least one. A high one gives few links of high precision.
    metrics
        "pairs" (coreferent pairs), "muc", "b3", "ceafe", "lea", "conll"; a sample is the key, singletons count.

    Raises
    ------
    ParameterError
        If a threshold lies outside [0, 1], a metric is unknown, or there is no threshold, metric or second sample.
    """
    _checks.choice("by", by, BY)
    for name, values in (("thresholds", thresholds), ("metrics", metrics)):
        if np.ndim(values) != 1 or len(values) == 0:
            raise ParameterError(f"must be a list of at least one, got {_checks.shown(values)}", parameter=name)
    cuts = tuple(_checks.probability(f"thresholds[{t}]", cut) for t, cut in enumerate(thresholds))
    for m, metric in enumerate(metrics):
        _checks.choice(f"metrics[{m}]", metric, EXPECTED_METRICS)
    source = posterior_from(posterior, samples)
    _checks.whole("samples.n_samples", source.drawn.n_samples, 2)
    if by == "link":
        clusterings = average_linkage(source.marginals, cuts)
    else:
        clusterings = [estimate_of(source, "binder", 2.0 * (1.0 - cut)).labels for cut in cuts]
    known: dict[bytes, Floats] = {}
    for labels in clusterings:
        if labels.tobytes() not in known:
            known[labels.tobytes()] = np.array([_scores(source, labels, metric) for metric in metrics])
    table = np.array([known[labels.tobytes()] for labels in clusterings])  # threshold, metric, mean or error, part
    return ThresholdCurve(
        thresholds=np.array(cuts),
        by=by,
        labels=np.array(clusterings, np.int32),
        metrics=tuple(metrics),
        expected=table[:, :, 0].copy(),
        mc_se=table[:, :, 1].copy(),
        n_samples=source.drawn.n_samples,
    )


def _scores(source: SummaryInput, labels: Ints32, metric: ExpectedMetric) -> Floats:
    """Mean and Monte Carlo error of precision, recall and F1: float64 (2, 3)."""
    # The metrics take one key and many responses. Here the samples are the keys, so precision and recall change places.
    found = metric_posterior(labels, source.drawn, metric="blanc" if metric == "pairs" else metric)
    if metric == "pairs":
        correct, ours, theirs = found.counts["blanc"].T[:3]
        values = np.stack([ratio(correct, ours), ratio(correct, theirs), ratio(2.0 * correct, ours + theirs)])
    else:
        names = ("muc", "b3", "ceafe") if metric == "conll" else (metric,)
        counts = [found.counts[name].T for name in names]
        precision = sum((ratio(c[0], c[1]) for c in counts), np.zeros(1)) / len(counts)
        recall = sum((ratio(c[2], c[3]) for c in counts), np.zeros(1)) / len(counts)
        values = np.stack([precision, recall, found.values])
    return np.array([values.mean(axis=1), values.std(axis=1, ddof=1) / np.sqrt(values.shape[1])])
