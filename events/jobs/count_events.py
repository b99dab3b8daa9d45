"""The batch job: counts events in pre-scored mention files and writes a folder of counts, evidence and pictures."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

from corefsample._processors import one_processor_left
from corefsample.errors import CorefsampleError, ParameterError
from corefsample.files import FolderCopy, PathLike, is_url, joined, path_list
from events.jobs._actor_notes import warn_about_actors
from events.jobs._cluster import require_dask
from events.jobs.partitions import (
    STANDARD_INPUT,
    EventsOptions,
    RunPlan,
    RunSummary,
    Store,
    completed_documents,
    discard_unfinished,
    finalise_run,
    finished_summary,
    initialise_run,
    only_run,
    opened_run,
    run_on_cluster,
    run_partition,
    unfinished_store,
    writing,
)

__all__ = ["EventsOptions", "RunSummary", "finalise_run", "initialise_run", "run_events", "run_partition"]

Progress = Callable[[int, int, int], None]


def run_events(
    inputs: PathLike | Iterable[PathLike],
    out: PathLike,
    options: EventsOptions | None = None,
    *,
    overwrite: bool = False,
    restart: bool = False,
    pictures: bool = True,
    workers: int | None = None,
    scheduler: str | None = None,
    on_progress: Progress | None = None,
) -> RunSummary:
    """Count events in pre-scored mention files and write the run's folder.

    The inputs are divided into partitions. An interrupted run leaves the complete ones, and the same call resumes it; a
    call with more inputs computes those and counts all. The files do not depend on the partitions, the processes, or
    the order of the documents. See docs/partitions.md.

    Parameters
    ----------
    inputs
        Files, URLs, globs, or "-" for JSON Lines on standard input; every document with a date and tokens.
    out
        Folder, or its URL, for counts, evidence, pictures and the run record; see the README for its files.
    options
        What to count.
    overwrite
        Whether an earlier run's folder may be replaced.
    restart
        Whether to discard the complete partitions of an interrupted run.
    pictures
        Whether to draw the bands, and the comparison.
    workers
        Number of processes of a local Dask cluster; None: this process alone, with threads.
    scheduler
        Address of an existing Dask scheduler, "tcp://...", whose workers see the same files.
    on_progress
        Called after each batch with the bytes read, the bytes of all files, and the documents counted.

    Raises
    ------
    ParameterError, InputError, OutputError
        If an option, a document, a rule or lexicon file, or the folder breaks its rule, or another run works in the
        folder; then no folder is left, but the complete partitions are.
    """
    started = time.time()
    options = options or EventsOptions()
    _require_cluster(inputs, workers, scheduler)
    with opened_run(out) as run:
        folder = Path(run).resolve()
        made = [each for each in folder.parents if not each.exists()]
        with writing(run):
            folder.parent.mkdir(parents=True, exist_ok=True)
        try:
            with only_run(run):
                finished = None if overwrite or restart else finished_summary(inputs, run, options)
                if finished is not None:
                    return finished
                try:
                    missing = initialise_run(inputs, run, options, overwrite=overwrite, restart=restart)
                    _compute(run, missing, workers, scheduler, on_progress)
                    summary = finalise_run(run, pictures=pictures, started=started, n_computed=len(missing))
                    warn_about_actors(run, options)
                    return summary
                except BaseException as error:
                    message = _left(run)
                    if isinstance(error, KeyboardInterrupt) and message:
                        raise KeyboardInterrupt(message) from None
                    raise
        except BaseException:
            for each in made:
                with suppress(OSError):
                    each.rmdir()
            raise


def _compute(
    run: FolderCopy,
    missing: tuple[int, ...],
    workers: int | None,
    scheduler: str | None,
    on_progress: Progress | None,
) -> None:
    """Compute the missing partitions."""
    progress = _PartitionProgress(run, missing, on_progress)
    if workers is not None or scheduler is not None:
        run_on_cluster(run, missing, workers=workers, scheduler=scheduler, on_complete=progress.complete)
        return
    with one_processor_left():
        for number in missing:
            run_partition(run, number, on_progress=progress.within(number))
            progress.counted(number)


def _require_cluster(inputs: PathLike | Iterable[PathLike], workers: int | None, scheduler: str | None) -> None:
    require_dask(workers, scheduler)
    parameter = "workers" if scheduler is None else "scheduler"
    if (workers is not None or scheduler is not None) and STANDARD_INPUT in path_list(inputs):
        rule = "cannot be combined with standard input, which only one process can read"
        raise ParameterError(rule, parameter=parameter)


def _left(run: FolderCopy) -> str:
    """Discard an unfinished run without a complete partition; describe what any other left."""
    try:
        if discard_unfinished(run, unless_complete=True):
            return ""
    except CorefsampleError:  # of a service, which is perhaps why the run stops
        return ""
    store = unfinished_store(run)
    plan = store.plan()
    n_complete = len(store.records(plan, verify=False))
    place = joined(run.given, store.path.name) if is_url(run.given) else os.path.relpath(store.path)
    return (
        f"interrupted with {n_complete} of {len(plan.partitions)} partitions complete, which are in "
        f"{place}; the same command resumes"
    )


class _PartitionProgress:
    """Adds up the progress of partitions."""

    def __init__(self, run: FolderCopy, missing: tuple[int, ...], on_progress: Progress | None) -> None:
        self._run, self._on_progress = run, on_progress
        self._store: Store = unfinished_store(run)
        self._plan: RunPlan = self._store.plan()
        self._n_bytes = 0.0
        self._n_documents = 0
        self._n_within = 0  # documents of the partition that is being counted
        for number, record in self._store.records(self._plan, verify=False).items():
            if number not in missing:
                self._n_bytes += self._bytes(number)
                self._n_documents += record["documents"]

    def _bytes(self, number: int) -> float:
        partition = self._plan.partition(number)
        return 0.0 if partition is None else partition.share * self._plan.input_of(partition).n_bytes

    def within(self, number: int) -> Callable[[int, int], None] | None:
        """Progress of a partition that runs in this process."""
        if self._on_progress is None:
            return None
        on_progress = self._on_progress
        self._n_within = 0

        def within_partition(n_read: int, n_documents: int) -> None:
            self._n_within = n_documents
            n_bytes = min(self._n_bytes + min(n_read, self._bytes(number)), self._plan.n_bytes)
            on_progress(int(n_bytes), self._plan.n_bytes, self._n_documents + n_documents)

        return within_partition

    def counted(self, number: int) -> None:
        """Add the partition that was counted in this process, as far as it was reported."""
        self._n_bytes += self._bytes(number)
        self._n_documents += self._n_within

    def complete(self, number: int, *, report: bool = False) -> None:
        """Add a complete partition."""
        self._n_bytes += self._bytes(number)
        self._n_documents += completed_documents(self._run, self._store, number)
        if report and self._on_progress is not None:
            n_bytes = min(int(self._n_bytes), self._plan.n_bytes)
            self._on_progress(n_bytes, self._plan.n_bytes, self._n_documents)
