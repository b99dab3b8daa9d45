"""Partitions on a Dask cluster: a local one, or that of an existing scheduler."""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

from corefsample import _checks
from corefsample._processors import processors
from corefsample.errors import OutputError, ParameterError
from corefsample.files import FolderCopy, PathLike, absolute, path_list
from events.jobs.partitions._plan import STANDARD_INPUT
from events.jobs.partitions._run import run_partition

__all__ = ["require_dask", "run_on_cluster"]

_POLL = 0.2  # seconds
_MOST_DEATHS = 3  # of workers that compute the same partition
_CONNECTING = "10s"
_EXTRA = 'python -m pip install "corefsample[dask]"'


def require_dask(inputs: Any, workers: int | None, scheduler: str | None) -> None:
    """Check, before the work, that a run can use a cluster.

    Raises
    ------
    ParameterError
        If Dask is missing, an option breaks its rule, or an input is standard input, which other processes cannot read.
    """
    parameter = "workers" if scheduler is None else "scheduler"
    if workers is not None:
        _checks.whole("workers", workers, 1)
    if workers is not None and scheduler is not None:
        raise ParameterError("must be left out where a scheduler has its own workers", parameter="workers")
    if scheduler is not None and "://" not in scheduler:
        raise ParameterError(f"must be an address like tcp://host:8786, got {scheduler!r}", parameter="scheduler")
    if importlib.util.find_spec("distributed") is None:
        raise ParameterError("needs dask[distributed], which is not installed", parameter=parameter, hint=_EXTRA)
    if STANDARD_INPUT in path_list(inputs):
        rule = "cannot be combined with standard input, which only one process can read"
        raise ParameterError(rule, parameter=parameter)


def run_on_cluster(
    folder: PathLike,
    numbers: Sequence[int],
    *,
    workers: int | None,
    scheduler: str | None,
    on_complete: Callable[..., None],
) -> None:
    """Compute partitions on a cluster.

    Of several partitions that fail, the error of the first one is raised, so that it does not depend on the number of
    workers. A partition whose worker dies is computed again by another one, up to three times.

    Parameters
    ----------
    folder
        Folder of the run, which the workers see under the same name; or its URL.
    numbers
        Of the partitions, in the order of the inputs.
    workers
        Processes of a local cluster, which ends with this call.
    scheduler
        Address of an existing scheduler, instead.
    on_complete
        Called with the number of each complete partition.

    Raises
    ------
    CorefsampleError
        Of a partition.
    OutputError
        If the scheduler cannot be reached, or workers keep dying.
    """
    if not numbers:
        return
    place = absolute(folder.given if isinstance(folder, FolderCopy) else folder)
    # On a local cluster the workers share the processors; on another, each task uses the threads of its worker.
    threads = 1 if workers is None else max(1, processors() // workers)
    with _client(workers, scheduler) as client:
        futures = [client.submit(run_partition, place, number, threads=threads, pure=False) for number in numbers]
        _wait(client, futures, numbers, on_complete, scheduler or "of the local cluster")


def _wait(
    client: Any, futures: list[Any], numbers: Sequence[int], on_complete: Callable[..., None], address: str
) -> None:
    """Report partitions as they complete; raise the error of the first one that fails."""
    waiting = dict(enumerate(futures))
    first_failed = len(futures)
    while waiting:
        if client.status != "running" or any(future.status in ("lost", "cancelled") for future in waiting.values()):
            raise OutputError("scheduler must stay reachable, got no answer", place=address, hint="run again to resume")
        for index, future in list(waiting.items()):
            if future.status == "finished":
                del waiting[index]
                on_complete(numbers[index], report=True)
            elif future.status == "error":
                first_failed = min(first_failed, index)
                del waiting[index]
        if first_failed < len(futures):  # later partitions no longer matter, earlier ones may fail too
            later = [waiting.pop(index) for index in list(waiting) if index > first_failed]
            client.cancel(later, force=True)
        if waiting:
            time.sleep(_POLL)
    if first_failed < len(futures):
        raise _described(futures[first_failed].exception(timeout=_CONNECTING), numbers[first_failed])


def _described(error: BaseException, number: int) -> BaseException:
    from distributed.scheduler import KilledWorker

    if isinstance(error, KilledWorker):
        rule = f"workers must live until partition {number} is complete, got {_MOST_DEATHS} that died"
        return OutputError(rule, hint="they may need more memory: smaller partitions, fewer workers")
    return error


@contextmanager
def _client(workers: int | None, scheduler: str | None) -> Iterator[Any]:
    import logging

    import dask
    import distributed

    library: Any = distributed  # its classes are not typed
    settings = {
        "distributed.scheduler.allowed-failures": _MOST_DEATHS,
        "distributed.comm.timeouts.connect": _CONNECTING,
        "distributed.worker.daemon": True,  # workers end when this process does
        "distributed.admin.low-level-log-length": 0,
    }
    with ExitStack() as stack:
        stack.enter_context(dask.config.set(settings))
        if scheduler is None:
            # Of a lost worker the message is ours, or none.
            for name in ("distributed", "distributed.nanny", "distributed.scheduler", "distributed.worker"):
                logging.getLogger(name).setLevel(logging.CRITICAL)
            cluster = library.LocalCluster(
                n_workers=workers,
                threads_per_worker=1,
                processes=True,
                dashboard_address=None,
                silence_logs=logging.CRITICAL,
                memory_limit=0,
            )
            stack.callback(_closed, cluster)
            client = library.Client(cluster)
        else:
            try:
                client = library.Client(scheduler, timeout=_CONNECTING)
            except (OSError, ValueError, TimeoutError) as error:
                raise OutputError(f"scheduler must be reachable, got: {error}", place=scheduler) from None
        stack.callback(_closed, client)
        yield client


def _closed(part: Any) -> None:
    with suppress(Exception):
        part.close(timeout=2)
