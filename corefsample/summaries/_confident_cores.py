"""Parts of a clustering and their joint probability: confident cores, and single sets of mentions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from corefsample import _checks
from corefsample._arrays import Bools, Ints, Ints32
from corefsample._lazy import pd
from corefsample._monte_carlo import share_error
from corefsample._results import Result
from corefsample.coreference._antecedents import AntecedentDistribution
from corefsample.coreference._clusterings import sample_clusterings
from corefsample.errors import ParameterError
from corefsample.summaries import _kernels as kernels
from corefsample.summaries._posterior import Samples, SummaryInput, posterior_from


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
    """

    labels: Ints32
    threshold: float
    probability: float
    mc_se: float
    fresh_probability: float | None
    fresh_mc_se: float | None

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


def confident_core(
    posterior: AntecedentDistribution | Samples, *, threshold: float = 0.9, samples: Samples | None = None
) -> ConfidentCore:
    """Largest partial clustering that a search finds whose joint probability is at least a threshold.

    From each of 16 mentions, spread over the document, the core grows by the mention whose best place in it the most
    samples share, while at least `threshold` of all samples agree with the whole core. A core that only says what is
    new or what corefers with what among its mentions leaves open how they relate to all others.

    Parameters
    ----------
    posterior
        A distribution, or samples: `ClusteringSamples`, a `DocumentPosterior` that draws them, or an int array of shape
        (n_samples, n_mentions).
    threshold
        Least joint probability of the core, in (0, 1].
    samples
        Samples of the distribution. By default, 1,000 are drawn with seed 0.

    Raises
    ------
    ParameterError
        If `threshold` is not in (0, 1], or samples have another number of mentions than the distribution.

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
    labels, probability = _largest_core(source, threshold)
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
    )


_N_STARTS = 16


def _largest_core(source: SummaryInput, threshold: float) -> tuple[Ints32, float]:
    """Largest core grown from several mentions, of equal ones the more probable; and the share that agrees with it."""
    n = source.n_mentions
    sampled = np.ascontiguousarray(source.drawn.labels.T)
    best, labels = (0, 1.0), np.full(n, -1, np.int32)
    for first in np.unique(np.linspace(0, max(n - 1, 0), min(_N_STARTS, n)).astype(np.int64)).tolist():
        core, order, counts = np.empty(n, np.int32), np.empty(n, np.int64), np.empty(n, np.int64)
        kernels.grow_core(sampled, first, core, order, counts)
        shares = counts / source.drawn.n_samples
        size = int(np.count_nonzero(shares >= threshold - 1e-12))  # shares never rise
        if (size, float(shares[size - 1])) > best:
            best = size, float(shares[size - 1])
            members = np.sort(order[:size])
            _, firsts, inverse = np.unique(core[members], return_index=True, return_inverse=True)
            labels = np.full(n, -1, np.int32)
            labels[members] = members[firsts[inverse]]
    return labels, best[1]


def _agrees(sampled: Ints32, core: Ints32) -> Bools:
    """Which samples have the clusters of a core; `sampled` has the labels of its mentions, (n_samples, n_members)."""
    _, first, cluster = np.unique(core, return_index=True, return_inverse=True)
    as_one = (sampled == sampled[:, first[cluster]]).all(axis=1)
    apart = (np.diff(np.sort(sampled[:, first], axis=1), axis=1) != 0).all(axis=1)
    return np.asarray(as_one & apart)


def cluster_probability(antecedents: AntecedentDistribution, mentions: Iterable[int]) -> float:
    """Probability that a set of mentions is one entity to which no other mention belongs, exactly.

    The set is one entity if its first mention is NEW, each other one links into it, and no mention outside does: a
    product over the mentions of the document.

    Parameters
    ----------
    antecedents
        Distribution over the antecedents of one document.
    mentions
        Mentions of the set, at least one, without repetition.

    Raises
    ------
    ParameterError
        If the set is empty, or contains a mention twice or one that the document does not have.

    Examples
    --------
    >>> links = AntecedentDistribution.from_lists([[], [0], [1]], [[], [0.0], [0.0]])
    >>> cluster_probability(links, [0, 1])
    0.25
    """
    AntecedentDistribution.require(antecedents)
    if not isinstance(mentions, Iterable):
        raise ParameterError(f"must be a list of mentions, got {_checks.shown(mentions)}", parameter="mentions")
    indices = [*mentions]
    members = np.sort(_checks.integers("mentions", np.asarray(indices) if indices else np.empty(0, np.int64)))
    n = antecedents.n_mentions
    if not len(members) or members[0] < 0 or members[-1] >= n or (np.diff(members) == 0).any():
        rule = f"must be at least one mention from 0 to below {n}, each once"
        raise ParameterError(f"{rule}, got {_checks.shown(indices)}", parameter="mentions")
    inside = np.zeros(n, bool)
    inside[members] = True
    owners = np.repeat(np.arange(n), np.diff(antecedents.indptr))
    into = np.bincount(owners, np.where(inside[antecedents.antecedents], antecedents.probs, 0.0), n)
    # Of candidates outside, so that a small probability is not the difference of two large ones.
    around = np.bincount(owners, np.where(inside[antecedents.antecedents], 0.0, antecedents.probs), n)
    factors = np.where(inside, into, around + antecedents.new_probs)
    factors[members[0]] = antecedents.new_probs[members[0]]
    return min(float(np.prod(factors)), 1.0)
