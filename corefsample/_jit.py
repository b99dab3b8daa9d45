"""How every kernel is compiled: no Python objects, no global lock, cached on disk where a cache can be written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, cast

import numba

P = ParamSpec("P")
R = TypeVar("R")

# error_model="numpy": a float division by zero gives inf instead of a branch to raise, which lets loops vectorise.
_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}


def _compiled(function: Callable[P, R], options: dict[str, Any]) -> Callable[P, R]:
    try:
        compiled = numba.njit(cache=True, **options)(function)
    except RuntimeError:  # numba found no writable folder: compile anew in each process
        compiled = numba.njit(cache=False, **options)(function)
    return cast("Callable[P, R]", compiled)


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile `function` at its first call, and keep the machine code on disk if there is a place for it."""
    return _compiled(function, _OPTIONS)


def kernel_without_nan(function: Callable[P, R]) -> Callable[P, R]:
    """Compile as `kernel` does, told that no NaN and no sign of zero matters: a maximum then vectorises."""
    return _compiled(function, {**_OPTIONS, "fastmath": {"nnan", "nsz"}})


def inlined(function: Callable[P, R]) -> Callable[P, R]:
    """Compile `function` into the kernels that call it."""
    return cast("Callable[P, R]", numba.njit(inline="always", **_OPTIONS)(function))
