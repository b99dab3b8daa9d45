"""Compilation of all kernels: without Python objects and global lock, cached on disk if possible."""

# Numba has no types for its caches.
# mypy: disable-error-code="no-untyped-call"

import hashlib
import importlib
import logging
import os
import pkgutil
import sys
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any, ParamSpec, Protocol, TypeVar, cast

import numba
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.runtime.nrt import rtsys

P = ParamSpec("P")
R = TypeVar("R")

# error_model="numpy": a float division by zero gives inf, without a branch that would prevent vectorised loops.
# no_cfunc_wrapper: nothing calls kernels from C, and the wrapper takes time to compile.
_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
_SOURCES = ("kernels.py", "_codes.py", "_jit.py")  # endings of the files that determine machine code

_kernels: list[Any] = []  # kernels of all modules that are loaded


class _KernelIndex(IndexDataCacheFile):
    """Numba's index of the compiled forms of a kernel; empty if it names types that an earlier version had."""

    def _load_index(self) -> Any:
        try:
            return super()._load_index()
        except (AttributeError, ImportError):  # numba reads the types before it compares the stamps
            return {}


class _KernelCache(FunctionCache):
    """Numba's cache of one function on disk, with two differences.

    It becomes invalid when any source of kernels changes: a kernel contains the kernels and constants of other modules
    that it uses, but numba compares only the module in which it is defined. It also loads a kernel without loading the
    compiler, which takes longer than the kernels.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        packages = sorted({"corefsample", function.__module__.partition(".")[0]} - {"__main__"})
        stamp = (self._impl.locator.get_source_stamp(), *map(_sources_hash, packages))
        self._cache_file = _KernelIndex(self.cache_path, self._impl.filename_base, stamp)

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """Load numba's memory manager, and a compiled kernel from the cache; log if the kernel is not in the cache."""
        rtsys.initialize(target_context)
        with self._guard_against_spurious_io_errors():
            overload = self._load_overload(signature, target_context)
        if overload is None:
            _log_once("compiling kernels (first run only)")
        return overload


@cache
def _sources_hash(package: str) -> str:
    """SHA-256 of all sources of a package that determine the machine code of its kernels."""
    folder = os.path.dirname(str(sys.modules[package].__file__))
    names = [os.path.join(parent, name) for parent, _, names in os.walk(folder) for name in names]
    sources = [Path(name).read_bytes() for name in sorted(names) if name.endswith(_SOURCES)]
    return hashlib.sha256(b"\0".join(sources)).hexdigest()


@cache
def _log_once(message: str) -> None:
    logging.getLogger("corefsample.kernels").info(message)


class _Decorator(Protocol):
    def __call__(self, function: Callable[P, R], /) -> Callable[P, R]: ...


def _compiled(**options: Any) -> _Decorator:
    """Decorator that compiles a function at its first call, and caches the machine code on disk if possible."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        compiled = numba.njit(**_OPTIONS, **options)(function)
        if compiled is not function:  # the function itself if NUMBA_DISABLE_JIT is set
            try:
                compiled._cache = _KernelCache(function)
            except RuntimeError:  # no writable folder: each process compiles again
                hint = "each run compiles them; set NUMBA_CACHE_DIR to one"
                _log_once(f"no folder for compiled kernels can be written, so {hint}")
            _kernels.append(compiled)
        return cast("Callable[P, R]", compiled)

    return decorate


def _part(**options: Any) -> _Decorator:
    """Decorator that compiles a function for the kernels that call it, as a part of each.

    The function must not allocate arrays, and must not be called from Python (the process would crash). It has no
    machine code of its own. Both would take time to compile.
    """
    return cast("_Decorator", numba.njit(**_OPTIONS, **options))


kernel = _compiled()
# Without counts of references: the function must not allocate or return arrays. It compiles in two thirds of the time.
kernel_in_place = _compiled(_nrt=False)

inner_kernel = _part(no_cpython_wrapper=True, _nrt=False)
# Sums may be added in any order, so that they vectorise, and a product and a sum may be rounded once instead of twice.
# The last bits then depend on the processor, so results must be rounded before they are compared.
sums_inner_kernel = _part(no_cpython_wrapper=True, _nrt=False, fastmath={"nnan", "nsz", "contract", "reassoc"})
inlined = _part(inline="always")


def kernels_of(package: str) -> list[Callable[..., Any]]:
    """All kernels of a package; loads its modules."""
    for module in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}."):
        if module.name.endswith("kernels"):
            importlib.import_module(module.name)
    return [kernel for kernel in _kernels if kernel.__module__.startswith(f"{package}.")]


def compiled_kernels() -> list[Callable[..., Any]]:
    """Kernels that were compiled in this process or loaded from a cache folder."""
    return [kernel for kernel in _kernels if kernel.signatures]


def is_cached(kernel: Callable[..., Any]) -> bool:
    """Whether the cache folder of a kernel has its machine code for the current sources."""
    kernel_cache = getattr(kernel, "_cache", None)
    return isinstance(kernel_cache, _KernelCache) and bool(kernel_cache._cache_file._load_index())


def cache_folders(kernels: Iterable[Callable[..., Any]]) -> list[str]:
    """Folders in which kernels are cached."""
    caches = [getattr(kernel, "_cache", None) for kernel in kernels]
    return sorted({str(kernel.cache_path) for kernel in caches if isinstance(kernel, _KernelCache)})
