"""Reader and writer of pre-scored mention files as Parquet: one document per row, lists in list columns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from typing import Any, Self

import pyarrow as pa
import pyarrow.parquet as pq

from corefsample.documents._batch import SCHEMA, VERSION, DocumentBatch
from corefsample.documents._faults import Rejected, missing_field, version_fault
from corefsample.documents._tokens import STRING_COLUMNS
from corefsample.errors import DamagedFileError, InputError
from corefsample.files._paths import parquet_source, total_size
from corefsample.files._reading import ReadProgress, one_line, parquet_errors

_VERSION_KEY = b"corefsample.version"
_REQUIRED = ("doc_id", "mentions", "antecedents", "scores")
BATCH_BYTES = 32 * 2**20  # limit of the decoded bytes of a batch
_READ_AHEAD = 2**20  # bytes per column; without a bound, pyarrow keeps all data of the file until the end


class ParquetReader(ReadProgress):
    """Stream of batches from one Parquet file.

    Parameters
    ----------
    path
        Path of the file.
    groups
        Numbers of the row groups to read. By default all row groups are read.

    Attributes
    ----------
    bytes_read
        Number of bytes of the file that were read so far, estimated from its rows.
    """

    def __init__(self, path: str, groups: range | None = None) -> None:
        super().__init__()
        self.path = path
        self._groups = groups

    @cached_property
    def file(self) -> pq.ParquetFile:
        """The open file; raises InputError if it is not a Parquet file of this format."""
        path = self.path
        options = {"pre_buffer": False, "buffer_size": _READ_AHEAD, "page_checksum_verification": True}
        with parquet_errors(path):
            file = pq.ParquetFile(parquet_source(path), **options)
            schema = file.schema_arrow
            names = _names(schema)
        version = (schema.metadata or {}).get(_VERSION_KEY, str(VERSION).encode()).decode("utf-8", "replace")
        if version != str(VERSION):
            reason, hint = version_fault(int(version) if version.isdigit() else version)
            raise InputError(f"schema metadata: corefsample.{reason}", place=path, hint=hint)
        for name in SCHEMA.names:
            count = schema.names.count(name)
            if count > 1:
                raise InputError(f"column {name} must appear once, got it {count} times", place=path)
            if name in _REQUIRED and not count:
                reason, hint = missing_field(name)
                raise InputError(f"column {reason}, got {', '.join(schema.names)}", place=path, hint=hint)
        format_columns = {*SCHEMA.names, *(f"tokens.{field.name}" for field in SCHEMA.field("tokens").type)}
        foreign_columns = [name for name in names if name not in format_columns]
        if foreign_columns:
            rule = "columns must be those of the format (others go into metadata or tokens_extra, as JSON)"
            raise InputError(f"{rule}, got {', '.join(foreign_columns[:5])}", place=path)
        return file

    def batches(self, size: int) -> Iterator[tuple[DocumentBatch, list[Rejected]]]:
        """Yield batches of up to `size` documents, fewer if they are long, with rows whose numbers do not fit.

        The parses of a document are in one batch.
        """
        about = self.file.metadata
        groups = range(about.num_row_groups) if self._groups is None else self._groups
        n_bytes, n_read = total_size([self.path]), 0
        first = 1 + sum(about.row_group(group).num_rows for group in range(groups.start))
        waiting: list[pa.RecordBatch] = []  # the last document, which may have more parses
        n_rows = max(about.num_rows, 1)
        decoded = sum(about.row_group(group).total_byte_size for group in range(about.num_row_groups))
        size = max(1, min(size, BATCH_BYTES * n_rows // max(decoded, 1)))
        try:
            for table in self.file.iter_batches(batch_size=size, row_groups=list(groups)):
                table.validate(full=True)  # strings that are not UTF-8, offsets outside the data
                n_read += table.num_rows
                self.bytes_read = n_bytes * n_read // n_rows
                if waiting:
                    table = pa.concat_batches([*waiting, table])
                end = _complete(table)
                waiting = [table.slice(end)] if end < table.num_rows else []
                yield self._canonical(table.slice(0, end) if waiting else table, first)
                first += end
            for table in waiting:
                yield self._canonical(table, first)
            expected = sum(about.row_group(group).num_rows for group in groups)
            if n_read != expected:  # a page may be damaged so that it ends early
                raise OSError(f"{n_read} of {expected} rows")
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            location = f"{self.path}: row {first + sum(map(len, waiting))}"
            raise DamagedFileError(f"data must be readable, got: {one_line(error)}", place=location) from None

    def _canonical(self, table: pa.RecordBatch, first: int) -> tuple[DocumentBatch, list[Rejected]]:
        """Cast to the schema, leaving out rows with a number that does not fit; absent columns are null."""
        for field in SCHEMA:
            if field.name not in table.schema.names:
                table = table.append_column(field, pa.nulls(table.num_rows, field.type))
        batch = DocumentBatch(self.path, table, "row", range(first, first + table.num_rows))
        try:
            return replace(batch, table=self._cast(table)), []
        except pa.ArrowInvalid:
            faults = {row: reason for row in range(table.num_rows) if (reason := self._misfit(table, row))}
            good = batch.take([row for row in range(table.num_rows) if row not in faults])
            rejected = [batch.rejected(row, reason) for row, reason in faults.items()]
            return replace(good, table=self._cast(good.table)), rejected

    def _cast(self, table: pa.RecordBatch) -> pa.RecordBatch:
        columns = []
        for field in SCHEMA:
            column = table.column(field.name)
            if not _alike(column.type, field.type):
                raise InputError(f"column {field.name} must be {field.type}, got {column.type}", place=self.path)
            columns.append(column.cast(field.type))
        return pa.RecordBatch.from_arrays(columns, schema=SCHEMA)

    def _misfit(self, table: pa.RecordBatch, row: int) -> str | None:
        """Describe the value that keeps a row from being cast, or return None."""
        single_row = table.take(pa.array([row], pa.int64()))  # not a slice: the cast looks at the other rows too
        try:
            self._cast(single_row)
        except pa.ArrowInvalid as error:
            values = single_row.to_pylist()[0]
            faults = (_number_fault(values[field.name], field.type, field.name) for field in SCHEMA)
            return next(filter(None, faults), one_line(error))
        return None


def _number_fault(value: Any, kind: pa.DataType, path: str) -> str | None:
    """Describe the first number in a value that does not fit the integers of its type, or return None."""
    if pa.types.is_struct(kind) and value is not None:
        faults = (_number_fault(value[field.name], field.type, f"{path}.{field.name}") for field in kind)
    elif pa.types.is_list(kind) and value is not None:
        faults = (_number_fault(element, kind.value_type, f"{path}[{i}]") for i, element in enumerate(value))
    elif pa.types.is_integer(kind) and value is not None and not -(2**31) <= value < 2**31:
        return f"{path} must fit into 32 bits, got {value}"
    elif pa.types.is_integer(kind) and value is not None and value != int(value):
        return f"{path} must be a whole number, got {value}"
    else:
        return None
    return next(filter(None, faults), None)


def _complete(table: pa.RecordBatch) -> int:
    """Number of rows before the last document, if it has several parses, or of all rows."""
    end: int = table.num_rows
    if "samples" not in table.schema.names or not end or not table.column("samples")[end - 1].is_valid:
        return end
    ids = table.column("doc_id")
    while end and ids[end - 1].equals(ids[table.num_rows - 1]):
        end -= 1
    return end


def row_group_sizes(path: str) -> list[int]:
    """Number of documents in each row group of a Parquet file.

    Raises
    ------
    InputError
        If the file is not a Parquet file of this format.
    """
    about = ParquetReader(path).file.metadata
    return [about.row_group(group).num_rows for group in range(about.num_row_groups)]


def _names(schema: pa.Schema) -> list[str]:
    """Names of all columns, and of the fields of tokens; a damaged name raises UnicodeDecodeError."""
    names: list[str] = list(schema.names)
    if "tokens" in names and names.count("tokens") == 1 and pa.types.is_struct(schema.field("tokens").type):
        names += [f"tokens.{field.name}" for field in schema.field("tokens").type]
    return names


def _alike(actual: pa.DataType, expected: pa.DataType) -> bool:
    """True if a cast keeps the kind of the data and changes only its width: text stays text, a number a number."""
    kinds = pa.types
    if kinds.is_dictionary(actual):
        return _alike(actual.value_type, expected)
    if kinds.is_null(actual):
        return True
    if kinds.is_list(expected):
        is_list = kinds.is_list(actual) or kinds.is_large_list(actual) or kinds.is_fixed_size_list(actual)
        return bool(is_list and _alike(actual.value_type, expected.value_type))
    if kinds.is_struct(expected):
        names = {field.name for field in actual} if kinds.is_struct(actual) else set()
        return all(field.name in names and _alike(actual.field(field.name).type, field.type) for field in expected)
    if kinds.is_string(expected):  # and dates, which become ISO dates
        return bool(kinds.is_string(actual) or kinds.is_large_string(actual) or kinds.is_date(actual))
    # The cast itself raises for a float that is not whole.
    return bool(kinds.is_integer(actual) or kinds.is_floating(actual))


_ROW_GROUP = 256  # documents; some 20 MB decoded, so that a reader's memory stays small


class ParquetWriter:
    """Writes batches to a new Parquet file, in row groups of a few hundred documents; use as a context manager."""

    def __init__(self, path: str) -> None:
        self._pending: list[pa.RecordBatch] = []
        self._n_pending = self._pending_bytes = 0
        # Scores hardly repeat: a dictionary of them would cost time and save nothing.
        strings = [f"tokens.{name}.list.element" for name in STRING_COLUMNS]
        # Nobody selects row groups by other columns, and their minima and maxima take a tenth of the time of writing.
        options = {"use_dictionary": strings, "write_statistics": ["doc_id", "date"]}
        self._writer = pq.ParquetWriter(path, SCHEMA, compression="zstd", write_page_checksum=True, **options)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, error: object, *_: object) -> None:
        try:
            if error is None:  # after a failure, such as a full disk, another would hide it
                self.close()
        finally:
            self.abandon()

    def write(self, batch: DocumentBatch) -> None:
        """Append the documents of one batch, which has all parses of its documents."""
        self._pending.append(batch.table)
        self._n_pending += len(batch)
        self._pending_bytes += batch.table.nbytes
        if self._n_pending >= _ROW_GROUP or self._pending_bytes >= 2 * BATCH_BYTES:
            self._flush()

    def end_group(self) -> None:
        """End the row group: the documents so far are not in the same one as those to come."""
        self._flush()

    def _flush(self) -> None:
        if self._n_pending:
            table = pa.Table.from_batches(self._pending, SCHEMA)
            # The parses of a document are in one row group, because row groups can be read alone.
            has_parses = table.column("samples").null_count < len(table)
            self._writer.write_table(table, row_group_size=len(table) if has_parses else _ROW_GROUP)
        self._pending, self._n_pending, self._pending_bytes = [], 0, 0

    def close(self) -> None:
        """Finish the file."""
        self._flush()
        self._writer.close()

    def abandon(self) -> None:
        """Leave the file unfinished."""
        abandon(self._writer)


def abandon(writer: pq.ParquetWriter) -> None:
    """Keep a writer of an unfinished file from trying, and failing, to finish it when it is deleted."""
    writer.is_open = False
