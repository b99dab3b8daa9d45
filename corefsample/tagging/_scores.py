"""Validation of the scores of chains, one at a time or in batches of sentences."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from corefsample._arrays import Floats
from corefsample.errors import ParameterError
from corefsample.tagging import _chain_kernels


def valid_scores(name: str, values: npt.ArrayLike, dimensions: tuple[int, ...]) -> Floats:
    """Return valid scores as a contiguous float64 array that nobody else can change, or raise."""
    given = np.asarray(values)
    if given.ndim not in dimensions or (given.size and given.dtype.kind not in "iuf"):
        rule = f"must be numbers in {' or '.join(map(str, dimensions))} dimensions"
        described = f"{given.ndim} dimension{'s' * (given.ndim != 1)} of {given.dtype}"
        raise ParameterError(f"{rule}, got {described}", parameter=name)
    kept = given.dtype == np.float64 and given.flags.c_contiguous and not given.flags.writeable
    scores: Floats = given if kept else np.array(given, np.float64, order="C")
    if _chain_kernels.count_invalid(scores.reshape(-1)):
        with np.errstate(invalid="ignore"):
            valid = (np.abs(scores) <= _chain_kernels.LARGEST_SCORE) | (scores == -np.inf)
        place = np.argwhere(~valid)[0].tolist()
        rule = f"must be -inf or a number of at most {_chain_kernels.LARGEST_SCORE:g} in size"
        raise ParameterError(f"{rule}, got {float(scores[tuple(place)])}", parameter=f"{name}{place}")
    return scores


def sentence_arrays(unaries: Sequence[npt.ArrayLike], pairwise: Floats) -> list[npt.NDArray[np.number]]:
    """Return the scores of each sentence as an array of numbers that fits the matrix of transitions, or raise.

    The numbers themselves are validated by `joined_scores`.
    """
    arrays = [np.asarray(each) for each in unaries]
    n_tags = pairwise.shape[1]
    square = pairwise.shape[0] == n_tags > 0
    for c, each in enumerate(arrays):
        if each.ndim != 2 or each.shape[0] == 0 or each.shape[1] != n_tags or not square:
            rule = f"must have the shape (n, {n_tags}), at least one token and tag, and pairwise be square"
            got = f"got the shape {each.shape}, and {pairwise.shape} of pairwise"
            raise ParameterError(f"{rule}, {got}", parameter=f"unaries[{c}]")
        if each.dtype.kind not in "iuf":
            valid_scores(f"unaries[{c}]", each, (2,))
    return arrays


def joined_scores(arrays: Sequence[npt.NDArray[np.number]], start: int, stop: int, rows: Floats) -> None:
    """Fill rows (tokens of these sentences, n_tags) with the scores of the sentences from `start` to `stop` - 1.

    Raise if a score is invalid, and name its sentence.
    """
    np.concatenate(arrays[start:stop], out=rows)
    if _chain_kernels.count_invalid(rows.reshape(-1)):
        for c in range(start, stop):
            valid_scores(f"unaries[{c}]", arrays[c], (2,))
