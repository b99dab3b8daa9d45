"""Partitions on a Dask cluster: a local one, or that of an existing scheduler."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from corefsample._processors import processors
from corefsample.files import FolderCopy, PathLike, absolute
from events.jobs._cluster import POLL, Cluster, connected_cluster
from events.jobs.partitions._run import run_partition

__all__ = ["run_on_cluster"]

_RESUME = "run again to resume"
_SMALLER = "they may need more memory: smaller partitions, fewer workers"


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
    with connected_cluster(workers, scheduler) as cluster:
        futures = [cluster.submit(run_partition, place, number, threads=threads) for number in numbers]
        _wait(cluster, futures, numbers, on_complete)


def _wait(cluster: Cluster, futures: list[Any], numbers: Sequence[int], on_complete: Callable[..., None]) -> None:
    """Report partitions as they complete; raise the error of the first one that fails."""
    waiting = dict(enumerate(futures))
    first_failed = len(futures)
    while waiting:
        cluster.require_running(waiting.values(), _RESUME)
        for index, future in list(waiting.items()):
            if future.status == "finished":
                del waiting[index]
                on_complete(numbers[index], report=True)
            elif future.status == "error":
                first_failed = min(first_failed, index)
                del waiting[index]
        if first_failed < len(futures):  # later partitions no longer matter, earlier ones may fail too
            cluster.cancel([waiting.pop(index) for index in list(waiting) if index > first_failed])
        if waiting:
            time.sleep(POLL)
    if first_failed < len(futures):
        task = f"partition {numbers[first_failed]} is"
        raise cluster.error_of(futures[first_failed], task, _SMALLER)
