"""Losses of a clustering that stands for the posterior, their expectations, and the search for a small one.

The input of all summaries is an antecedent distribution, samples of it, or both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample._arrays import Floats, HtmlTable, Ints32, Result, pd
from corefsample.coreference import _clusterings as clusterings
from corefsample.coreference._antecedents import AntecedentDistribution
from corefsample.errors import ParameterError
from corefsample.metrics._metric_counts import CONLL, Counts, corpus_gains, counts_of, scores_of
from corefsample.summaries import _search_kernels as kernels

Loss = Literal["binder", "vi", "vi-bound", "b3", "lea", "conll"]
LOSSES: tuple[Loss, ...] = get_args(Loss)
MARGINAL: tuple[Loss, ...] = ("binder", "vi-bound")  # computed from link marginals
ScoreName = Literal["b3", "lea", "conll"]
SCORES: tuple[ScoreName, ...] = get_args(ScoreName)
SWEPT: tuple[Loss, ...] = ("binder", "vi")
Samples: TypeAlias = clusterings.ClusteringSamples | npt.NDArray[np.integer] | Sequence[Sequence[int]]

_THINNING = 10
_FEWEST_THINNED = 500  # samples


# --- input -------------------------------------------------------------------------------------------------


class SummaryInput:
    """A distribution, samples of it, or both, and a cache of statistics of them.

    Attributes
    ----------
    antecedents
        Distribution over antecedents; None if only samples are available.
    samples
        Samples of clusterings; None if only the distribution is available.
    singletons
        Whether entities of one mention count in the losses of scores.
    corpus
        Counts of the CoNLL score of the document's corpus: the loss "conll" is then what this score loses, to first
        order. By default, it is the loss of the document's own score.
    """

    def __init__(
        self,
        antecedents: AntecedentDistribution | None,
        samples: clusterings.ClusteringSamples | None,
        *,
        singletons: bool = True,
        corpus: Counts | None = None,
    ) -> None:
        self.antecedents = antecedents
        self.samples = samples
        self.singletons = singletons
        self.corpus = corpus

    @property
    def n_mentions(self) -> int:
        """Number of mentions of the document."""
        return (self.antecedents or self.drawn).n_mentions

    @property
    def drawn(self) -> clusterings.ClusteringSamples:
        """Samples of an input that has them."""
        assert self.samples is not None
        return self.samples

    @cached_property
    def thinned(self) -> SummaryInput:
        """Input with every tenth sample, or with all samples if they are fewer than 500."""
        if self.drawn.n_samples < _FEWEST_THINNED:
            return self
        few = clusterings.ClusteringSamples(self.drawn.labels[::_THINNING], 0, "")
        return SummaryInput(self.antecedents, few, singletons=self.singletons, corpus=self.corpus)

    @cached_property
    def rows(self) -> Ints32:
        """First mention of each mention's cluster in each sample: int32 (n_samples, n_mentions)."""
        return np.ascontiguousarray(self.drawn.labels)

    @cached_property
    def columns(self) -> Ints32:
        """First mention of each mention's cluster in each sample: int32 (n_mentions, n_samples)."""
        return np.ascontiguousarray(self.drawn.labels.T)

    @cached_property
    def own_sums(self) -> Floats:
        """Sums over the clusters of each sample: see `cell_sums`."""
        return cell_sums(self.rows, self.rows)

    @cached_property
    def shares(self) -> Floats:
        """Share of the samples in which two mentions corefer."""
        shares = np.empty((self.n_mentions, self.n_mentions))
        kernels.share_together(self.columns, shares)
        return shares

    @cached_property
    def marginals(self) -> Floats:
        """P(two mentions corefer): exact with a distribution, otherwise shares of the samples."""
        return self.shares if self.antecedents is None else clusterings.link_marginals(self.antecedents)


def log_steps(n_mentions: int) -> Floats:
    """Increase of c * log(c) from c to c + 1, for c from 0 to n_mentions."""
    numbers = np.arange(n_mentions + 2, dtype=np.float64)
    return np.diff(numbers * np.log(np.maximum(numbers, 1.0)))


def cell_sums(first: Ints32, second: Ints32) -> Floats:
    """Sums over the cells of pairs of clusterings, first[p] and second[p] (or first[0] if it is the only one).

    The result is float64 (2, n_pairs): the sum of c * log(c) over cells of size c, and the number of pairs of mentions
    within cells; see `_search_kernels`. The cells of a clustering with itself are its clusters.
    """
    sums = np.empty((2, second.shape[0]))
    kernels.cell_sums(first, second, log_steps(second.shape[1]), sums)
    return sums


def summary_input(
    posterior: AntecedentDistribution | Samples, samples: Samples | None = None, *, draw: bool = True
) -> SummaryInput:
    """Collect the input of summaries: a distribution with samples of it, by default 1,000 if `draw`, or samples."""
    if isinstance(posterior, AntecedentDistribution):
        if samples is None:
            return SummaryInput(posterior, clusterings.sample_clusterings(posterior) if draw else None)
        drawn = clustering_samples("samples", samples)
        rule = f"must be of the same document, with {posterior.n_mentions} mentions"
        _checks.require("samples", drawn.n_mentions == posterior.n_mentions, rule, drawn.n_mentions)
        return SummaryInput(posterior, drawn)
    # A document or a path is neither, and gets the error of a distribution.
    if isinstance(posterior, str) or not isinstance(posterior, (clusterings.ClusteringSamples, np.ndarray, Sequence)):
        AntecedentDistribution.require(posterior)
    if samples is not None:
        raise ParameterError("must not be given if the posterior is samples", parameter="samples")
    return SummaryInput(None, clustering_samples("posterior", posterior))


def clustering_samples(name: str, samples: Samples) -> clusterings.ClusteringSamples:
    """Return samples, also of a two-dimensional array of labels, or raise."""
    if not isinstance(samples, clusterings.ClusteringSamples):
        noun = "ClusteringSamples, or whole numbers (n_samples, n_mentions)"
        if isinstance(samples, AntecedentDistribution):
            hint = "corefsample.sample_clusterings(distribution) draws samples"
            raise ParameterError(f"must be {noun}, got a distribution", parameter=name, hint=hint)
        array = _checks.numbers_in(name, samples, 2, kinds="iu", noun=noun)
        rows = np.empty(array.shape[::-1], np.int32)
        for s in range(array.shape[0]):
            rows[:, s] = clusterings.canonical_labels(array[s])
        samples = clusterings.ClusteringSamples(rows.T, 0, "")
    _checks.whole(f"{name}.n_samples", samples.n_samples, 1)
    return samples


# --- losses ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, repr=False)
class ExpectedLoss(HtmlTable):
    """Expected loss of one clustering under the posterior.

    Attributes
    ----------
    value
        The expectation; VI in nats.
    mc_se
        Its Monte Carlo standard error; 0 where it is exact, NaN for a single sample.
    n_samples
        Samples behind it; 0 where it is exact.
    """

    value: float
    mc_se: float
    n_samples: int


def expected_loss(
    posterior: AntecedentDistribution | Samples,
    labels: npt.ArrayLike,
    *,
    loss: Loss = "vi",
    split_cost: float = 1.0,
    singletons: bool = True,
    samples: Samples | None = None,
) -> ExpectedLoss:
    """Expected loss of a clustering that stands for the posterior.

    Parameters
    ----------
    posterior
        A distribution, or samples: `ClusteringSamples`, or an int array of shape (n_samples, n_mentions).
    labels
        int (n_mentions,): mentions with the same label form a cluster.
    loss
        Loss of a clustering, given the true one. "vi" (the default): variation of information, in nats. "binder":
        2 / n_mentions**2 times the cost of the wrong pairs. "vi-bound": the lower bound of the expected VI from link
        marginals, without the term that is the same for all clusterings; it can be negative. "b3", "lea": 1 - F1.
        "conll": 1 - mean F1 of MUC, B3 and CEAFe.
    split_cost
        Cost of separating mentions that corefer, in [0, 2], for "binder", "vi" and "vi-bound"; that of joining others
        is 2 - split_cost. For VI, the two are the weights of H(clustering | sample) and H(sample | clustering).
    singletons
        True (the default) if entities of one mention count; False is for "b3", "lea" and "conll".
    samples
        Samples of the distribution. By default, 1,000 are drawn where the loss needs them, with seed 0.

    Returns
    -------
    ExpectedLoss
        Expected loss with its Monte Carlo error; exact for "binder" and "vi-bound" of a distribution.

    Raises
    ------
    ParameterError
        If labels are not n_mentions whole numbers, `loss` is unknown, `split_cost` is outside [0, 2], singletons are
        left out of a loss that is no score, or samples have another number of mentions than the distribution.

    References
    ----------
    Binder (1978); Wade & Ghahramani (2018), section 3, for VI and its bound; Dahl, Johnson & Müller (2022), section 3,
    for the two costs.

    Examples
    --------
    >>> even = AntecedentDistribution.from_lists([[], [0]], [[], [0.0]])  # one entity or two, each with 1/2
    >>> expected_loss(even, [0, 0], loss="binder").value  # 2 / 4 of one pair that is wrong with 1/2
    0.25
    """
    source = _input_for(posterior, samples, loss, split_cost, singletons)
    return loss_under(source, clusterings.canonical_labels(labels, n_mentions=source.n_mentions), loss, split_cost)


def _input_for(
    posterior: AntecedentDistribution | Samples,
    samples: Samples | None,
    loss: Loss,
    split_cost: float,
    singletons: bool,
) -> SummaryInput:
    """Input that a loss needs; raises if it is unknown, or another option is out of range or not for this loss."""
    _checks.choice("loss", loss, LOSSES)
    _checks.at_least_zero("split_cost", split_cost)
    _checks.require("split_cost", split_cost <= 2.0, "must lie in [0, 2]", repr(split_cost))
    _checks.require("split_cost", split_cost == 1.0 or loss not in SCORES, f"must be 1 for {loss}", repr(split_cost))
    _checks.require("singletons", singletons or loss in SCORES, f"must be True for {loss}", "False")
    source = summary_input(posterior, samples, draw=loss not in MARGINAL)
    return SummaryInput(source.antecedents, source.samples, singletons=singletons)


def loss_under(source: SummaryInput, labels: Ints32, loss: Loss, split_cost: float) -> ExpectedLoss:
    """Expected loss of canonical labels."""
    if loss == "vi-bound" or (loss == "binder" and source.antecedents is not None):
        marginals, merge_cost = source.marginals, 2.0 - split_cost
        n = max(labels.shape[0], 1)
        together = labels[:, None] == labels
        if loss == "binder":
            costs = np.where(together, merge_cost * (1.0 - marginals), split_cost * marginals)
            value = float(costs.sum() / n**2)
        else:  # the lower bound of VI without its constant term
            within = np.where(together, marginals, 0.0).sum(axis=1)
            value = float((merge_cost * np.log(together.sum(axis=1)) - 2.0 * np.log(within)).sum() / n)
        return ExpectedLoss(value, 0.0, 0 if source.antecedents is not None else source.drawn.n_samples)
    values = losses_by_sample(source, labels, loss, split_cost)
    n_samples = values.shape[0]
    mc_se = float(values.std(ddof=1) / np.sqrt(n_samples)) if n_samples > 1 else float("nan")
    return ExpectedLoss(float(values.mean()), mc_se, n_samples)


def losses_by_sample(source: SummaryInput, labels: Ints32, loss: Loss, split_cost: float) -> Floats:
    """Loss of a clustering where a sample is the truth: float64 (n_samples,)."""
    if labels.shape[0] == 0:
        return np.zeros(source.drawn.n_samples)
    if loss in SCORES:
        metrics: Any = CONLL if loss == "conll" else (loss,)
        counts = counts_of("labels", labels, source.drawn.labels, singletons=source.singletons, metrics=metrics)
        return 1.0 - scores_of(loss, counts)[:, -1] if source.corpus is None else -corpus_gains(counts, source.corpus)
    row = labels[None]
    sums = cell_sums(row, source.rows), cell_sums(row, row), source.own_sums
    return losses_of_sums(*sums, labels.shape[0], loss, split_cost)


def losses_of_sums(
    common: Floats, clusters: Floats, truth: Floats, n: int, loss: Loss, split_cost: float = 1.0
) -> Floats:
    """VI or Binder losses, from sums over common cells, over the clusters of the clustering, and over each sample's."""
    losses: Floats
    if loss == "vi":
        joint, entropy, sample_entropy = (np.log(n) - sums[kernels.JOINT] / n for sums in (common, clusters, truth))
        # H(clustering | sample) = joint - sample_entropy, the cost of splits.
        split, merged = np.maximum(joint - sample_entropy, 0.0), np.maximum(joint - entropy, 0.0)
        losses = split_cost * split + (2.0 - split_cost) * merged
        return losses
    pairs, common_pairs, sample_pairs = clusters[kernels.PAIRS], common[kernels.PAIRS], truth[kernels.PAIRS]
    losses = 2.0 * (split_cost * (sample_pairs - common_pairs) + (2.0 - split_cost) * (pairs - common_pairs)) / n**2
    return losses


def lower_bound(source: SummaryInput, loss: Loss, split_cost: float) -> float | None:
    """Lower bound of the smallest expected loss over all clusterings, or None where we know none.

    Binder: each pair costs at least the smaller of its two costs. VI is a distance, so by the triangle inequality two
    samples are at most as far apart as the sum of their distances to any clustering; with the samples in pairs, half
    their mean distance bounds the mean over the samples.
    """
    n = source.n_mentions
    if loss == "binder":
        costs = np.minimum(split_cost * source.marginals, (2.0 - split_cost) * (1.0 - source.marginals))
        return float(costs.sum()) / max(n, 1) ** 2
    if loss != "vi" or source.samples is None:
        return None
    if n == 0:
        return 0.0
    half = source.drawn.n_samples // 2
    first, second = slice(half), slice(half, 2 * half)
    sums = cell_sums(source.rows[first], source.rows[second]), source.own_sums[:, first], source.own_sums[:, second]
    distances = losses_of_sums(*sums, n, loss)
    return min(split_cost, 2.0 - split_cost) * float(distances.sum()) / source.drawn.n_samples


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
    n_samples
        Samples behind the loss; 0 where it is exact.
    """

    labels: Ints32
    loss: Loss
    split_cost: float
    expected_loss: float
    mc_se: float
    lower_bound: float | None
    n_samples: int

    def __repr__(self) -> str:
        value = f"expected_loss={self.expected_loss:.4g}, mc_se={self.mc_se:.2g}"
        return f"PointEstimate(loss={self.loss!r}, {value}, n_entities={self.n_entities})"

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
    singletons: bool = True,
    samples: Samples | None = None,
) -> PointEstimate:
    """Search for the clustering with the smallest expected loss.

    The likeliest antecedents, average-linkage cuts of the link marginals and some samples are compared. Under "binder"
    and "vi", each mention of the best of them moves to where the loss is least until no move lowers it. Under other
    losses, estimates under "vi" with several split costs are compared, too, and merges of clusters of the best one are
    kept where they lower the loss. `PointEstimate.lower_bound` says how far the result can be from the smallest loss.

    Parameters
    ----------
    posterior
        A distribution, or samples: `ClusteringSamples`, or an int array of shape (n_samples, n_mentions).
    loss, split_cost, singletons, samples
        Loss, its cost of separating mentions that corefer, whether entities of one mention count, and samples of the
        distribution: see `expected_loss`.

    Returns
    -------
    PointEstimate
        Labels of the clustering, and its expected loss with a lower bound.

    Raises
    ------
    ParameterError
        If `loss` is unknown, `split_cost` is outside [0, 2], singletons are left out of a loss that is no score, or
        samples have another number of mentions than the distribution.

    References
    ----------
    Binder (1978); Wade & Ghahramani (2018); Rastelli & Friel (2018) for the sweeps; Dahl, Johnson & Müller (2022),
    "Search algorithms and loss functions for Bayesian clustering", for the two costs.

    Examples
    --------
    >>> links = AntecedentDistribution.from_lists([[], [0], [1]], [[], [3.0], [-3.0]])
    >>> point_estimate(links, loss="binder").labels
    array([0, 0, 2], dtype=int32)
    """
    return estimate_of(_input_for(posterior, samples, loss, split_cost, singletons), loss, split_cost)


def estimate_of(source: SummaryInput, loss: Loss, split_cost: float = 1.0) -> PointEstimate:
    """Point estimate under checked options."""
    candidates = starts(source)
    if loss in SWEPT:
        labels = swept(source, _best(source, candidates, loss, split_cost), loss, split_cost)
    else:
        helper: Loss = "binder" if source.samples is None else "vi"
        helpers = [swept(source, _best(source, candidates, helper, cost), helper, cost) for cost in _HELPER_COSTS]
        labels = merged(source, _best(source, candidates + helpers, loss, split_cost), loss, split_cost)
    final = loss_under(source, labels, loss, split_cost)
    bound = lower_bound(source, loss, split_cost)
    return PointEstimate(labels.copy(), loss, split_cost, final.value, final.mc_se, bound, final.n_samples)


_CLEARLY = 3.0  # standard errors


def _clearly_worse(losses: Floats, least: Floats) -> bool:
    """Whether losses of a few samples leave no hope that their mean over all samples is the least."""
    excess = losses - least
    if excess.shape[0] < 2:  # without a standard error
        return False
    return bool(excess.mean() > _CLEARLY * excess.std(ddof=1) / np.sqrt(excess.shape[0]))


def _best(source: SummaryInput, candidates: list[Ints32], loss: Loss, split_cost: float) -> Ints32:
    """Candidate with the least loss; of equal candidates the first."""
    if loss in SCORES:
        losses = [losses_by_sample(source.thinned, labels, loss, split_cost) for labels in candidates]
        least = min(losses, key=np.mean)
        candidates = [each for each, its in zip(candidates, losses, strict=True) if not _clearly_worse(its, least)]
    return min(candidates, key=lambda labels: round(loss_under(source, labels, loss, split_cost).value, 12))


_LEAST_GAIN = 1e-12
_MOST_SWEEPS = 100  # each gains, so the search ends anyway; in practice after 3 to 10


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
    return clusterings.canonical_labels(labels)


_MOST_MERGES = 50  # merges tried; on GUM twice as many bring nothing (benchmarks/summaries_study.py)


def merged(source: SummaryInput, labels: Ints32, loss: Loss, split_cost: float) -> Ints32:
    """Merge clusters while it lowers the loss; pairs with the largest mean link marginal are tried first."""
    firsts, clusters, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    belongs = (clusters[:, None] == np.arange(firsts.shape[0])).astype(np.float64)
    later, earlier = np.tril_indices(firsts.shape[0], -1)
    links = (belongs.T @ source.marginals @ belongs / np.outer(sizes, sizes))[later, earlier]
    is_score = loss in SCORES
    least = loss_under(source, labels, loss, split_cost).value
    thinned = losses_by_sample(source.thinned, labels, loss, split_cost) if is_score else np.zeros(0)
    for pair in np.argsort(-links, kind="stable")[:_MOST_MERGES].tolist():
        joined = labels[firsts[later[pair]]], labels[firsts[earlier[pair]]]
        candidate = clusterings.canonical_labels(np.where(labels == joined[0], joined[1], labels))
        of_few = losses_by_sample(source.thinned, candidate, loss, split_cost) if is_score else thinned
        if is_score and _clearly_worse(of_few, thinned):
            continue
        value = loss_under(source, candidate, loss, split_cost).value
        if value < least - _LEAST_GAIN:
            labels, least, thinned = candidate, value, of_few
    return labels


_SAMPLES = 4


def starts(source: SummaryInput) -> list[Ints32]:
    """Clusterings with canonical labels from which the search starts.

    The likeliest antecedents, average-linkage clusters cut where the mean link marginal falls below .1, .2, ..., .9,
    some samples, singletons, and all mentions as one entity.
    """
    n = source.n_mentions
    candidates = [] if source.antecedents is None else [clusterings.map_clustering(source.antecedents)]
    if n > 1:
        from scipy.cluster.hierarchy import fcluster, linkage

        tree = linkage(np.clip(1.0 - source.marginals[np.triu_indices(n, 1)], 0.0, 1.0), "average")
        cuts = [round(0.1 * cut, 1) for cut in range(1, 10)]
        candidates += [clusterings.canonical_labels(fcluster(tree, 1.0 - cut, "distance")) for cut in cuts]
    if source.samples is not None:
        for s in np.unique(np.linspace(0, source.samples.n_samples - 1, _SAMPLES).astype(np.int64)).tolist():
            candidates.append(np.ascontiguousarray(source.samples.labels[s]))
    return [*candidates, np.arange(n, dtype=np.int32), np.zeros(n, np.int32)]
