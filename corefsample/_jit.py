"""Compilation of all kernels: without Python objects and global lock, cached on disk if possible."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, cast

import numba

P = ParamSpec("P")
R = TypeVar("R")

# error_model="numpy": a float division by zero gives inf, without a branch that would prevent vectorised loops.
_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}


def _compiled(function: Callable[P, R], options: dict[str, Any]) -> Callable[P, R]:
    try:
        compiled = numba.njit(cache=True, **options)(function)
    except RuntimeError:  # no writable folder: each process compiles again
        compiled = numba.njit(cache=False, **options)(function)
    return cast("Callable[P, R]", compiled)


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile `function` at its first call, and cache the machine code on disk if possible."""
    return _compiled(function, _OPTIONS)


def kernel_without_nan(function: Callable[P, R]) -> Callable[P, R]:
    """Compile as `kernel` does, assuming that NaN and the sign of zero do not matter: a maximum then vectorises."""
    return _compiled(function, {**_OPTIONS, "fastmath": {"nnan", "nsz"}})


def inlined(function: Callable[P, R]) -> Callable[P, R]:
    """Compile `function` into the kernels that call it."""
    return cast("Callable[P, R]", numba.njit(inline="always", **_OPTIONS)(function))
