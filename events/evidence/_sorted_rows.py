"""Rows that are added in any order and read back in a fixed one, from memory and from sorted files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from corefsample._arrays import Ints
from corefsample.files._atomic import unwritable
from corefsample.formats.scored._parquet import abandon

_FILE_BYTES = 32 * 2**20  # approximate size in memory of the rows of one file
_WIDE = 4096  # bytes of a row that is copied faster as a slice than with others
_SCANNED = 4096  # rows of a batch of columns


class SortedRows:
    """Rows of a table, in memory or in files whose rows are sorted by the same keys.

    With a folder, `flush` writes rows to a file, which `is_full` asks for when they take some 32 MB: memory is bounded
    by one file while rows are added, and by a group of rows while they are read.

    Parameters
    ----------
    name
        Name of the rows, with which the names of their files begin.
    schema
        Schema of the rows; a batch may have further columns.
    keys
        Names of the columns by which rows are sorted. Two rows never have the same keys.
    batch_size
        Number of rows of a file that are read together.
    folder
        Path of an existing folder for the files; by default rows stay in memory.
    """

    def __init__(
        self, name: str, schema: pa.Schema, keys: Sequence[str], batch_size: int, folder: Path | None = None
    ) -> None:
        self.name, self.keys, self.files = name, tuple(keys), list[Path]()
        self._schema, self._batch_size, self._folder = schema, batch_size, folder
        self._waiting: list[pa.RecordBatch] = []
        self._n_rows = self._n_bytes = 0

    def __len__(self) -> int:
        return self._n_rows

    def add(self, rows: pa.RecordBatch) -> None:
        """Add rows in any order."""
        if rows.num_rows:
            self._waiting.append(rows)
            self._n_rows += rows.num_rows
            self._n_bytes += rows.nbytes

    def extend(self, rows: SortedRows) -> None:
        """Add the rows of another collection, whose files are read when they are needed."""
        self.files += rows.files
        self._waiting += rows._waiting
        self._n_rows += len(rows)
        self._n_bytes += rows._n_bytes

    @property
    def is_full(self) -> bool:
        """Whether the rows in memory take so much that they belong in a file."""
        return self._folder is not None and self._n_bytes >= _FILE_BYTES

    def flush(self, schema: Callable[[pa.Schema], pa.Schema] = lambda schema: schema) -> None:
        """Write the rows in memory to a file in the folder, with what `schema` adds to their schema."""
        if self._folder is None or (self.files and not self._waiting):
            return
        rows = self._in_memory()
        rows = rows.replace_schema_metadata(schema(rows.schema).metadata)
        path = self._folder / f"{self.name}-{len(self.files)}.arrow"
        with pa.ipc.new_file(str(path), rows.schema, options=pa.ipc.IpcWriteOptions(compression="lz4")) as writer:
            writer.write_table(rows, max_chunksize=self._batch_size)
        self.files.append(path)
        self._waiting, self._n_bytes = [], 0

    def _in_memory(self) -> pa.Table:
        """The rows in memory as one sorted table."""
        tables = [pa.Table.from_batches([batch]) for batch in self._waiting]
        rows = pa.concat_tables([self._schema.empty_table(), *tables], promote_options="default")
        rows = _taken(rows, self._order(rows))
        self._waiting = rows.to_batches()
        return rows

    def _order(self, rows: pa.Table) -> Ints:
        """Positions of rows in the order of their keys; missing dates are last."""
        order = pc.sort_indices(rows, [(name, "ascending") for name in self.keys])
        return np.asarray(order.to_numpy(), np.int64)

    def add_files(self, paths: Sequence[Path]) -> None:
        """Add the rows of sorted files, which are read when they are needed."""
        self.files += paths
        self._n_rows += sum(ds.dataset(path, format=path.suffix[1:]).count_rows() for path in paths)

    @staticmethod
    def schema_of(path: Path) -> pa.Schema:
        """Schema of a file with its metadata."""
        return pq.read_schema(path) if path.suffix == ".parquet" else pa.ipc.open_file(str(path)).schema

    @property
    def schema(self) -> pa.Schema:
        """Schema of all rows, with the columns that only some batches have."""
        schemas = map(self.schema_of, self.files)
        return pa.unify_schemas([self._schema, *schemas, *(batch.schema for batch in self._waiting)])

    def dataset(self) -> ds.Dataset:
        """The rows as a dataset, in the order of the files."""
        schema = self.schema.remove_metadata()
        children = [ds.dataset(path, schema=schema, format=path.suffix[1:]) for path in self.files]
        if self._waiting or not children:
            in_memory = pa.concat_tables([schema.empty_table(), self._in_memory()], promote_options="default")
            children.append(ds.dataset(in_memory.select(schema.names).replace_schema_metadata(None)))
        return ds.UnionDataset(schema, children)

    def read(self, *columns: str) -> pa.Table:
        """Columns of all rows, in the order of `dataset`."""
        return self.dataset().to_table(columns=list(columns), use_threads=False)

    def batches(self, *columns: str) -> Iterator[pa.RecordBatch]:
        """Columns of all rows batch by batch, in the order of `dataset`."""
        yield from self.dataset().to_batches(columns=list(columns), batch_size=_SCANNED, use_threads=False)

    def groups(self, size: int) -> Iterator[pa.Table]:
        """Yield all rows in the order of their keys, in groups of `size` rows; the last group may be smaller.

        The rows of a group that are in one file stand together there, because files are sorted.
        """
        schema = self.schema
        in_memory = [self._in_memory()] if self._waiting else []
        sources = [_Rows(source, self.keys) for source in (*self.files, *in_memory)]
        if not sources:
            return
        starts = np.cumsum([0, *(len(source.keys) for source in sources)])
        order = self._order(pa.concat_tables([source.keys for source in sources]))
        for start in range(0, len(order), size):
            rows = order[start : start + size]
            source_of = np.searchsorted(starts, rows, side="right") - 1
            tables, positions, n_before = [schema.empty_table()], np.empty(len(rows), np.int64), 0
            for number in np.unique(source_of).tolist():
                is_here = source_of == number
                first, last = int(rows[is_here].min()), int(rows[is_here].max())
                tables.append(sources[number].slice(first - int(starts[number]), last + 1 - int(starts[number])))
                positions[is_here] = rows[is_here] - first + n_before
                n_before += last + 1 - first
            yield _taken(pa.concat_tables(tables, promote_options="default"), positions)

    def write(self, path: Path, size: int, schema: Callable[[pa.Schema], pa.Schema]) -> None:
        """Write all rows to a Parquet file with row groups of `size` rows, with what `schema` adds to their schema."""
        unfinished = path.with_name(f"{path.name}.unfinished")  # the rows may be those of the file at `path`
        try:
            with parquet_writer(unfinished, schema(self.schema)) as writer:
                for group in self.groups(size):
                    writer.write_table(group.replace_schema_metadata(None))
            unfinished.replace(path)
        except OSError as error:
            raise unwritable(path, error) from None


@contextmanager
def parquet_writer(path: Path, schema: pa.Schema) -> Iterator[pq.ParquetWriter]:
    """Open a Parquet file for writing; after an error, the file stays incomplete."""
    writer = pq.ParquetWriter(path, schema)
    try:
        yield writer
        writer.close()
    finally:
        abandon(writer)


class _Rows:
    """Sorted rows of a file, or of a table in memory; a file is open only while it is read."""

    def __init__(self, source: Path | pa.Table, keys: Sequence[str]) -> None:
        self._source = source
        if isinstance(source, pa.Table):
            self.keys = source.select(list(keys))
            sizes = [len(source)]
        elif source.suffix == ".parquet":
            with pq.ParquetFile(source) as file:
                sizes = [file.metadata.row_group(group).num_rows for group in range(file.num_row_groups)]
                self.keys = file.read(columns=list(keys))
        else:
            indices = [pa.ipc.open_file(str(source)).schema.get_field_index(name) for name in keys]
            with pa.OSFile(str(source), "rb") as stream:
                file = pa.ipc.open_file(stream, options=pa.ipc.IpcReadOptions(included_fields=indices))
                batches = [file.get_batch(number) for number in range(file.num_record_batches)]
                sizes = [batch.num_rows for batch in batches]
                self.keys = pa.Table.from_batches(batches, file.schema).select(list(keys))
        self._starts = np.cumsum([0, *sizes])

    def slice(self, first: int, end: int) -> pa.Table:
        """Rows from `first` to before `end`, at least one."""
        if isinstance(self._source, pa.Table):
            return self._source.slice(first, end - first)
        low, high = np.searchsorted(self._starts, [first, end - 1], side="right") - 1
        pieces = range(int(low), int(high) + 1)
        if self._source.suffix == ".parquet":
            with pq.ParquetFile(self._source) as file:
                rows = file.read_row_groups(list(pieces))
        else:
            with pa.OSFile(str(self._source), "rb") as stream:
                file = pa.ipc.open_file(stream)
                rows = pa.Table.from_batches([file.get_batch(number) for number in pieces])
        return rows.slice(first - int(self._starts[low]), end - first)


def _taken(rows: pa.Table, positions: np.typing.NDArray[np.integer]) -> pa.Table:
    """Rows at some positions, as one chunk."""
    if (np.diff(positions) == 1).all():
        sorted_rows = rows.slice(int(positions[0]), len(positions)) if len(positions) else rows
    elif rows.nbytes < _WIDE * rows.num_rows:
        return rows.combine_chunks().take(pa.array(positions))
    else:  # Arrow takes the values of nested lists one by one, but copies those of a slice together
        sorted_rows = pa.concat_tables([rows.slice(row, 1) for row in positions.tolist()])
    return sorted_rows.combine_chunks()
