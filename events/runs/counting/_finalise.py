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
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

from corefsample._lazy import pd
from corefsample._log import log_step
from corefsample.documents._batch import DocumentBatch
from corefsample.documents._rejected import Rejected
from corefsample.errors import InputError
from corefsample.files._paths import PathLike
from corefsample.files._reading import read_ahead
from corefsample.files._remote_services import is_url
from corefsample.formats import DocumentStream
from corefsample.formats.scored._parquet import ParquetWriter, abandon
from events._csv_cells import escaped_frame, escaped_texts
from events.counting._counted_rows import in_groups
from events.counting._counter import DUPLICATE, EventCounter
from events.counting._counts import EventCounts, joined_counts, samples_table
from events.counting._tables import arrow_schema, count_columns, event_name
from events.counting._tally import excluded_triggers
from events.plots import actor_comparison, bands_by_event, event_bands
from events.plots.comparisons import comparisons_by_event
from events.runs._output_folder import RunFolder
from events.runs._pictures import save_pictures
from events.runs._plan import Part
from events.runs._record import run_record
from events.runs._store import Places, Records, Store, sealed, writing
from events.runs.counting._options import CountOptions, EventsResult
from events.runs.counting._plan import RunPlan

QUARANTINE = "quarantine.jsonl"
_MOST_NAMED = 3  # missing partitions in a message


def finalise_run(folder: PathLike, *, pictures: bool = True) -> EventsResult:
    """Make the tables, pictures and record of a run from its partitions, all of which must be complete.

    Parameters
    ----------
    folder
        Folder of the run, as given to `initialise_run`.
    pictures
        Whether to draw the bands, and the comparison.

    Raises
    ------
    InputError
        If no run was begun; if a partition is missing; if two documents of different partitions have the same doc_id
        (where bad documents are set aside, the partition of the second one is missing then, and has to be run again);
        if there is no document; or if the dates make too many periods.
    OutputError
        If a file cannot be written.
    """
    places = Places(os.fspath(folder))
    store = places.any()
    if store is None:
        raise InputError("run must be initialised before it is finalised, got no partitions", place=places.given)
    merged = MergedPartitions(store, store.plan(RunPlan))
    _complete(merged, places, verify=True)
    with merged.stopping():
        for part in merged.plan.in_order():
            merged.add(part, merged.load(part))
    with writing(places):
        return write_run(places, merged, pictures=pictures, started=time.time())


class MergedPartitions:
    """The counts of partitions, which are added in the order of the inputs.

    Attributes
    ----------
    store, plan
        Of the run.
    counter
        The counts so far.
    """

    def __init__(self, store: Store, plan: RunPlan) -> None:
        self.store, self.plan = store, plan
        self.counter: EventCounter | None = None
        self._ends: list[int] = []  # number of documents after each partition that was added
        self._added: list[Part] = []

    @contextmanager
    def stopping(self) -> Iterator[None]:
        """Note in the plan that an invalid document stopped the run: then the inputs may be corrected."""
        try:
            yield
        except InputError:
            self.plan = dataclasses.replace(self.plan, stopped=True)
            self.store.write_plan(self.plan)
            raise

    def load(self, part: Part) -> EventCounter:
        """The counts of a complete partition."""
        return EventCounter.load(self.store.result(self.store.record(part, verify=False) or {}))

    def add(self, part: Part, counter: EventCounter) -> bool:
        """Add the counts of a partition, and return True.

        If it has doc_ids of earlier ones, these documents are excluded instead, and the partition is not complete.

        Raises
        ------
        InputError
            At the first such document, unless bad documents are set aside.
        """
        if self.counter is None:
            self.counter = counter
        else:
            repeated = self.counter.ids.repeated_in(counter.ids)
            if repeated:
                numbers = [counter.ids.numbers[later] for _, later in repeated]
                if self.plan.stops:
                    place, doc_id = _place(self.plan, part, numbers[0])
                    first = repeated[0][0]
                    earlier = self._added[bisect_right(self._ends, first)]
                    before, _ = _place(self.plan, earlier, self.counter.ids.numbers[first])
                    raise InputError(f"{DUPLICATE}, first at {before}", place=f"{place}: doc_id {doc_id!r}")
                self.plan = self.store.exclude(self.plan, {part.number: numbers})
                return False
            self.counter.merge(counter, distinct=True)
        self._ends.append(len(self.counter.ids))
        self._added.append(part)
        return True


def write_run(
    places: Places, merged: MergedPartitions, *, pictures: bool, started: float, n_computed: int | None = None
) -> EventsResult:
    """Write the files of a run whose partitions were all added, and put these in their place.

    Parameters
    ----------
    places, merged
        Of the run.
    pictures
        Whether to draw the bands, and the comparison.
    started
        When the run began, in seconds since the epoch.
    n_computed
        Number of partitions that were computed for this call, for the summary; None: all.
    """
    records = _complete(merged, places, verify=False)
    store, plan = merged.store, merged.plan
    store.clean(records)
    # A folder that exists may be replaced: `initialise_run` made sure of that.
    with RunFolder(places.given, overwrite=store.path != places.beside or is_url(places.given)) as run:
        _quarantined(run, merged, records)
        counter, several = _written(run, merged, pictures)
        periods = several[0].periods()
        names = [(counts.event, event_name(key)) for counts in several for key in counts.events()]
        definitions = plan.definitions()
        rules, lexicon, outcomes = definitions.rules, definitions.lexicon, definitions.outcomes
        result = EventsResult(
            out=places.given,
            n_documents=counter.n_documents,
            n_sampled=counter.n_sampled,
            n_with_events=counter.n_with_events,
            n_quarantined=run.n_set_aside,
            n_ambiguous=counter.n_ambiguous,
            actors=tuple(f"{event}: {name}" if len(several) > 1 else name for event, name in names),
            periods=(periods[0].label, periods[-1].label),
            seconds=round(time.time() - started, 3),
            n_partitions=len(plan.partitions),
            n_computed=len(plan.partitions) if n_computed is None else n_computed,
            n_several_parses=counter.n_several_parses,
            uncertainty=counter.uncertainty,
            merged_actors=counter.merged_actors.summary(counter.n_samples),
            n_not_selected=sum(record["not_selected"] for record in records.values()),
            triggers={rule.name: excluded_triggers(rule.preset, counter.tallies[rule.name]) for rule in rules},
        )
        codes = [code for counts in several for key in counts.events() for code in key if code]
        content = run_record(
            {**dataclasses.asdict(plan.options), "out": places.given},
            _inputs(plan, records),
            started,
            rule={
                "name": ", ".join(rule.name for rule in rules),
                "preset": ", ".join(dict.fromkeys(rule.preset for rule in rules)),
                "source": ", ".join(rule.source for rule in rules),
                **({"outcomes": list(map(str, outcomes))} if outcomes else {}),
                "extends": list(dict.fromkeys(base for rule in rules for base in rule.bases)),
            },
            lexicon=lexicon.source,
            names={code: lexicon.names.get(code, code) for code in codes},
            summary=result.to_json(),
            partitions={"count": len(plan.partitions), "plan": store.plan_sha256()},
            files=run.checksums(),
        )
        run.finish_record(sealed(content))
    if plan.can_be_resumed and not is_url(places.given):
        places.keep(store)
    else:
        shutil.rmtree(store.path)
        if not is_url(places.given):
            shutil.rmtree(places.kept, ignore_errors=True)
    return result


def _complete(merged: MergedPartitions, places: Places, *, verify: bool) -> Records:
    """Records of all partitions, or raise if one is missing."""
    plan = merged.plan
    records = merged.store.records(plan, verify=verify)
    missing = [each for each in plan.in_order() if each.number not in records]
    if missing:
        named = ", ".join(map(str, missing[:_MOST_NAMED])) + (", ..." if len(missing) > _MOST_NAMED else "")
        rule = f"all {len(plan.partitions)} partitions must be complete"
        hint = "run them, or the same command again"
        raise InputError(f"{rule}, got {len(missing)} missing: {named}", place=places.given, hint=hint)
    return records


def _written(run: RunFolder, merged: MergedPartitions, pictures: bool) -> tuple[EventCounter, list[EventCounts]]:
    """Write the tables and pictures of the counts, and return these."""
    plan, counter = merged.plan, merged.counter
    if counter is None or not counter.n_documents:
        if plan.options.where and not run.n_set_aside:
            chosen = " and ".join(plan.options.where)
            raise InputError(f"must hold for at least one document, got none for {chosen!r}", parameter="where")
        aside = f", {run.n_set_aside} set aside, first: {run.first_set_aside}" if run.n_set_aside else ""
        message = f"a corpus must hold at least one document, got none{aside}"
        raise InputError(message, place=", ".join(file.path for file in plan.inputs))
    pa.default_memory_pool().release_unused()  # what the partitions needed; tables take as much again
    names = plan.definitions().lexicon.names
    return counter, write_counts(run, counter, plan.options, names=names, pictures=pictures)


def _inputs(plan: RunPlan, records: Records) -> list[dict[str, Any]]:
    """Path, size and SHA-256 of each input; no size and checksum of standard input."""
    checksums = {
        partition.source: records[partition.number]["input"]["sha256"]
        for partition in plan.partitions
        if not partition.first
    }
    return [file.to_record(checksums[file.absolute]) for file in plan.inputs]


def _quarantined(run: RunFolder, merged: MergedPartitions, records: Records) -> None:
    """Add the documents that partitions set aside, in the order of the inputs."""
    for part in merged.plan.in_order():
        path = merged.store.result(records[part.number]) / QUARANTINE
        if path.exists():
            with open(path, encoding="utf-8") as lines:
                for row in map(json.loads, lines):
                    run.set_aside(Rejected(unit=row.pop("place"), number=None, **row))


def _place(plan: RunPlan, partition: Part, number: int) -> tuple[str, str]:
    """Place and doc_id of a document by its partition and number."""
    file = plan.input_of(partition)
    stream = DocumentStream(file.place, row_groups=partition.groups, parses=True, on_rejected=lambda rejected: None)
    for batch in stream:
        if number in batch.places:
            return f"{batch.source}: {batch.unit} {number}", batch.doc_ids[list(batch.places).index(number)]
    return file.path, ""


_CSV = pa.csv.WriteOptions(quoting_style="needed", quoting_header="none")
_NEAR_HALF = 100
_EVIDENCE_GROUP = 2000  # rows
_TABLE_GROUP = 50_000  # rows of the table of all documents
_DOCUMENT_GROUP = 256
_GROUP_BYTES = 32 * 2**20  # of the content of documents, about


def write_counts(
    run: RunFolder,
    counter: EventCounter,
    options: CountOptions,
    *,
    names: Mapping[str, str],
    pictures: bool,
) -> list[EventCounts]:
    """Write the tables and pictures of counted events; their bytes do not depend on the order of the documents.

    Parameters
    ----------
    run
        The folder, which is begun.
    counter
        The counts; with a folder, so that it has the documents with evidence.
    options
        What was counted.
    names
        Names of actors by their codes, for pictures.
    pictures
        Whether to draw the bands, and the comparison.

    Returns
    -------
    list of EventCounts
        Of each rule.
    """
    several = counter.counts_of_all(level=options.level, interval=options.interval)
    with (
        TemporaryDirectory(dir=run.file(".")) as temporary,
        ThreadPoolExecutor(1, thread_name_prefix="corefsample-write") as background,
    ):
        # Arrow compresses the documents without Python's global lock, while the other tables are made.
        documents = background.submit(_write_documents, run, counter, Path(temporary))
        _write_evidence(run, counter, Path(temporary))
        _write_events(run, counter, Path(temporary))
        _write_all_documents(run, counter, Path(temporary))
        table = joined_counts(several, counter.roles)
        comparison = _comparison(several, options.compare or ())
        documents.result()
    pq.write_table(samples_table(several, counter.roles), run.file("count_samples.parquet"))
    escaped_frame(table).to_csv(run.file("counts.csv"), index=False)
    columns = {"recalibrated": counter.uncertainty is not None, "defaults": counter.has_defaults}
    schema = arrow_schema(count_columns(counter.roles, **columns))
    pq.write_table(pa.Table.from_pandas(table, schema, preserve_index=False), run.file("counts.parquet"))
    if comparison is not None:
        escaped_frame(comparison).to_csv(run.file("comparisons.csv"), index=False)
    if pictures:
        draw = bands_by_event if len(table["event"].unique()) > 1 else event_bands
        drawn = {"bands": partial(draw, table, names=names)}
        if comparison is not None:
            compared = comparisons_by_event if len(comparison["event"].unique()) > 1 else actor_comparison
            drawn["comparison"] = partial(compared, table, comparison, names=names)
        save_pictures(drawn, run.file)
    return several


def _comparison(several: Sequence[EventCounts], compare: Sequence[str]) -> pd.DataFrame | None:
    if not compare:
        return None
    having = [each for each in several if each.has(compare[0]) and each.has(compare[1])]
    return pd.concat([each.compare(*compare) for each in having], ignore_index=True)


@contextmanager
def _parquet(path: Path, schema: pa.Schema) -> Iterator[pq.ParquetWriter]:
    """Write a file; after an error it is left as it is."""
    writer = pq.ParquetWriter(path, schema)
    try:
        yield writer
        writer.close()
    finally:
        abandon(writer)


def _write_evidence(run: RunFolder, counter: EventCounter, temporary: Path) -> None:
    """Write the evidence, twice, and the rows closest to one half."""
    schema = counter.evidence_schema
    nearest = schema.empty_table()
    with (
        _parquet(run.file("evidence.parquet"), schema) as table,
        pa.csv.CSVWriter(run.file("evidence.csv"), schema, write_options=_CSV) as text,
    ):
        for group in in_groups(counter.rows.evidence.tables(temporary), _EVIDENCE_GROUP):
            rows = group.select(schema.names)
            log_step("finalising: evidence of %s", rows["date"][-1])
            table.write_table(rows)
            text.write_table(escaped_texts(rows))
            both = pa.concat_tables([nearest, rows])
            distances = pc.abs(pc.subtract(both["probability"], 0.5)).to_numpy()
            nearest = both.take(np.argsort(distances, kind="stable")[:_NEAR_HALF])  # of a tie, the earlier row
    pa.csv.write_csv(escaped_texts(nearest), run.file("near_half.csv"), _CSV)


def _write_events(run: RunFolder, counter: EventCounter, temporary: Path) -> None:
    rows = counter.rows.events
    with pa.csv.CSVWriter(run.file("events.csv"), rows.schema, write_options=_CSV) as text:
        for group in in_groups(rows.tables(temporary), _TABLE_GROUP):
            text.write_table(escaped_texts(group))


def _write_all_documents(run: RunFolder, counter: EventCounter, temporary: Path) -> None:
    rows = counter.rows.all_documents
    with _parquet(run.file("all_documents.parquet"), rows.schema) as table:
        for group in in_groups(rows.tables(temporary), _TABLE_GROUP):
            table.write_table(group)


def _write_documents(run: RunFolder, counter: EventCounter, temporary: Path) -> None:
    """Write the documents with evidence, complete, for a report."""
    with ParquetWriter(str(run.file("documents.parquet"))) as writer:
        # The next ones are merged while some are compressed.
        for batch in read_ahead(_document_groups(counter.rows.documents.tables(temporary))):
            log_step("finalising: documents of %s", batch.dates[-1])
            writer.write(batch)
            writer.end_group()


def _document_groups(tables: Iterable[pa.Table]) -> Iterator[DocumentBatch]:
    """Documents in row groups: of a number, or of a size that depends on their content alone."""
    waiting: list[pa.RecordBatch] = []
    n_rows = n_bytes = 0
    for batch in (batch for table in tables for batch in table.to_batches()):
        start = 0
        for row, size in enumerate(_sizes(batch), start=1):
            n_rows, n_bytes = n_rows + 1, n_bytes + size
            if n_rows == _DOCUMENT_GROUP or n_bytes >= _GROUP_BYTES:
                yield _documents([*waiting, batch.slice(start, row - start)])
                waiting, start, n_rows, n_bytes = [], row, 0, 0
        if start < len(batch):
            waiting.append(batch.slice(start))
    if waiting:
        yield _documents(waiting)


def _documents(batches: Sequence[pa.RecordBatch]) -> DocumentBatch:
    (rows,) = pa.Table.from_batches(batches).combine_chunks().to_batches()
    return DocumentBatch("evidence", rows, "document", range(1, len(rows) + 1))


def _sizes(batch: pa.RecordBatch) -> list[int]:
    """About the bytes of each document: of its candidates and tokens."""
    documents = DocumentBatch("evidence", batch, "document", range(1, batch.num_rows + 1))
    mentions, candidates = documents.mentions[0], documents.candidates[0]
    sizes: list[int] = (12 * np.diff(candidates[mentions]) + 40 * np.diff(documents.token_bounds)).tolist()
    return sizes
