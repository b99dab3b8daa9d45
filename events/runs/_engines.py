"""Parts of a job, computed by this process, by processes of this machine, or by the workers of a Dask scheduler."""

import logging
import multiprocessing
import signal
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError, Executor, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from itertools import chain, islice
from multiprocessing import resource_tracker
from operator import methodcaller
from typing import Any, Protocol

from corefsample._machine import begin_worker, one_processor_left
from corefsample.errors import InputError, OutputError, ParameterHint
from events._options import EngineOptions, Progress
from events.runs._store import CONTINUES, PartStore, StoredPart, package_checksum

_QUEUED = 3  # number of tasks submitted for each worker while the first result is awaited
_FEWEST_QUEUED = 6  # number of tasks submitted to a cluster that has no workers yet
_POLL = 0.2  # seconds between two checks of the workers or of the scheduler
_CONNECTING = "10s"
_PATIENCE = 10.0  # seconds without workers before a message
_CHECKSUM = "__import__('events.runs._store', fromlist=['_']).package_checksum()"
_PARTS = ("client", "comm", "core", "nanny", "scheduler", "worker")
_LOGGERS = ("distributed", *(f"distributed.{part}" for part in _PARTS), "asyncio", "tornado.application")


class Part(Protocol):
    """A part of a job; as text it names the part in error messages."""

    @property
    def key(self) -> str:
        """Checksum of everything on which the result of the part depends."""

    @property
    def n_bytes(self) -> float:
        """Size of the part's share of the inputs in bytes."""

    def compute(self, on_progress: Callable[[float, int], None] | None = None) -> StoredPart:
        """Compute the part, and add it to the store; call `on_progress` with bytes read and documents done."""


def completed_parts(
    parts: Iterable[Part],
    store: PartStore,
    engine: EngineOptions,
    *,
    raise_first_fault: bool,
    total_bytes: int,
    on_progress: Progress | None = None,
) -> list[StoredPart]:
    """Compute the parts that the store does not have, and return the stored results of all parts in their order.

    Parameters
    ----------
    parts
        Parts of a job, which are requested one by one. A single part is computed in this process, unless there is a
        scheduler.
    store
        Store of the results.
    engine
        Options that name the workers.
    raise_first_fault
        True if the first invalid document is an error, so that a part with rejected documents cannot be used.
    total_bytes, on_progress
        Size of all inputs in bytes, and function that is called with the bytes of the complete parts, this size, and
        the number of their documents.

    Raises
    ------
    InputError
        If a worker added its result to another folder of the same name.
    OutputError
        If a worker dies, or the scheduler cannot be reached, has no workers, or has workers without this version.
    """
    completed: list[StoredPart] = []
    waiting: deque[tuple[Part, Future[StoredPart]]] = deque()
    n_bytes, n_documents = 0.0, 0

    def report(n_read: float = 0.0, n_counted: int = 0) -> None:
        if on_progress is not None:
            on_progress(min(int(n_bytes + n_read), total_bytes), total_bytes, n_documents + n_counted)

    def computed_here(part: Part) -> StoredPart:
        with one_processor_left():
            return part.compute(lambda n_read, n_counted: report(min(n_read, part.n_bytes), n_counted))

    def complete_oldest() -> None:
        nonlocal n_bytes, n_documents
        part, future = waiting.popleft()
        while not wait([future], timeout=_POLL).done and is_working():
            pass
        rule = f"workers must live until {part} is complete, but one of them died"
        died = OutputError(rule, hint=f"if memory ran out, use fewer workers or smaller parts; {CONTINUES}")
        try:
            if not future.done():
                raise lost or died
            stored = future.result()
        except death:
            raise died from None
        except CancelledError:  # the scheduler was lost
            raise lost or died from None
        if not stored.folder.is_dir():
            rule = "folder must be the same for all workers"
            raise InputError(f"{rule}, got no result of {part}", place=str(store.path))
        completed.append(stored)
        n_bytes, n_documents = n_bytes + part.n_bytes, n_documents + stored.record["documents"]
        report()

    remaining = iter(parts)
    first = list(islice(remaining, 2))
    pool: AbstractContextManager[_Pool] = nullcontext((None, lambda: 1, lambda: True, BrokenProcessPool, None))
    if engine.scheduler is not None:
        pool = _cluster(engine.scheduler, engine.worker_timeout)
    elif not engine.is_here and len(first) > 1:
        pool = _processes(engine.workers or 1)
    with pool as (executor, n_workers, is_working, death, lost):
        for part in chain(first, remaining):
            future: Future[StoredPart] = Future()
            if (stored := store.find(part.key, raise_first_fault=raise_first_fault)) is not None:
                future.set_result(stored)
            elif executor is None:
                future.set_result(computed_here(part))
            else:
                try:
                    with _interrupts_later():
                        future = executor.submit(methodcaller("compute"), part)
                except BrokenProcessPool as error:  # results that were computed before are completed first
                    future.set_exception(error)
            waiting.append((part, future))
            most = max(_QUEUED * n_workers(), _FEWEST_QUEUED)
            while waiting and (waiting[0][1].done() or len(waiting) > most):
                complete_oldest()
        while waiting:
            complete_oldest()
    return completed


# An executor, None for this process; the number of parts that it can compute at the same time; whether it works (false
# if a worker died or the scheduler was lost, so that no result may come any more); the error of a part whose worker
# died; and the error to raise if the scheduler was lost.
_Pool = tuple[Executor | None, Callable[[], int], Callable[[], bool], type[Exception], OutputError | None]


@contextmanager
def _processes(workers: int) -> Iterator[_Pool]:
    """Start processes of this machine; they are spawned because threads of libraries do not survive in a forked one."""
    context = multiprocessing.get_context("spawn")
    executor = ProcessPoolExecutor(workers, mp_context=context, initializer=begin_worker)
    processes: dict[int, multiprocessing.Process] = executor._processes  # type: ignore[assignment]
    results: Any = executor._result_queue

    def are_alive() -> bool:
        # The executor reports a dead worker, except while it waits for the rest of a result whose sender was killed.
        return all(process.exitcode is None for process in [*processes.values()])

    try:
        yield executor, lambda: workers, are_alive, BrokenProcessPool, None
    finally:
        for process in [*processes.values()]:
            process.kill()
        # The executor's thread would wait forever for the rest of a result whose process was killed while it sent it,
        # because this process could still write to the pipe.
        results._writer.close()
        executor.shutdown(wait=True, cancel_futures=True)


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


@contextmanager
def _cluster(address: str, worker_timeout: float) -> Iterator[_Pool]:
    """Connect to an existing Dask scheduler, which computes a task again if its worker dies, up to three times."""
    import dask
    import distributed
    from distributed.scheduler import KilledWorker

    library: Any = distributed  # its classes are not typed
    for name in _LOGGERS:  # this module reports a lost scheduler itself
        logging.getLogger(name).setLevel(logging.CRITICAL)
    settings = {
        "distributed.comm.timeouts.connect": _CONNECTING,
        "distributed.admin.large-graph-warning-threshold": "1GB",  # the documents of a task travel with it
    }
    with dask.config.set(settings):
        try:
            client = library.Client(address, timeout=_CONNECTING)
        except (OSError, ValueError, TimeoutError) as error:
            rule = f"scheduler must be reachable, got: {error}"
            raise OutputError(rule, place=address, obstacle="NoScheduler") from None
        executor = client.get_executor(pure=False)
        rule = "scheduler must stay reachable, got no answer"
        lost = OutputError(rule, place=address, hint=CONTINUES, obstacle="NoScheduler")

        last_time, is_logged = time.monotonic(), False  # time at which there were workers

        def n_threads() -> int:
            nonlocal last_time, is_logged
            number = 0
            with suppress(Exception):  # of a lost scheduler; the next result raises the error
                number = sum(client.nthreads().values())
            if number:
                last_time, is_logged = time.monotonic(), False
            return number

        def is_working() -> bool:
            nonlocal is_logged
            if client.status != "running" or n_threads():
                return bool(client.status == "running")
            seconds = time.monotonic() - last_time
            if seconds > worker_timeout:
                rule = f"scheduler must have workers, got none for {seconds:.0f} seconds"
                hint = ParameterHint("worker_timeout", f"sets another limit; {CONTINUES}")
                raise OutputError(rule, place=address, hint=hint, obstacle="NoScheduler")
            if seconds > _PATIENCE and not is_logged:
                is_logged = True
                text = "%s has no workers; waiting up to %g seconds for one that has this version of corefsample"
                logging.getLogger("corefsample.jobs").warning(text, address, worker_timeout)
            return True

        try:
            _require_this_version(client, address)
            yield executor, n_threads, is_working, KilledWorker, lost
        finally:
            with suppress(Exception):
                executor.shutdown(wait=False)
            with suppress(Exception):
                client.close(timeout=2)


def _require_this_version(client: Any, address: str) -> None:
    """Raise OutputError if a scheduler or one of its workers has no corefsample, or another version.

    Such a worker would end when it receives a part, without an error here.
    """
    # Functions of the packages cannot be sent to a process that lacks them.
    try:
        checksums = {address: client.run_on_scheduler(eval, _CHECKSUM)}
        checksums |= client.run(eval, _CHECKSUM, on_error="return")
    except Exception as error:
        checksums = {address: error}
    for process, checksum in checksums.items():
        if checksum != package_checksum():
            problem = f"{type(checksum).__name__}: {checksum}" if isinstance(checksum, Exception) else "another version"
            rule = f"scheduler and workers must have this version of corefsample, got {problem}"
            raise OutputError(rule, place=process, hint="install it where they run, and start them again")
