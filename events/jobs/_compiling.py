"""Kernels of a command are compiled in other processes, while this one reads models and options."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from corefsample._jit import announce, cache_folders
from corefsample._processors import processors
from events.jobs._compiler_processes import Compilers, missing_of
from events.jobs._main_kernels import COMMANDS, GROUPS

__all__ = ["compiled_ahead", "compiled_meanwhile", "folders_of_kernels", "load_kernels", "missing_groups"]

_ahead: list[Compilers] = []  # those that `compiled_ahead` has started


@contextmanager
def compiled_ahead(*commands: str) -> Iterator[None]:
    """Begin to compile the kernels of commands, for `compiled_meanwhile` within the block.

    It is for the start of a program, before other modules are loaded. The end of the block ends the processes.
    """
    with _compilers(*commands, fork=True) as compilers:
        _ahead.append(compilers)
        try:
            yield
        finally:
            _ahead.remove(compilers)


@contextmanager
def compiled_meanwhile(*commands: str) -> Iterator[Compilers]:
    """Compile the kernels of commands that no earlier run has compiled, in as many processes as there are processors.

    The end of the block waits for them; an exception in it ends them. Where this does not work, each kernel is
    compiled at its first call.
    """
    if _ahead:
        yield _ahead[-1]
        _ahead[-1].wait()
        return
    with _compilers(*commands) as compilers:
        yield compilers
        compilers.wait()


@contextmanager
def _compilers(*commands: str, fork: bool = False) -> Iterator[Compilers]:
    compilers = Compilers()
    missing = missing_groups(*commands)
    n_processes = min(processors(), len(missing))
    if n_processes > 1:
        announce()
        compilers.start(missing, n_processes, fork=fork)
    try:
        yield compilers
    finally:
        compilers.end()


def folders_of_kernels(*commands: str) -> list[str]:
    """Folders in which the compiled kernels of commands are kept."""
    return cache_folders(*(kernel for name in _groups_of(commands) for kernel in GROUPS[name].kernels))


def missing_groups(*commands: str) -> list[str]:
    """Groups of kernels of commands that no earlier run has compiled."""
    return missing_of(_groups_of(commands))


def load_kernels(*commands: str) -> None:
    """Load the compiled kernels of commands, and compile those that are missing."""
    for name in _groups_of(commands):
        GROUPS[name].compile()


def _groups_of(commands: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(name for command in commands for name in COMMANDS[command]))
