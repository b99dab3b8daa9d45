"""Parts of a clustering and their joint probability: confident cores, and single sets of mentions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from corefsample import _checks
from corefsample._arrays import Bools, Floats, Ints, Ints32
from corefsample._html import HtmlTable
from corefsample._lazy import pd
from corefsample._monte_carlo import share_error
from corefsample._results import Result
from corefsample.coreference._antecedents import AntecedentDistribution
from corefsample.coreference._clusterings import link_marginals, sample_clusterings
from corefsample.errors import ParameterError
from corefsample.summaries import _kernels as kernels
from corefsample.summaries._posterior import Samples, SummaryInput, posterior_from

_THRESHOLDS = (*(round(0.05 * step, 2) for step in range(1, 20)), 0.99)


@dataclass(frozen=True, slots=True, eq=False)
class ConfidentCore(Result):
    """A partial clustering: some mentions, and how they are grouped.

    Attributes
    ----------
    labels
        int32 (n_mentions,), read-only: first mention of each mention's cluster in the core; -1 outside.
    threshold
        The least joint probability that was asked for.
    probability
        Share of the samples whose clustering of these mentions is exactly the core's. The core was chosen with the same
        samples, so its probability under others is in general smaller: see `fresh_probability`.
    mc_se
        Monte Carlo standard error of `probability`, a bound if all samples agree.
    fresh_probability, fresh_mc_se
        The same of as many samples that the search did not see; None without a distribution.
    lower_bound
        Exact lower bound of the probability, from link marginals; None without a distribution. It can be 0.
    """

    labels: Ints32
    threshold: float
    probability: float
    mc_se: float
    fresh_probability: float | None
    fresh_mc_se: float | None
    lower_bound: float | None

    def __repr__(self) -> str:
        sizes = f"{self.mentions.shape[0]} of {self.labels.shape[0]} mentions in {self.n_entities} entities"
        return f"ConfidentCore({sizes}, probability={self.probability:.3f}, threshold={self.threshold:g})"

    @property
    def mentions(self) -> Ints:
        """Mentions of the core, ascending."""
        return np.flatnonzero(self.labels >= 0)

    @property
    def n_entities(self) -> int:
        """Number of clusters in the core."""
        return int(np.unique(self.labels[self.labels >= 0]).shape[0])

    def to_frame(self) -> pd.DataFrame:
        """Tidy table, one row per mention of the core: mention, entity (its first mention in the core)."""
        return pd.DataFrame({"mention": self.mentions, "entity": self.labels[self.mentions]})


@dataclass(frozen=True, slots=True, eq=False)
class CoreCurve(Result):
    """Sizes of confident cores by threshold; arrays are read-only.

    Attributes
    ----------
    thresholds
        float64 (n_thresholds,).
    n_mentions, n_entities
        int64 (n_thresholds,): mentions and clusters of the largest core that was found at each.
    probabilities
        float64 (n_thresholds,): share of the samples that agree with it.
    n_document
        Mentions of the document.
    """

    thresholds: Floats
    n_mentions: Ints
    n_entities: Ints
    probabilities: Floats
    n_document: int

    def to_frame(self) -> pd.DataFrame:
        """Tidy table, one row per threshold: threshold, n_mentions, n_entities, probability."""
        columns = {"threshold": self.thresholds, "n_mentions": self.n_mentions, "n_entities": self.n_entities}
        return pd.DataFrame({**columns, "probability": self.probabilities})


def confident_core(
    posterior: AntecedentDistribution | Samples, *, threshold: float = 0.9, samples: Samples | None = None
) -> ConfidentCore:
    """Largest partial clustering that a search finds whose joint probability is at least a threshold.

    From each of 16 mentions, spread over the document, the core grows by the mention whose best place in it the most
    samples share, while at least `threshold` of all samples agree with the whole core. A core that only says what is
    new or what corefers with what among its mentions leaves open how they relate to all others.

    Parameters
    ----------
    posterior, samples
        As for `expected_loss`.
    threshold
        In (0, 1].

    Raises
    ------
    ParameterError
        If an option breaks its rule.

    References
    ----------
    Dahl, Andros & Carter (2023), "Cluster analysis via random partition distributions", for partial clusterings with a
    joint probability above a threshold (chips).

    Examples
    --------
    >>> sampled = np.array([[0, 0, 2], [0, 0, 2], [0, 0, 0], [0, 0, 0]])
    >>> confident_core(sampled, threshold=0.9).labels
    array([ 0,  0, -1], dtype=int32)
    """
    threshold = _checks.probability("threshold", threshold, above_zero=True)
    source = posterior_from(posterior, samples)
    labels, probability = _largest(_growths(source), threshold)
    drawn = source.drawn
    fresh = None
    if source.antecedents is not None:
        more = sample_clusterings(
            source.antecedents,
            n_samples=drawn.n_samples,
            seed=drawn.seed,
            doc_id=drawn.doc_id,
            first_sample=drawn.first_sample + drawn.n_samples,
        )
        members = np.flatnonzero(labels >= 0)
        fresh = float(_agrees(more.labels[:, members], labels[members]).mean())
    return ConfidentCore(
        labels=labels,
        threshold=threshold,
        probability=probability,
        mc_se=share_error(probability, drawn.n_samples),
        fresh_probability=fresh,
        fresh_mc_se=None if fresh is None else share_error(fresh, drawn.n_samples),
        lower_bound=None if source.antecedents is None else _lower_bound(source.marginals, labels),
    )


def core_curve(
    posterior: AntecedentDistribution | Samples,
    *,
    thresholds: Sequence[float] = _THRESHOLDS,
    samples: Samples | None = None,
) -> CoreCurve:
    """Sizes of the confident cores at several thresholds; parameters as for `confident_core`.

    Raises
    ------
    ParameterError
        If there is no threshold, or one is outside (0, 1].
    """
    if np.ndim(thresholds) != 1 or len(thresholds) == 0:
        raise ParameterError(f"must be a list of numbers, got {_checks.shown(thresholds)}", parameter="thresholds")
    for t, threshold in enumerate(thresholds):
        _checks.probability(f"thresholds[{t}]", threshold, above_zero=True)
    source = posterior_from(posterior, samples)
    growths = _growths(source)
    cores = [_largest(growths, float(threshold)) for threshold in thresholds]
    return CoreCurve(
        thresholds=np.array(thresholds, np.float64),
        n_mentions=np.array([np.count_nonzero(labels >= 0) for labels, _ in cores], np.int64),
        n_entities=np.array([np.unique(labels[labels >= 0]).shape[0] for labels, _ in cores], np.int64),
        probabilities=np.array([probability for _, probability in cores]),
        n_document=source.n_mentions,
    )


_N_STARTS = 16
Growth = tuple[Ints, Floats, Ints32]  # mentions in the order added, share that agrees after each, labels


def _growths(source: SummaryInput) -> list[Growth]:
    """Cores grown from several mentions until they hold the whole document."""
    n = source.n_mentions
    labels = np.ascontiguousarray(source.drawn.labels.T)
    found = []
    for first in np.unique(np.linspace(0, max(n - 1, 0), min(_N_STARTS, n)).astype(np.int64)).tolist():
        core, order, counts = np.empty(n, np.int32), np.empty(n, np.int64), np.empty(n, np.int64)
        kernels.grow_core(labels, first, core, order, counts)
        found.append((order, counts / source.drawn.n_samples, core))
    return found


def _largest(growths: list[Growth], threshold: float) -> tuple[Ints32, float]:
    """Largest core at a threshold, of equal ones the more probable; and the share that agrees with it."""
    best: tuple[int, float, Ints32] | None = None
    for order, shares, core in growths:
        size = int(np.count_nonzero(shares >= threshold - 1e-12))  # shares never rise
        if best is None or (size, float(shares[size - 1])) > best[:2]:
            labels = np.full(core.shape[0], -1, np.int32)
            members = np.sort(order[:size])
            _, first, inverse = np.unique(core[members], return_index=True, return_inverse=True)
            labels[members] = members[first[inverse]]
            best = size, float(shares[size - 1]), labels
    if best is None:
        return np.empty(0, np.int32), 1.0
    return best[2], best[1]


def _agrees(sampled: Ints32, core: Ints32) -> Bools:
    """Which samples have the clusters of a core; `sampled` has the labels of its mentions, (n_samples, n_members)."""
    _, first, cluster = np.unique(core, return_index=True, return_inverse=True)
    as_one = (sampled == sampled[:, first[cluster]]).all(axis=1)
    apart = (np.diff(np.sort(sampled[:, first], axis=1), axis=1) != 0).all(axis=1)
    return np.asarray(as_one & apart)


def _lower_bound(marginals: Floats, labels: Ints32) -> float:
    """Bonferroni bound of a core's probability.

    It is one minus the probabilities that a link of a spanning tree of a cluster is missing, and that two clusters
    are linked, at the pair least likely to be.
    """
    from scipy.cluster.hierarchy import linkage  # by single links, it merges along the spanning tree

    clusters = [np.flatnonzero(labels == k) for k in np.unique(labels[labels >= 0])]
    failure = 0.0
    for number, members in enumerate(clusters):
        if members.shape[0] > 1:
            apart = 1.0 - marginals[np.ix_(members, members)]
            failure += float(linkage(apart[np.triu_indices_from(apart, 1)], "single")[:, 2].sum())
        for other in clusters[:number]:
            failure += float(marginals[np.ix_(members, other)].min())
    return max(0.0, 1.0 - failure)


_MOST_STEPS = 300_000  # about half a second


@dataclass(frozen=True, slots=True)
class ClusterProbability(HtmlTable):
    """Probability of a set of mentions.

    Attributes
    ----------
    mentions
        The set, ascending.
    exactly
        P(the set is one entity, without any other mention), exact.
    together
        P(the mentions of the set belong to one entity, with or without others).
    mc_se
        Monte Carlo standard error of `together`; 0 where it is exact, a bound if all samples agree.
    n_samples
        Samples behind `together`; 0 where it is exact.
    """

    mentions: tuple[int, ...]
    exactly: float
    together: float
    mc_se: float
    n_samples: int

    @property
    def joined(self) -> float:
        """P(the mentions belong to one entity, which some other mention joins)."""
        return max(self.together - self.exactly, 0.0)


def cluster_probability(
    antecedents: AntecedentDistribution,
    mentions: Iterable[int],
    *,
    n_samples: int = 10_000,
    seed: int = 0,
    doc_id: str = "",
    max_steps: int = _MOST_STEPS,
) -> ClusterProbability:
    """Probability that a set of mentions is exactly one entity, and that it is part of one.

    The set is exactly one entity if its first mention is NEW, each other one links into it, and no mention outside
    does: a product. All of a set belong to one entity if the set with its last mention replaced by that mention's
    antecedent does. Repeating this costs time that grows with the number of mentions to the power of the set's size.

    Parameters
    ----------
    antecedents
        Distribution over the antecedents of one document.
    mentions
        At least one mention, each once.
    n_samples, seed, doc_id
        Of the samples by which `together` is estimated if it would take too many steps.
    max_steps
        The most steps of the exact computation, at least 0.

    Raises
    ------
    ParameterError
        If the set is empty, or contains a mention twice or one that the document does not have.

    Examples
    --------
    >>> links = AntecedentDistribution.from_lists([[], [0], [1]], [[], [0.0], [0.0]])
    >>> cluster_probability(links, [0, 1])
    ClusterProbability(mentions=(0, 1), exactly=0.25, together=0.5, mc_se=0.0, n_samples=0)
    """
    AntecedentDistribution.require(antecedents)
    max_steps = _checks.whole("max_steps", max_steps, 0)
    if not isinstance(mentions, Iterable):
        raise ParameterError(f"must be a list of mentions, got {_checks.shown(mentions)}", parameter="mentions")
    given = [*mentions]
    members = np.sort(_checks.integers("mentions", np.asarray(given) if given else np.empty(0, np.int64)))
    _require_set(members, antecedents.n_mentions)
    exactly = _exactly(antecedents, members)
    named = tuple(members.tolist())
    together = _together(antecedents, named, max_steps)
    if together is not None:
        return ClusterProbability(named, exactly, together, 0.0, 0)
    labels = sample_clusterings(antecedents, n_samples=n_samples, seed=seed, doc_id=doc_id).labels[:, members]
    share = float((labels == labels[:, :1]).all(axis=1).mean())
    return ClusterProbability(named, exactly, share, share_error(share, n_samples), n_samples)


def _require_set(members: Ints, n_mentions: int) -> None:
    if members.shape[0] == 0:
        raise ParameterError("must have at least one mention, got none", parameter="mentions")
    outside = members[(members < 0) | (members >= n_mentions)]
    if outside.shape[0]:
        raise ParameterError(f"must be from 0 to below {n_mentions}, got {outside[0]}", parameter="mentions")
    repeated = members[1:][members[1:] == members[:-1]]
    if repeated.shape[0]:
        raise ParameterError(f"must have each mention once, got {repeated[0]} twice", parameter="mentions")


def _exactly(antecedents: AntecedentDistribution, members: Ints) -> float:
    """Product over the document's mentions of P(NEW), P(antecedent in the set), or P(none in it)."""
    n = antecedents.n_mentions
    inside = np.zeros(n, bool)
    inside[members] = True
    owners = np.repeat(np.arange(n), np.diff(antecedents.indptr))
    into = np.bincount(owners, np.where(inside[antecedents.antecedents], antecedents.probs, 0.0), n)
    # Of candidates outside, so that a small probability is not the difference of two large ones.
    around = np.bincount(owners, np.where(inside[antecedents.antecedents], 0.0, antecedents.probs), n)
    factors = np.where(inside, into, around + antecedents.new_probs)
    factors[members[0]] = antecedents.new_probs[members[0]]
    return min(float(np.prod(factors)), 1.0)


def _together(antecedents: AntecedentDistribution, members: tuple[int, ...], max_steps: int) -> float | None:
    """P(all of a set belong to one entity), or None if it takes more than `max_steps`.

    Probability flows from sets to those with their last mention replaced by its antecedent, last mentions first.
    """
    if len(members) == 1:
        return 1.0
    marginals = link_marginals(antecedents)
    waiting: dict[int, dict[tuple[int, ...], float]] = defaultdict(lambda: defaultdict(float))
    waiting[members[-1]][members] = 1.0
    total, steps = 0.0, 0
    for last in range(members[-1], -1, -1):
        for state, mass in waiting.pop(last, {}).items():
            if len(state) == 2:
                total += mass * float(marginals[state])
                continue
            candidates, probs = antecedents.row(last)
            steps += candidates.shape[0]
            if steps > max_steps:
                return None
            rest = state[:-1]
            for k, prob in zip(candidates.tolist(), probs.tolist(), strict=True):
                following = rest if k in rest else tuple(sorted((*rest, k)))
                waiting[following[-1]][following] += mass * prob
    return min(total, 1.0)
