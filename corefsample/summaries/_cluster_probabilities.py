"""Probabilities of one set of mentions: that it is an entity, or a part of one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from corefsample import _checks
from corefsample._arrays import Ints
from corefsample._monte_carlo import share_error
from corefsample.coreference._antecedents import AntecedentDistribution, require_distribution
from corefsample.coreference._exact import link_marginals
from corefsample.coreference._sampling import sample_clusterings
from corefsample.errors import ParameterError

_MOST_STEPS = 300_000  # about half a second


@dataclass(frozen=True, slots=True)
class ClusterProbability:
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
    require_distribution(antecedents)
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
