"""One partition: its documents are read, matched, sampled and counted, and the sums and evidence written."""

from __future__ import annotations

import json
import shutil
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Self, TextIO

import numpy as np
import pyarrow as pa

from corefsample._processors import processors
from corefsample.documents import SCHEMA, DocumentBatch, Fault, Rejected
from corefsample.errors import InputError, ParameterError
from corefsample.files import PathLike, id_digest, sha256
from corefsample.formats import DocumentStream
from events.counting import (
    Calendar,
    CountedRecalibration,
    CountTally,
    DocumentEvents,
    EvidenceRow,
    Period,
    count_documents,
    evaluate_mixture,
    evaluate_rules,
    event_key,
    evidence_batch,
    evidence_schema,
)
from events.jobs.partitions._documents import ALL_DOCUMENTS_SCHEMA, Found, document_rows
from events.jobs.partitions._mixtures import (
    Matched,
    evidence_of,
    found_words,
    kinds_of,
    matched,
    matched_parses,
    recalibration_faults,
)
from events.jobs.partitions._options import EventsOptions
from events.jobs.partitions._plan import RESTART, STANDARD_INPUT, InputFile, Partition, RunPlan
from events.jobs.partitions._sorted import Key, SortedRuns
from events.jobs.partitions._start import loaded_rules
from events.jobs.partitions._store import Places, Store, opened_run, writing
from events.lexicon import Lexicon
from events.matching import Screen
from events.rules import Rule

__all__ = ["DUPLICATE", "document_keys", "evidence_keys", "run_columns", "run_partition"]

DUPLICATE = "doc_id must be unique in the corpus, got it again"

_BATCH = 256  # documents; some 20 MB of columns at 130 mentions per document
_AHEAD = 2  # batches that are being sampled while the next is read and matched
_ROW_BATCH = 4096  # rows of the table of all documents
_EVIDENCE_BATCH, _DOCUMENT_BATCH = 256, 16  # rows; of many files that are merged, one batch each is in memory

OnProgress = Callable[[int, int], None]


def run_partition(
    folder: PathLike, number: int, *, threads: int | None = None, on_progress: OnProgress | None = None
) -> None:
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
    on_progress
        Called after each batch with the bytes read of the partition, and the documents counted.

    Raises
    ------
    ParameterError
        If there is no such partition.
    InputError
        If no run was begun, an input has changed since, or a document is invalid.
    OutputError
        If the result cannot be written.
    """
    with opened_run(folder, number) as run:
        store = Places.of(run).any()
        if store is None:
            raise InputError("run must be initialised before its partitions, got none", place=run.given)
        plan = store.plan()
        partition = plan.partition(number)
        if partition is None:
            rule = f"must be one of {len(plan.partitions)}"
            raise ParameterError(f"{rule}, got {number}", parameter="number", place=run.given)
        with writing(run):
            store.reopen(partition)
            run.push()
            result = store.new_result()
            try:
                record = _computed(plan, partition, store, result, threads or plan.options.threads, on_progress)
                store.complete(partition, result, record)
            finally:
                shutil.rmtree(result, ignore_errors=True)
            run.push()


@lru_cache(maxsize=2)
def _loaded(options: EventsOptions, checksums: tuple[str, str]) -> tuple[tuple[Rule, ...], Lexicon]:
    """Rules and lexicon of many partitions, checked once in each process."""
    return loaded_rules(options)


def run_columns(rules: Sequence[Rule]) -> tuple[str, ...]:
    """Columns of roles in the tables of a run: those of all its rules."""
    return tuple(dict.fromkeys(column for rule in rules for column in rule.columns))


def _computed(
    plan: RunPlan,
    partition: Partition,
    store: Store,
    result: Path,
    threads: int | None,
    on_progress: OnProgress | None,
) -> dict[str, Any]:
    """Write the result of a partition, and return its record."""
    file, options = plan.input_of(partition), plan.options
    _require_unchanged(file)
    rules, lexicon = _loaded(options, (plan.rule_sha256, plan.lexicon_sha256))
    schema = evidence_schema(run_columns(rules), parses=True)
    compared = {event_key(name) for name in options.compare or ()}
    recalibrated = options.recalibrated()
    by_sample = options.interval == "normal" or recalibrated is not None
    sums = _Sums(
        {rule.name: CountTally(options.n_samples, by_sample=by_sample, compared=compared) for rule in rules},
        {rule.name: rule.columns for rule in rules},
        Calendar(options.period),
        SortedRuns(result, "evidence", schema, evidence_keys, _EVIDENCE_BATCH),
        SortedRuns(result, "documents", SCHEMA, document_keys, _DOCUMENT_BATCH),
        SortedRuns(result, "all_documents", ALL_DOCUMENTS_SCHEMA, document_keys, _ROW_BATCH),
    )
    quarantine = _Quarantine(result / "quarantine.jsonl")
    documents = DocumentStream(
        file.place,
        needs=("date", "tokens"),
        on_rejected=quarantine if options.on_error == "quarantine" else None,
        batch_size=_BATCH,
        row_groups=partition.groups,
        mixtures=True,
        ahead=True,
    )
    is_first = not partition.first  # of its file; it computes the checksum of the file too
    with quarantine, ThreadPoolExecutor(1) as background:
        needs_digest = is_first and file.path != STANDARD_INPUT and file.tag is None
        digest = background.submit(sha256, file.place) if needs_digest else None
        screen = Screen(rules, lexicon, options.scheme)
        sampler = _Sampler(options.n_samples, options.seed, recalibrated)
        _count(documents, screen, sums, sampler, store.excluded(partition), threads or processors(), on_progress)
        file_sha256 = None if digest is None else digest.result()
    _require_unchanged(file)
    sums.evidence.finish()
    sums.documents.finish()
    sums.all_documents.finish()
    tallies = {name: tally.to_json(compared) for name, tally in sums.tallies.items()}
    (result / "tally.json").write_text(json.dumps(tallies), encoding="utf-8")
    ids = np.frombuffer(b"".join(sums.digests), np.uint8).reshape(-1, 16)
    np.savez(result / "ids.npz", digests=ids, numbers=np.array(sums.numbers, np.int64))
    return {
        "plan": plan.digest(),
        "input": {"bytes": file.n_bytes, "changed": file.changed, "sha256": file_sha256},
        "documents": sums.n_documents,
        "sampled": sums.n_sampled,
        "with_events": sums.n_with_events,
        "ambiguous": sums.n_ambiguous,
        "quarantined": quarantine.count,
        "mixtures": sums.n_mixtures,
        "dates": sums.extremes,
    }


def _require_unchanged(file: InputFile) -> None:
    if not file.is_unchanged():
        rule = "file must be as it was when the run began, got another size or time of change"
        raise InputError(rule, place=file.path, hint=RESTART)


def evidence_keys(batch: pa.RecordBatch) -> list[Key]:
    """Keys of rows of evidence: date, document, event, actors."""
    names = ("date", "doc_id", "event", *role_columns_of_evidence(batch.schema))
    return list(zip(*(batch.column(name).to_pylist() for name in names), strict=True))


def role_columns_of_evidence(schema: pa.Schema) -> tuple[str, ...]:
    """Columns of roles in a table of evidence: those between the event and the probability."""
    return tuple(schema.names[schema.names.index("event") + 1 : schema.names.index("probability")])


def document_keys(batch: pa.RecordBatch) -> list[Key]:
    """Keys of documents: date and doc_id."""
    return list(zip(*(batch.column(name).to_pylist() for name in ("date", "doc_id")), strict=True))


@dataclass(slots=True)
class _Sums:
    """Sums over the documents so far; evidence and its documents go to the disk."""

    tallies: dict[str, CountTally]  # by event
    columns: dict[str, tuple[str, ...]]  # of the roles of each event
    calendar: Calendar
    evidence: SortedRuns
    documents: SortedRuns
    all_documents: SortedRuns
    n_sampled: int = 0
    n_with_events: int = 0
    n_ambiguous: int = 0
    n_mixtures: int = 0  # documents with several parses
    digests: list[bytes] = field(default_factory=list)  # of the doc_ids
    numbers: list[int] = field(default_factory=list)  # of lines or rows
    extremes: list[list[str]] = field(default_factory=list)  # the first and the last date, each with its place

    @property
    def n_documents(self) -> int:
        """Number of documents counted."""
        return next(iter(self.tallies.values())).n_documents

    def add_documents(self, batch: DocumentBatch) -> list[Period]:
        """Count the documents of a batch, with or without events; return their periods."""

        def place_of(row: int) -> str:
            return f"{batch.source}: {batch.unit} {batch.places[row]}: doc_id {batch.doc_ids[row]!r}"

        several = [count_documents(tally, self.calendar, batch.dates, place_of) for tally in self.tallies.values()]
        periods = several[0]
        self.digests += map(id_digest, batch.doc_ids)
        self.numbers += batch.places
        self.n_mixtures += 0 if batch.parses is None else int((batch.parses.counts > 1).sum())
        if len(batch):
            rows = int(np.argmin(batch.dates)), int(np.argmax(batch.dates))
            dated = self.extremes + [[str(batch.dates[row]), place_of(row)] for row in rows]
            self.extremes = [min(dated, key=_date_of), max(dated, key=_date_of)]
        return periods

    def add_events(
        self,
        batch: DocumentBatch,
        periods: list[Period],
        found: Found,
        events_of: dict[int, list[DocumentEvents]],
    ) -> None:
        """Add the rows of a batch, and the events of its documents by row; of several rules in one document."""
        if len(batch):
            self.all_documents.add(document_rows(batch, periods, found, events_of))
        rows_with_events = []
        evidence: list[EvidenceRow] = []
        for row, several in events_of.items():
            self.n_sampled += 1
            self.n_ambiguous += max(each.matches.n_ambiguous for each in several if each.matches is not None)
            likely = [each for each in several if each.n_hits.any()]
            for events in several:
                if events.matches is not None:
                    self.tallies[events.matches.event].add_events(events, periods[row].number)
            if likely:
                for events in likely:
                    evidence += evidence_of(events, periods[row].label, batch, row)
                rows_with_events.append(row)
        self.n_with_events += len(rows_with_events)
        if rows_with_events:
            roles = role_columns_of_evidence(self.evidence.schema)
            self.evidence.add(evidence_batch(evidence, self.columns, roles, parses=True))
            self.documents.add(batch.take(rows_with_events).table)


def _date_of(extreme: list[str]) -> np.datetime64:
    return np.datetime64(extreme[0])


class _Quarantine:
    """Writes the rejected documents of a partition to a file, which is made for the first one."""

    def __init__(self, path: Path) -> None:
        self.count = 0
        self._path = path
        self._stream: TextIO | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        stream, self._stream = self._stream, None
        if stream is not None:
            stream.close()

    def __call__(self, rejected: Rejected) -> None:
        if self._stream is None:
            self._stream = open(self._path, "w", encoding="utf-8")  # noqa: SIM115
        self.count += 1
        self._stream.write(json.dumps(rejected.to_json()) + "\n")
        self._stream.flush()  # so that a full disk is reported at its document


@dataclass(frozen=True, slots=True)
class _Sampler:
    """Samples clusterings of documents and evaluates the rules in them."""

    n_samples: int
    seed: int
    recalibrated: CountedRecalibration | None

    def evaluated(self, batch: DocumentBatch, row: int, matches: Matched) -> list[DocumentEvents]:
        """Events of one document of a batch, by rule."""
        doc_id, date = batch.doc_ids[row], batch.dates[row].item()
        sampling: dict[str, Any] = {
            "n_samples": self.n_samples,
            "seed": self.seed,
            "recalibrated": None if self.recalibrated is None else self.recalibrated.for_scores(batch.metadata(row)),
        }
        try:
            if isinstance(matches, dict):
                parses = matched_parses(batch, row, matches, self.recalibrated)
                return evaluate_mixture(parses, doc_id, date, **sampling)
            kinds = kinds_of(batch, row, self.recalibrated)
            return evaluate_rules(batch.antecedents(row), matches, doc_id, date, kinds=kinds, **sampling)
        except Exception as error:
            error.add_note(f"while counting {batch.source}: {batch.unit} {batch.places[row]}: doc_id {doc_id!r}")
            raise


def _count(
    documents: DocumentStream,
    screen: Screen,
    sums: _Sums,
    sampler: _Sampler,
    excluded: frozenset[int],
    threads: int,
    on_progress: OnProgress | None,
) -> None:
    """Add all documents to the sums; sampling runs in threads, some batches ahead of counting."""
    sampled: deque[tuple[DocumentBatch, list[Period], Found, dict[int, Future[list[DocumentEvents]]]]] = deque()

    def add_oldest() -> None:
        batch, periods, found, futures = sampled.popleft()
        sums.add_events(batch, periods, found, {row: future.result() for row, future in futures.items()})

    def inspect(batch: DocumentBatch) -> tuple[dict[int, Matched], dict[int, str | Fault]]:
        matches, reasons = matched(screen, batch)
        repeated = [row for row, number in enumerate(batch.places) if number in excluded] if excluded else []
        wrong = {} if sampler.recalibrated is None else recalibration_faults(batch, sampler.recalibrated)
        return dict(matches), {**wrong, **reasons, **dict.fromkeys(repeated, DUPLICATE)}

    with ThreadPoolExecutor(threads) as pool:
        try:
            for batch, matches in documents.inspected(inspect):
                periods = sums.add_documents(batch)
                futures = {row: pool.submit(sampler.evaluated, batch, row, each) for row, each in matches.items()}
                sampled.append((batch, periods, found_words(screen, batch), futures))
                if len(sampled) > _AHEAD:
                    add_oldest()
                if on_progress is not None:
                    on_progress(documents.bytes_read, sums.n_documents)
            while sampled:
                add_oldest()
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
