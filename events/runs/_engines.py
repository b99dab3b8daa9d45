"""Engines that compute the tasks of a run: this process, several processes, or the workers of a Dask scheduler."""

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

_MOST_DEATHS = 3  # number of workers that may die while they compute the same task
_QUEUED = 3  # number of tasks submitted for each worker while the first result is awaited
_FEWEST_QUEUED = 6  # number of tasks submitted to a cluster that has no workers yet
_POLL = 0.2  # seconds between two checks of the workers or of the scheduler
_GRACE = 5.0  # seconds in which the executor reports that a worker died
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
        If `workers` and `scheduler` are both given, if the address is not a URL, or if Dask is not installed.
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
        """Number of threads of each worker; None if this process does the work, which may use all processors."""
        return None if self.is_here else max(1, processors() // self.workers) if self.workers else 1

    def results(
        self,
        function: Callable[[T], R],
        tasks: Iterable[T],
        *,
        here: Callable[[T], R] | None = None,
        are_small: bool = False,
    ) -> Generator[tuple[T, R]]:
        """Compute tasks, and yield each with its result in the order of the tasks; errors are raised in this order too.

        A task whose worker dies is computed again, up to three times.

        Parameters
        ----------
        function
            Function that computes a task; other processes must be able to import it.
        tasks
            Tasks, which are requested one by one. A single task is computed in this process, unless there is a
            scheduler.
        here
            Function that computes a task in this process; by default, `function`.
        are_small
            True if all tasks may wait in memory at the same time.

        Raises
        ------
        OutputError
            If the scheduler cannot be reached, or if three workers die while they compute the same task.
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
    """Tasks that other processes compute.

    Attributes
    ----------
    waiting
        Tasks whose results were not requested yet, in order.
    """

    def __init__(self, function: Callable[[T], R]) -> None:
        self._function = function
        self.waiting: deque[tuple[T, Future[R]]] = deque()

    def begin(self, task: T) -> None:
        """Submit a task to a worker."""
        self.waiting.append((task, self._begun(task)))

    def has_result(self) -> bool:
        """Whether the oldest task is computed."""
        return bool(self.waiting) and self.waiting[0][1].done()

    def oldest(self) -> tuple[T, R]:
        """Wait for the oldest task, and return it with its result."""
        task, future = self.waiting[0]
        result = self._result(task, future)
        self.waiting.popleft()
        return task, result

    def is_full(self) -> bool:
        """Whether the next task should be submitted only after a result was requested."""
        return len(self.waiting) > max(_QUEUED * self._n_workers(), _FEWEST_QUEUED)

    @abstractmethod
    def _n_workers(self) -> int:
        """Number of tasks that can be computed at the same time."""

    @abstractmethod
    def _begun(self, task: T) -> Future[R]:
        """Submit a task, and return the future of its result."""

    @abstractmethod
    def _result(self, task: T, future: Future[R]) -> R:
        """Wait for the result of a task, which is computed again if its worker dies."""

    @abstractmethod
    def stop(self) -> None:
        """Stop all workers immediately."""


def _deaths(task: object) -> OutputError:
    rule = f"workers must live until {task} is complete, but {_MOST_DEATHS} of them died"
    return OutputError(rule, hint="they may have run out of memory: use fewer workers or smaller parts")


# --- processes of this machine ---


class _Processes(_Pool[T, R]):
    """Processes of this machine, which are spawned because threads of libraries do not survive in a forked process."""

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
            except BrokenProcessPool as error:  # the oldest task will raise it
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
                result = self._answer(self._begun(task))  # alone: if its process ends, the task is the cause
                waiting = list(self.waiting)[1:]
                restarted = ((each, begun if _is_good(begun) else self._begun(each)) for each, begun in waiting)
                self.waiting = deque([self.waiting[0], *restarted])
                return result
        raise _deaths(task)

    def _answer(self, future: Future[R]) -> R:
        """Wait for the result of a task as long as all workers live.

        The executor reports that a worker died, except while it waits for the rest of a result whose sender was killed.
        """
        while not wait([future], timeout=_POLL).done:
            workers = [*(getattr(self._executor, "_processes", None) or {}).values()]
            if any(worker.exitcode is not None for worker in workers) and not wait([future], timeout=_GRACE).done:
                raise BrokenProcessPool
        return future.result()

    def stop(self) -> None:
        for process in {*multiprocessing.active_children()} - self._others:
            process.kill()
        # The executor's thread would wait forever for the rest of a result whose process was killed while it sent it,
        # because this process could still write to the pipe.
        results = getattr(self._executor, "_result_queue", None)
        if results is not None:
            results._writer.close()
        self._executor.shutdown(wait=True, cancel_futures=True)


def _is_good(future: Future[Any]) -> bool:
    """Whether a task was computed, or raised an error of its own, before its process ended."""
    return future.done() and not future.cancelled() and not isinstance(future.exception(), BrokenProcessPool)


@contextmanager
def _interrupts_later() -> Iterator[None]:
    """Delay interrupts of this thread, and block those of all threads and processes that the block starts.

    A terminal sends an interrupt to all processes of a job, but workers must be stopped by this process.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # because its start would allow interrupts again
    previous_mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, previous_mask)


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
        for name in _LOGGERS:  # this module reports a lost scheduler itself
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
        if time.monotonic() - self._counted >= _RECOUNTED:  # the number of workers changes
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
