"""Rows in a fixed order although they come in any: runs of sorted rows on the disk, and their merge.

A run is a file of Arrow batches in the order of its key. Memory is bounded: by one run while it is made, and by a
batch of each run while they are merged.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

__all__ = ["Key", "Row", "SortedRuns", "merged", "taken"]

Key = tuple[Any, ...]
Row = tuple[Key, pa.RecordBatch, int]  # key, and the batch and its row
KeysOf = Callable[[pa.RecordBatch], list[Key]]

_MOST_OPEN = 64  # runs that are merged at once
_RUN_BYTES = 32 * 2**20
_WIDE = 4096  # bytes of a row that is copied faster as a slice than with others


class SortedRuns:
    """Collects rows and writes them as sorted runs.

    Parameters
    ----------
    folder, name
        Where the runs go: name-0.arrow, name-1.arrow ...
    schema
        Of the rows.
    keys_of
        Keys of the rows of a batch. Two rows never have the same key.
    batch_size
        Rows of a batch of the files.
    """

    def __init__(self, folder: Path, name: str, schema: pa.Schema, keys_of: KeysOf, batch_size: int) -> None:
        self.paths: list[Path] = []
        self._folder, self._name = folder, name
        self.schema, self._keys_of, self._batch_size = schema, keys_of, batch_size
        self._batches: list[pa.RecordBatch] = []
        self._n_bytes = 0

    def add(self, batch: pa.RecordBatch) -> None:
        """Add rows in any order."""
        self._batches.append(batch)
        self._n_bytes += batch.nbytes
        if self._n_bytes >= _RUN_BYTES:
            self.finish()

    def finish(self) -> None:
        """Write the rows so far, if there are any, as a run."""
        batches, n_bytes = self._batches, self._n_bytes
        self._batches, self._n_bytes = [], 0
        if not batches:
            return
        # Arrow takes the values of nested lists one by one, but copies those of a slice together.
        wide = n_bytes >= _WIDE * sum(batch.num_rows for batch in batches)
        keys = [self._keys_of(batch) for batch in batches]
        rows = [(key, batch, row) for own, batch in zip(keys, batches, strict=True) for row, key in enumerate(own)]
        order = sorted(range(len(rows)), key=lambda i: rows[i][0])
        table = None if wide else pa.Table.from_batches(batches, self.schema).combine_chunks()
        path = self._folder / f"{self._name}-{len(self.paths)}.arrow"
        with _writer(path, self.schema) as writer:
            for start in range(0, len(order), self._batch_size):
                part = order[start : start + self._batch_size]
                if table is None:
                    writer.write_batch(taken([rows[i] for i in part]))
                else:
                    writer.write_table(table.take(pa.array(part, pa.int64())))
        self.paths.append(path)


def merged(runs: Sequence[Path], keys_of: KeysOf, folder: Path) -> Iterator[Row]:
    """Yield the rows of several runs in the order of their keys.

    Parameters
    ----------
    runs
        The files.
    keys_of
        Keys of the rows of a batch.
    folder
        An existing folder for intermediate runs, where there are too many to be open at once.
    """
    runs, level = list(runs), 0
    while len(runs) > _MOST_OPEN:
        fewer = []
        for start in range(0, len(runs), _MOST_OPEN):
            path = folder / f"merged-{level}-{start // _MOST_OPEN}.arrow"
            _merge_to(path, runs[start : start + _MOST_OPEN], keys_of)
            fewer.append(path)
        if level:
            for path in runs:
                path.unlink()
        runs, level = fewer, level + 1
    return heapq.merge(*(_rows(path, keys_of) for path in runs), key=lambda row: row[0])


def taken(rows: Sequence[Row]) -> pa.RecordBatch:
    """One batch of several rows."""
    table = pa.Table.from_batches([batch.slice(row, 1) for _, batch, row in rows]).combine_chunks()
    (batch,) = table.to_batches()
    return batch


def _rows(path: Path, keys_of: KeysOf) -> Iterator[Row]:
    with pa.OSFile(str(path), "rb") as source:
        reader = pa.ipc.open_file(source)
        for number in range(reader.num_record_batches):
            batch = reader.get_batch(number)
            for row, key in enumerate(keys_of(batch)):
                yield key, batch, row


def _merge_to(path: Path, runs: Sequence[Path], keys_of: KeysOf) -> None:
    with pa.OSFile(str(runs[0]), "rb") as source:
        reader = pa.ipc.open_file(source)
        schema, size = reader.schema, max(reader.get_batch(0).num_rows, 1)
    pending: list[Row] = []
    with _writer(path, schema) as writer:
        for row in heapq.merge(*(_rows(run, keys_of) for run in runs), key=lambda row: row[0]):
            pending.append(row)
            if len(pending) == size:
                writer.write_batch(taken(pending))
                pending = []
        if pending:
            writer.write_batch(taken(pending))


def _writer(path: Path, schema: pa.Schema) -> Any:
    return pa.ipc.new_file(str(path), schema, options=pa.ipc.IpcWriteOptions(compression="lz4"))
