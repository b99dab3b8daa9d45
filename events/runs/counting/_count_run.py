"""A run that counts events: it counts the missing parts, merges all counts, and writes them to the run's folder.

All sums are sums of integers and all rows are in the order of date, document and event, so the files do not depend on
the parts, on the processes that computed them, or on the order of the documents.
"""

from __future__ import annotations

import dataclasses
import json
import logging
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import corefsample
from corefsample import _checks
from corefsample._machine import one_processor_left
from corefsample.errors import InputError, ParameterError, ParameterHint
from corefsample.files._digests import sealed, sha256
from corefsample.files._paths import Inputs, PathLike, input_paths, local_name
from corefsample.files._remote import is_url
from corefsample.formats.scored._stream import SUFFIXES
from corefsample.posterior._posterior import unlike_scores
from events._options import Progress, fields_of
from events._summary import json_values
from events.counts._event_counts import CountsOfRules
from events.counts._evidence import Evidence
from events.evidence._acceptance import DUPLICATE
from events.evidence._periods import UNDATED
from events.rule_error._counts import CountTables, tables_with_error
from events.rule_error._model import reference_model
from events.rule_error._table import NO_RULE_ERROR, read_reference, reference_file
from events.runs._engines import Engine, Job
from events.runs._outputs import RunFolder, quarantine_lines, require_documents, run_record
from events.runs._store import STANDARD_INPUT, PartStore, Source, StoredPart, opened_store
from events.runs.counting._count_options import CountOptions, EventsOptions, EventsResult
from events.runs.counting._parts import CountPart, LoadedCountOptions, file_parts
from events.runs.counting._written_tables import draw_counts, write_counts, written_rows

QUARANTINE = "quarantine.jsonl"
_CONTENT = "content of "  # with the path of an input, the name of a setting


def missing_parts(inputs: Inputs, folder: PathLike, options: CountOptions | None = None) -> list[CountPart]:
    """List the parts of a run that are not computed yet, so that any engine can compute them before `run_events`.

    Parameters
    ----------
    inputs
        Paths, URLs or globs of files of scored mentions.
    folder
        Path of the folder of the run.
    options
        Options that `run_events` will get later; by default, those of `CountOptions()`.

    Raises
    ------
    ParameterError, InputError, OutputError
        If an option, a rule, a lexicon or the folder is invalid, a file is missing, or the folder cannot be written.
    """
    options = options or CountOptions()
    _checks.instance("options", options, CountOptions)
    with opened_run(inputs, _checks.path("folder", folder), options, overwrite=True) as run:
        return [part for part in run.count_parts if run.complete_part(part) is None]


@dataclass(frozen=True)
class CountRun:
    """A run: what is counted, the input files, the parts into which they are divided, and the store of these parts."""

    counting: LoadedCountOptions
    sources: Sequence[Source]
    count_parts: Sequence[CountPart]
    store: PartStore

    @property
    def raise_first_fault(self) -> bool:
        """Whether the first invalid document is an error."""
        return self.counting.options.on_error == "stop"

    def complete_part(self, count_part: CountPart, *, verify: bool = True) -> StoredPart | None:
        """Stored result of a part; None if it is missing, or has rejected documents although these are errors."""
        return self.store.find(count_part.key, verify=verify, raise_first_fault=self.raise_first_fault)

    def settings(self) -> dict[str, Any]:
        """Everything on which the tables depend, by name, including the checksum of each input."""
        contents = {f"{_CONTENT}{source.absolute}": source.fingerprint for source in self.sources}
        reference = self.counting.options.rule_error
        if reference not in (None, NO_RULE_ERROR):
            contents["content of the table of rule errors"] = sha256(reference)
        for number, audit in enumerate(self.counting.options.reference, 1):
            contents[f"content of audit {number}"] = sha256(reference_file(audit))
        return {"version of corefsample": corefsample.__version__, **self.counting.settings(), **contents}


@contextmanager
def opened_run(inputs: Inputs, out: str, options: CountOptions, *, overwrite: bool) -> Iterator[CountRun]:
    """Check all options and inputs of a run, and open the store of its parts."""
    counting = LoadedCountOptions.of(CountOptions(**options.subset(*fields_of(CountOptions))))
    if options.rule_error != NO_RULE_ERROR:
        read_reference(options.rule_error, options.reference)  # raises before the work begins
    paths = input_paths(inputs, suffixes=SUFFIXES)
    path = Path(f"{local_name(out)}.parts") if is_url(out) else Path(out) / "parts"
    RunFolder(out, overwrite=overwrite or not is_url(out))  # raises for a folder with other files
    with opened_store(path, out) as store:
        sources = store.sources(paths)
        count_parts = [part for source in sources for part in file_parts(counting, source, store)]
        run = CountRun(counting, sources, count_parts, store)
        if not overwrite and not is_url(out):
            _require_same(out, run.settings())
        yield run


def _require_same(out: str, settings: dict[str, Any]) -> None:
    """Raise ParameterError if the folder has a run with other settings; additional inputs are allowed."""
    path = Path(out) / RunFolder.RECORD
    if not path.exists():
        return
    earlier = json.loads(path.read_text(encoding="utf-8")).get("settings", {"version": "another"})
    different = [name for name, value in earlier.items() if name not in settings or settings[name] != value]
    if different:
        difference = f"another {different[0]}"
        if different[0] in fields_of(CountOptions):
            difference = f"{different[0]} {earlier[different[0]]}, not {settings[different[0]]}"
        rule = "must be a new or empty folder, or the folder of a run with the same settings"
        hint = ParameterHint("overwrite", "replaces that run")
        raise ParameterError(f"{rule}, got {out} of a run with {difference}", parameter="out", hint=hint)


@dataclass
class MergedCounts:
    """The evidence of the parts of a run, in the order of the inputs.

    Attributes
    ----------
    count_parts, evidence, results
        Parts, their evidence, and their stored results.
    stored
        All results that belong to the run, including results that still have repeated documents.
    n_computed
        Number of parts that this call computed.
    """

    count_parts: list[CountPart] = field(default_factory=list)
    evidence: list[Evidence] = field(default_factory=list)
    results: list[StoredPart] = field(default_factory=list)
    stored: list[StoredPart] = field(default_factory=list)
    n_computed: int = 0

    @property
    def n_documents(self) -> int:
        """Number of documents so far."""
        return sum(each.n_documents for each in self.evidence)

    def repeated(self) -> dict[int, list[str]]:
        """The doc_ids of each part, by its index, that an earlier part has too; parts without any are left out."""
        columns = [each.documents.read("doc_id")["doc_id"] for each in self.evidence]
        doc_ids = pa.chunked_array([chunk for column in columns for chunk in column.chunks], pa.string())
        if pc.count_distinct(doc_ids).as_py() == len(doc_ids):
            return {}
        code = doc_ids.combine_chunks().dictionary_encode().indices.to_numpy()
        is_repeated = np.ones(len(code), np.bool_)
        is_repeated[np.unique(code, return_index=True)[1]] = False
        bounds = np.cumsum([0, *map(len, columns)]).tolist()
        by_part = (
            column.filter(pa.array(is_repeated[a:b])) for column, (a, b) in zip(columns, pairwise(bounds), strict=True)
        )
        return {number: doc_ids.to_pylist() for number, doc_ids in enumerate(by_part) if len(doc_ids)}

    def location(self, doc_id: str) -> str:
        """Location of the first document with a doc_id: its file and line or row."""
        parts = zip(self.count_parts, self.evidence, strict=True)
        has_document = pc.field("doc_id") == doc_id
        return next(part.location(doc_id) for part, each in parts if each.documents.dataset().count_rows(has_document))

    def merged(self) -> Evidence:
        """The evidence of all parts.

        Raises
        ------
        InputError
            If the scores of only some parts had a recalibration whose uncertainty is recorded.
        """
        first = next((evidence for evidence in self.evidence if evidence.n_documents), self.evidence[0])
        merged = Evidence(first.settings)
        for count_part, evidence in zip(self.count_parts, self.evidence, strict=True):
            if evidence.n_documents and evidence.settings.uncertainty != first.settings.uncertainty:
                scores = evidence.settings.scores, first.settings.scores
                raise unlike_scores(*scores).as_input_error(count_part.source.path)
            for rows, added in zip(merged.tables, evidence.tables, strict=True):
                rows.extend(added)
        return merged


def merged_counts(run: CountRun, engine: Engine, on_progress: Progress | None) -> MergedCounts:
    """Compute the missing parts, and merge the counts of all parts.

    A part with doc_ids of earlier parts is computed again without these documents.

    Raises
    ------
    InputError
        If two documents have the same doc_id and `on_error` is "stop".
    ParameterError
        If several processes or a scheduler are combined with standard input.
    """
    if not engine.is_here and any(source.path == STANDARD_INPUT for source in run.sources):
        parameter = "workers" if engine.scheduler is None else "scheduler"
        rule = "cannot be combined with standard input, which only one process can read"
        raise ParameterError(rule, parameter=parameter)

    def here(count_part: CountPart) -> StoredPart:
        def on_progress(n_read: int, n_documents: int) -> None:
            job.report(min(n_read, count_part.n_bytes), n_documents)

        with one_processor_left():
            return count_part.compute(on_progress=on_progress)

    job = Job(
        store=run.store,
        engine=engine,
        raise_first_fault=run.raise_first_fault,
        compute=partial(CountPart.compute, threads=engine.threads),
        here=here,
        total_bytes=sum(source.n_bytes for source in run.sources),
        on_progress=on_progress,
    )
    merged = MergedCounts()
    for count_part, result in job.complete(run.count_parts):
        merged.stored.append(result)
        merged.count_parts.append(count_part)
        merged.evidence.append(Evidence.load(result.folder))
        merged.results.append(result)
    is_new = [result.is_new for result in merged.results]
    for number, doc_ids in merged.repeated().items():
        count_part = merged.count_parts[number]
        if run.raise_first_fault:
            message = f"{DUPLICATE}, first at {merged.location(doc_ids[0])}"
            raise InputError(message, place=f"{count_part.location(doc_ids[0])}: doc_id {doc_ids[0]!r}")
        count_part = count_part.without(doc_ids)
        result = run.complete_part(count_part) or count_part.compute()
        merged.stored.append(result)
        merged.count_parts[number], merged.evidence[number] = count_part, Evidence.load(result.folder)
        merged.results[number], is_new[number] = result, is_new[number] or result.is_new
    merged.n_computed = sum(is_new)
    return merged


def write_run(run: CountRun, merged: MergedCounts, options: EventsOptions, started: float) -> EventsResult:
    """Write the files of a run, move them to its folder, and remove parts that do not belong to the run."""
    definitions = run.counting.definitions()
    with RunFolder(options.out, overwrite=True) as folder:  # `opened_run` made sure that it may be replaced
        rejected = [document for each in merged.results for document in each.rejected()]
        if rejected:
            folder.file(QUARANTINE).write_bytes(quarantine_lines(rejected))
        paths = [source.path for source in run.sources]
        require_documents(merged.n_documents, rejected, options.where, options.max_quarantined, paths)
        pa.default_memory_pool().release_unused()  # memory of the parts; the tables need as much
        evidence = merged.merged()
        counts = evidence.counts_of_all(level=options.level, interval=options.interval)
        tables = _tables(run, counts)
        with written_rows(folder.file, evidence, tables.with_readers) as documents:
            write_counts(folder.file, tables.table, tables.schema, tables.totals, tables.samples, tables.compared)
        if options.pictures:
            draw_counts(folder.file, tables.table, tables.compared, definitions.names)
        rule_counts = counts.of_rules
        periods = [period.label for period in rule_counts[0].periods()] or [UNDATED]
        actors = [(each.event, key.name) for each in rule_counts for key in each.events()]
        result = EventsResult(
            out=options.out,
            **evidence.document_counts(),
            n_quarantined=len(rejected),
            actors=tuple(f"{event}: {name}" if len(rule_counts) > 1 else name for event, name in actors),
            periods=(periods[0], periods[-1]),
            seconds=round(time.time() - started, 3),
            n_parts=len(run.count_parts),
            n_computed=merged.n_computed,
            uncertainty=evidence.settings.uncertainty,
            merged_actors=evidence.merging_summary(),
            n_not_selected=sum(each.record["not_selected"] for each in merged.results),
            triggers=evidence.excluded_triggers({rule.name: rule.preset for rule in definitions.rules}),
            rule_error=tables.reference,
            counts=tables.table,
            totals=tables.totals,
        )
        codes = [code for each in rule_counts for key in each.events() for code in key if code]
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
                    summary=json_values(result),
                    settings=run.settings(),
                    files=folder.checksums(),
                )
            )
        )
    if is_url(options.out):
        run.store.remove()
    else:
        run.store.keep(merged.stored)
    for note in definitions.notes(documents):
        logging.getLogger("corefsample.events").warning("%s", note)
    return result


def _tables(run: CountRun, counts: CountsOfRules) -> CountTables:
    """Make the tables of counts, with the error of rules unless the option `rule_error` is "none"."""
    options, lexicon = run.counting.options, run.counting.definitions().lexicon
    tables = CountTables.of(counts, options.compare or ())
    if options.rule_error == NO_RULE_ERROR:
        return tables
    model = reference_model(options.rule_error, options.reference)
    return tables_with_error(tables, model, lexicon.kinds, seed=options.seed)
