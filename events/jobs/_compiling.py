"""Kernels of a command are compiled in other processes, while this one reads models and options.

``python -m events.jobs._compiling GROUP ...`` is such a process.
"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from corefsample._jit import announce, cache_folders, must_be_compiled
from corefsample._log import logger
from corefsample._processors import processors
from events.jobs._main_kernels import COMMANDS, GROUPS

__all__ = ["compiled_meanwhile", "folders_of_kernels", "load_kernels"]

_log = logger("kernels")


@contextmanager
def compiled_meanwhile(*commands: str) -> Iterator[None]:
    """Compile the kernels of commands that no earlier run has compiled, in as many processes as there are processors.

    The end of the block waits for them; an exception in it ends them. Where this does not work, each kernel is
    compiled at its first call.
    """
    missing = [name for name in _groups_of(commands) if must_be_compiled(*GROUPS[name].kernels)]
    n_processes = min(processors(), len(missing))
    if n_processes < 2:
        yield
        return
    announce()
    started = time.perf_counter()
    processes: list[subprocess.Popen[bytes]] = []
    try:
        with suppress(OSError):  # no process can be started
            for groups in _shares(missing, n_processes):
                processes.append(_started(groups))
        yield
        for process in processes:
            process.wait()
        _log.debug("%d processes compiled for %.1f s", len(processes), time.perf_counter() - started)
    finally:
        for process in processes:
            process.kill()
            process.communicate()


def folders_of_kernels(*commands: str) -> list[str]:
    """Folders in which the compiled kernels of commands are kept."""
    return cache_folders(*(kernel for name in _groups_of(commands) for kernel in GROUPS[name].kernels))


def load_kernels(*commands: str) -> int:
    """Load the compiled kernels of commands, and compile those that are missing; return their number."""
    names = _groups_of(commands)
    for name in names:
        GROUPS[name].compile()
    return sum(len(GROUPS[name].kernels) for name in names)


def _groups_of(commands: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(name for command in commands for name in COMMANDS[command]))


def _shares(groups: Sequence[str], n: int) -> list[list[str]]:
    """Divide groups into n lists of about equal cost: each goes to the one with the least, the costliest first."""
    shares: list[list[str]] = [[] for _ in range(n)]
    for name in sorted(groups, key=lambda name: -GROUPS[name].cost):
        min(shares, key=lambda share: sum(GROUPS[each].cost for each in share)).append(name)
    return shares


def _started(groups: Sequence[str]) -> subprocess.Popen[bytes]:
    """Start a process that compiles groups; it ends when this one does, because its standard input closes then."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path or os.getcwd() for path in sys.path)}
    return subprocess.Popen(
        [sys.executable, "-m", "events.jobs._compiling", *groups],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def _end_with_parent() -> None:
    sys.stdin.buffer.read()
    os._exit(1)


if __name__ == "__main__":
    threading.Thread(target=_end_with_parent, daemon=True).start()
    gc.disable()  # the compiler makes many objects that live as long as the process; checking them takes a tenth
    for group in reversed(sys.argv[1:]):  # those that cost least first: the other process needs their kernels first
        GROUPS[group].compile()
