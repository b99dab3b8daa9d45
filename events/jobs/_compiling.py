"""Kernels of a command are compiled in other processes, while this one reads models and options.

``python -m events.jobs._compiling PIPE`` is such a process.
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

__all__ = ["Compilers", "compiled_meanwhile", "folders_of_kernels", "load_kernels", "missing_groups"]

_log = logger("kernels")


class Compilers:
    """Processes that compile groups of kernels. Each takes the next group from one pipe, so all end at about once.

    A group is one byte in the pipe, which a single process can read.
    """

    def __init__(self) -> None:
        self.processes: list[subprocess.Popen[bytes]] = []
        self._queue: int | None = None

    def start(self, groups: Sequence[str], n_processes: int) -> None:
        """Start processes that compile groups, those that cost most first."""
        with suppress(OSError, ValueError):  # no process can be started, or no pipe passed on: compiled at first call
            source, self._queue = os.pipe()
            try:
                self.add(*sorted(groups, key=lambda name: -GROUPS[name].cost))
                for _ in range(n_processes):
                    self.processes.append(_started(source))
            finally:
                os.close(source)

    def add(self, *groups: str) -> None:
        """Have groups compiled as well, if kernels are being compiled and these are missing."""
        missing = _missing(groups)
        if self._queue is not None and missing:
            os.write(self._queue, bytes(map(list(GROUPS).index, missing)))

    def wait(self) -> None:
        """Wait until all groups are compiled."""
        self._close()
        for process in self.processes:
            process.wait()

    def end(self) -> None:
        """End the processes."""
        self._close()
        for process in self.processes:
            process.kill()
            process.communicate()

    def _close(self) -> None:
        if self._queue is not None:
            os.close(self._queue)
            self._queue = None


@contextmanager
def compiled_meanwhile(*commands: str) -> Iterator[Compilers]:
    """Compile the kernels of commands that no earlier run has compiled, in as many processes as there are processors.

    The end of the block waits for them; an exception in it ends them. Where this does not work, each kernel is
    compiled at its first call.
    """
    compilers = Compilers()
    missing = [name for name in missing_groups(*commands) if not GROUPS[name].at_once]
    n_processes = min(processors(), len(missing))
    if n_processes < 2:
        yield compilers
        return
    announce()
    started = time.perf_counter()
    try:
        compilers.start(missing, n_processes)
        yield compilers
        compilers.wait()
        _log.debug("%d processes compiled for %.1f s", len(compilers.processes), time.perf_counter() - started)
    finally:
        compilers.end()


def folders_of_kernels(*commands: str) -> list[str]:
    """Folders in which the compiled kernels of commands are kept."""
    return cache_folders(*(kernel for name in _groups_of(commands) for kernel in GROUPS[name].kernels))


def missing_groups(*commands: str) -> list[str]:
    """Groups of kernels of commands that no earlier run has compiled."""
    return _missing(_groups_of(commands))


def load_kernels(*commands: str) -> None:
    """Load the compiled kernels of commands, and compile those that are missing."""
    for name in _groups_of(commands):
        GROUPS[name].compile()


def _missing(groups: Sequence[str]) -> list[str]:
    return [name for name in groups if must_be_compiled(*GROUPS[name].kernels)]


def _groups_of(commands: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(name for command in commands for name in COMMANDS[command]))


def _started(queue: int) -> subprocess.Popen[bytes]:
    """Start a process that compiles the groups in a pipe; it ends with this one, because its standard input closes."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path or os.getcwd() for path in sys.path)}
    return subprocess.Popen(
        [sys.executable, "-m", "events.jobs._compiling", str(queue)],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        pass_fds=(queue,),
    )


def _end_with_parent() -> None:
    sys.stdin.buffer.read()
    os._exit(1)


def _compile_from(queue: int) -> None:
    while number := os.read(queue, 1):
        GROUPS[list(GROUPS)[number[0]]].compile()


if __name__ == "__main__":
    threading.Thread(target=_end_with_parent, daemon=True).start()
    gc.disable()  # the compiler makes many objects that live as long as the process; checking them takes a tenth
    sys.modules["scipy.linalg"] = None  # type: ignore[assignment]  # numba would load it for BLAS, which no kernel calls
    _compile_from(int(sys.argv[1]))
    os._exit(0)  # the thread that reads would stop an orderly end, which takes time besides
