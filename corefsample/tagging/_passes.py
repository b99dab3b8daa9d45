"""Forward and backward weights of chains: by exponentials, in batches, where those are exact; else by logarithms.

The recursions on logarithms also serve chains with a matrix of transitions for each pair of neighbours. Scores are the
caller's own: `unary` (n, n_tags) and `pairwise` (m, n_tags, n_tags), a matrix for all places (1) or for each place
between tokens (n - 1). Rows of forward and backward weights are logarithms with a maximum of 0.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample._arrays import Floats, Ints, Ints32
from corefsample.errors import ParameterError
from corefsample.tagging import _chain_kernels

# Bounds that are closer than this, for a chain and for each of its tokens, differ by rounding only.
_ROUNDING, _ROUNDING_PER_TOKEN = 1e-12, 4e-15
_BATCH_TOKENS = 768  # whose arrays stay in the processor's cache
_BLOCK_CELLS = 2**18  # of matrices of transitions that are computed at a time


class Transitions(NamedTuple):
    """Exponentials of a matrix of transitions, float64, with padding up to w.

    Attributes
    ----------
    weights
        (n_tags, w): weight of a tag and the next one; values that would underflow are rounded up.
    lower
        (w, w): the same weights, but values that would underflow are 0.
    transposed
        (w, w): `weights` with the next tag first.
    shift
        Number that was subtracted from the scores.
    """

    weights: Floats
    lower: Floats
    transposed: Floats
    shift: float

    @classmethod
    def of(cls, scores: Floats) -> Self:
        """Exponentials of pairwise scores (n_tags, n_tags)."""
        n_tags = len(scores)
        w = _padded(n_tags)
        shift, weights, lower, transposed = np.empty(1), np.empty((n_tags, w)), np.empty((w, w)), np.empty((w, w))
        _chain_kernels.shift_rows(scores, n_tags, shift, weights)
        np.exp(weights, out=weights)
        _chain_kernels.split_transitions(weights, lower, transposed)
        return cls(weights, lower, transposed, float(shift[0]))


class PassArrays(NamedTuple):
    """Arrays that the passes fill for n tokens, float64, with padding up to w; logarithms have no padding.

    Attributes
    ----------
    emissions
        (n, w): exponentials of unary scores.
    shifts
        (n,): number that was subtracted from each row of scores.
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
        return cls(np.empty((n, w)), np.empty(n), np.empty((n, w)), np.empty(n), np.empty((n, w)))


@dataclass(frozen=True, slots=True, eq=False)
class Messages:
    """Both passes of one chain.

    Attributes
    ----------
    probs
        float64 (n, n_tags), read-only: marginals of the tags of each token.
    arrays
        Arrays that the passes filled: weights, or logarithms of weights if there are no `transitions`.
    transitions
        Transitions of all places, or None.
    """

    probs: Floats
    arrays: PassArrays
    transitions: Transitions | None

    def __post_init__(self) -> None:
        self.probs.flags.writeable = False

    @property
    def log_partition(self) -> float:
        """Log of the weight of all sequences, by an exact sum."""
        _, shifts, forward, scales, _ = self.arrays
        if self.transitions is None:
            return math.fsum((*scales.tolist(), math.log(np.exp(forward[-1]).sum())))
        pair_shifts = repeat(self.transitions.shift, len(shifts) - 1)
        return math.fsum((*shifts.tolist(), *pair_shifts, *np.log(scales).tolist(), math.log(forward[-1].sum())))

    def fill_pairs(self, unary: Floats, pairwise: Floats, first: int, probs: Floats) -> None:
        """Fill the pair marginals of the tokens from `first` on; `pairwise` is (m, n_tags, n_tags)."""
        emissions, _, forward, scales, backward = self.arrays
        if self.transitions is not None:
            _chain_kernels.pair_marginals(self.transitions.weights, first, emissions, forward, backward, scales, probs)
            return
        stop = first + len(probs)
        np.add(forward[first:stop, :, None], _at_places(pairwise, first, stop), out=probs)
        probs += (unary[first + 1 : stop + 1] + backward[first + 1 : stop + 1])[:, None]
        normalised(probs, (1, 2))

    def sample(self, pairwise: Floats, key: np.uint64, first: int, tags: Ints32) -> None:
        """Fill tags (n, n_samples) with samples."""
        n, n_tags = self.probs.shape
        forward = self.arrays.forward
        if self.transitions is not None:
            lower = self.transitions.lower[None]
            _chain_kernels.sample_tags(n_tags, lower, 0, n - 1, forward, key, first, tags)
            return
        weights = np.ones((n, n_tags))  # of a tag given the next one, `conditional` has all of it
        weights[-1] = np.exp(forward[-1])
        for start, stop in reversed(blocks(n - 1, n_tags) or [(0, 0)]):
            conditional = forward[start:stop, :, None] + _at_places(pairwise, start, stop)
            largest = conditional.max(axis=1, keepdims=True)
            conditional = np.exp(conditional - np.where(largest > -np.inf, largest, 0.0))
            _chain_kernels.sample_tags(n_tags, conditional, start, stop, weights, key, first, tags)


def messages_by_logs(unary: Floats, pairwise: Floats, location: str | None = None) -> Messages:
    """Messages as logarithms, for scores of any size; `pairwise` is (m, n_tags, n_tags).

    Raises
    ------
    ParameterError
        If no sequence is allowed, at `location`.
    """
    forward, scales = log_forward(unary, pairwise)
    unreached = np.flatnonzero(scales == -np.inf)
    if unreached.size:
        rule = f"must allow a tag sequence, got none that reaches token {unreached[0]}"
        raise ParameterError(rule, parameter="scores", place=location)
    backward, _ = log_backward(unary, pairwise)
    arrays = PassArrays(unary, np.zeros(len(unary)), forward, scales, backward)
    return Messages(normalised(forward + backward, 1), arrays, None)


class Batch(NamedTuple):
    """Both passes of some sentences, whose rows follow each other; sentence c has rows bounds[c] to bounds[c + 1].

    Where scores are too far apart for exponentials, `by_logs` has the messages of the sentence instead.
    """

    bounds: list[int]
    rows: Floats
    arrays: PassArrays
    probs: Floats
    by_logs: dict[int, Messages]


def passes(sentences: Sequence[npt.NDArray[np.number]], pairwise: Floats, transitions: Transitions) -> Iterator[Batch]:
    """Both passes of sentences with one matrix of transitions, batch by batch.

    Batches share their arrays: those of the batch before, except its marginals, are overwritten.
    """
    n_tags = len(pairwise)
    lengths = [len(each) for each in sentences]
    n_most = min(_BATCH_TOKENS + max(lengths, default=0), sum(lengths))
    scores, work = np.empty((n_most, n_tags)), PassArrays.empty(n_most, n_tags)
    for start, stop in _batches(lengths):
        bounds = np.cumsum([0, *lengths[start:stop]])
        n = int(bounds[-1])
        rows = scores[:n].view()
        joined_scores(sentences, start, stop, rows)
        rows.flags.writeable = False
        arrays = PassArrays(*(each[:n] for each in work))
        yield passes_of_rows(bounds, rows, pairwise, transitions, arrays, first=start)


def passes_of_rows(
    bounds: Ints,
    rows: Floats,
    pairwise: Floats,
    transitions: Transitions,
    arrays: PassArrays,
    *,
    first: int | None = None,
) -> Batch:
    """Both passes of chains whose scores are rows bounds[c] to bounds[c + 1] of an array.

    Errors name sentence `first` + c, if there is a `first`.
    """
    emissions, shifts, forward, scales, backward = arrays
    probs, lengths = np.empty(rows.shape), np.diff(bounds)
    _chain_kernels.shift_rows(rows, 1, shifts, emissions)
    np.exp(emissions, out=emissions)
    order, apart = np.argsort(-lengths, kind="stable"), np.empty(len(lengths))
    _, lower, transposed, _ = transitions
    _chain_kernels.both_passes(bounds, order, emissions, lower, transposed, forward, scales, backward, probs, apart)
    by_logs, ends = {}, bounds.tolist()
    for c in np.flatnonzero(~(apart <= _ROUNDING + _ROUNDING_PER_TOKEN * lengths)).tolist():
        a, b = ends[c], ends[c + 1]
        sentence = None if first is None else f"unaries[{first + c}]"
        by_logs[c] = messages_by_logs(rows[a:b], pairwise[None], sentence)
        probs[a:b] = by_logs[c].probs
    probs.flags.writeable = False
    return Batch(ends, rows, arrays, probs, by_logs)


def _batches(lengths: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Runs of sentences, (start, stop): the shortest ones that have the tokens of a batch, except the last."""
    start, total = 0, 0
    for c, length in enumerate(lengths):
        total += length
        if total >= _BATCH_TOKENS or c == len(lengths) - 1:
            yield start, c + 1
            start, total = c + 1, 0


def blocks(n_places: int, n_tags: int, size: int | None = None) -> list[tuple[int, int]]:
    """Blocks of tokens whose matrices are computed together: (start, stop); by default their matrices take 2 MiB."""
    step = size or max(_BLOCK_CELLS // n_tags**2, 1)
    return [(start, min(start + step, n_places)) for start in range(0, n_places, step)]


def _at_places(pairwise: Floats, start: int, stop: int) -> Floats:
    """Matrices of the tokens from `start` to `stop` - 1, from one matrix for all tokens or one for each token."""
    return pairwise if len(pairwise) == 1 else pairwise[start:stop]


def _padded(n_tags: int) -> int:
    return -(-n_tags // _chain_kernels.LANES) * _chain_kernels.LANES


def valid_scores(name: str, values: npt.ArrayLike, dimensions: tuple[int, ...]) -> Floats:
    """Return scores as a contiguous, read-only float64 array; raises ParameterError if they are invalid."""
    array = _checks.regular_array(name, values)
    if array.ndim not in dimensions or (array.size and array.dtype.kind not in "iuf"):
        rule = f"must be numbers in {' or '.join(map(str, dimensions))} dimensions"
        described = f"{array.ndim} dimension{'s' * (array.ndim != 1)} of {array.dtype}"
        raise ParameterError(f"{rule}, got {described}", parameter=name)
    is_usable = array.dtype == np.float64 and array.flags.c_contiguous and not array.flags.writeable
    scores: Floats = array if is_usable else np.array(array, np.float64, order="C")
    if _chain_kernels.count_invalid(scores.reshape(-1)):
        with np.errstate(invalid="ignore"):
            valid = (np.abs(scores) <= _chain_kernels.LARGEST_SCORE) | (scores == -np.inf)
        index = np.argwhere(~valid)[0].tolist()
        rule = f"must be -inf or a number of at most {_chain_kernels.LARGEST_SCORE:g} in size"
        raise ParameterError(f"{rule}, got {float(scores[tuple(index)])}", parameter=f"{name}{index}")
    scores.flags.writeable = False
    return scores


def sentence_arrays(unaries: Sequence[npt.ArrayLike], pairwise: Floats) -> list[npt.NDArray[np.number]]:
    """Return the scores of each sentence as an array of numbers that fits the matrix of transitions, or raise.

    The numbers themselves are validated by `joined_scores`.
    """
    arrays = [np.asarray(scores) for scores in unaries]
    n_tags = pairwise.shape[1]
    square = pairwise.shape[0] == n_tags > 0
    for c, scores in enumerate(arrays):
        if scores.ndim != 2 or scores.shape[0] == 0 or scores.shape[1] != n_tags or not square:
            rule = f"must have the shape (n, {n_tags}), at least one token and tag, and pairwise be square"
            got = f"got the shape {scores.shape}, and {pairwise.shape} of pairwise"
            raise ParameterError(f"{rule}, {got}", parameter=f"unaries[{c}]")
        if scores.dtype.kind not in "iuf":
            valid_scores(f"unaries[{c}]", scores, (2,))
    return arrays


def joined_scores(arrays: Sequence[npt.NDArray[np.number]], start: int, stop: int, rows: Floats) -> None:
    """Fill rows (tokens of these sentences, n_tags) with the scores of the sentences from `start` to `stop` - 1.

    Raise if a score is invalid, and name its sentence.
    """
    np.concatenate(arrays[start:stop], out=rows)
    if _chain_kernels.count_invalid(rows.reshape(-1)):
        for c in range(start, stop):
            valid_scores(f"unaries[{c}]", arrays[c], (2,))


# Recursions of one chain on logarithms, for scores too far apart for their exponentials, and for chains with a matrix
# of transitions for each pair of neighbours. Scores are the caller's own: `unary` (n, n_tags) and `pairwise`
# (m, n_tags, n_tags), a matrix for all places (1) or for each place between tokens (n - 1). Rows of forward and
# backward weights are logarithms with a maximum of 0.
def log_sums(scores: Floats, axis: int) -> Floats:
    """Logarithm of the sums of exponentials along an axis; -inf for a sum of zeros."""
    largest = scores.max(axis=axis, keepdims=True)
    with np.errstate(divide="ignore"):
        sums = np.log(np.exp(scores - np.where(largest > -np.inf, largest, 0.0)).sum(axis=axis))
    return np.asarray(sums + largest.squeeze(axis))


def log_forward(unary: Floats, pairwise: Floats) -> tuple[Floats, Floats]:
    """Forward weights (n, n_tags), and the maximum of each row before it was subtracted: -inf where none is allowed."""
    forward, scales = np.full_like(unary, -np.inf), np.full(len(unary), -np.inf)
    row = unary[0]
    for i in range(len(unary)):
        if i > 0:
            row = unary[i] + log_sums(forward[i - 1][:, None] + pairwise[(i - 1) % len(pairwise)], 0)
        scales[i] = row.max()
        if scales[i] == -np.inf:
            break
        forward[i] = row - scales[i]
    return forward, scales


def log_backward(unary: Floats, pairwise: Floats) -> tuple[Floats, Floats]:
    """Backward weights (n, n_tags), and the maximum of each row before it was subtracted."""
    backward, scales = np.zeros_like(unary), np.zeros(len(unary))
    for i in range(len(unary) - 2, -1, -1):
        row = log_sums(pairwise[i % len(pairwise)] + (unary[i + 1] + backward[i + 1]), 1)
        scales[i] = row.max()
        backward[i] = row - scales[i]
    return backward, scales


def normalised(logs: Floats, axis: int | tuple[int, ...]) -> Floats:
    """Probabilities from their logarithms, which they overwrite; their sum along the axes is 1."""
    logs -= logs.max(axis=axis, keepdims=True)
    np.exp(logs, out=logs)
    logs /= logs.sum(axis=axis, keepdims=True)
    return logs
