"""Compilation of all kernels: without Python objects and global lock, cached on disk if possible."""

# Numba has no types for its caches.
# mypy: disable-error-code="no-untyped-call"

from __future__ import annotations

import hashlib
import os
import sys
import time
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, ParamSpec, TypeVar, cast

import numba
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.registry import cpu_target

from corefsample._compilers import KernelCompiler, PartCompiler, pipeline_options, prepare_to_load
from corefsample._log import logger

P = ParamSpec("P")
R = TypeVar("R")

# error_model="numpy": a float division by zero gives inf, without a branch that would prevent vectorised loops.
# no_cfunc_wrapper: nothing calls kernels from C, and the wrapper takes time to compile.
_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
_FUSED = {"nnan", "nsz", "contract"}
_SOURCES = (
    "kernels.py",
    "_codes.py",
    "_jit.py",
    "_compilers.py",
)  # how the names of files end that decide machine code

_log = logger("kernels")
_kernels: list[Any] = []  # of all modules that are loaded


@cache
def sources_hash(package: str) -> bytes:
    """SHA-256 of all sources of a package that decide the machine code of any of its kernels."""
    total = hashlib.sha256()
    for path in sorted(path for folder in sys.modules[package].__path__ for path in _sources_in(folder)):
        with open(path, "rb") as file:
            content = file.read()
        total.update(f"{os.path.basename(path)}\0{len(content)}\0".encode() + content)
    return total.digest()


def _sources_in(folder: str) -> Iterator[str]:
    try:
        entries = list(os.scandir(folder))
    except OSError:  # a package within an archive
        return
    for entry in entries:
        if entry.is_dir() and entry.name != "__pycache__":
            yield from _sources_in(entry.path)
        elif entry.name.endswith(_SOURCES):
            yield entry.path


class _KernelCache(FunctionCache):
    """Numba's cache of one function on disk, which becomes invalid when any source of kernels changes.

    A kernel contains the kernels and constants of other modules that it uses, but numba compares only the module in
    which it is defined.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        home = function.__module__.partition(".")[0]
        hashes = [sources_hash(package) for package in sorted({"corefsample", home} - {"__main__"})]
        stamp = (self._impl.locator.get_source_stamp(), *hashes)
        self._cache_file = IndexDataCacheFile(self.cache_path, self._impl.filename_base, stamp)
        self._title = f"{function.__module__}.{function.__qualname__}"
        self._started = 0.0

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """Load a compiled kernel; log that it has to be compiled if there is none.

        Numba's own method refreshes the context before, which only compiling needs and then does itself.
        """
        prepare_to_load(target_context)
        with self._guard_against_spurious_io_errors():
            loaded = self._load_overload(signature, target_context)
        if loaded is None:
            self._started = time.perf_counter()
            announce()
        return loaded

    def save_overload(self, signature: Any, data: Any) -> None:
        """Save a compiled kernel."""
        _log.debug("compiled %s in %.1f s", self._title, time.perf_counter() - self._started)
        super().save_overload(signature, data)

    def is_empty(self) -> bool:
        """Whether there is no compiled kernel of these sources for any signature."""
        return not self._cache_file._load_index()


@cache
def announce() -> None:
    """Log, once, that kernels are compiled."""
    _log.info("compiling kernels (first run only)")


@cache
def _announce_no_folder() -> None:
    _log.info("no folder for compiled kernels can be written, so each run compiles them; set NUMBA_CACHE_DIR to one")


def _compiled(function: Callable[P, R], options: dict[str, Any]) -> Callable[P, R]:
    compiled = numba.njit(**pipeline_options(KernelCompiler), **options)(function)
    if compiled is not function:  # the function itself if NUMBA_DISABLE_JIT is set
        try:
            compiled._cache = _KernelCache(function)
        except RuntimeError:  # no writable folder: each process compiles again
            _announce_no_folder()
        _kernels.append(compiled)
    return cast("Callable[P, R]", compiled)


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile `function` at its first call, and cache the machine code on disk if possible."""
    return _compiled(function, _OPTIONS)


def kernel_without_nan(function: Callable[P, R]) -> Callable[P, R]:
    """Compile as `kernel` does, assuming that NaN and the sign of zero do not matter: a maximum then vectorises."""
    return _compiled(function, {**_OPTIONS, "fastmath": {"nnan", "nsz"}})


def fused_kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile as `kernel_without_nan` does; a product and a sum may be rounded once instead of twice.

    The last bits then depend on the processor, so this is for sums of rounded figures and not for what is compared
    exactly.
    """
    return _compiled(function, {**_OPTIONS, "fastmath": _FUSED})


def kernel_in_place(function: Callable[P, R]) -> Callable[P, R]:
    """Compile as `kernel` does, without counts of references: the function must not allocate or return arrays.

    It compiles in two thirds of the time.
    """
    return _compiled(function, {**_OPTIONS, "_nrt": False})


def inner_kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile `function` for the kernels that call it, as a part of each. It must not allocate arrays.

    It must not be called from Python (the process would crash), and has no machine code of its own: both would take
    time to compile.
    """
    return _part(function, {})


def fused_inner_kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile as `inner_kernel` does, with the arithmetic of `fused_kernel`."""
    return _part(function, {"fastmath": _FUSED})


def sums_inner_kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile as `fused_inner_kernel` does; sums may be added in any order, so that they vectorise."""
    return _part(function, {"fastmath": _FUSED | {"reassoc"}})


def _part(function: Callable[P, R], arithmetic: dict[str, Any]) -> Callable[P, R]:
    options = {**_OPTIONS, **arithmetic, "no_cpython_wrapper": True, "_nrt": False, **pipeline_options(PartCompiler)}
    return cast("Callable[P, R]", numba.njit(**options)(function))


def inlined(function: Callable[P, R]) -> Callable[P, R]:
    """Compile `function` into the kernels that call it."""
    return cast("Callable[P, R]", numba.njit(inline="always", **_OPTIONS)(function))


def load_compiler() -> None:
    """Load what numba needs to compile, which it would do at the first compilation."""
    cpu_target.target_context.refresh()


def must_be_compiled(*kernels: Callable[..., Any]) -> bool:
    """Whether there is a folder for compiled kernels, and one of these kernels is not in it."""
    caches = [getattr(each, "_cache", None) for each in kernels]
    return any(isinstance(each, _KernelCache) and each.is_empty() for each in caches)


def cache_folders(*kernels: Callable[..., Any]) -> list[str]:
    """Folders in which these kernels are cached."""
    caches = [getattr(each, "_cache", None) for each in kernels]
    return sorted({str(each.cache_path) for each in caches if isinstance(each, _KernelCache)})


def compiled_kernels() -> list[Callable[..., Any]]:
    """Kernels that are compiled for some types, in this process or loaded from a folder."""
    return [each for each in _kernels if each.signatures]
