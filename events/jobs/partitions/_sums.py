"""What a partition adds up over its documents: sums, evidence, and the documents that are set aside."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self, TextIO

import numpy as np
import pyarrow as pa

from corefsample.documents import DocumentBatch, Rejected
from corefsample.files import id_digest
from events.counting import (
    Calendar,
    CountTally,
    DocumentEvents,
    EvidenceRow,
    Period,
    count_documents,
    evidence_batch,
)
from events.jobs.partitions._documents import Found, document_rows
from events.jobs.partitions._mixtures import evidence_of
from events.jobs.partitions._sorted import Key, SortedRuns
from events.rules import Rule

__all__ = ["Quarantine", "Sums", "document_keys", "evidence_keys", "run_columns"]


def run_columns(rules: Sequence[Rule]) -> tuple[str, ...]:
    """Columns of roles in the tables of a run: those of all its rules."""
    return tuple(dict.fromkeys(column for rule in rules for column in rule.columns))


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
class Sums:
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

    def keep_samples(self) -> None:
        """Keep counts by sample, which documents that share the uncertainty of a recalibration need."""
        for tally in self.tallies.values():
            tally.keep_samples()

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


class Quarantine:
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
