"""The batch job: counts events in pre-scored mention files and writes a folder of counts, evidence and pictures."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from functools import partial

from corefsample._processors import one_processor_left
from corefsample.errors import ParameterError
from corefsample.files import PathLike, opened_folder, path_list
from events.runs._engines import Engine
from events.runs._plan import STANDARD_INPUT, Part
from events.runs._run import missing_parts, working_in
from events.runs._store import Places, Store
from events.runs.counting._actor_notes import warn_about_actors
from events.runs.counting._finalise import finalise_run
from events.runs.counting._options import CountOptions, EventsResult
from events.runs.counting._plan import RunPlan, planned
from events.runs.counting._run import run_partition
from events.runs.counting._start import begin_run, finished_summary, initialise_run

__all__ = ["CountOptions", "EventsResult", "count_events", "finalise_run", "initialise_run", "run_partition"]

Progress = Callable[[int, int, int], None]


def count_events(
    inputs: PathLike | Iterable[PathLike],
    out: PathLike,
    options: CountOptions | None = None,
    *,
    overwrite: bool = False,
    restart: bool = False,
    pictures: bool = True,
    workers: int | None = None,
    scheduler: str | None = None,
    on_progress: Progress | None = None,
) -> EventsResult:
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
        Number of processes; None or 1: this process alone, with threads.
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
    engine = Engine(workers, scheduler)
    _require_files(inputs, engine)
    plan = planned(inputs, options or CountOptions())
    with working_in(out) as places:
        finished = None if overwrite or restart else finished_summary(places, plan)
        if finished is not None:
            return finished
        store, plan = begin_run(places, plan, overwrite=overwrite, restart=restart)
        missing = missing_parts(store, plan)
        _compute(places, missing, engine, _Progress(store, plan, missing, on_progress))
        summary = finalise_run(out, pictures=pictures, started=started, n_computed=len(missing))
        with opened_folder(out, only=lambda name: name == "all_documents.parquet") as folder:
            warn_about_actors(folder, plan.definitions().rules, plan.definitions().lexicon)
        return summary


def _compute(places: Places, missing: list[Part], engine: Engine, progress: _Progress) -> None:
    """Compute the missing partitions."""

    def here(number: int) -> None:
        with one_processor_left():
            run_partition(places.given, number, on_progress=progress.within(number))

    elsewhere = partial(run_partition, places.out, threads=engine.threads)
    for number, _ in engine.results(elsewhere, [each.number for each in missing], here=here, are_small=True):
        progress.complete(number, report=not engine.is_here)


def _require_files(inputs: PathLike | Iterable[PathLike], engine: Engine) -> None:
    if not engine.is_here and STANDARD_INPUT in path_list(inputs):
        parameter = "workers" if engine.scheduler is None else "scheduler"
        rule = "cannot be combined with standard input, which only one process can read"
        raise ParameterError(rule, parameter=parameter)


class _Progress:
    """Adds up the progress of partitions."""

    def __init__(self, store: Store, plan: RunPlan, missing: list[Part], on_progress: Progress | None) -> None:
        self._store, self._plan, self._on_progress = store, plan, on_progress
        self._parts = {each.number: each for each in plan.partitions}
        self._n_bytes, self._n_documents = 0.0, 0
        for number in self._parts.keys() - {each.number for each in missing}:
            self.complete(number, report=False)

    def within(self, number: int) -> Callable[[int, int], None] | None:
        """Progress of a partition that runs in this process."""
        return None if self._on_progress is None else partial(self._report, self._bytes(number))

    def complete(self, number: int, *, report: bool) -> None:
        """Add a complete partition."""
        record = self._store.record(self._parts[number], verify=False) or {"documents": 0}
        self._n_bytes += self._bytes(number)
        self._n_documents += record["documents"]
        if report:
            self._report(0.0, 0, 0)

    def _bytes(self, number: int) -> float:
        part = self._parts[number]
        return part.share * self._plan.input_of(part).n_bytes

    def _report(self, most: float, n_read: int, n_documents: int) -> None:
        if self._on_progress is not None:
            n_bytes = min(int(self._n_bytes + min(n_read, most)), self._plan.n_bytes)
            self._on_progress(n_bytes, self._plan.n_bytes, self._n_documents + n_documents)
