"""Where the work of a run is done: in this process, in several, or on a Dask cluster; results come in order."""

from __future__ import annotations

import importlib.util
import logging
import multiprocessing
import signal
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import CancelledError, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from itertools import chain, islice
from multiprocessing import resource_tracker
from typing import Any, Generic, TypeVar

from corefsample._extras import install_hint
from corefsample._machine import begin_worker, processors
from corefsample.errors import OutputError, ParameterError

_MOST_DEATHS = 3  # of workers that compute the same task
_QUEUED = 3  # tasks submitted for each worker while the first result is awaited
_FEWEST_QUEUED = 6  # on a cluster whose workers are still to come
_POLL = 0.2  # seconds between two looks at the scheduler
_GRACE = 5.0  # seconds in which the executor tells that a worker died
_RECOUNTED = 2.0  # seconds after which the threads of a cluster are counted again
_CONNECTING = "10s"
_PARTS = ("client", "comm", "core", "nanny", "scheduler", "worker")
_LOGGERS = ("distributed", *(f"distributed.{part}" for part in _PARTS), "asyncio", "tornado.application")
T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Engine:
    """Workers that compute tasks.

    Attributes
    ----------
    workers
        Number of processes on this machine; with None or 1, this process does the work.
    scheduler
        Address of an existing Dask scheduler, whose workers do the work instead of processes of this machine.

    Raises
    ------
    ParameterError
        If both are given, if the address is not a URL, or if Dask is not installed.
    """

    workers: int | None = None
    scheduler: str | None = None

    def __post_init__(self) -> None:
        if self.scheduler is None:
            return
        if self.workers is not None:
            raise ParameterError("must be left out where a scheduler has its own workers", parameter="workers")
        if "://" not in self.scheduler:
            rule = "must be an address like tcp://host:8786"
            raise ParameterError(f"{rule}, got {self.scheduler!r}", parameter="scheduler")
        if importlib.util.find_spec("distributed") is None:
            rule, hint = "needs dask[distributed], which is not installed", install_hint("dask")
            raise ParameterError(rule, parameter="scheduler", hint=hint)

    @property
    def is_here(self) -> bool:
        """Whether this process does the work."""
        return self.scheduler is None and self.workers in (None, 1)

    @property
    def threads(self) -> int | None:
        """Number of threads of each worker; None if this process does the work and may use all processors."""
        return None if self.is_here else max(1, processors() // self.workers) if self.workers else 1

    def results(
        self,
        function: Callable[[T], R],
        tasks: Iterable[T],
        *,
        here: Callable[[T], R] | None = None,
        are_small: bool = False,
    ) -> Generator[tuple[T, R]]:
        """Compute tasks and yield their results in the order of the tasks, so that the first error is raised first.

        A task whose worker dies is computed again, up to three times.

        Parameters
        ----------
        function
            Function that computes a task; other processes must be able to import it.
        tasks
            Tasks, taken one by one. A single task is computed in this process, unless there is a scheduler.
        here
            Function that computes a task in this process; by default, `function`.
        are_small
            True if all tasks may wait in memory at the same time.

        Raises
        ------
        OutputError
            If the scheduler cannot be reached, or if workers keep dying.
        """
        tasks = iter(tasks)
        first = list(islice(tasks, 2))
        tasks = chain(first, tasks)
        if self.is_here or (len(first) < 2 and self.scheduler is None):
            yield from ((task, (here or function)(task)) for task in tasks)
            return
        pool: _Pool[T, R]
        pool = _Processes(function, self.workers or 1) if self.scheduler is None else _Cluster(function, self.scheduler)
        try:
            for task in tasks:
                pool.begin(task)
                while pool.has_result() or (not are_small and pool.is_full()):
                    yield pool.oldest()
            while pool.waiting:
                yield pool.oldest()
        finally:
            pool.stop()


class _Pool(ABC, Generic[T, R]):
    """Tasks that are computed elsewhere.

    Attributes
    ----------
    waiting
        Tasks whose results were not taken yet, in order.
    """

    def __init__(self, function: Callable[[T], R]) -> None:
        self._function = function
        self.waiting: deque[tuple[T, Future[R]]] = deque()

    def begin(self, task: T) -> None:
        """Begin a task."""
        self.waiting.append((task, self._begun(task)))

    def has_result(self) -> bool:
        """Whether the oldest task is done."""
        return bool(self.waiting) and self.waiting[0][1].done()

    def oldest(self) -> tuple[T, R]:
        """Wait for the oldest task."""
        task, future = self.waiting[0]
        result = self._result(task, future)
        self.waiting.popleft()
        return task, result

    def is_full(self) -> bool:
        """Whether a result should be taken before the next task is begun."""
        return len(self.waiting) > max(_QUEUED * self._n_workers(), _FEWEST_QUEUED)

    @abstractmethod
    def _n_workers(self) -> int:
        """Tasks that can be computed at the same time."""

    @abstractmethod
    def _begun(self, task: T) -> Future[R]:
        """Give a task to a worker."""

    @abstractmethod
    def _result(self, task: T, future: Future[R]) -> R:
        """Wait for a task; one whose worker dies is computed again."""

    @abstractmethod
    def stop(self) -> None:
        """End the work at once."""


def _deaths(task: object) -> OutputError:
    rule = f"workers must live until {task} is complete, got {_MOST_DEATHS} that died"
    return OutputError(rule, hint="they may need more memory: fewer workers, smaller parts")


# --- processes of this machine ---


class _Processes(_Pool[T, R]):
    """Spawned processes, because the threads of libraries do not survive in a forked one."""

    def __init__(self, function: Callable[[T], R], workers: int) -> None:
        super().__init__(function)
        self._workers = workers
        self._others = {*multiprocessing.active_children()}
        self._start()

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._executor = ProcessPoolExecutor(self._workers, mp_context=context, initializer=begin_worker)

    def _n_workers(self) -> int:
        return self._workers

    def _begun(self, task: T) -> Future[R]:
        with _interrupts_later():
            try:
                return self._executor.submit(self._function, task)
            except BrokenProcessPool as error:  # which the oldest task shows
                failed: Future[R] = Future()
                failed.set_exception(error)
                return failed

    def _result(self, task: T, future: Future[R]) -> R:
        with suppress(BrokenProcessPool):
            return self._answer(future)
        for _ in range(_MOST_DEATHS):
            self.stop()
            self._start()
            with suppress(BrokenProcessPool):
                result = self._answer(self._begun(task))  # alone: if its process ends, it is the task's fault
                rest = list(self.waiting)[1:]
                again = ((each, begun if _is_good(begun) else self._begun(each)) for each, begun in rest)
                self.waiting = deque([self.waiting[0], *again])
                return result
        raise _deaths(task)

    def _answer(self, future: Future[R]) -> R:
        """Wait for a task as long as all workers live.

        The executor tells that a worker died, but not while it waits for the rest of a result whose sender was killed.
        """
        while not wait([future], timeout=_POLL).done:
            workers = [*(getattr(self._executor, "_processes", None) or {}).values()]
            if any(worker.exitcode is not None for worker in workers) and not wait([future], timeout=_GRACE).done:
                raise BrokenProcessPool
        return future.result()

    def stop(self) -> None:
        for process in {*multiprocessing.active_children()} - self._others:
            process.kill()
        # The executor's thread would wait for ever for the rest of a result whose process was killed while it sent it:
        # the pipe ends when nobody can write to it, and this process can.
        results = getattr(self._executor, "_result_queue", None)
        if results is not None:
            results._writer.close()
        self._executor.shutdown(wait=True, cancel_futures=True)


def _is_good(future: Future[Any]) -> bool:
    """Whether a task was computed, or failed by itself, before its process ended."""
    return future.done() and not future.cancelled() and not isinstance(future.exception(), BrokenProcessPool)


@contextmanager
def _interrupts_later() -> Iterator[None]:
    """Keep interrupts back, and for good from the threads and processes that begin meanwhile, workers among them.

    A terminal sends an interrupt to all processes of a job: this one ends its workers.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # when it begins, it allows interrupts again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


# --- Dask ---


class _Cluster(_Pool[T, R]):
    """Workers of an existing scheduler."""

    def __init__(self, function: Callable[[T], R], address: str) -> None:
        import dask
        import distributed

        super().__init__(function)
        library: Any = distributed  # its classes are not typed
        settings = {
            "distributed.comm.timeouts.connect": _CONNECTING,
            "distributed.admin.large-graph-warning-threshold": "1GB",  # the documents of a task travel with it
        }
        for name in _LOGGERS:  # of a lost scheduler the message is ours
            logging.getLogger(name).setLevel(logging.CRITICAL)
        self._address, self._held = address, ExitStack()
        with self._held:
            self._held.enter_context(dask.config.set(settings))
            try:
                self._client = library.Client(address, timeout=_CONNECTING)
            except (OSError, ValueError, TimeoutError) as error:
                rule = f"scheduler must be reachable, got: {error}"
                raise OutputError(rule, place=address, obstacle="NoScheduler") from None
            self._executor = self._client.get_executor(pure=False)
            self._held = self._held.pop_all()
        self._n_threads, self._counted = 0, -_RECOUNTED

    def _n_workers(self) -> int:
        if time.monotonic() - self._counted >= _RECOUNTED:  # workers come and go
            workers = self._client.scheduler_info(n_workers=-1)["workers"]
            self._n_threads = sum(int(worker["nthreads"]) for worker in workers.values())
            self._counted = time.monotonic()
        return self._n_threads

    def _begun(self, task: T) -> Future[R]:
        future: Future[R] = self._executor.submit(self._function, task)
        return future

    def _result(self, task: T, future: Future[R]) -> R:
        from distributed.scheduler import KilledWorker

        while not future.done() and self._client.status == "running":
            wait([future], timeout=_POLL)
        with suppress(CancelledError):
            if future.done():
                try:
                    return future.result()
                except KilledWorker:
                    raise _deaths(task) from None
        rule = "scheduler must stay reachable, got no answer"
        raise OutputError(rule, place=self._address, hint="the same command continues", obstacle="NoScheduler")

    def stop(self) -> None:
        with suppress(Exception):
            self._executor.shutdown(wait=False)
        with suppress(Exception):
            self._client.close(timeout=2)
        self._held.close()
