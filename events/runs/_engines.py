"""Where the work of a run is done: in this process, in several, or on a Dask cluster; results come in order."""

from __future__ import annotations

import importlib.util
import logging
import multiprocessing
import signal
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import CancelledError, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import chain, islice
from multiprocessing import resource_tracker
from typing import Any, Generic, TypeVar

from corefsample import _checks
from corefsample._extras import install_hint
from corefsample._processes import begin_worker
from corefsample._processors import processors
from corefsample.errors import OutputError, ParameterError

__all__ = ["Engine"]

_MOST_DEATHS = 3  # of workers that compute the same task
_QUEUED = 3  # tasks submitted for each worker while the first result is awaited
_FEWEST_QUEUED = 6  # on a cluster whose workers are still to come
_POLL = 0.2  # seconds between two looks at the scheduler
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
        Processes on this machine; None or 1: this process alone.
    scheduler
        Address of an existing Dask scheduler, instead.

    Raises
    ------
    ParameterError
        If an option breaks its rule, or Dask is missing.
    """

    workers: int | None = None
    scheduler: str | None = None

    def __post_init__(self) -> None:
        if self.workers is not None:
            _checks.whole("workers", self.workers, 1)
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
        """Threads of each worker, which share the processors of a machine; None: all."""
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
            Importable by other processes.
        tasks
            Taken one by one; a single task is computed in this process, unless there is a scheduler.
        here
            The same function for this process; None: `function`.
        are_small
            Whether all tasks may wait in memory at the same time.

        Raises
        ------
        OutputError
            If the scheduler cannot be reached, or workers keep dying.
        """
        tasks = iter(tasks)
        first = list(islice(tasks, 2))
        tasks = chain(first, tasks)
        if self.is_here or (len(first) < 2 and self.scheduler is None):
            yield from ((task, (here or function)(task)) for task in tasks)
            return
        pool: _Pool[T, R]
        with (
            _processes(function, self.workers or 1)
            if self.scheduler is None
            else _cluster(function, self.scheduler) as pool
        ):
            for task in tasks:
                pool.begin(task)
                while pool.has_result() or (not are_small and pool.is_full()):
                    yield pool.oldest()
            while pool.waiting:
                yield pool.oldest()


class _Pool(Generic[T, R]):
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
        raise NotImplementedError

    def _begun(self, task: T) -> Future[R]:
        raise NotImplementedError

    def _result(self, task: T, future: Future[R]) -> R:
        raise NotImplementedError


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

    def is_full(self) -> bool:
        return len(self.waiting) > _QUEUED * self._workers

    def _begun(self, task: T) -> Future[R]:
        with _interrupts_later():
            try:
                return self._executor.submit(self._function, task)
            except BrokenProcessPool:  # which the oldest task shows
                failed: Future[R] = Future()
                failed.set_exception(BrokenProcessPool())
                return failed

    def _result(self, task: T, future: Future[R]) -> R:
        with suppress(BrokenProcessPool):
            return future.result()
        for _ in range(_MOST_DEATHS):
            self.stop()
            self._start()
            with suppress(BrokenProcessPool):
                result = self._begun(task).result()  # alone: if its process ends, it is the task's fault
                rest = list(self.waiting)[1:]
                again = ((each, begun if _is_good(begun) else self._begun(each)) for each, begun in rest)
                self.waiting = deque([self.waiting[0], *again])
                return result
        raise _deaths(task)

    def stop(self) -> None:
        """End the processes at once, whatever they do."""
        for process in {*multiprocessing.active_children()} - self._others:
            process.kill()
        self._executor.shutdown(wait=True, cancel_futures=True)


def _is_good(future: Future[Any]) -> bool:
    """Whether a task was computed, or failed by itself, before its process ended."""
    return future.done() and not future.cancelled() and not isinstance(future.exception(), BrokenProcessPool)


@contextmanager
def _processes(function: Callable[[T], R], workers: int) -> Iterator[_Pool[T, R]]:
    pool = _Processes(function, workers)
    try:
        yield pool
    finally:
        pool.stop()


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

    def __init__(self, function: Callable[[T], R], client: Any, address: str) -> None:
        super().__init__(function)
        self._client, self._address = client, address
        self._executor = client.get_executor(pure=False)
        self._n_threads, self._counted = 0, -_RECOUNTED

    def is_full(self) -> bool:
        if time.monotonic() - self._counted >= _RECOUNTED:  # workers come and go
            workers = self._client.scheduler_info(n_workers=-1)["workers"]
            self._n_threads = sum(int(worker["nthreads"]) for worker in workers.values())
            self._counted = time.monotonic()
        return len(self.waiting) > max(_QUEUED * self._n_threads, _FEWEST_QUEUED)

    def _begun(self, task: T) -> Future[R]:
        future: Future[R] = self._executor.submit(self._function, task)
        return future

    def _result(self, task: T, future: Future[R]) -> R:
        from distributed.scheduler import KilledWorker

        while not future.done():
            if self._client.status != "running":
                raise self._lost()
            wait([future], timeout=_POLL)
        try:
            return future.result()
        except KilledWorker:
            raise _deaths(task) from None
        except CancelledError:
            raise self._lost() from None

    def _lost(self) -> OutputError:
        rule = "scheduler must stay reachable, got no answer"
        return OutputError(rule, place=self._address, hint="run again to resume")

    def stop(self) -> None:
        """Cancel what is not done."""
        with suppress(Exception):
            self._executor.shutdown(wait=False)


@contextmanager
def _cluster(function: Callable[[T], R], address: str) -> Iterator[_Pool[T, R]]:
    import dask
    import distributed

    library: Any = distributed  # its classes are not typed
    settings = {
        "distributed.comm.timeouts.connect": _CONNECTING,
        "distributed.admin.large-graph-warning-threshold": "1GB",  # the documents of a task travel with it
    }
    with dask.config.set(settings):
        for name in _LOGGERS:  # of a lost scheduler the message is ours
            logging.getLogger(name).setLevel(logging.CRITICAL)
        try:
            client = library.Client(address, timeout=_CONNECTING)
        except (OSError, ValueError, TimeoutError) as error:
            raise OutputError(f"scheduler must be reachable, got: {error}", place=address) from None
        pool: _Cluster[T, R] = _Cluster(function, client, address)
        try:
            yield pool
        finally:
            pool.stop()
            with suppress(Exception):
                client.close(timeout=2)
