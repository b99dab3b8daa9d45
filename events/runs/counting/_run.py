"""A run that counts events: its parts are counted and merged, and the counts become the folder of the run.

All sums are of whole numbers and all rows are in the order of date, document and event, so that the files do not
depend on the parts, the processes that computed them, or the order of the documents.
"""

from __future__ import annotations

import dataclasses
import json
import time
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

import corefsample
from corefsample import _checks
from corefsample._log import logger
from corefsample._machine import one_processor_left
from corefsample.errors import InputError, ParameterError, ParameterHint
from corefsample.files._digests import sealed, sha256
from corefsample.files._paths import Inputs, PathLike, input_paths, local_name
from corefsample.files._remote import is_url
from corefsample.formats.scored._stream import SUFFIXES
from events._options import Progress, fields_of
from events.counting._acceptance import DUPLICATE
from events.counting._counter import EventCounter
from events.counting._counts import CountsOfRules
from events.counting._periods import NO_PERIOD, UNDATED
from events.counting._sums import CountedEvents
from events.rule_error._counts import RunTables, tables_with_error
from events.rule_error._model import reference_model
from events.rule_error._table import NO_RULE_ERROR, read_reference, reference_file
from events.runs._engines import Engine
from events.runs._output_folder import RunFolder
from events.runs._record import quarantine_lines, require_documents, run_record
from events.runs._store import STANDARD_INPUT, PartStore, Source, StoredPart, opened_store
from events.runs.counting._options import CountOptions, EventsOptions, EventsResult
from events.runs.counting._parts import Counting, CountPart, count_parts
from events.runs.counting._tables import draw_counts, write_counts, written_rows

QUARANTINE = "quarantine.jsonl"
_CONTENT = "content of "  # and the path of an input: a setting


def missing_parts(inputs: Inputs, folder: PathLike, options: CountOptions | None = None) -> list[CountPart]:
    """The parts of a run that are still to be computed, for any engine; `run_events` then finds them complete.

    Parameters
    ----------
    inputs
        Files, URLs or globs of scored mentions.
    folder
        Folder of the run.
    options
        What to count: the options that `run_events` will get.

    Raises
    ------
    ParameterError, InputError, OutputError
        If `run_events` would raise such an error before it counts: an option, a rule, a lexicon or the folder is
        invalid, or a file is missing.
    """
    options = options or CountOptions()
    _checks.instance("options", options, CountOptions)
    with opened_run(inputs, _checks.path("folder", folder), options, overwrite=True) as run:
        return [part for part in run.parts if run.found(part) is None]


@dataclass(frozen=True)
class CountRun:
    """What is counted, from which files, in which parts, and where they are kept."""

    counting: Counting
    sources: Sequence[Source]
    parts: Sequence[CountPart]
    store: PartStore

    @property
    def stops(self) -> bool:
        """Whether the first bad document is an error."""
        return self.counting.options.on_error == "stop"

    def found(self, part: CountPart, *, verify: bool = True) -> StoredPart | None:
        """A part that is complete; where the first bad document is an error, none with documents set aside is."""
        return self.store.find(part.key, verify=verify, stops=self.stops)

    def settings(self) -> dict[str, Any]:
        """Everything on which the tables depend, by name; of each input its content."""
        contents = {f"{_CONTENT}{source.absolute}": source.content for source in self.sources}
        reference = self.counting.options.rule_error
        if reference not in (None, NO_RULE_ERROR):
            contents["content of the table of rule errors"] = sha256(reference)
        for number, audit in enumerate(self.counting.options.reference, 1):
            contents[f"content of audit {number}"] = sha256(reference_file(audit))
        return {"version of corefsample": corefsample.__version__, **self.counting.settings(), **contents}


@contextmanager
def opened_run(inputs: Inputs, out: str, options: CountOptions, *, overwrite: bool) -> Iterator[CountRun]:
    """Check everything, and open the store of the parts."""
    counting = Counting.of(CountOptions(**options.subset(*fields_of(CountOptions))))
    if options.rule_error != NO_RULE_ERROR:
        read_reference(options.rule_error, options.reference)  # before the work
    paths = input_paths(inputs, suffixes=SUFFIXES)
    path = Path(f"{local_name(out)}.parts") if is_url(out) else Path(out) / "parts"
    RunFolder(out, overwrite=overwrite or not is_url(out))  # raises for a folder with other files
    with opened_store(path, out) as store:
        sources = store.sources(paths)
        parts = [part for source in sources for part in count_parts(counting, source, store)]
        run = CountRun(counting, sources, parts, store)
        if not overwrite and not is_url(out):
            _require_same(out, run.settings())
        yield run


def _require_same(out: str, settings: dict[str, Any]) -> None:
    """Raise if a finished run in the folder had other settings; more inputs are none."""
    path = Path(out) / RunFolder.RECORD
    if not path.exists():
        return
    earlier = json.loads(path.read_text(encoding="utf-8")).get("settings", {"version": "another"})
    different = [name for name, value in earlier.items() if name not in settings or settings[name] != value]
    if different:
        what = f"another {different[0]}"
        if different[0] in fields_of(CountOptions):
            what = f"{different[0]} {earlier[different[0]]}, not {settings[different[0]]}"
        rule = "must be a new or empty folder, or that of the same run"
        hint = ParameterHint("overwrite", "replaces it")
        raise ParameterError(f"{rule}, got {out} of a run with {what}", parameter="out", hint=hint)


@dataclass
class MergedCounts:
    """The counts of the parts so far, in the order of the inputs.

    Attributes
    ----------
    counter
        Counts of all parts so far.
    parts, ends
        Parts that were added, and number of documents up to the end of each.
    records
        Stored results of the parts that were added.
    stored
        All results that belong to the run, including those of parts before their repeated documents were left out.
    n_computed
        Number of parts that this call computed.
    """

    counter: CountedEvents | None = None
    parts: list[CountPart] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    results: list[StoredPart] = field(default_factory=list)
    stored: list[StoredPart] = field(default_factory=list)
    n_computed: int = 0

    @property
    def n_documents(self) -> int:
        """Number of documents so far."""
        return 0 if self.counter is None else self.counter.n_documents

    def add(self, part: CountPart, counter: CountedEvents, result: StoredPart) -> None:
        """Add a part none of whose doc_ids is in earlier ones."""
        if self.counter is None:
            self.counter = counter
        else:
            self.counter.merge(counter, distinct=True)
        self.parts.append(part)
        self.results.append(result)
        self.ends.append(self.n_documents)

    def repeated(self, counter: CountedEvents) -> list[tuple[int, int]]:
        """Indices of documents here and in a part that have the same doc_id."""
        return [] if self.counter is None else self.counter.ids.repeated_in(counter.ids)

    def place(self, index: int) -> str:
        """Place of a document by its index."""
        assert self.counter is not None
        part = self.parts[bisect_right(self.ends, index)]
        return part.place(self.counter.ids.numbers[index])[0]


def merged_counts(run: CountRun, engine: Engine, on_progress: Progress | None) -> MergedCounts:
    """Compute the missing parts, and add up all; one with doc_ids of earlier ones is computed without these.

    Raises
    ------
    InputError
        If two documents have the same doc_id, unless bad documents are set aside.
    """
    if not engine.is_here and any(source.path == STANDARD_INPUT for source in run.sources):
        parameter = "workers" if engine.scheduler is None else "scheduler"
        rule = "cannot be combined with standard input, which only one process can read"
        raise ParameterError(rule, parameter=parameter)
    merged = MergedCounts()
    n_bytes = sum(source.n_bytes for source in run.sources)
    n_bytes_done = 0.0

    def report(part: CountPart | None, n_read: int, n_documents: int) -> None:
        if on_progress is not None:
            n_of_part = 0.0 if part is None else min(n_read, part.n_bytes)
            on_progress(min(int(n_bytes_done + n_of_part), n_bytes), n_bytes, merged.n_documents + n_documents)

    def here(part: CountPart) -> CountedEvents:
        with one_processor_left():
            return part.count(on_progress=partial(report, part))

    def counts(part: CountPart, computed: CountedEvents | None) -> tuple[CountedEvents, StoredPart]:
        stored = run.found(part, verify=False)
        if stored is None:
            raise InputError(f"{part} must be complete, got a damaged result", place=str(run.store.path))
        merged.stored.append(stored)
        return computed or EventCounter.load(stored.folder), stored

    missing = {part.key: part for part in run.parts if run.found(part) is None}
    computing = engine.results(partial(_compute, engine.threads), list(missing.values()), here=here, are_small=True)
    with closing(computing):
        for part in run.parts:
            is_missing = missing.pop(part.key, None) is not None
            counter, result = counts(part, next(computing)[1] if is_missing else None)
            repeated = merged.repeated(counter)
            if repeated:
                numbers = [counter.ids.numbers[later] for _, later in repeated]
                if run.stops:
                    place, doc_id = part.place(numbers[0])
                    message = f"{DUPLICATE}, first at {merged.place(repeated[0][0])}"
                    raise InputError(message, place=f"{place}: doc_id {doc_id!r}")
                part = part.without(numbers)
                is_new = run.found(part) is None
                is_missing = is_missing or is_new
                counter, result = counts(part, here(part) if is_new else None)
            merged.add(part, counter, result)
            merged.n_computed += is_missing
            n_bytes_done += part.n_bytes
            if is_missing and not engine.is_here:
                report(None, 0, 0)
    return merged


def _compute(threads: int | None, part: CountPart) -> None:
    """Compute a part in another process; its counts stay in the store."""
    part.compute(threads=threads)


def written_run(run: CountRun, merged: MergedCounts, options: EventsOptions, started: float) -> EventsResult:
    """Write the files of a run, and put them in their place; then remove the parts that the run does not need."""
    definitions = run.counting.definitions()
    with RunFolder(options.out, overwrite=True) as folder:  # `opened_run` made sure that it may be replaced
        rejected = [document for each in merged.results for document in each.rejected()]
        if rejected:
            folder.file(QUARANTINE).write_bytes(quarantine_lines(rejected))
        paths = [source.path for source in run.sources]
        require_documents(merged.n_documents, rejected, options.where, options.max_quarantined, paths)
        counter = merged.counter
        assert counter is not None
        pa.default_memory_pool().release_unused()  # what the parts needed; tables take as much again
        counts = counter.counts_of_all(level=options.level, interval=options.interval)
        tables = _tables(run, counts)
        with written_rows(folder.file, counter.rows, counter.evidence_schema, tables.with_readers) as found:
            write_counts(folder.file, tables.table, tables.schema, tables.totals, tables.samples, tables.compared)
        if options.pictures:
            draw_counts(folder.file, tables.table, tables.compared, definitions.names)
        of_rules = counts.of_rules
        periods = [period.label for period in of_rules[0].periods()] or [UNDATED]
        actors = [(each.event, key.name) for each in of_rules for key in each.events()]
        result = EventsResult(
            out=options.out,
            n_documents=counter.n_documents,
            n_sampled=counter.n_sampled,
            n_with_events=counter.n_with_events,
            n_quarantined=len(rejected),
            n_ambiguous=counter.n_ambiguous,
            actors=tuple(f"{event}: {name}" if len(of_rules) > 1 else name for event, name in actors),
            periods=(periods[0], periods[-1]),
            seconds=round(time.time() - started, 3),
            n_parts=len(run.parts),
            n_computed=merged.n_computed,
            n_several_parses=counter.n_several_parses,
            uncertainty=counter.uncertainty,
            merged_actors=counter.merged_actors.summary(counter.n_samples),
            n_undated=counter.tally.documents(NO_PERIOD),
            n_not_selected=sum(each.record["not_selected"] for each in merged.results),
            triggers={
                rule.name: counter.tallies[rule.name].excluded_triggers(rule.preset) for rule in definitions.rules
            },
            rule_error=tables.reference,
            counts=tables.table,
            totals=tables.totals,
        )
        codes = [code for each in of_rules for key in each.events() for code in key if code]
        codes += [outcome.name for outcome in definitions.outcomes if outcome.title]
        names = definitions.names
        folder.finish_record(
            sealed(
                run_record(
                    {**dataclasses.asdict(run.counting.options), "out": options.out},
                    [source.to_record() for source in run.sources],
                    started,
                    rule={
                        "name": ", ".join(rule.name for rule in definitions.rules),
                        "preset": ", ".join(dict.fromkeys(rule.preset for rule in definitions.rules)),
                        "source": ", ".join(rule.source for rule in definitions.rules),
                        **({"outcomes": list(map(str, definitions.outcomes))} if definitions.outcomes else {}),
                        "extends": list(dict.fromkeys(base for rule in definitions.rules for base in rule.bases)),
                    },
                    lexicon=definitions.lexicon.source,
                    names={code: names.get(code, code) for code in codes},
                    summary=result.to_json(),
                    settings=run.settings(),
                    files=folder.checksums(),
                )
            )
        )
    if is_url(options.out):
        run.store.remove()
    else:
        run.store.keep(merged.stored)
    for note in definitions.notes(found):
        logger("events").warning("%s", note)
    return result


def _tables(run: CountRun, counts: CountsOfRules) -> RunTables:
    """The tables of counts, with the error of rules unless it is left out."""
    options, lexicon = run.counting.options, run.counting.definitions().lexicon
    tables = RunTables.without_error(counts, options.compare or ())
    if options.rule_error == NO_RULE_ERROR:
        return tables
    model = reference_model(options.rule_error, options.reference)
    return tables_with_error(tables, model, lexicon.kinds, seed=options.seed)
