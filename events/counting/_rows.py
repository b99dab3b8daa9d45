"""Rows of the tables of a counter, for its evidence, its triggers and its documents, and the doc_ids that it counted.

Rows can be added in any order and are returned in a fixed one: sorted runs in a folder or in memory are merged.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corefsample._arrays import Ints
from corefsample.documents._batch import SCHEMA, DocumentBatch
from corefsample.files._digests import id_digest
from events.counting._document_events import DocumentEvents
from events.counting._evidence import EventRow, evidence_schema
from events.counting._periods import Period
from events.counting._tables import TABLE_METADATA, EventKey, rows_schema
from events.matching._screening import DocumentMatches
from events.rules._outcomes import ANYBODY

_BY_DOCUMENT = ("date", "doc_id")

# Rows of a batch of a file. While files are merged, one batch of each is in memory.
_EVIDENCE_BATCH, _EVENT_BATCH, _DOCUMENT_BATCH, _ROW_BATCH = 256, 1024, 8, 4096


class TableRows:
    """Rows of the tables of a count, in the order of date, document and event.

    Attributes
    ----------
    evidence
        Rows with the fields of `events.counting._evidence.EvidenceRow`.
    events
        Rows with the fields of `events.counting._evidence.EventRow`.
    all_documents
        Rows with the fields of ALL_DOCUMENTS_SCHEMA for every document, with or without events.
    documents
        Complete documents with evidence; collected only if there is a folder, because they are large.
    """

    def __init__(self, roles: Sequence[str], folder: Path | None) -> None:
        schema = evidence_schema(roles, defaults=True)
        self.evidence = SortedRows("evidence", schema, (*_BY_DOCUMENT, "event", *roles), _EVIDENCE_BATCH, folder)
        self.events = SortedRows(
            "events", rows_schema(EventRow, roles), (*_BY_DOCUMENT, "token", "event", *roles), _EVENT_BATCH, folder
        )
        self.all_documents = SortedRows("all_documents", ALL_DOCUMENTS_SCHEMA, _BY_DOCUMENT, _ROW_BATCH, folder)
        self.documents = SortedRows("documents", SCHEMA, _BY_DOCUMENT, _DOCUMENT_BATCH, folder)
        self._every = (self.evidence, self.events, self.all_documents, self.documents)

    def extend(self, rows: TableRows) -> None:
        """Add the rows of another counter."""
        for collection, added in zip(self._every, rows._every, strict=True):
            collection.extend(added)

    def save(self, folder: Path) -> None:
        """Write the rows in memory to files in a folder."""
        for rows in self._every:
            rows.save(folder)

    def load(self, folder: Path) -> None:
        """Add the rows that `save` wrote to a folder."""
        for rows in self._every:
            rows.load(folder)


def rows_batch(
    schema: pa.Schema, rows: Sequence[Any], columns: Mapping[str, Sequence[str]], roles: Sequence[str]
) -> pa.RecordBatch:
    """Record batch of rows of the table of evidence or events.

    Parameters
    ----------
    schema
        Schema of the table, as `events.counting._tables.rows_schema` makes it.
    rows
        Rows of one or more rules: objects with the fields of the table.
    columns
        Names of the columns of roles of each rule, by the name of the rule.
    roles
        Names of the columns of roles of the table.
    """
    role_cells = [EventKey(each.actors).cells(columns[each.event], roles) for each in rows]
    values = [
        [each[name] for each in role_cells] if name in roles else [getattr(each, name) for each in rows]
        for name in schema.names
    ]
    return pa.RecordBatch.from_arrays(list(map(pa.array, values, schema.types)), schema=schema)


ALL_DOCUMENTS_SCHEMA = pa.schema(
    [
        ("doc_id", pa.string()),
        ("date", pa.date32()),
        ("period", pa.string()),
        ("trigger", pa.bool_()),  # whether a trigger of the rule was found
        ("actor", pa.bool_()),  # whether a word was found that may begin a name of the lexicon
        ("sampled", pa.bool_()),  # whether an event is possible, so that clusterings were sampled
        ("probability", pa.float64()),  # P(some event, of any rule)
        # What has P > 0: the event of a rule of anybody or nobody (actor "*"), and of each actor ("-": nobody named).
        ("events", pa.list_(pa.string())),
        ("actors", pa.list_(pa.string())),
        ("probabilities", pa.list_(pa.float64())),
        ("n_tokens", pa.int32()),
        # A text for each trigger whose roles may be filled, as in `DocumentMatches.triggers`: "arrest", or with the
        # conditions that exclude it "arrest: future, negated".
        ("triggers", pa.list_(pa.string())),
    ],
    TABLE_METADATA,
)


def document_rows(
    batch: DocumentBatch,
    periods: Sequence[Period],
    matches: Mapping[int, DocumentMatches],
    events_of: Mapping[int, Sequence[DocumentEvents]],
) -> pa.RecordBatch:
    """Rows of the documents of a batch.

    Parameters
    ----------
    batch
        Documents, with or without events.
    periods
        Period of each document.
    matches
        Matches of the rules in each document, by row.
    events_of
        Events of each document that was sampled, one result per rule, by row.
    """
    firsts = batch.firsts
    batch, n = batch.usual_parses(), len(firsts)
    periods = [periods[row] for row in firsts.tolist()]
    matches = {d: matches[row] for d, row in enumerate(firsts.tolist())}
    events_of = {d: events_of[row] for d, row in enumerate(firsts.tolist()) if row in events_of}
    sampled, any_share = np.zeros(n, np.bool_), np.zeros(n)
    lengths = np.zeros(n, np.int64)  # of the lists of each document
    names: list[str] = []
    actors: list[str] = []
    shares: list[float] = []
    for row, rule_events in sorted(events_of.items()):
        sampled[row] = True
        hits = [events.hits.any(axis=0) for events in rule_events]  # by sample; the rules share the clusterings
        any_share[row] = np.count_nonzero(np.any(hits, axis=0)) / rule_events[0].n_samples
        n_before = len(names)
        for events, any_actor in zip(rule_events, hits, strict=True):
            likely = np.flatnonzero(events.n_hits)
            if likely.size:
                # Not the event of a rule without roles, nor an outcome of anybody or nobody.
                listed = [e for e in likely.tolist() if events.keys[e] not in ((), (ANYBODY,))]
                names += [events.event] * (1 + len(listed))
                actors += [ANYBODY, *(events.keys[e].name for e in listed)]
                shares += [np.count_nonzero(any_actor) / events.n_samples, *events.probabilities[listed].tolist()]
        lengths[row] = len(names) - n_before
    triggers = [_trigger_texts(matches[row]) for row in range(n)]
    columns = [
        *(batch.doc_ids, batch.dates.astype("datetime64[D]"), [period.label for period in periods]),
        *([matches[row].has_trigger for row in range(n)], [matches[row].has_name for row in range(n)]),
        *(sampled, any_share, names, actors, shares),
        *(np.diff(batch.token_bounds).astype(np.int32), list(chain.from_iterable(triggers))),
    ]
    trigger_counts = np.array([len(each) for each in triggers], np.int64)
    offsets = {name: _offsets(lengths) for name in _LISTS} | {"triggers": _offsets(trigger_counts)}
    arrays = [
        pa.ListArray.from_arrays(offsets[field.name], pa.array(values, field.type.value_type))
        if field.name in offsets
        else pa.array(values, field.type)
        for values, field in zip(columns, ALL_DOCUMENTS_SCHEMA, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=ALL_DOCUMENTS_SCHEMA)


_LISTS = ("events", "actors", "probabilities")


def _offsets(lengths: Ints) -> pa.Array:
    """Offsets of the documents' lists in the array of their concatenated values."""
    return pa.array(np.concatenate(([0], np.cumsum(lengths))), pa.int32())


def _trigger_texts(matches: DocumentMatches) -> list[str]:
    """A text for each trigger of a document: the event, and the conditions that exclude the trigger."""
    return [
        f"{event}: {', '.join(sorted(conditions))}" if conditions else event
        for event, triggers in matches.triggers.items()
        for _, conditions in sorted(triggers.items())
    ]


_MOST_OPEN = 64  # runs that are merged at once
_RUN_BYTES = 32 * 2**20
_WIDE = 4096  # bytes of a row that is copied faster as a slice than with others


class SortedRows:
    """Collects rows; with a folder, memory is bounded by one run, and by a batch of each run while they are merged.

    A run is a file of Arrow batches, NAME-0.arrow, in the order of the keys.

    Parameters
    ----------
    name, schema
        Name of the rows, with which the names of their files begin, and their schema.
    keys
        Names of the columns of text, dates or numbers by which rows are sorted. Two rows never have the same key.
    batch_size
        Number of rows in a batch of a file.
    folder
        Path of an existing folder to which runs are written; by default all rows stay in memory.
    """

    def __init__(
        self, name: str, schema: pa.Schema, keys: Sequence[str], batch_size: int, folder: Path | None = None
    ) -> None:
        self.schema = schema
        self._name, self._keys, self._batch_size, self._folder = name, tuple(keys), batch_size, folder
        self._runs: list[Path] = []
        self._waiting: list[pa.RecordBatch] = []
        self._n_bytes = 0

    def add(self, rows: pa.RecordBatch) -> None:
        """Add rows in any order."""
        self._waiting.append(rows)
        self._n_bytes += rows.nbytes
        if self._folder is not None and self._n_bytes >= _RUN_BYTES:
            self.save(self._folder)

    def extend(self, rows: SortedRows) -> None:
        """Add the rows of another collection, whose files are read when they are needed."""
        self._runs += rows._runs
        self._waiting += rows._waiting
        self._n_bytes += rows._n_bytes

    def save(self, folder: Path) -> None:
        """Write the rows in memory to a folder as a run; if other runs are in another folder, write all rows there."""
        if any(path.parent != folder for path in self._runs):
            path = self._new_run(folder)
            self._write(path, self.tables(folder))
            self._runs, self._waiting = [path], []
        elif self._waiting:
            path = self._new_run(folder)
            self._write(path, [_ordered(pa.Table.from_batches(self._waiting, self.schema), self._keys)])
            self._runs, self._waiting = [*self._runs, path], []
        self._n_bytes = 0

    def load(self, folder: Path) -> None:
        """Add the runs that are in a folder."""
        self._runs += sorted(folder.glob(f"{self._name}-*.arrow"))

    def tables(self, temporary: Path | None = None) -> Iterator[pa.Table]:
        """Yield all rows in order, in tables of any length.

        Parameters
        ----------
        temporary
            Path of an existing folder for intermediate runs, which limit the number of files that are open at once. By
            default all runs are open at once.
        """
        runs, intermediate = list(self._runs), list[Path]()
        while temporary is not None and len(runs) > _MOST_OPEN:
            path = temporary / f"{self._name}-merged-{len(intermediate)}.arrow"
            self._write(path, self._merged(runs[:_MOST_OPEN], ()))
            intermediate.append(path)
            for run in runs[:_MOST_OPEN]:
                if run in intermediate:
                    run.unlink()
            runs = [*runs[_MOST_OPEN:], path]
        yield from self._merged(runs, self._waiting)
        for run in runs:
            if run in intermediate:
                run.unlink()

    def _new_run(self, folder: Path) -> Path:
        return folder / f"{self._name}-{sum(path.parent == folder for path in self._runs)}.arrow"

    def _write(self, path: Path, tables: Iterable[pa.Table]) -> None:
        options = pa.ipc.IpcWriteOptions(compression="lz4")
        with pa.ipc.new_file(str(path), self.schema, options=options) as writer:
            for table in tables:
                writer.write_table(table, max_chunksize=self._batch_size)

    def _merged(self, runs: Sequence[Path], waiting: Sequence[pa.RecordBatch]) -> Iterator[pa.Table]:
        with ExitStack() as stack:
            readers = [_batches(stack.enter_context(pa.OSFile(str(path), "rb"))) for path in runs]
            if waiting:
                readers.append(iter(_ordered(pa.Table.from_batches(waiting, self.schema), self._keys).to_batches()))
            current = {
                number: batch for number, reader in enumerate(readers) if (batch := next(reader, None)) is not None
            }
            while current:
                # Rows up to the earliest end of a batch: every batch that is not in memory comes later.
                frontier = min(self._key(batch, batch.num_rows - 1) for batch in current.values())
                complete = []
                for number, batch in list(current.items()):
                    n_rows = bisect_right(range(batch.num_rows), frontier, key=partial(self._key, batch))
                    complete.append(batch.slice(0, n_rows))
                    remaining = batch.slice(n_rows) if n_rows < batch.num_rows else next(readers[number], None)
                    if remaining is None:
                        del current[number]
                    else:
                        current[number] = remaining
                yield _ordered(pa.Table.from_batches(complete, self.schema), self._keys)

    def _key(self, batch: pa.RecordBatch, row: int) -> tuple[Any, ...]:
        """Key of a row; Arrow sorts text by its bytes, and dates that are missing last."""
        values = (batch.column(name)[row].as_py() for name in self._keys)
        return tuple((value is None, value.encode() if isinstance(value, str) else value) for value in values)


def _batches(source: Any) -> Iterator[pa.RecordBatch]:
    reader = pa.ipc.open_file(source)
    batches = (reader.get_batch(number) for number in range(reader.num_record_batches))
    return (batch for batch in batches if batch.num_rows)


def _ordered(rows: pa.Table, keys: Sequence[str]) -> pa.Table:
    """Rows in the order of their keys."""
    order = pc.sort_indices(rows, sort_keys=[(name, "ascending") for name in keys]).to_numpy()
    if (np.diff(order.astype(np.int64)) == 1).all():
        return rows
    # Arrow takes the values of nested lists one by one, but copies those of a slice together.
    if rows.nbytes < _WIDE * rows.num_rows:
        return rows.combine_chunks().take(order)
    return pa.concat_tables([rows.slice(row, 1) for row in order.tolist()]).combine_chunks()


def in_groups(tables: Iterable[pa.Table], size: int) -> Iterator[pa.Table]:
    """Yield the rows of tables in groups of `size` rows; the last group may be smaller."""
    waiting: list[pa.Table] = []
    n_waiting = 0
    for table in tables:
        waiting.append(table)
        n_waiting += len(table)
        if n_waiting >= size:
            rows = pa.concat_tables(waiting).combine_chunks()
            end = n_waiting // size * size
            yield from (rows.slice(start, size) for start in range(0, end, size))
            waiting, n_waiting = [rows.slice(end)], n_waiting - end
    if n_waiting:
        yield pa.concat_tables(waiting).combine_chunks()


_FILE = "ids.npz"
_HALVES = [("high", "<u8"), ("low", "<u8")]


class CountedIds:
    """Digests of the doc_ids of documents in the order in which they were counted, and the numbers of their lines."""

    def __init__(self) -> None:
        self._digests = bytearray()
        self.numbers = array("q")
        self._known: set[bytes] | None = None  # made when it is first needed: a run of the command does without
        self._sorted = np.zeros(0, np.uint64)  # first halves of the digests that were compared with others

    def add(self, batch: DocumentBatch) -> None:
        """Add the documents of a batch."""
        firsts = batch.firsts.tolist()
        digests = [id_digest(batch.doc_ids[row]) for row in firsts]
        self._digests += b"".join(digests)
        self.numbers.extend(batch.places[row] for row in firsts)
        if self._known is not None:
            self._known.update(digests)

    def extend(self, ids: CountedIds) -> None:
        """Add the documents of another counter."""
        self._digests += ids._digests
        self.numbers += ids.numbers
        self._known = None

    def __len__(self) -> int:
        return len(self.numbers)

    def __contains__(self, doc_id: str) -> bool:
        if self._known is None:
            self._known = {digest.tobytes() for digest in self._halves()}
        return id_digest(doc_id) in self._known

    def _halves(self) -> Any:
        """The two halves of each digest: a view that must be dropped before a document is added."""
        return np.frombuffer(self._digests, _HALVES)

    def repeated_in(self, ids: CountedIds) -> list[tuple[int, int]]:
        """Documents of both counters: index here and index in `ids`, in the order of `ids`."""
        digests, other_digests = self._halves(), ids._halves()
        added = np.sort(digests["high"][len(self._sorted) :])
        self._sorted = np.insert(self._sorted, self._sorted.searchsorted(added), added)
        left, right = (np.searchsorted(self._sorted, other_digests["high"], side) for side in ("left", "right"))
        if (left == right).all():  # as for most parts of a corpus
            return []
        candidates = np.flatnonzero(np.isin(digests["high"], other_digests["high"]))
        index_of = {digests[i].tobytes(): int(i) for i in candidates}
        in_order = [digest.tobytes() for digest in other_digests]
        return [(index_of[digest], i) for i, digest in enumerate(in_order) if digest in index_of]

    def save(self, folder: Path) -> None:
        """Write the digests and numbers to a file in the folder of a counter."""
        np.savez(folder / _FILE, digests=np.frombuffer(self._digests, np.uint8), numbers=np.array(self.numbers))

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Load the digests and numbers that `save` wrote."""
        ids = cls()
        with np.load(folder / _FILE) as arrays:
            ids._digests += arrays["digests"].tobytes()
            ids.numbers.frombytes(arrays["numbers"].tobytes())
        return ids
