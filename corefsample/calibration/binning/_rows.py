"""Checks of prediction-label pairs, and of the ids of their blocks and groups."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample.errors import ParameterError

__all__ = [
    "coded",
    "in_order",
    "labels",
    "n_levels",
    "numbers",
    "refuse_levels",
    "refuse_pairs",
    "require_length",
    "require_levels",
    "require_pairs",
    "whole_numbers",
]

Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]
Labels = npt.NDArray[Any]

LEVEL_TOLERANCE = 1e-9  # how far q may lie from k / n_samples
MAX_LEVELS = 10_000_000  # so that levels stay far apart against that tolerance


def numbers(name: str, values: npt.ArrayLike) -> Floats:
    """Contiguous float64 array of one dimension, copied only where it must be; or refuse what is not numbers."""
    array = np.asarray(values)
    if array.ndim != 1 or array.dtype.kind not in "iuf":
        raise ParameterError(f"{name} must be numbers in one dimension, got {array.ndim} of {array.dtype}")
    return np.ascontiguousarray(array, np.float64)


def labels(name: str, values: npt.ArrayLike) -> Labels:
    """Contiguous labels of a type that kernels read (uint8, int64, float64), copied only where they must be."""
    array = np.asarray(values)
    if array.ndim != 1 or array.dtype.kind not in "biuf":
        raise ParameterError(f"{name} must be labels 0 or 1 in one dimension, got {array.ndim} of {array.dtype}")
    if array.dtype.kind == "b":
        return np.ascontiguousarray(array).view(np.uint8)
    if array.dtype in (np.uint8, np.int64):
        return np.ascontiguousarray(array)
    if array.dtype.kind == "u" and array.dtype.itemsize == 8:
        return np.ascontiguousarray(np.minimum(array, 2), np.int64)
    return np.ascontiguousarray(array, np.float64 if array.dtype.kind == "f" else np.int64)


def require_pairs(q: npt.ArrayLike, y: npt.ArrayLike) -> tuple[Floats, Labels]:
    """Return predictions and labels as arrays for kernels; their values are looked at by the kernel that reads them."""
    predictions, answers = numbers("q", q), labels("y", y)
    _require_rows(predictions, answers)
    return predictions, answers


def whole_numbers(q: npt.ArrayLike) -> bool:
    """Whether predictions are given as whole numbers of samples."""
    return np.asarray(q).dtype.kind in "iu"


def require_levels(k: npt.ArrayLike, y: npt.ArrayLike) -> tuple[Ints, Labels]:
    """Do as `require_pairs` for whole numbers of samples."""
    array = np.asarray(k)
    if array.ndim != 1:
        raise ParameterError(f"q must be numbers in one dimension, got {array.ndim} of {array.dtype}")
    levels, answers = np.ascontiguousarray(array, np.int64), labels("y", y)
    _require_rows(levels, answers)
    return levels, answers


def _require_rows(predictions: npt.NDArray[Any], answers: Labels) -> None:
    require_length("y", answers, predictions)
    if predictions.shape[0] == 0:
        raise ParameterError("q must hold at least one prediction, got none")


def require_length(name: str, array: npt.NDArray[Any], predictions: npt.NDArray[Any]) -> None:
    """Refuse an array that is not as long as the predictions."""
    if array.shape[0] != predictions.shape[0]:
        raise ParameterError(f"{name} must be as many as q ({predictions.shape[0]}), got {array.shape[0]}")


def refuse_pairs(q: Floats, y: Labels) -> None:
    """Name the first prediction or label that breaks its rule."""
    _refuse("q", q, ~((q >= 0.0) & (q <= 1.0)), "lie in [0, 1]")
    _refuse("y", y, ~((y == 0) | (y == 1)), "be 0 or 1")


def refuse_levels(q: Floats | Ints, y: Labels, n_samples: int) -> None:
    """Name the first level or label that breaks its rule."""
    if q.dtype == np.int64:
        _refuse("q", q, (q < 0) | (q > n_samples), f"lie in 0 to n_samples ({n_samples})")
        q = q / n_samples
    refuse_pairs(np.asarray(q, np.float64), y)
    away = np.abs(q - np.rint(q * n_samples) / n_samples) > LEVEL_TOLERANCE
    _refuse("q", q, away, f"be a whole multiple of 1/n_samples (1/{n_samples})")


def _refuse(name: str, values: npt.NDArray[Any], bad: npt.NDArray[np.bool_], rule: str) -> None:
    places = np.flatnonzero(bad)
    if places.size:
        raise ParameterError(f"{name}[{places[0]}] must {rule}, got {values[places[0]]}")


def coded(name: str, ids: npt.ArrayLike, like: npt.NDArray[Any]) -> tuple[Codes, tuple[Any, ...]]:
    """Number ids in the order of their names: int32 codes as many as `like`, and the names, ascending."""
    import pandas as pd

    array = np.asarray(ids)
    if array.ndim != 1:
        raise ParameterError(f"{name} must be ids in one dimension, got {array.ndim} dimensions")
    require_length(name, array, like)
    seen, distinct = pd.factorize(array)
    missing = np.flatnonzero(seen < 0)
    if missing.size:
        raise ParameterError(f"{name}[{missing[0]}] must be an id, got {_checks.shown(array[missing[0]])}")
    found = distinct.tolist()
    names = in_order(name, found)
    rank = {each: place for place, each in enumerate(names)}
    return np.array([rank[each] for each in found], np.int32)[seen], names


def in_order(name: str, ids: Iterable[Any]) -> tuple[Any, ...]:
    """Ids in ascending order, or refuse those that have none."""
    found = list(ids)
    try:
        return tuple(sorted(found))
    except TypeError:
        kinds = sorted({type(each).__name__ for each in found})
        raise ParameterError(f"{name} must be ids of one kind, got {', '.join(kinds)}") from None


def n_levels(value: object) -> int:
    """Return `n_samples`, or refuse it."""
    number = _checks.whole("n_samples", value, 1)
    _checks.at_most("n_samples", number, MAX_LEVELS)
    return number
