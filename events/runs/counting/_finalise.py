"""The end of a run: the results of all partitions become the tables, pictures and record of one folder.

All sums are of whole numbers and all rows are in the order of date, document and event, so that the files do not
depend on the partitions, the processes that computed them, or the order of the documents.
"""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from corefsample.documents._rejected import Rejected
from corefsample.errors import InputError
from corefsample.files._paths import PathLike
from corefsample.files._remote_services import is_url
from corefsample.formats import DocumentStream
from events.counting._counter import DUPLICATE, EventCounter
from events.counting._counts import EventCounts
from events.counting._doc_ids import CountedIds, repeated_ids
from events.counting._tables import event_name
from events.runs._record import run_record
from events.runs._store import Places, Records, Store, writing
from events.runs.counting._options import EventsResult
from events.runs.counting._plan import Partition, RunPlan
from events.runs.counting._run import QUARANTINE, run_partition
from events.runs.counting._run_folder import RunFolder
from events.runs.counting._tables import write_counts

_MOST_NAMED = 3  # missing partitions in a message


def finalise_run(
    folder: PathLike,
    *,
    pictures: bool = True,
    started: float | None = None,
    n_computed: int | None = None,
) -> EventsResult:
    """Make the tables, pictures and record of a run from its partitions, all of which must be complete.

    Parameters
    ----------
    folder
        Folder of the run, as given to `initialise_run`.
    pictures
        Whether to draw the bands, and the comparison.
    started
        When the run began, in seconds since the epoch; None: now.
    n_computed
        Number of partitions that were computed for this call, for the summary; None: all.

    Raises
    ------
    InputError
        If no run was begun; if a partition is missing; if two documents of different partitions have the same doc_id
        (where bad documents are set aside, the second one is, and its partition computed again); if there is no
        document; or if the dates make too many periods.
    OutputError
        If a file cannot be written.
    """
    places = Places(os.fspath(folder))
    store = places.any()
    if store is None:
        raise InputError("run must be initialised before it is finalised, got no partitions", place=places.given)
    plan = store.plan(RunPlan)
    complete = _complete(store, plan, folder)
    again = _repeated(complete)
    if again:
        plan = store.exclude(plan, again)
        for number in again:
            run_partition(folder, number)
        complete = _complete(store, plan, folder)
    with writing(places):
        return _finished(places, complete, pictures, started or time.time(), n_computed)


@dataclass(frozen=True, slots=True)
class _Complete:
    """All partitions of a run, complete, with their records by number."""

    store: Store
    plan: RunPlan
    records: Records

    def results(self) -> list[Path]:
        """Folders of the results, in the order of the inputs."""
        return [self.store.result(self.records[each.number]) for each in self.plan.in_order()]


def _finished(
    places: Places, complete: _Complete, pictures: bool, started: float, n_computed: int | None
) -> EventsResult:
    """Write the files of a run, and put its partitions in their place."""
    store, plan = complete.store, complete.plan
    store.clean()
    # A folder that exists may be replaced: `initialise_run` made sure of that.
    with RunFolder(places.given, overwrite=store.path != places.beside or is_url(places.given)) as folder:
        summary = _written(folder, complete, pictures, started, n_computed)
    if plan.can_be_resumed and not is_url(places.given):
        places.keep(store)
    else:
        shutil.rmtree(store.path)
        shutil.rmtree(places.kept, ignore_errors=True)
    return dataclasses.replace(summary, out=places.given)


def _complete(store: Store, plan: RunPlan, folder: PathLike) -> _Complete:
    """All partitions, or raise if one is missing."""
    records = store.records(plan)
    missing = [each for each in plan.in_order() if each.number not in records]
    if missing:
        named = ", ".join(map(str, missing[:_MOST_NAMED])) + (", ..." if len(missing) > _MOST_NAMED else "")
        rule = f"all {len(plan.partitions)} partitions must be complete"
        hint = "run them, or the same command again"
        raise InputError(f"{rule}, got {len(missing)} missing: {named}", place=os.fspath(folder), hint=hint)
    return _Complete(store, plan, records)


def _written(
    run: RunFolder, complete: _Complete, pictures: bool, started: float, n_computed: int | None
) -> EventsResult:
    """Write the files of a run, and return its summary."""
    plan = complete.plan
    options = plan.options
    counter = _merged(complete)
    _quarantined(run, complete)
    if not counter.n_documents:
        aside = f", {run.n_set_aside} set aside, first: {run.first_set_aside}" if run.n_set_aside else ""
        message = f"a corpus must hold at least one document, got none{aside}"
        raise InputError(message, place=", ".join(file.path for file in plan.inputs))
    pa.default_memory_pool().release_unused()  # what the partitions needed; tables take as much again
    several = write_counts(
        run,
        counter,
        level=options.level,
        interval=options.interval,
        compare=options.compare or (),
        names=plan.definitions().lexicon.names,
        pictures=pictures,
    )
    summary = _summary(run, counter, several, started, len(plan.partitions), n_computed)
    run.finish_record(_record(run, complete, counter, summary, started))
    return summary


def _summary(
    run: RunFolder,
    counter: EventCounter,
    several: Sequence[EventCounts],
    started: float,
    n_partitions: int,
    n_computed: int | None,
) -> EventsResult:
    names = [(counts.event, event_name(key)) for counts in several for key in counts.tally.keys()]  # noqa: SIM118
    periods = several[0].periods()
    return EventsResult(
        out=os.fspath(run.path),
        n_documents=counter.n_documents,
        n_sampled=counter.n_sampled,
        n_with_events=counter.n_with_events,
        n_quarantined=run.n_set_aside,
        n_ambiguous=counter.n_ambiguous,
        actors=tuple(f"{event}: {name}" if len(several) > 1 else name for event, name in names),
        periods=(periods[0].label, periods[-1].label),
        seconds=round(time.time() - started, 3),
        n_partitions=n_partitions,
        n_computed=n_partitions if n_computed is None else n_computed,
        n_several_parses=counter.n_several_parses,
        uncertainty=counter.uncertainty,
    )


def _record(
    run: RunFolder, complete: _Complete, counter: EventCounter, summary: EventsResult, started: float
) -> dict[str, Any]:
    plan = complete.plan
    rules, lexicon = plan.definitions().rules, plan.definitions().lexicon
    keys = [key for tally in counter.tallies.values() for key in tally.keys()]  # noqa: SIM118
    return run_record(
        {**dataclasses.asdict(plan.options), "out": run.given},
        _inputs(plan, complete.records),
        started,
        rule={
            "name": ", ".join(rule.name for rule in rules),
            "preset": plan.options.preset,
            "source": ", ".join(rule.source for rule in rules),
        },
        lexicon=lexicon.source,
        names={code: lexicon.names.get(code, code) for key in keys for code in key if code},
        summary={**summary.to_json(), "out": run.given},
        partitions={"count": len(plan.partitions), "plan": complete.store.plan_sha256()},
        files=run.sizes(),
    )


def _merged(complete: _Complete) -> EventCounter:
    """The counts of all partitions; that their doc_ids differ is known."""
    first, *others = complete.results()
    counter = EventCounter.load(first)
    for folder in others:
        counter.merge(EventCounter.load(folder), distinct=True)
    return counter


def _inputs(plan: RunPlan, records: Records) -> list[dict[str, Any]]:
    """Path, size and SHA-256 of each input; no size and checksum of standard input."""
    checksums = {
        partition.source: records[partition.number]["input"]["sha256"]
        for partition in plan.partitions
        if not partition.first
    }
    return [file.to_record(checksums[file.absolute]) for file in plan.inputs]


def _quarantined(run: RunFolder, complete: _Complete) -> None:
    """Add the documents that partitions set aside, in the order of the inputs."""
    for path in (folder / QUARANTINE for folder in complete.results()):
        if path.exists():
            with open(path, encoding="utf-8") as lines:
                for row in map(json.loads, lines):
                    run.set_aside(Rejected(unit=row.pop("place"), number=None, **row))


def _repeated(complete: _Complete) -> dict[int, list[int]]:
    """Numbers of the lines or rows of each partition whose doc_id an earlier partition has.

    Raises
    ------
    InputError
        At the first, unless bad documents are set aside.
    """
    plan, partitions = complete.plan, complete.plan.in_order()
    pairs = repeated_ids(list(map(CountedIds.load, complete.results())))
    found: dict[int, list[int]] = {}
    for (earlier, first), (later, number) in pairs:
        if plan.options.on_error == "stop":
            raise _repeated_error(plan, (partitions[earlier], first), (partitions[later], number))
        found.setdefault(partitions[later].number, []).append(number)
    return found


def _repeated_error(plan: RunPlan, first: tuple[Partition, int], second: tuple[Partition, int]) -> InputError:
    place, doc_id = _place(plan, *second)
    earlier, _ = _place(plan, *first)
    return InputError(f"{DUPLICATE}, first at {earlier}", place=f"{place}: doc_id {doc_id!r}")


def _place(plan: RunPlan, partition: Partition, number: int) -> tuple[str, str]:
    """Place and doc_id of a document by its partition and number."""
    file = plan.input_of(partition)
    stream = DocumentStream(file.place, row_groups=partition.groups, parses=True, on_rejected=lambda rejected: None)
    for batch in stream:
        if number in batch.places:
            return f"{batch.source}: {batch.unit} {number}", batch.doc_ids[list(batch.places).index(number)]
    return file.path, ""
