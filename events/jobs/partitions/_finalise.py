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
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from corefsample._log import log_step
from corefsample.documents import Rejected
from corefsample.errors import InputError, ParameterError
from corefsample.files import PathLike, is_url, read_ahead
from events.counting import (
    MOST_PERIODS,
    Calendar,
    CountTally,
    EventCounts,
    count_columns,
    event_name,
    recalibrated_columns,
    samples_table,
    unlike_scores,
)
from events.jobs._record import run_record
from events.jobs._run_folder import RunFolder
from events.jobs._run_pictures import draw_run
from events.jobs.partitions._documents import merged_tables
from events.jobs.partitions._merging import merged_documents, merged_evidence, sorted_runs
from events.jobs.partitions._options import EventsOptions, RunSummary
from events.jobs.partitions._plan import RunPlan, compared_keys
from events.jobs.partitions._repeated import repeated
from events.jobs.partitions._run import run_partition
from events.jobs.partitions._sums import run_columns
from events.lexicon import Lexicon
from events.rules import Rule
from events.runs import Places, Records, Store, writing

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["finalise_run"]

_MOST_NAMED = 3  # missing partitions in a message
_MERGED = "merged"  # folder of intermediate runs


def finalise_run(
    folder: PathLike,
    *,
    pictures: bool = True,
    started: float | None = None,
    n_computed: int | None = None,
) -> RunSummary:
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
    records = _complete(store, plan, folder)
    again = repeated(store, plan, records)
    if again:
        plan = store.exclude(plan, again)
        for number in again:
            run_partition(folder, number)
        records = _complete(store, plan, folder)
    with writing(places):
        return _finished(places, store, plan, records, pictures, started or time.time(), n_computed)


def _finished(
    places: Places,
    store: Store,
    plan: RunPlan,
    records: Records,
    pictures: bool,
    started: float,
    n_computed: int | None,
) -> RunSummary:
    """Write the files of a run, and put its partitions in their place."""
    store.clean()
    # A folder that exists may be replaced: `initialise_run` made sure of that.
    with RunFolder(places.given, overwrite=store.path != places.beside or is_url(places.given)) as folder:
        try:
            summary = _written(folder, store, plan, records, pictures, started, n_computed)
        finally:
            shutil.rmtree(store.path / _MERGED, ignore_errors=True)
    if plan.can_be_resumed and not is_url(places.given):
        places.keep(store)
    else:
        shutil.rmtree(store.path)
        shutil.rmtree(places.kept, ignore_errors=True)
    return dataclasses.replace(summary, out=places.given)


def _complete(store: Store, plan: RunPlan, folder: PathLike) -> Records:
    """Records of all partitions."""
    records = store.records(plan)
    missing = [each for each in plan.in_order() if each.number not in records]
    if missing:
        named = ", ".join(map(str, missing[:_MOST_NAMED])) + (", ..." if len(missing) > _MOST_NAMED else "")
        rule = f"all {len(plan.partitions)} partitions must be complete"
        hint = "run them, or the same command again"
        raise InputError(f"{rule}, got {len(missing)} missing: {named}", place=os.fspath(folder), hint=hint)
    return records


def _written(
    run: RunFolder,
    store: Store,
    plan: RunPlan,
    records: Records,
    pictures: bool,
    started: float,
    n_computed: int | None,
) -> RunSummary:
    """Write the files of a run, and return its summary."""
    options = plan.options
    rules, lexicon = plan.loaded()
    run.roles = run_columns(rules)
    run.has_parses = any(record.get("mixtures", 0) for record in records.values())
    uncertainty = _uncertainty(plan, records)
    tallies = _summed(store, plan, records, rules)
    _quarantined(run, store, plan, records)
    n_documents = next(iter(tallies.values())).n_documents
    if not n_documents:
        aside = f", {run.n_set_aside} set aside, first: {run.first_set_aside}" if run.n_set_aside else ""
        message = f"a corpus must hold at least one document, got none{aside}"
        raise InputError(message, place=", ".join(file.path for file in plan.inputs))
    pa.default_memory_pool().release_unused()  # what the partitions needed; tables take as much again
    with ThreadPoolExecutor(1, thread_name_prefix="corefsample-write") as background:
        # Arrow compresses the documents without Python's global lock, while the other tables are made.
        documents = background.submit(_add_documents, run, store, records)
        _add_evidence(run, store, records)
        several, table, comparison = _counted(run, options, uncertainty, tallies, rules, lexicon)
        documents.result()
    if uncertainty in ("fit", "domain"):
        run.add_samples(samples_table(several, run.roles))
    run.finish_tables(table, comparison)
    if pictures:
        draw_run(run, table, comparison, lexicon.names)
    keys = [(counts.event, key) for counts in several for key in counts.tally.keys()]  # noqa: SIM118
    periods = several[0].periods()
    totals = {
        name: sum(record[name] for record in records.values()) for name in ("sampled", "with_events", "ambiguous")
    }
    summary = RunSummary(
        out=os.fspath(run.path),
        n_documents=n_documents,
        n_sampled=totals["sampled"],
        n_with_events=totals["with_events"],
        n_quarantined=run.n_set_aside,
        n_ambiguous=totals["ambiguous"],
        actors=tuple(f"{event}: {event_name(key)}" if len(rules) > 1 else event_name(key) for event, key in keys),
        periods=(periods[0].label, periods[-1].label),
        seconds=round(time.time() - started, 3),
        n_partitions=len(plan.partitions),
        n_computed=len(plan.partitions) if n_computed is None else n_computed,
        n_mixtures=sum(record.get("mixtures", 0) for record in records.values()),
        uncertainty=uncertainty,
    )
    run.finish_record(
        run_record(
            {**dataclasses.asdict(options), "out": run.given},
            _inputs(plan, records),
            started,
            rule={
                "name": ", ".join(rule.name for rule in rules),
                "preset": options.preset,
                "source": ", ".join(rule.source for rule in rules),
            },
            lexicon=lexicon.source,
            names={code: lexicon.names.get(code, code) for _, key in keys for code in key if code},
            summary={**summary.to_json(), "out": run.given},
            partitions={"count": len(plan.partitions), "plan": store.plan_sha256()},
            files=run.sizes(),
        )
    )
    return summary


def _add_evidence(run: RunFolder, store: Store, records: Records) -> None:
    """Write the evidence, and the table of all documents."""
    for evidence in merged_evidence(sorted_runs(store, records, "evidence"), _temporary(store, "evidence")):
        log_step("finalising: evidence of %s", evidence[-1]["date"])
        run.add_evidence(evidence)
    for rows in merged_tables(sorted_runs(store, records, "all_documents"), _temporary(store, "all_documents")):
        run.add_rows(rows)


def _add_documents(run: RunFolder, store: Store, records: Records) -> None:
    """Write the documents with evidence."""
    # The next ones are merged while some are compressed.
    runs = sorted_runs(store, records, "documents")
    for batch in read_ahead(merged_documents(runs, _temporary(store, "documents"))):
        log_step("finalising: documents of %s", batch.dates[-1])
        run.add_documents(batch)


def _temporary(store: Store, name: str) -> Path:
    """A folder for intermediate runs of some rows; `_finished` removes it."""
    path = store.path / _MERGED / name
    path.mkdir(parents=True, exist_ok=True)
    return path


def _counted(
    run: RunFolder,
    options: EventsOptions,
    uncertainty: str | None,
    tallies: Mapping[str, CountTally],
    rules: Sequence[Rule],
    lexicon: Lexicon,
) -> tuple[list[EventCounts], pd.DataFrame, pd.DataFrame | None]:
    """Counts by rule, their table, and that of comparisons if events are compared."""
    calendar = Calendar(options.period)
    shown = options.level, options.interval, frozenset(lexicon.codes)
    several = [
        EventCounts(tallies[rule.name], calendar, *shown, rule.name, rule.columns, uncertainty) for rule in rules
    ]
    columns = count_columns(run.roles) if uncertainty is None else recalibrated_columns(count_columns(run.roles))
    table = _joined([counts.to_frame() for counts in several]).reindex(columns=list(columns))
    table = table.fillna(dict.fromkeys(run.roles, ""))
    comparisons = [
        counts.compare(*compared)
        for counts, rule in zip(several, rules, strict=True)
        if (compared := compared_keys(options, rule, lexicon))
    ]
    return several, table, _joined(comparisons) if comparisons else None


def _uncertainty(plan: RunPlan, records: Records) -> str | None:
    """Uncertainty of a recalibration that the counts of all partitions have."""
    counted = [(each, records[each.number]) for each in plan.in_order() if records[each.number]["documents"]]
    if not counted:
        return None
    _, first = counted[0]
    for partition, record in counted:
        if record["uncertainty"] != first["uncertainty"]:
            place = plan.input_of(partition).path
            raise unlike_scores(record["scores_had"], first["scores_had"]).as_input_error(place)
    return None if first["uncertainty"] is None else str(first["uncertainty"])


def _inputs(plan: RunPlan, records: Records) -> list[dict[str, Any]]:
    """Path, size and SHA-256 of each input; no size and checksum of standard input."""
    checksums = {
        partition.source: records[partition.number]["input"]["sha256"]
        for partition in plan.partitions
        if not partition.first
    }
    return [file.to_record(checksums[file.absolute]) for file in plan.inputs]


def _joined(tables: list[pd.DataFrame]) -> pd.DataFrame:
    import pandas as pd

    return tables[0] if len(tables) == 1 else pd.concat(tables, ignore_index=True)


def _summed(store: Store, plan: RunPlan, records: Records, rules: Sequence[Rule]) -> dict[str, CountTally]:
    """The sums of all partitions, by event."""
    totals = {rule.name: CountTally(plan.options.n_samples) for rule in rules}
    calendar = Calendar(plan.options.period)
    for partition in plan.in_order():
        record = records[partition.number]
        content = json.loads((store.result(record) / "tally.json").read_text(encoding="utf-8"))
        try:
            for name, total in totals.items():
                total.merge(CountTally.from_json(content[name]))
        except ParameterError:
            extremes = record["dates"]
            numbers = calendar.numbers([np.datetime64(date).item() for date, _ in extremes])
            outlier = next(iter(totals.values())).first_outlier(numbers) or 0
            rule = f"at most {MOST_PERIODS:,} periods ({plan.options.period}) from first to last document"
            date, place = extremes[outlier]
            raise InputError(f"date must leave {rule}, got {date}", place=place) from None
    return totals


def _quarantined(run: RunFolder, store: Store, plan: RunPlan, records: Records) -> None:
    """Add the documents that partitions set aside, in the order of the inputs."""
    for partition in plan.in_order():
        path = store.result(records[partition.number]) / "quarantine.jsonl"
        if not path.exists():
            continue
        with open(path, encoding="utf-8") as lines:
            for line in lines:
                row = json.loads(line)
                place = row.pop("place")
                run.set_aside(Rejected(unit=place, number=None, **row))
