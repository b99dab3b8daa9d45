"""Forward and backward weights of a chain, by exponentials where they are exact and by logarithms elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np

from corefsample._arrays import Floats, Ints32
from corefsample.errors import ParameterError
from corefsample.tagging import _chain_kernels, _log_kernels, _sampling_kernels

_BLOCK_CELLS = 2**18  # of matrices of transitions whose exponentials are held at a time
# Bounds that are closer than this, for a chain and for each of its tokens, differ by rounding only.
_ROUNDING, _ROUNDING_PER_TOKEN = 1e-12, 4e-15


@dataclass(frozen=True, slots=True, eq=False)
class Messages:
    """Forward and backward weights of each token's tags, scaled to a maximum of 1 (0 for logarithms) in each row.

    Attributes
    ----------
    log_partition
        Log of the weight of all sequences.
    forward, backward
        float64 (n, w): weights, or their logarithms, with padding up to w.
    scales
        float64 (n,): maximum of each row of `forward` before it was scaled.
    in_logs
        Whether these are logarithms.
    """

    log_partition: float
    forward: Floats
    backward: Floats
    scales: Floats
    in_logs: bool

    @classmethod
    def of(cls, unary: Floats, pairwise: Floats) -> Self:
        """Compute them from valid scores, (n, n_tags) and (1 or n - 1, n_tags, n_tags).

        Raises
        ------
        ParameterError
            If no sequence is allowed.
        """
        return cls._by_exponentials(unary, pairwise) or cls._by_logs(unary, pairwise)

    @classmethod
    def _by_exponentials(cls, unary: Floats, pairwise: Floats) -> Self | None:
        n = len(unary)
        emissions, shifts = _emissions(unary)
        forward, backward, scales = np.empty_like(emissions), np.empty_like(emissions), np.empty(n)
        pair_shifts = np.zeros(max(len(pairwise), 1))
        places = _places(pairwise, n)
        for start, stop in places:
            transitions, shift = _transitions(pairwise, start, stop)
            pair_shifts[start : start + len(shift)] = shift
            if _chain_kernels.forward_pass(emissions, transitions, start, stop, forward, scales) >= 0:
                return None
        apart = 0.0
        for start, stop in reversed(places):
            if len(places) > 1:
                transitions, _ = _transitions(pairwise, start, stop)
            apart += _chain_kernels.backward_pass(emissions, transitions, start, stop, forward, scales, backward)
        if not apart <= _ROUNDING + _ROUNDING_PER_TOKEN * n:
            return None
        log_partition = _chain_kernels.log_weight(forward, scales, shifts, pair_shifts)
        return cls(log_partition, forward, backward, scales, False)

    @classmethod
    def _by_logs(cls, unary: Floats, pairwise: Floats) -> Self:
        forward, backward, scales = np.empty_like(unary), np.empty_like(unary), np.empty(len(unary))
        unreached = _log_kernels.log_forward_pass(unary, pairwise, forward, scales)
        if unreached >= 0:
            raise ParameterError(
                f"must allow a tag sequence, got none that reaches token {unreached}", parameter="scores"
            )
        _log_kernels.log_backward_pass(unary, pairwise, backward, np.empty(len(unary)))
        return cls(_log_kernels.log_total(forward, scales), forward, backward, scales, True)

    def marginals(self, n_tags: int) -> Floats:
        """Probability of each tag of each token."""
        probs = np.empty((len(self.forward), n_tags))
        kernel = _log_kernels.log_marginals if self.in_logs else _chain_kernels.marginals
        kernel(self.forward, self.backward, probs)
        return probs

    def fill_pairs(self, unary: Floats, pairwise: Floats, first: int, probs: Floats) -> None:
        """Fill the pair marginals of the places from `first` on."""
        if self.in_logs:
            _log_kernels.log_pair_marginals(unary, pairwise, first, self.forward, self.backward, probs)
            return
        emissions, _ = _emissions(unary[first : first + len(probs) + 1])
        messages = self.forward[first:], self.backward[first:], self.scales[first:]
        for start, stop in _places(pairwise, len(probs) + 1):
            transitions, _ = _transitions(pairwise, first + start, first + stop)
            _chain_kernels.pair_marginals(emissions, transitions, start, *messages, probs[start:stop])

    def sample(self, pairwise: Floats, key: np.uint64, first: int, tags: Ints32) -> None:
        """Fill tags (n, n_samples) with samples."""
        n = len(tags)
        places = [(0, n - 1)] if self.in_logs else _places(pairwise, n)
        for start, stop in reversed(places):
            transitions = pairwise if self.in_logs else _transitions(pairwise, start, stop)[0]
            _sampling_kernels.sample_tags(transitions, start, stop, self.forward, self.in_logs, key, first, tags)


def _places(pairwise: Floats, n: int) -> list[tuple[int, int]]:
    """Blocks of the n - 1 places between tokens, (start, stop), at least one; only one if all places share a matrix."""
    if len(pairwise) == 1:
        return [(0, n - 1)]
    step = max(_BLOCK_CELLS // pairwise.shape[1] ** 2, 1)
    return [(start, min(start + step, n - 1)) for start in range(0, n - 1, step)] or [(0, 0)]


def _padded(n_tags: int) -> int:
    return -(-n_tags // _chain_kernels.LANES) * _chain_kernels.LANES


def _emissions(unary: Floats) -> tuple[Floats, Floats]:
    n, n_tags = unary.shape
    shifts, emissions = np.empty(n), np.empty((n, _padded(n_tags)))
    _chain_kernels.shift_rows(unary, 1, shifts, emissions)
    np.exp(emissions, out=emissions)
    return emissions, shifts


def _transitions(pairwise: Floats, start: int, stop: int) -> tuple[Floats, Floats]:
    """Exponentials of the matrices of some places, (1 or stop - start, n_tags, w), and their shifts."""
    matrices = pairwise if len(pairwise) == 1 else pairwise[start:stop]
    m, n_tags, _ = matrices.shape
    shifts, transitions = np.empty(m), np.empty((m, n_tags, _padded(n_tags)))
    _chain_kernels.shift_rows(matrices.reshape(-1, n_tags), n_tags, shifts, transitions.reshape(m * n_tags, -1))
    np.exp(transitions, out=transitions)
    return transitions, shifts
