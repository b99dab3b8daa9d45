"""The batch job: counts events in scored mentions, writes the folder of a run, and warns of a wrong lexicon."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from corefsample._log import logger
from corefsample._processors import one_processor_left, processors
from corefsample.documents._scored import RECALIBRATION_FIELD
from corefsample.errors import InputError, ParameterError
from corefsample.files._digests import sha256
from corefsample.files._folders import opened_folder
from corefsample.files._paths import PathLike, path_list
from corefsample.files._remote_services import credentials, give_credentials
from corefsample.formats import DocumentStream
from corefsample.formats.scored._writing import QuarantineFile
from events._selection import Selection
from events.counting._counter import EventCounter
from events.counting._tables import event_key
from events.lexicon._file import SHIPPED, SHIPPED_LEXICONS
from events.lexicon._lexicon import Lexicon, load_lexicon
from events.rules._rules import Rule
from events.runs._engines import Engine
from events.runs._output_folder import RunFolder
from events.runs._plan import RESTART, STANDARD_INPUT, InputFile, Part, changes
from events.runs._progress import Progress
from events.runs._run import begun, missing_parts, working_in
from events.runs._store import Places, Store, read_sealed, writing
from events.runs.counting._finalise import QUARANTINE, MergedPartitions, write_run
from events.runs.counting._options import CountOptions, EventsOptions, EventsResult
from events.runs.counting._plan import RunPlan, planned, with_partitions

OnProgress = Callable[[int, int], None]

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
        for note in actor_notes(plan.definitions().rules, plan.definitions().lexicon, table):
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
        if record["partitions"]["plan"] != store.plan_sha256() or changes(before, now):
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


def actor_notes(rules: Sequence[Rule], lexicon: Lexicon, documents: pa.Table) -> list[str]:
    """Sentences about a lexicon that probably is not the one that the rules need.

    Parameters
    ----------
    rules, lexicon
        What was counted.
    documents
        Of all documents of the run, whether they have a trigger and a word of an actor's name, and their `actors`.
    """
    events = pc.unique(pc.list_flatten(documents["actors"])).to_pylist()
    found = {code for event in events for code in event_key(event)}
    notes = []
    with_roles = [rule for rule in rules if rule.event]
    if with_roles and found.isdisjoint(lexicon.codes):
        names = ", ".join(rule.name for rule in with_roles)
        n_named, n_with_trigger = (pc.sum(documents[name]).as_py() or 0 for name in ("actor", "trigger"))
        notes.append(
            f"no actor of the lexicon {lexicon.source} fills a role of {names} in any document; of "
            f"{len(documents):,} inspected, {n_named:,} have a word of an actor's name and "
            f"{n_with_trigger:,} a trigger: `corefsample doctor` "
            "with the rule and the lexicon counts what each of them finds"
        )
    for rule in with_roles:
        missing = _expected(rule) - set(lexicon.codes)
        if missing and lexicon.source == SHIPPED:
            codes = ", ".join(sorted(missing))
            others = [name for name in SHIPPED_LEXICONS if missing <= set(load_lexicon(name).codes)]
            other = f"the lexicon {others[0]} has them" if others else "give the lexicon that has them"
            notes.append(
                f"only countries can fill the roles of {rule.name}, whose examples have other actors ({codes}): {other}"
            )
    return notes


def _expected(rule: Rule) -> set[str]:
    """Codes of actors that the examples of the preset expect; "-" stands for none."""
    events = [event for example in rule.examples for event in example.expect.get(rule.preset, ())]
    return {code for event in events for code in event.split(">")} - {"-", ""}
