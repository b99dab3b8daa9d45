"""Forward and backward weights of a chain, by exponentials where they are exact and by logarithms elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from corefsample._arrays import Floats, Ints, Ints32
from corefsample.errors import ParameterError
from corefsample.tagging import _chain_kernels, _log_kernels, _sampling_kernels

_BLOCK_CELLS = 2**18  # of matrices of transitions whose exponentials are held at a time
# Bounds that are closer than this, for a chain and for each of its tokens, differ by rounding only.
_ROUNDING, _ROUNDING_PER_TOKEN = 1e-12, 4e-15


class NoSequenceError(ParameterError):
    """The scores allow no tag sequence: none reaches a token."""

    def __init__(self, chain: int, token: int) -> None:
        super().__init__(f"must allow a tag sequence, got none that reaches token {token}", parameter="scores")
        self.chain = chain


class Transitions(NamedTuple):
    """Exponentials of some matrices of transitions, float64, with padding up to w.

    Attributes
    ----------
    weights
        (m, n_tags, w): a tag and the next; what would underflow is rounded up.
    lower
        (m, w, w): the same, but what would underflow is 0.
    transposed
        (m, w, w): `weights` with the next tag first.
    shifts
        float64 (m,): what was subtracted from the scores.
    """

    weights: Floats
    lower: Floats
    transposed: Floats
    shifts: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Messages:
    """Forward and backward weights of each token's tags, scaled to a maximum of 1 (0 for logarithms) in each row.

    Attributes
    ----------
    log_partition
        Log of the weight of all sequences.
    probs
        float64 (n, n_tags): marginals.
    forward, backward
        float64 (n, w): weights, or their logarithms, with padding up to w.
    scales
        float64 (n,): maximum of each row of `forward` before it was scaled.
    emissions
        float64 (n, w): exponentials of unary scores; None if the weights are logarithms.
    transitions
        Those of all places, if they share one matrix and the weights are no logarithms.
    """

    log_partition: float
    probs: Floats
    forward: Floats
    backward: Floats
    scales: Floats
    emissions: Floats | None = None
    transitions: Transitions | None = None

    def __post_init__(self) -> None:
        self.probs.flags.writeable = False

    def fill_pairs(self, unary: Floats, pairwise: Floats, first: int, probs: Floats) -> None:
        """Fill the pair marginals of the places from `first` on."""
        if self.emissions is None:
            _log_kernels.log_pair_marginals(unary, pairwise, first, self.forward, self.backward, probs)
            return
        rows = self.emissions, self.forward, self.backward, self.scales
        for start, stop, transitions in self._blocks(pairwise, first, first + len(probs)):
            _chain_kernels.pair_marginals(transitions.weights, start, *rows, probs[start - first : stop - first])

    def sample(self, pairwise: Floats, key: np.uint64, first: int, tags: Ints32) -> None:
        """Fill tags (n, n_samples) with samples."""
        n = len(tags)
        if self.emissions is None:
            _sampling_kernels.sample_tags(pairwise.shape[1], pairwise, 0, n - 1, self.forward, True, key, first, tags)
            return
        for start, stop, transitions in self._blocks(pairwise, 0, n - 1, backwards=True):
            _sampling_kernels.sample_tags(
                pairwise.shape[1], transitions.lower, start, stop, self.forward, False, key, first, tags
            )

    def _blocks(
        self, pairwise: Floats, first: int, end: int, *, backwards: bool = False
    ) -> Iterator[tuple[int, int, Transitions]]:
        """Blocks of the places from `first` to `end` - 1 with their transitions: start, stop, transitions."""
        if self.transitions is not None:
            yield first, end, self.transitions
            return
        places = _places(first, end, pairwise.shape[1])
        for start, stop in reversed(places) if backwards else places:
            yield start, stop, transitions_of(pairwise[start:stop])


def messages_of_chains(
    indptr: Ints, unary: Floats, pairwise: Floats, transitions: Transitions | None = None
) -> list[Messages]:
    """Messages of chains with one matrix (n_tags, n_tags); chain c has rows indptr[c] to indptr[c + 1] of `unary`.

    `transitions` are those of `pairwise`, if they have been computed before.

    Raises
    ------
    ParameterError
        If a chain allows no sequence.
    """
    if transitions is None:
        transitions = transitions_of(pairwise[None])
    emissions, shifts = _emissions(unary)
    forward, backward = np.empty_like(emissions), np.empty_like(emissions)
    scales, probs = np.empty(len(unary)), np.empty_like(unary)
    apart, log_partitions = np.empty(len(indptr) - 1), np.empty(len(indptr) - 1)
    _, lower, transposed, pair_shifts = transitions
    _chain_kernels.both_passes(
        indptr,
        emissions,
        shifts,
        lower,
        transposed,
        pair_shifts,
        forward,
        scales,
        backward,
        probs,
        apart,
        log_partitions,
    )
    found = []
    bounds = indptr.tolist()
    for c, log_partition in enumerate(log_partitions.tolist()):
        a, b = bounds[c], bounds[c + 1]
        if apart[c] <= _ROUNDING + _ROUNDING_PER_TOKEN * (b - a):
            rows = probs[a:b], forward[a:b], backward[a:b], scales[a:b], emissions[a:b]
            found.append(Messages(log_partition, *rows, transitions))
        else:
            found.append(_by_logs(unary[a:b], pairwise[None], chain=c))
    return found


def messages_of_chain(unary: Floats, pairwise: Floats) -> Messages:
    """Messages of a chain with a matrix for each pair of neighbours, (n - 1, n_tags, n_tags), at least one.

    Raises
    ------
    ParameterError
        If no sequence is allowed.
    """
    n, n_tags = unary.shape
    emissions, shifts = _emissions(unary)
    forward, backward = np.empty_like(emissions), np.empty_like(emissions)
    scales, probs, pair_shifts = np.empty(n), np.empty_like(unary), np.empty(n - 1)
    places = _places(0, n - 1, n_tags)
    for start, stop in places:
        transitions = transitions_of(pairwise[start:stop])
        pair_shifts[start:stop] = transitions.shifts
        if _chain_kernels.forward_pass(emissions, transitions.lower, start, stop, forward, scales) >= 0:
            return _by_logs(unary, pairwise)
    apart = 0.0
    for start, stop in reversed(places):
        if len(places) > 1:
            transitions = transitions_of(pairwise[start:stop])
        apart += _chain_kernels.backward_pass(
            emissions, transitions.transposed, start, stop, forward, scales, backward, probs
        )
    if not apart <= _ROUNDING + _ROUNDING_PER_TOKEN * n:
        return _by_logs(unary, pairwise)
    log_partition = _chain_kernels.log_weight(forward, scales, shifts, pair_shifts)
    return Messages(log_partition, probs, forward, backward, scales, emissions)


def _by_logs(unary: Floats, pairwise: Floats, chain: int = 0) -> Messages:
    forward, backward, scales = np.empty_like(unary), np.empty_like(unary), np.empty(len(unary))
    unreached = _log_kernels.log_forward_pass(unary, pairwise, forward, scales)
    if unreached >= 0:
        raise NoSequenceError(chain, unreached)
    _log_kernels.log_backward_pass(unary, pairwise, backward, np.empty(len(unary)))
    probs = np.empty_like(unary)
    _log_kernels.log_marginals(forward, backward, probs)
    return Messages(_log_kernels.log_total(forward, scales), probs, forward, backward, scales)


def _places(first: int, end: int, n_tags: int) -> list[tuple[int, int]]:
    """Blocks of the places from `first` to `end` - 1: (start, stop)."""
    step = max(_BLOCK_CELLS // n_tags**2, 1)
    return [(start, min(start + step, end)) for start in range(first, end, step)]


def _padded(n_tags: int) -> int:
    return -(-n_tags // _chain_kernels.LANES) * _chain_kernels.LANES


def _emissions(unary: Floats) -> tuple[Floats, Floats]:
    """Exponentials of unary scores, (n, w), and their shifts."""
    n, n_tags = unary.shape
    shifts, emissions = np.empty(n), np.empty((n, _padded(n_tags)))
    _chain_kernels.shift_rows(unary, 1, shifts, emissions)
    np.exp(emissions, out=emissions)
    return emissions, shifts


def transitions_of(matrices: Floats) -> Transitions:
    """Exponentials of pairwise scores (m, n_tags, n_tags)."""
    m, n_tags, _ = matrices.shape
    w = _padded(n_tags)
    shifts, weights = np.empty(m), np.empty((m, n_tags, w))
    lower, transposed = np.empty((m, w, w)), np.empty((m, w, w))
    _chain_kernels.shift_rows(matrices.reshape(-1, n_tags), n_tags, shifts, weights.reshape(m * n_tags, w))
    np.exp(weights, out=weights)
    _chain_kernels.split_transitions(weights, lower, transposed)
    return Transitions(weights, lower, transposed, shifts)
