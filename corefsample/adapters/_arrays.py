"""Scores as other systems hold them (torch, cupy, tensorflow, lists) as float64 and int64 arrays, checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample.errors import ParameterError

__all__ = ["MASKED", "Floats", "Ints", "float_matrix", "given_heads", "int_matrix", "int_vector", "is_masked"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# A score at or below this is a mask: -inf, a dtype's minimum, -1e9, or a true score to which -10,000 was added.
# exp(-5,000) is 0 in float64, so no candidate with a probability is lost.
MASKED = -5000.0


def is_masked(scores: Floats) -> npt.NDArray[np.bool_]:
    """Where scores are masks rather than scores."""
    return scores <= MASKED


def _host_array(value: Any) -> npt.NDArray[Any]:
    """A NumPy array of what may lie on a device, hold gradients, or be of a type that NumPy does not know."""
    if hasattr(value, "detach"):  # torch
        value = value.detach().cpu()
        if "bfloat16" in str(value.dtype):
            value = value.float()
    elif type(value).__module__.split(".")[0] == "cupy":
        value = value.get()
    return np.asarray(value)


def _array(name: str, value: Any, kinds: str, words: str, n_dimensions: int) -> npt.NDArray[Any]:
    try:
        array = _host_array(value)
    except (TypeError, ValueError):
        raise ParameterError(f"{name} must be an array of {words}, got {_checks.shown(value)}") from None
    if array.ndim == n_dimensions + 1 and array.shape[0] == 1:  # a batch of one document
        array = array[0]
    if array.ndim != n_dimensions:
        raise ParameterError(
            f"{name} must be of one document, in {n_dimensions} dimension{'s' * (n_dimensions > 1)}, "
            f"got shape {array.shape}"
        )
    if array.dtype.kind not in kinds and array.size:
        raise ParameterError(f"{name} must hold {words}, got {array.dtype}")
    return array


def float_matrix(name: str, value: Any) -> Floats:
    """Scores of one document as float64, two dimensions; NaN and +inf are refused, masks stay."""
    scores = _array(name, value, "fiu", "numbers", 2).astype(np.float64)
    bad = np.argwhere(np.isnan(scores) | (scores == np.inf))
    if bad.size:
        i, j = bad[0]
        raise ParameterError(f"{name}[{i}][{j}] must be finite or a mask, got {scores[i, j]}")
    return scores


def int_matrix(name: str, value: Any, n_columns: int | None = None) -> Ints:
    """Indices of one document as int64, two dimensions."""
    if isinstance(value, Sequence) and not len(value):
        return np.zeros((0, n_columns or 0), np.int64)
    indices = _array(name, value, "iu", "whole numbers", 2).astype(np.int64)
    if n_columns is not None and indices.shape[1] != n_columns:
        raise ParameterError(f"{name} must have {n_columns} columns, got shape {indices.shape}")
    return indices


def int_vector(name: str, value: Any) -> Ints:
    """Whole numbers in one dimension as int64."""
    return _checks.integers(name, _host_array(value))


def given_heads(heads: Any, n_rows: int, row: str) -> Ints | None:
    """Head tokens that a user gives, one a row, or None where there are none."""
    if heads is None:
        return None
    array = int_vector("heads", heads)
    if array.shape[0] != n_rows:
        raise ParameterError(f"heads must have one token a {row} ({n_rows}), got {array.shape[0]}")
    return array
