"""Scores or probabilities of all pairs of mentions in one matrix, and the location of NEW in it."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample._arrays import Bools, Floats, Ints, Ints32
from corefsample.errors import ParameterError, shown

NewPlace = Literal["diagonal", "first", "last"]
NEW_PLACES: tuple[NewPlace, ...] = ("diagonal", "first", "last")

# A score at or below this is a mask: -inf, a dtype's minimum, -1e9, or a true score to which -10,000 was added.
# exp(-5,000) is 0 in float64, so no candidate with a probability is lost.
_MASKED = -5000.0
# If a system has pruned NEW, the score of NEW becomes the score of the best candidate minus this number, so that its
# probability, at most exp(-100) = 4e-44, is lost in rounding.
_PRUNED_NEW = 100.0
_ROUNDING = 1e-4  # largest rounding error of the sum of a row of float32 or float16 probabilities


def is_masked(scores: Floats) -> Bools:
    """Whether each value is a mask rather than a score."""
    return scores <= _MASKED


def relative_to_new(name: str, scores: Floats, new: Floats, is_scored: Bools) -> Floats:
    """Scores minus the score of NEW; a masked NEW gets a score far below the row's best candidate."""
    best = np.where(is_scored, scores, -np.inf).max(axis=1, initial=-np.inf)
    no_new = is_masked(new)
    empty = np.flatnonzero(no_new & ~is_scored.any(axis=1))
    if empty.size:
        raise ParameterError(f"{name}[{empty[0]}] must have a score for NEW or a mention before it, got masks only")
    new_scores = np.where(no_new, best - _PRUNED_NEW, new)
    return np.where(is_scored, scores, 0.0) - new_scores[:, None]


def dense_rows(name: str, scores: npt.ArrayLike, new: npt.ArrayLike | NewPlace) -> tuple[Ints, Ints32, Floats]:
    """Bounds of the rows, candidates and relative scores of a matrix; see `AntecedentDistribution.from_dense`."""
    matrix, new_scores = split(name, _matrix(name, scores), new)
    n = matrix.shape[0]
    _checks.require_all(name, matrix, matrix < np.inf, "be finite or a mask")
    new_scores[:1][is_masked(new_scores[:1])] = 0.0  # the first mention has no antecedent
    is_scored = np.tri(n, k=-1, dtype=bool) & ~is_masked(matrix)
    relative = relative_to_new(name, matrix, new_scores, is_scored)
    indptr = np.append(0, np.cumsum(is_scored.sum(axis=1))).astype(np.int64)
    return indptr, np.nonzero(is_scored)[1].astype(np.int32), relative[is_scored]


def log_probabilities(
    name: str, probabilities: npt.ArrayLike, new: npt.ArrayLike | NewPlace | None
) -> tuple[Floats, Floats]:
    """Logarithms of the probabilities of antecedents, a square matrix, and of NEW; raises unless rows sum to 1."""
    full_matrix = _matrix(name, probabilities)
    matrix, new_probs = split(name, full_matrix, 0.0 if new is None else new)
    links = np.tril(matrix, -1)
    _checks.require_all(name, links, (links >= 0.0) & (links <= 1.0 + _ROUNDING), "be a probability")
    sums = links.sum(axis=1) + new_probs
    invalid_rows = np.flatnonzero((sums > 1.0 + _ROUNDING) | (new is not None and np.abs(sums - 1.0) > _ROUNDING))
    if invalid_rows.size:
        rule = "must sum to 1 with NEW" if new is not None else "must sum to at most 1"
        row = invalid_rows[0]
        raise ParameterError(f"{name}[{row}] {rule} over the mentions before it, got {sums[row]:.6g}")
    new_probs = np.maximum(1.0 - sums, 0.0) if new is None else new_probs
    with np.errstate(divide="ignore"):
        return np.log(links), np.log(new_probs)


def split(name: str, matrix: Floats, new: npt.ArrayLike | NewPlace) -> tuple[Floats, Floats]:
    """Split a matrix into the square of pairs of mentions and the values of NEW by mention."""
    n, n_columns = matrix.shape
    location = _checks.choice("new", new, NEW_PLACES) if isinstance(new, str) else "separate"
    has_column = location in ("first", "last")
    if not matrix.size:
        return np.zeros((0, 0)), np.zeros(0)
    if n_columns != n + has_column:
        rule = f"must have {'one column more than' if has_column else 'as many columns as'} rows"
        hint = "new='first' or new='last' says where the column of NEW is" if n_columns == n + 1 else None
        raise ParameterError(f"{rule}, got shape {matrix.shape}", parameter=name, hint=hint)
    if has_column:
        column = 0 if location == "first" else n
        return np.delete(matrix, column, axis=1), matrix[:, column].copy()
    if location == "diagonal":
        return matrix, np.diagonal(matrix).copy()
    values = np.asarray(new, np.float64)
    if values.ndim > 1 or (values.ndim and values.shape[0] != n):
        raise ParameterError(f"must be one number, or one per mention ({n}), got shape {values.shape}", parameter="new")
    if np.isnan(values).any() or np.isposinf(values).any():
        raise ParameterError(f"must be finite or a mask, got {shown(values.tolist())}", parameter="new")
    return matrix, np.broadcast_to(values, n).copy()


def _matrix(name: str, values: npt.ArrayLike) -> Floats:
    array = _checks.regular_array(name, values)
    if array.size == 0:
        return np.zeros((0, 0))
    if array.ndim != 2 or array.dtype.kind not in "iuf":
        raise ParameterError(f"must be numbers in (n, n), got shape {array.shape} of {array.dtype}", parameter=name)
    return array.astype(np.float64)
