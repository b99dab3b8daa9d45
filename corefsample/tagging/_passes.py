"""Both passes of chains on exponentials of their scores, and the arrays that they fill."""

from __future__ import annotations

import math
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from corefsample._arrays import Floats, Ints
from corefsample.tagging import _batch_kernels, _chain_kernels

# Bounds that are closer than this, for a chain and for each of its tokens, differ by rounding only.
_ROUNDING, _ROUNDING_PER_TOKEN = 1e-12, 4e-15
_LINE = 64  # bytes of a line of the cache


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


class PassArrays(NamedTuple):
    """What the passes fill for n tokens, float64, with padding up to w.

    Attributes
    ----------
    emissions
        (n, w): exponentials of unary scores.
    shifts
        (n,): what was subtracted from each row of scores.
    forward
        (n, w): forward weights, scaled to a maximum of 1 in each row.
    scales
        (n,): maximum of each row of `forward` before it was scaled.
    backward
        (n, w): backward weights, scaled to a maximum of 1 in each row.
    """

    emissions: Floats
    shifts: Floats
    forward: Floats
    scales: Floats
    backward: Floats

    @classmethod
    def empty(cls, n: int, n_tags: int) -> Self:
        """Arrays for n tokens, not filled."""
        w = _padded(n_tags)
        return cls(_lines(n, w), np.empty(n), _lines(n, w), np.empty(n), _lines(n, w))

    def rows(self, start: int, stop: int) -> PassArrays:
        """Return the arrays of the tokens from `start` to `stop` - 1, as views."""
        return PassArrays(*(each[start:stop] for each in self))


def passes(
    indptr: Ints, unary: Floats, transitions: Transitions, arrays: PassArrays, probs: Floats
) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """Fill arrays and marginals of chains with one matrix; chain c has rows indptr[c] to indptr[c + 1] of `unary`.

    Returns
    -------
    apart, agree
        (n_chains,): how far the bounds of the two passes are apart, infinite if that cannot be measured, and whether
        they differ by rounding only. Where they do not, the rows of a chain are not valid.
    """
    fill_emissions(unary, arrays)
    lengths = np.diff(indptr)
    order = np.argsort(-lengths, kind="stable")
    apart = np.empty(len(lengths))
    emissions, _, forward, scales, backward = arrays
    _, lower, transposed, _ = transitions
    _batch_kernels.both_passes(indptr, order, emissions, lower, transposed, forward, scales, backward, probs, apart)
    return apart, apart <= largest_distance(lengths)


def largest_distance(n: npt.ArrayLike) -> Floats:
    """Distance of the bounds of a chain of n tokens up to which they differ by rounding only."""
    return _ROUNDING + _ROUNDING_PER_TOKEN * np.asarray(n)


def fill_emissions(unary: Floats, arrays: PassArrays) -> None:
    """Fill the exponentials of unary scores and their shifts."""
    _chain_kernels.shift_rows(unary, 1, arrays.shifts, arrays.emissions)
    np.exp(arrays.emissions, out=arrays.emissions)


def transitions_of(matrices: Floats) -> Transitions:
    """Exponentials of pairwise scores (m, n_tags, n_tags)."""
    m, n_tags, _ = matrices.shape
    w = _padded(n_tags)
    shifts, weights = np.empty(m), _lines(m, n_tags, w)
    lower, transposed = _lines(m, w, w), _lines(m, w, w)
    _chain_kernels.shift_rows(matrices.reshape(-1, n_tags), n_tags, shifts, weights.reshape(m * n_tags, w))
    np.exp(weights, out=weights)
    _chain_kernels.split_transitions(weights, lower, transposed)
    return Transitions(weights, lower, transposed, shifts)


def _padded(n_tags: int) -> int:
    return -(-n_tags // _chain_kernels.LANES) * _chain_kernels.LANES


def _lines(*shape: int) -> Floats:
    """Return an array, not filled, whose rows begin with a line of the cache if they are a multiple of it long."""
    cells = np.empty(math.prod(shape) + _LINE // 8)
    first = -cells.ctypes.data % _LINE // 8
    return cells[first : first + math.prod(shape)].reshape(shape)
