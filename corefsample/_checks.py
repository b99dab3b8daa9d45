"""Checks of parameters; each failure is one line of parameter, rule, value."""

from __future__ import annotations

import contextlib
import math
import numbers
from typing import Any

import numpy as np
import numpy.typing as npt

from corefsample.errors import ParameterError

Ints = npt.NDArray[np.int64]

MAX_MENTIONS = np.iinfo(np.int32).max
_SHOWN = 60


def integers(name: str, values: npt.ArrayLike) -> Ints:
    """Return a new one-dimensional int64 array, or refuse what is not whole numbers."""
    array = np.asarray(values)
    if array.size == 0 and array.ndim == 1:
        return np.zeros(0, np.int64)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise ParameterError(f"{name} must be whole numbers in one dimension, got {_described(array)}")
    return array.astype(np.int64)


def floats(name: str, values: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Return a new one-dimensional float64 array, or refuse what is not numbers."""
    array = np.asarray(values)
    if array.size == 0 and array.ndim == 1:
        return np.zeros(0, np.float64)
    if array.ndim != 1 or array.dtype.kind not in "iuf":
        raise ParameterError(f"{name} must be numbers in one dimension, got {_described(array)}")
    return array.astype(np.float64)


def mentions(name: str, values: npt.ArrayLike) -> npt.NDArray[np.int32]:
    """Return a new one-dimensional int32 array of mention indices, or refuse what cannot be one."""
    array = np.asarray(values)
    if array.dtype == np.int32 and array.ndim == 1:
        return array.copy()
    wide = integers(name, array)
    outside = np.flatnonzero((wide < 0) | (wide > MAX_MENTIONS))
    if outside.size:
        raise ParameterError(f"{name} must be mentions, from 0 to {MAX_MENTIONS}, got {wide[outside[0]]}")
    return wide.astype(np.int32)


def integers_32(name: str, values: npt.ArrayLike) -> npt.NDArray[np.int32]:
    """Return a new one-dimensional int32 array, or refuse what does not fit."""
    wide = integers(name, values)
    narrow = wide.astype(np.int32)
    if (wide != narrow).any():
        raise ParameterError(f"{name} must fit into 32 bits, got {wide[wide != narrow][0]}")
    return narrow


def _described(array: npt.NDArray[Any]) -> str:
    return f"{array.ndim} dimension{'s' * (array.ndim != 1)} of {array.dtype}"


def shown(value: object) -> str:
    """Represent a value in one line of at most some 60 characters."""
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def whole(name: str, value: object, at_least: int) -> int:
    """Return `value` as an int, or refuse it."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < at_least:
        raise ParameterError(f"{name} must be a whole number of at least {at_least}, got {value!r}")
    return int(value)


def at_most(name: str, value: int, limit: int) -> None:
    """Refuse a value over its limit."""
    if value > limit:
        raise ParameterError(f"{name} must be at most {limit}, got {value}")


def finite(name: str, value: object) -> float:
    """Return `value` as a finite float, or refuse it."""
    number = float("nan")
    if isinstance(value, numbers.Real) and not isinstance(value, bool):
        with contextlib.suppress(OverflowError):
            number = float(value)
    if not math.isfinite(number):
        raise ParameterError(f"{name} must be a finite number, got {shown(value)}")
    return number


def at_least_zero(name: str, value: object) -> float:
    """Return `value` as a finite float of at least 0, or refuse it."""
    number = finite(name, value)
    if number < 0:
        raise ParameterError(f"{name} must be at least 0, got {value!r}")
    return number


def above_zero(name: str, value: object) -> float:
    """Return `value` as a finite float above 0, or refuse it."""
    number = finite(name, value)
    if number <= 0:
        raise ParameterError(f"{name} must be above 0, got {value!r}")
    return number


def probability(name: str, value: object, *, below_one: bool = False, above_zero: bool = False) -> float:
    """Return `value` as a float in [0, 1], the ends left out where asked, or refuse it."""
    rule = f"{'(' if above_zero else '['}0, 1{')' if below_one else ']'}"
    good = isinstance(value, numbers.Real) and not isinstance(value, bool) and 0.0 <= float(value) <= 1.0
    if not good or (below_one and value == 1) or (above_zero and value == 0):
        raise ParameterError(f"{name} must lie in {rule}, got {value!r}")
    return float(value)  # type: ignore[arg-type]


def seed(value: object) -> int:
    """Return a seed that fits the generator's 64 bits, or refuse it."""
    number = whole("seed", value, 0)
    at_most("seed", number, 2**64 - 1)
    return number


def choice(name: str, value: str, allowed: tuple[str, ...]) -> str:
    """Return `value` if it is one of `allowed`, or refuse it."""
    if value not in allowed:
        raise ParameterError(f"{name} must be one of {', '.join(allowed)}, got {value!r}")
    return value
