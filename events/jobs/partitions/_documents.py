"""The table of all documents of a run: one row a document, with or without events."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from corefsample._arrays import Bools
from corefsample.documents import DocumentBatch
from events.counting import DocumentEvents, Period, event_name

__all__ = ["ALL_DOCUMENTS_SCHEMA", "document_rows", "merged_tables"]

ALL_DOCUMENTS_SCHEMA = pa.schema(
    [
        ("doc_id", pa.string()),
        ("date", pa.date32()),
        ("period", pa.string()),
        ("trigger", pa.bool_()),  # whether a trigger of the rule was found
        ("actor", pa.bool_()),  # whether a word was found that may begin a name of the lexicon
        ("sampled", pa.bool_()),  # whether an event is possible, so that clusterings were sampled
        ("probability", pa.float64()),  # P(some event, of any rule)
        # What has P > 0: the event of a rule of any actor (actor ""), and of each actor.
        ("events", pa.list_(pa.string())),
        ("actors", pa.list_(pa.string())),
        ("probabilities", pa.list_(pa.float64())),
    ]
)
_ORDER = [("date", "ascending"), ("doc_id", "ascending")]
_MOST_OPEN = 64  # runs that are merged at once
_MERGED_ROWS = 4096  # rows of a batch of an intermediate run

Found = tuple[Bools, Bools]  # by document: trigger, actor


def document_rows(
    batch: DocumentBatch, periods: Sequence[Period], found: Found, events_of: Mapping[int, Sequence[DocumentEvents]]
) -> pa.RecordBatch:
    """Rows of the documents of a batch.

    Parameters
    ----------
    batch
        The documents, all of which have dates.
    periods
        Their periods.
    found
        Whether each has a trigger, and a word that may begin the name of an actor.
    events_of
        Events of those that were sampled, by row, of every rule.
    """
    n = len(batch)
    sampled, some = np.zeros(n, np.bool_), np.zeros(n)
    lengths = np.zeros(n, np.int64)  # of the lists of each document
    names: list[str] = []
    actors: list[str] = []
    shares: list[float] = []
    for row, several in sorted(events_of.items()):
        sampled[row] = True
        hits = [events.hits.any(axis=0) for events in several]  # by sample; the rules share the clusterings
        some[row] = np.count_nonzero(np.any(hits, axis=0)) / several[0].n_samples
        before = len(names)
        for events, any_actor in zip(several, hits, strict=True):
            likely = np.flatnonzero(events.n_hits)
            if likely.size:
                own = [e for e in likely.tolist() if events.keys[e]]  # not the event of a rule without roles
                names += [_rule_name(events)] * (1 + len(own))
                actors += ["", *(event_name(events.keys[e]) for e in own)]
                shares += [np.count_nonzero(any_actor) / events.n_samples, *events.probabilities[own].tolist()]
        lengths[row] = len(names) - before
    columns = [
        *(batch.doc_ids, batch.dates.astype("datetime64[D]"), [period.label for period in periods]),
        *(*found, sampled, some, names, actors, shares),
    ]
    offsets = pa.array(np.concatenate(([0], np.cumsum(lengths))), pa.int32())
    arrays = [
        pa.ListArray.from_arrays(offsets, pa.array(values, field.type.value_type))
        if pa.types.is_list(field.type)
        else pa.array(values, field.type)
        for values, field in zip(columns, ALL_DOCUMENTS_SCHEMA, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=ALL_DOCUMENTS_SCHEMA)


def _rule_name(events: DocumentEvents) -> str:
    return "event" if events.matches is None else events.matches.event


def merged_tables(runs: Sequence[Path], folder: Path) -> Iterator[pa.Table]:
    """Yield the rows of sorted runs in the order of date and doc_id, in tables of any length.

    Of each run one batch is in memory. Whole tables are sorted by Arrow, because there are too many rows to compare
    each in Python, as `merged` does.

    Parameters
    ----------
    runs
        The files.
    folder
        An existing folder for intermediate runs, where there are too many to be open at once.
    """
    runs, level = list(runs), 0
    while len(runs) > _MOST_OPEN:
        fewer = []
        for start in range(0, len(runs), _MOST_OPEN):
            path = folder / f"all-{level}-{start // _MOST_OPEN}.arrow"
            with pa.ipc.new_file(str(path), ALL_DOCUMENTS_SCHEMA) as writer:
                for table in _merged(runs[start : start + _MOST_OPEN]):
                    writer.write_table(table, max_chunksize=_MERGED_ROWS)
            fewer.append(path)
        runs, level = fewer, level + 1
    return _merged(runs)


def _merged(runs: Sequence[Path]) -> Iterator[pa.Table]:
    with ExitStack() as stack:
        readers = [_batches(stack.enter_context(pa.OSFile(str(path), "rb"))) for path in runs]
        waiting = {number: batch for number, reader in enumerate(readers) if (batch := next(reader, None)) is not None}
        while waiting:
            # Rows up to the earliest end of a batch: every batch that is not in memory comes later.
            frontier = min(_key(batch, batch.num_rows - 1) for batch in waiting.values())
            taken = []
            for number, batch in list(waiting.items()):
                n_rows = bisect_right(range(batch.num_rows), frontier, key=partial(_key, batch))
                taken.append(batch.slice(0, n_rows))
                rest = batch.slice(n_rows) if n_rows < batch.num_rows else next(readers[number], None)
                if rest is None:
                    del waiting[number]
                else:
                    waiting[number] = rest
            yield pa.Table.from_batches(taken, ALL_DOCUMENTS_SCHEMA).sort_by(_ORDER)


def _batches(source: Any) -> Iterator[pa.RecordBatch]:
    reader = pa.ipc.open_file(source)
    for number in range(reader.num_record_batches):
        batch = reader.get_batch(number)
        if batch.num_rows:
            yield batch


def _key(batch: pa.RecordBatch, row: int) -> tuple[Any, bytes]:
    """Date and doc_id of a row; Arrow sorts text by its bytes."""
    return batch.column("date")[row].as_py(), batch.column("doc_id")[row].as_py().encode()
