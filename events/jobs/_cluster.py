"""A Dask cluster that computes tasks: a local one, or that of an existing scheduler."""

from __future__ import annotations

import importlib.util
import logging
import os
import signal
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from multiprocessing import resource_tracker
from typing import Any

from corefsample import _checks
from corefsample._extras import install_hint
from corefsample._log import logger
from corefsample.errors import OutputError, ParameterError

__all__ = ["POLL", "Cluster", "connected_cluster", "require_dask"]

POLL = 0.05  # seconds between two looks at the tasks
_MOST_DEATHS = 3  # of workers that compute the same task
_CONNECTING = "10s"
_PARTS = ("client", "comm", "core", "nanny", "scheduler", "worker")
_LOGGERS = ("distributed", *(f"distributed.{part}" for part in _PARTS), "asyncio", "tornado.application")


def require_dask(workers: int | None, scheduler: str | None) -> None:
    """Check, before the work, the options of a cluster, if there are any.

    Parameters
    ----------
    workers
        Processes of a local cluster.
    scheduler
        Address of an existing scheduler, instead.

    Raises
    ------
    ParameterError
        If an option breaks its rule, or Dask is missing.
    """
    if workers is None and scheduler is None:
        return
    if workers is not None:
        _checks.whole("workers", workers, 1)
    if workers is not None and scheduler is not None:
        raise ParameterError("must be left out where a scheduler has its own workers", parameter="workers")
    if scheduler is not None and "://" not in scheduler:
        raise ParameterError(f"must be an address like tcp://host:8786, got {scheduler!r}", parameter="scheduler")
    if importlib.util.find_spec("distributed") is None:
        parameter = "workers" if scheduler is None else "scheduler"
        raise ParameterError(
            "needs dask[distributed], which is not installed", parameter=parameter, hint=install_hint("dask")
        )


class Cluster:
    """Tasks on the workers of a cluster.

    Parameters
    ----------
    client
        A client of Dask.
    address
        Of the scheduler, for messages.
    """

    def __init__(self, client: Any, address: str) -> None:
        self._client, self._address = client, address

    def submit(self, function: Callable[..., Any], *arguments: Any, **keywords: Any) -> Any:
        """Begin a task; return its future."""
        return self._client.submit(function, *arguments, **keywords, pure=False)

    def cancel(self, futures: Iterable[Any]) -> None:
        """Stop tasks whose results are no longer needed."""
        self._client.cancel(list(futures), force=True)

    def n_threads(self) -> int:
        """Number of tasks that the workers compute at the same time."""
        workers = self._client.scheduler_info(n_workers=-1)["workers"]
        return sum(int(worker["nthreads"]) for worker in workers.values())

    def require_running(self, futures: Iterable[Any], hint: str | None = None) -> None:
        """Raise an OutputError if the scheduler, or a task with it, is lost."""
        if self._client.status != "running" or any(future.status in ("lost", "cancelled") for future in futures):
            raise OutputError("scheduler must stay reachable, got no answer", place=self._address, hint=hint)

    def error_of(self, future: Any, task: str, hint: str) -> BaseException:
        """The error of a task; `task` describes it, and `hint` is the next step if its workers keep dying."""
        from distributed.scheduler import KilledWorker

        error: BaseException = future.exception(timeout=_CONNECTING)
        if isinstance(error, KilledWorker):
            rule = f"workers must live until {task} complete, got {_MOST_DEATHS} that died"
            return OutputError(rule, hint=hint)
        return error


@contextmanager
def connected_cluster(workers: int | None, scheduler: str | None) -> Iterator[Cluster]:
    """Start a local cluster of processes, which ends with the context and with this process, or use an existing one.

    A task whose worker dies is computed again by another one, up to three times.

    Raises
    ------
    OutputError
        If the workers do not start, or the scheduler cannot be reached.
    """
    import dask
    import distributed

    library: Any = distributed  # its classes are not typed
    settings = {
        # Dask's workers return each batch that they free to the system, and pay for the next one again: docs/scale.md.
        "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": None,
        "distributed.worker.profile.enabled": False,  # it takes turns with the work
        "distributed.scheduler.allowed-failures": _MOST_DEATHS,
        "distributed.comm.timeouts.connect": _CONNECTING,
        "distributed.worker.daemon": True,  # workers end when this process does
        "distributed.admin.low-level-log-length": 0,
        "distributed.admin.large-graph-warning-threshold": "1GB",  # the documents of a task travel with it
    }
    with ExitStack() as stack:
        stack.enter_context(dask.config.set(settings))
        for name in _LOGGERS:  # of a lost worker or scheduler the message is ours, or none
            logging.getLogger(name).setLevel(logging.CRITICAL)
        if scheduler is None:
            try:
                with _interrupts_later():
                    cluster = library.LocalCluster(
                        n_workers=workers,
                        threads_per_worker=1,
                        processes=True,
                        dashboard_address="127.0.0.1:0",  # None is port 8787, with a warning if it is taken
                        silence_logs=logging.CRITICAL,
                        memory_limit=0,
                    )
            except (RuntimeError, OSError, TimeoutError) as error:
                raise OutputError(f"workers must start, got: {error}") from None
            stack.callback(_closed, cluster)
            client = library.Client(cluster)
            level = logger().getEffectiveLevel()
            client.forward_logging("corefsample", level=level)
            client.run(_log_from, level)
        else:
            try:
                client = library.Client(scheduler, timeout=_CONNECTING)
            except (OSError, ValueError, TimeoutError) as error:
                raise OutputError(f"scheduler must be reachable, got: {error}", place=scheduler) from None
        stack.callback(_closed, client)
        if scheduler is None:
            stack.push(partial(_kill_after_error, cluster))
        yield Cluster(client, scheduler or "of the local cluster")


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


def _kill_after_error(cluster: Any, kind: object, *_: object) -> None:
    """End the workers of a local cluster at once, whatever they do, if an error ends the work."""
    if kind is None:
        return
    for nanny in cluster.workers.values():
        with suppress(Exception):
            nanny.auto_restart = False
            os.kill(nanny.pid, signal.SIGKILL if hasattr(signal, "SIGKILL") else signal.SIGTERM)


def _log_from(level: int) -> None:
    """Log what a worker does, too."""
    logger().setLevel(level)


def _closed(part: Any) -> None:
    with suppress(Exception):
        part.close(timeout=2)
