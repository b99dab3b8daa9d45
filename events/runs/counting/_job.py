"""A run that counts events: its partitions are counted and merged, and the counts become the folder of the run.

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
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from corefsample._log import logger
from corefsample._machine import one_processor_left, processors
from corefsample.documents._rejected import Rejected
from corefsample.documents._scored import RECALIBRATION_FIELD
from corefsample.errors import InputError, ParameterError
from corefsample.files._digests import sha256
from corefsample.files._folders import opened_folder
from corefsample.files._paths import PathLike, path_list
from corefsample.files._remote_services import credentials, give_credentials, is_url
from corefsample.formats import DocumentStream
from corefsample.formats.scored._writing import QuarantineFile
from events._selection import Selection
from events.counting._acceptance import DUPLICATE
from events.counting._counter import EventCounter
from events.counting._sums import CountedEvents
from events.counting._tally import excluded_triggers
from events.runs._engines import Engine
from events.runs._output_folder import RunFolder
from events.runs._plan import RESTART, STANDARD_INPUT, InputFile, Part, changes
from events.runs._progress import Progress
from events.runs._record import run_record
from events.runs._run import begun, missing_parts, working_in
from events.runs._store import Places, Records, Store, read_sealed, sealed, writing
from events.runs.counting._options import CountOptions, EventsOptions, EventsResult
from events.runs.counting._plan import RunPlan, planned, with_partitions
from events.runs.counting._tables import draw_counts, write_counts, written_rows

OnProgress = Callable[[int, int], None]

QUARANTINE = "quarantine.jsonl"
_MOST_NAMED = 3  # missing partitions in a message
_BATCH = 256  # documents; some 20 MB of columns at 130 mentions per document


def count_events(
    inputs: PathLike | Iterable[PathLike], options: EventsOptions, *, on_progress: Progress | None = None
) -> EventsResult:
    """Count events, as `events.commands.run_events` says."""
    started = time.time()
    engine = Engine(options.workers, options.scheduler)
    _require_files(inputs, engine)
    plan = planned(inputs, options)
    with working_in(options.out) as places:
        finished = None if options.overwrite or options.restart else finished_summary(places, plan)
        if finished is not None:
            return finished
        store, plan = begin_run(places, plan, overwrite=options.overwrite, restart=options.restart)
        missing = missing_parts(store, plan)
        merged = _merged(places, store, plan, missing, engine, on_progress)
        with writing(places):
            summary = write_run(places, merged, pictures=options.pictures, started=started, n_computed=len(missing))
        with opened_folder(options.out, only=lambda name: name == "all_documents.parquet") as folder:
            table = pq.ParquetFile(Path(folder) / "all_documents.parquet").read(["trigger", "actor", "actors"])
        for note in plan.definitions().notes(table):
            logger("events").warning("%s", note)
        return summary


def _merged(
    places: Places, store: Store, plan: RunPlan, missing: list[Part], engine: Engine, on_progress: Progress | None
) -> MergedPartitions:
    """Compute the missing partitions, and add up all; one with doc_ids of earlier ones is computed without these."""
    merged, progress = MergedPartitions(store, plan), _Progress(store, plan, missing, on_progress)

    def here(part: Part) -> EventCounter:
        with one_processor_left(), writing(places):
            return _counted(store, merged.plan, part, None, progress.within(part))

    elsewhere = partial(_counted_elsewhere, places.out, engine.threads, credentials())
    with merged.stopping(), closing(engine.results(elsewhere, missing, here=here, are_small=True)) as results:
        for part in plan.in_order():
            counter = None
            if part in missing:
                _, counter = next(results)
                progress.complete(part, report=not engine.is_here)
            if not merged.add(part, counter or merged.load(part)):
                merged.add(part, here(part))
    return merged


def _counted_elsewhere(out: PathLike, threads: int | None, urls: Mapping[str, str], part: Part) -> None:
    """Compute a partition in another process; its counter stays in the store."""
    give_credentials(urls)
    run_partition(out, part.number, threads=threads)


def _require_files(inputs: PathLike | Iterable[PathLike], engine: Engine) -> None:
    if not engine.is_here and STANDARD_INPUT in path_list(inputs):
        parameter = "workers" if engine.scheduler is None else "scheduler"
        rule = "cannot be combined with standard input, which only one process can read"
        raise ParameterError(rule, parameter=parameter)


class _Progress:
    """Adds up the progress of partitions."""

    def __init__(self, store: Store, plan: RunPlan, missing: list[Part], on_progress: Progress | None) -> None:
        self._store, self._plan, self._on_progress = store, plan, on_progress
        self._n_bytes, self._n_documents = 0.0, 0
        for part in plan.partitions:
            if part not in missing:
                self.complete(part, report=False)

    def within(self, part: Part) -> OnProgress | None:
        """Progress of a partition that runs in this process."""
        return None if self._on_progress is None else partial(self._report, self._bytes(part))

    def complete(self, part: Part, *, report: bool) -> None:
        """Add a complete partition."""
        record = self._store.record(part, verify=False) or {"documents": 0}
        self._n_bytes += self._bytes(part)
        self._n_documents += record["documents"]
        if report:
            self._report(0.0, 0, 0)

    def _bytes(self, part: Part) -> float:
        return part.share * self._plan.input_of(part).n_bytes

    def _report(self, most: float, n_read: int, n_documents: int) -> None:
        if self._on_progress is not None:
            n_bytes = min(int(self._n_bytes + min(n_read, most)), self._plan.n_bytes)
            self._on_progress(n_bytes, self._plan.n_bytes, self._n_documents + n_documents)


def initialise_run(
    inputs: PathLike | Iterable[PathLike],
    folder: PathLike,
    options: CountOptions | None = None,
    *,
    overwrite: bool = False,
    restart: bool = False,
) -> tuple[int, ...]:
    """Begin a run in partitions, or continue an earlier one; return the numbers of the partitions to be computed.

    The plan and the results of the partitions are kept in `folder`.partial, or in `folder`/unfinished if `folder`
    exists, and after `finalise_run` in `folder`/partitions. Call `run_partition` for each number, in any order and in
    any process, and then `finalise_run`.

    Parameters
    ----------
    inputs
        Files, globs, or "-" for JSON Lines on standard input, which is one partition and cannot be resumed. Files that
        an earlier run did not have are new partitions.
    folder
        Folder of the run, or its URL: its partitions are then in the current folder, under the last part of the URL.
    options
        What to count.
    overwrite
        Whether a finished run in the folder may be replaced by a different one.
    restart
        Whether to discard the partitions of an unfinished run.

    Raises
    ------
    ParameterError, InputError
        If an option, an input, a rule or a lexicon breaks its rule; if the folder is in use; or if an option, an input
        or the version differs from those of the unfinished run.
    OutputError
        If the folder cannot be written.
    """
    plan = planned(inputs, options or CountOptions())
    store, plan = begin_run(Places(os.fspath(folder)), plan, overwrite=overwrite, restart=restart)
    return tuple(each.number for each in missing_parts(store, plan))


def begin_run(places: Places, plan: RunPlan, *, overwrite: bool, restart: bool) -> tuple[Store, RunPlan]:
    """Continue the run of a folder, or begin a new one, as `initialise_run`."""
    with writing(places):
        RunFolder(places.given, overwrite=overwrite or places.any() is not None)  # raises for a folder with other files
    return begun(places, plan, with_partitions, is_folder=True, overwrite=overwrite, restart=restart)


def finished_summary(places: Places, now: RunPlan) -> EventsResult | None:
    """Summary of the finished run in a folder, if it had the same inputs and options and its files are there."""
    unfinished, store, record = places.unfinished(), places.finished(), read_sealed(places.out / RunFolder.RECORD)
    if store is None or record is None or (unfinished is not None and not unfinished.grows):
        return None
    try:
        before = store.plan(RunPlan)
        if record["partitions"]["plan"] != sha256(store.plan_path) or changes(before, now):
            return None
        if before.inputs != now.inputs or before.options.on_error != now.options.on_error:
            return None
        if any(sha256(places.out / name) != checksum for name, checksum in record["files"].items()):
            return None
        fields = {**record["summary"], "out": places.given, "n_computed": 0}
        return EventsResult(**{**fields, "actors": tuple(fields["actors"]), "periods": tuple(fields["periods"])})
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def run_partition(folder: PathLike, number: int, *, threads: int | None = None) -> None:
    """Compute one partition of a run that `initialise_run` began, and keep its result.

    Partitions can run in any order, at the same time, and in several processes. The result depends on the plan and the
    documents alone. A partition that is run again replaces its result.

    Parameters
    ----------
    folder
        The folder of the run, as given to `initialise_run`.
    number
        Of the partition, from 1.
    threads
        Of the sampler; None: those of the options, or one per processor.

    Raises
    ------
    ParameterError
        If there is no such partition.
    InputError
        If no run was begun, an input has changed since, or a document is invalid.
    OutputError
        If the result cannot be written.
    """
    places = Places(os.fspath(folder))
    store = places.any()
    if store is None:
        raise InputError("run must be initialised before its partitions, got none", place=places.given)
    plan = store.plan(RunPlan)
    partition = next((each for each in plan.partitions if each.number == number), None)
    if partition is None:
        rule = f"must be one of {len(plan.partitions)}"
        raise ParameterError(f"{rule}, got {number}", parameter="number", place=places.given)
    with writing(places):
        _counted(store, plan, partition, threads, None)


def _counted(
    store: Store, plan: RunPlan, partition: Part, threads: int | None, on_progress: OnProgress | None
) -> EventCounter:
    """Count the documents of a partition, and write its result; the rows of the counter are in its folder."""
    file, options = plan.input_of(partition), plan.options
    _require_unchanged(file)
    with store.computing(partition, plan) as (result, record):
        quarantine = QuarantineFile(str(result / QUARANTINE))
        with ThreadPoolExecutor(1) as background:
            # The first partition of a file computes the checksum of the file too.
            needs_digest = not partition.first and file.path != STANDARD_INPUT and file.tag is None
            digest = background.submit(sha256, file.place) if needs_digest else None
            counter = _counter(plan, store, result)
            selection = Selection(options.where)
            documents = DocumentStream(
                file.place,
                needs=("date", "tokens"),
                on_rejected=quarantine if options.on_error == "quarantine" else None,
                batch_size=_BATCH,
                row_groups=partition.groups,
                parses=True,
                ahead=True,
                selected=selection if options.where else None,
            )

            def on_batch() -> None:
                if on_progress is not None:
                    on_progress(documents.bytes_read, counter.n_documents)

            excluded = plan.excluded.get(str(partition.number), ())
            n_threads = threads or options.threads or processors()
            counter.update(documents, threads=n_threads, repeated=excluded, on_batch=on_batch)
            counter.save(result)
            file_sha256 = None if digest is None else digest.result()
        _require_unchanged(file)
        record["input"] = {"bytes": file.n_bytes, "changed": file.changed, "sha256": file_sha256}
        record["documents"], record["quarantined"] = counter.n_documents, quarantine.count
        record["not_selected"] = selection.n_not_selected
        record["scores_had"] = counter.scores_had
    return counter


def _counter(plan: RunPlan, store: Store, folder: Path) -> EventCounter:
    """A counter of what the plan says, with its rows in a folder."""
    options = plan.options
    recalibration = plan.recalibration()
    had = _scores_had(plan, store) if recalibration.takes_alike else None
    if had is not None:
        recalibration.begin({RECALIBRATION_FIELD: had})
    return EventCounter(
        plan.definitions(),
        scheme=options.scheme,
        period=options.period,
        n_samples=options.n_samples,
        seed=options.seed,
        recalibration=recalibration,
        compared=options.compare or (),
        filled=options.filled,
        folder=folder,
    )


def _scores_had(plan: RunPlan, store: Store) -> str | None:
    """What the scores of a complete partition had, so that others are found before all documents are counted."""
    for part in plan.in_order():
        record = store.record(part, verify=False)
        if record is not None and record["plan"] == plan.digest(part) and record["documents"]:
            return str(record["scores_had"])
    return None


def _require_unchanged(file: InputFile) -> None:
    if file.path == STANDARD_INPUT:
        return
    try:
        is_same = file.is_same(InputFile.of(file.place))
    except FileNotFoundError:
        raise InputError("file must exist, as when the run began, got none", place=file.path) from None
    except OSError as error:
        raise InputError(f"file must be readable, got: {error.strerror or error}", place=file.path) from None
    if not is_same:
        rule = "file must be as it was when the run began, got another size or time of change"
        raise InputError(rule, place=file.path, hint=RESTART)


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
        self.counter: CountedEvents | None = None
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

    def load(self, part: Part) -> CountedEvents:
        """The counts of a complete partition."""
        return EventCounter.load(self.store.result(self.store.record(part, verify=False) or {}))

    def add(self, part: Part, counter: CountedEvents) -> bool:
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
        counter = _required(merged, run)
        counts = counter.counts_of_all(level=plan.options.level, interval=plan.options.interval)
        definitions = plan.definitions()
        with written_rows(run, counter.rows, counter.evidence_schema):
            table, compared = counts.to_frame(), counts.compare(plan.options.compare or ())
        write_counts(run, table, counts.schema, counts.samples(), compared)
        if pictures:
            draw_counts(run, table, compared, definitions.lexicon.names)
        several, periods = counts.of_rules, counts.of_rules[0].periods()
        names = [(each.event, key.name) for each in several for key in each.events()]
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
        codes = [code for each in several for key in each.events() for code in key if code]
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
            partitions={"count": len(plan.partitions), "plan": sha256(store.plan_path)},
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


def _required(merged: MergedPartitions, run: RunFolder) -> CountedEvents:
    """The counts of all partitions; raises InputError if there is no document."""
    plan, counter = merged.plan, merged.counter
    if counter is None or not counter.n_documents:
        if plan.options.where and not run.n_set_aside:
            chosen = " and ".join(plan.options.where)
            raise InputError(f"must hold for at least one document, got none for {chosen!r}", parameter="where")
        aside = f", {run.n_set_aside} set aside, first: {run.first_set_aside}" if run.n_set_aside else ""
        message = f"a corpus must hold at least one document, got none{aside}"
        raise InputError(message, place=", ".join(file.path for file in plan.inputs))
    pa.default_memory_pool().release_unused()  # what the partitions needed; tables take as much again
    return counter


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
