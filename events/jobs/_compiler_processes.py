"""Processes that compile groups of kernels, each taking the next group from one pipe.

``python -m events.jobs._compiler_processes QUEUE DONE LIFE`` is such a process, where it is not a fork.
"""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import NamedTuple, NoReturn

from corefsample._jit import load_compiler, must_be_compiled
from corefsample._log import logger
from events.jobs._main_kernels import GROUPS

__all__ = ["Compilers", "missing_of"]

_log = logger("kernels")
_CLOSED = -1
_NAMES = list(GROUPS)


class _Ends(NamedTuple):
    """One end of each pipe between a command and the processes that compile for it.

    queue : one byte per group to compile, which a single process can read
    done : one byte per compiled group
    life : never a byte; it closes when the command ends
    """

    queue: int
    done: int
    life: int

    def close(self) -> None:
        """Close them all."""
        for end in self:
            if end != _CLOSED:
                os.close(end)


class _Child(NamedTuple):
    """A process of which this one is the parent."""

    kill: Callable[[], object]
    wait: Callable[[], object]


def missing_of(groups: Sequence[str]) -> list[str]:
    """Those of the groups that no earlier run has compiled."""
    return [name for name in groups if must_be_compiled(*GROUPS[name].kernels)]


class Compilers:
    """Processes that compile groups of kernels for this one, and end with it."""

    def __init__(self) -> None:
        self.n_processes = 0
        self._started = time.perf_counter()
        self._queued: set[str] = set()
        self._compiled: set[str] = set()
        self._ends: _Ends | None = None
        self._children: list[_Child] = []

    def start(self, groups: Sequence[str], n_processes: int, *, fork: bool = False) -> None:
        """Start processes that compile groups: those needed at once, then those that cost most.

        Parameters
        ----------
        groups
            Names of groups.
        n_processes
            Number of processes.
        fork
            Whether they may be forks of this one, which begin to compile at once. It needs a process without other
            threads, files and connections, such as a command at its start.
        """
        with suppress(OSError, ValueError):  # no pipe, or no process: kernels are compiled at their first call
            ours, theirs = _pipes()
            self._ends = ours
            self.add(*sorted(groups, key=lambda name: (not GROUPS[name].at_once, -GROUPS[name].cost)))
            try:
                if fork and sys.platform == "linux" and threading.active_count() == 1:
                    self._children.append(_forked(ours, theirs, n_processes))
                    self.n_processes = n_processes
                else:
                    for _ in range(n_processes):
                        self._children.append(_started(theirs))
                        self.n_processes += 1
            finally:
                theirs.close()

    def add(self, *groups: str) -> None:
        """Have groups compiled as well, if kernels are being compiled and these are missing."""
        missing = [name for name in missing_of(groups) if name not in self._queued]
        if self._ends is not None and missing:
            self._queued.update(missing)
            with suppress(BrokenPipeError):  # no process is left
                os.write(self._ends.queue, bytes(map(_NAMES.index, missing)))

    def wait_at_once(self) -> None:
        """Wait until the groups are compiled whose kernels are called while models and rules are loaded."""
        while any(GROUPS[name].at_once for name in self._queued - self._compiled) and self._read():
            pass

    def wait(self) -> None:
        """Wait until all groups are compiled."""
        if self._ends is not None:
            os.close(self._ends.queue)  # so that they end when there is nothing left to compile
            self._ends = self._ends._replace(queue=_CLOSED)
            while self._read():
                pass
            _log.debug("%d processes compiled for %.1f s", self.n_processes, time.perf_counter() - self._started)
        self.end()

    def end(self) -> None:
        """End the processes. Those that a child has forked end because the pipes are closed."""
        if self._ends is not None:
            self._ends.close()
            self._ends = None
        for child in self._children:
            child.kill()
            child.wait()
        self._children = []

    def _read(self) -> bool:
        """Read which groups were compiled meanwhile; false if no process is left."""
        numbers = os.read(self._ends.done, len(_NAMES)) if self._ends is not None else b""
        self._compiled.update(_NAMES[number] for number in numbers)
        return bool(numbers)


def _pipes() -> tuple[_Ends, _Ends]:
    """The ends of a command, and those of its processes."""
    queue, done, life = os.pipe(), os.pipe(), os.pipe()
    return _Ends(queue[1], done[0], life[1]), _Ends(queue[0], done[1], life[0])


def _forked(ours: _Ends, theirs: _Ends, n_processes: int) -> _Child:
    """Fork a process that loads the compiler, and then forks the others."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of threads; only the linear algebra of NumPy has some
        child = os.fork()
    if child == 0:
        try:
            ours.close()
            _compile_in_child(theirs, n_processes)
        finally:
            os._exit(1)
    return _Child(partial(os.kill, child, signal.SIGKILL), partial(os.waitpid, child, 0))


def _compile_in_child(ends: _Ends, n_processes: int) -> NoReturn:
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard in range(3):
        os.dup2(nothing, standard)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    _prepare()
    for _ in range(n_processes - 1):
        if os.fork() == 0:
            break
    _compile_until_done(ends)


def _prepare() -> None:
    """Load the compiler."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the command decides what an interrupt means, and ends
    gc.disable()  # the compiler makes many objects that live as long as the process; checking them takes a tenth
    if "scipy.linalg" not in sys.modules:
        sys.modules["scipy.linalg"] = None  # type: ignore[assignment]  # numba loads it for BLAS, which no kernel calls
    load_compiler()


def _started(ends: _Ends) -> _Child:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path or os.getcwd() for path in sys.path)}
    process = subprocess.Popen(
        [sys.executable, "-m", "events.jobs._compiler_processes", *map(str, ends)],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        pass_fds=ends,
    )
    return _Child(process.kill, process.wait)


def _compile_until_done(ends: _Ends) -> NoReturn:
    """Compile groups until the queue is closed and empty, or the command ends."""
    threading.Thread(target=_end_with, args=(ends.life,), daemon=True).start()
    while number := os.read(ends.queue, 1):
        GROUPS[_NAMES[number[0]]].compile()
        os.write(ends.done, number)
    os._exit(0)  # the thread that reads would stop an orderly end, which takes time besides


def _end_with(life: int) -> None:
    os.read(life, 1)
    os._exit(1)


if __name__ == "__main__":
    _prepare()
    _compile_until_done(_Ends(*map(int, sys.argv[1:4])))
