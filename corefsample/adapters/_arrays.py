"""Scores in the containers of other systems (torch, cupy, tensorflow, lists) as checked float64 and int64 arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample._arrays import Floats, Ints
from corefsample.errors import ParameterError

SYSTEMS_HINT = "docs/adapters.md lists the systems whose scores can be converted, and what their adapters take"


def _host_array(value: Any) -> npt.NDArray[Any]:
    """NumPy array of a value that may lie on a device, have gradients, or be of a type that NumPy does not know."""
    if hasattr(value, "detach"):  # torch
        value = value.detach().cpu()
        if "bfloat16" in str(value.dtype):
            value = value.float()
    elif type(value).__module__.split(".")[0] == "cupy":
        value = value.get()
    return np.asarray(value)


def _array(name: str, value: Any, kinds: str, content: str) -> npt.NDArray[Any]:
    try:
        array = _host_array(value)
    except (TypeError, ValueError):
        rule = f"must be an array of {content}"
        raise ParameterError(f"{rule}, got {_checks.shown(value)}", parameter=name, hint=SYSTEMS_HINT) from None
    if array.ndim == 3 and array.shape[0] == 1:  # a batch of one document
        array = array[0]
    if array.ndim != 2:
        raise ParameterError(f"must be of one document, in 2 dimensions, got shape {array.shape}", parameter=name)
    if array.dtype.kind not in kinds and array.size:
        raise ParameterError(f"must contain {content}, got {array.dtype}", parameter=name)
    return array


def float_matrix(name: str, value: Any) -> Floats:
    """Scores of one document as float64, in two dimensions; raises for NaN and +inf, keeps masks."""
    scores = _array(name, value, "fiu", "numbers").astype(np.float64)
    _checks.each(name, scores, scores < np.inf, "be finite or a mask")
    return scores


def int_matrix(name: str, value: Any, n_columns: int | None = None) -> Ints:
    """Indices of one document as int64, two dimensions."""
    if isinstance(value, Sequence) and not len(value):
        return np.zeros((0, n_columns or 0), np.int64)
    indices = _array(name, value, "iu", "whole numbers").astype(np.int64)
    if n_columns is not None and indices.shape[1] != n_columns:
        raise ParameterError(f"must have {n_columns} columns, got shape {indices.shape}", parameter=name)
    return indices


def int_vector(name: str, value: Any) -> Ints:
    """Whole numbers in one dimension as int64."""
    return _checks.integers(name, _host_array(value))


def head_array(heads: Any, n_rows: int, row: str) -> Ints | None:
    """Head tokens passed by a user, one per row, or None."""
    if heads is None:
        return None
    array = int_vector("heads", heads)
    if array.shape[0] != n_rows:
        raise ParameterError(f"must have one token per {row} ({n_rows}), got {array.shape[0]}", parameter="heads")
    return array


def row_bounds(rows: Ints, n_rows: int) -> Ints:
    """CSR bounds, int64 (n_rows + 1,), of entries whose rows ascend."""
    return np.concatenate(([0], np.cumsum(np.bincount(rows, minlength=n_rows))))
