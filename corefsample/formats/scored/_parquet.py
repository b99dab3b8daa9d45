"""Reader and writer of pre-scored mention files as Parquet: one document per row, lists in list columns."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from corefsample._arrays import Floats, Ints
from corefsample._checks import shown
from corefsample.documents._batch import PARSES_VERSION, SCHEMA, VERSION, DocumentBatch, ParseRows, flat_lists
from corefsample.documents._faults import Rejected, missing_field
from corefsample.documents._tokens import STRING_COLUMNS
from corefsample.errors import DamagedFileError, InputError
from corefsample.files._contents import one_line, parquet_errors
from corefsample.files._paths import parquet_source, total_size
from corefsample.files._reading import ReadProgress

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
        options = {"pre_buffer": False, "buffer_size": _READ_AHEAD, "page_checksum_verification": True}
        with parquet_errors(path):
            self._file = pq.ParquetFile(parquet_source(path), **options)
            schema = self._file.schema_arrow
            names = _names(schema)
        version = (schema.metadata or {}).get(_VERSION_KEY, str(VERSION).encode())
        if version not in (str(VERSION).encode(), str(PARSES_VERSION).encode()):
            rule = f"schema metadata: corefsample.version must be {VERSION} or {PARSES_VERSION}"
            raise InputError(f"{rule}, got {shown(version)}", place=path)
        self._has_parses = version == str(PARSES_VERSION).encode()
        required = ("doc_id", "parses") if self._has_parses else _REQUIRED
        columns = PARSES_SCHEMA.names if self._has_parses else SCHEMA.names
        for name in columns:
            count = schema.names.count(name)
            if count > 1:
                raise InputError(f"column {name} must appear once, got it {count} times", place=path)
            if name in required and not count:
                reason, hint = missing_field(name)
                raise InputError(f"column {reason}, got {', '.join(schema.names)}", place=path, hint=hint)
        if self._has_parses and (fault := parses_fault(schema)) is not None:
            raise InputError(fault, place=path)
        format_columns = {*columns, *(f"tokens.{field.name}" for field in SCHEMA.field("tokens").type)}
        foreign_columns = [name for name in names if name not in format_columns]
        if foreign_columns:
            rule = "columns must be those of the format (others go into metadata or tokens_extra, as JSON)"
            raise InputError(f"{rule}, got {', '.join(foreign_columns[:5])}", place=path)

    def batches(self, size: int) -> Iterator[tuple[DocumentBatch, list[Rejected]]]:
        """Yield batches of up to `size` documents, fewer if they are long, with rows whose numbers do not fit."""
        about = self._file.metadata
        groups = range(about.num_row_groups) if self._groups is None else self._groups
        n_bytes, n_read = total_size([self.path]), 0
        row = sum(about.row_group(group).num_rows for group in range(groups.start))  # places count from the first
        n_rows = max(about.num_rows, 1)
        decoded = sum(about.row_group(group).total_byte_size for group in range(about.num_row_groups))
        size = max(1, min(size, BATCH_BYTES * n_rows // max(decoded, 1)))
        try:
            for table in self._file.iter_batches(batch_size=size, row_groups=list(groups)):
                table.validate(full=True)  # strings that are not UTF-8, offsets outside the data
                first, row = row + 1, row + table.num_rows
                n_read += table.num_rows
                self.bytes_read = n_bytes * n_read // n_rows
                yield self._canonical(table, first)
            expected = sum(about.row_group(group).num_rows for group in groups)
            if n_read != expected:  # a page may be damaged so that it ends early
                raise OSError(f"{n_read} of {expected} rows")
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            location = f"{self.path}: row {row + 1}"
            raise DamagedFileError(f"data must be readable, got: {one_line(error)}", place=location) from None

    def _canonical(self, table: pa.RecordBatch, first: int) -> tuple[DocumentBatch, list[Rejected]]:
        """Cast to the schema, leaving out rows with a number that does not fit; absent columns are null."""
        if self._has_parses:
            return self._canonical_parses(table, first)
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

    def _canonical_parses(self, table: pa.RecordBatch, first: int) -> tuple[DocumentBatch, list[Rejected]]:
        """Cast rows with a list of parses to the schema, leaving out rows with a number that does not fit."""
        columns, counts, weights = parse_columns(table)
        reasons: dict[int, str] = {}
        for d in np.flatnonzero(counts == 0).tolist():
            reasons[d] = "parses must have at least one parse, got none"
        try:
            self._cast(columns)
        except pa.ArrowInvalid:
            for d, start in enumerate((np.cumsum(counts) - counts).tolist()):
                faults = ((k, self._misfit(columns, start + k)) for k in range(counts[d]))
                reason_of_parse = next((f"parses[{k}].{reason}" for k, reason in faults if reason is not None), None)
                if reason_of_parse is not None:
                    reasons[d] = reason_of_parse
        valid = [d for d in range(table.num_rows) if d not in reasons]
        rows = np.flatnonzero(np.isin(np.repeat(np.arange(table.num_rows), counts), valid))
        row_numbers = first + np.array(valid, np.int64)
        cast = self._cast(columns.take(pa.array(rows)))
        parse_batch = DocumentBatch(self.path, cast, "row", np.repeat(row_numbers, counts[valid]).tolist())
        parses = ParseRows.of(counts[valid], weights[rows], parse_batch)  # the weights have yet to be checked
        batch = DocumentBatch(self.path, cast.take(pa.array(parses.firsts)), "row", row_numbers.tolist(), parses)
        return batch, [self._rejected(table, d, first, reason) for d, reason in sorted(reasons.items())]

    def _rejected(self, table: pa.RecordBatch, row: int, first: int, reason: str) -> Rejected:
        row_values = table.slice(row, 1).to_pylist()[0]
        doc_id = row_values["doc_id"] if isinstance(row_values["doc_id"], str) else ""
        return Rejected(self.path, "row", first + row, doc_id, reason, json.dumps(row_values, default=str))

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


def row_group_sizes(path: str) -> list[int]:
    """Number of documents in each row group of a Parquet file.

    Raises
    ------
    InputError
        If the file is not a Parquet file of this format.
    """
    about = ParquetReader(path)._file.metadata
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


_OF_DOCUMENT = ("doc_id", "date", "metadata")
_OF_PARSE = tuple(name for name in SCHEMA.names if name not in _OF_DOCUMENT)
_PARSE = pa.struct([("weight", pa.float64()), *(SCHEMA.field(name) for name in _OF_PARSE)])
PARSES_SCHEMA = pa.schema(
    [*(SCHEMA.field(name) for name in _OF_DOCUMENT), ("parses", pa.list_(_PARSE))],
    metadata={"corefsample.version": str(PARSES_VERSION)},
)


def parses_table(batch: DocumentBatch) -> pa.RecordBatch:
    """The documents of a batch in `PARSES_SCHEMA`; a document without several parses has one parse of weight 1."""
    parses = batch.parses
    if parses is None:
        parses = ParseRows.of(np.ones(len(batch), np.int64), np.ones(len(batch)), batch)
    table = parses.batch.table
    columns = [pa.array(parses.weights), *(table.column(name) for name in _OF_PARSE)]
    structs = pa.StructArray.from_arrays(columns, fields=list(_PARSE))
    lists = pa.ListArray.from_arrays(pa.array(parses.bounds.astype(np.int32)), structs)
    documents = [batch.table.column(name) for name in _OF_DOCUMENT]
    return pa.RecordBatch.from_arrays([*documents, lists], schema=PARSES_SCHEMA)


def parses_fault(schema: pa.Schema) -> str | None:
    """Describe how the type of a file's column `parses` is wrong, or return None if it is valid."""
    kind = schema.field("parses").type
    if not (pa.types.is_list(kind) or pa.types.is_large_list(kind)) or not pa.types.is_struct(kind.value_type):
        return f"column parses must be a list of structs, got {kind}"
    names = [field.name for field in kind.value_type]
    for name in ("weight", "tokens", "mentions", "antecedents", "scores"):
        if name not in names:
            return f"column parses.{name} is missing, got {', '.join(names)}"
    foreign = [name for name in names if names.count(name) > 1 or name not in ("weight", *_OF_PARSE)]
    if foreign:
        return f"column parses must have the fields {', '.join(('weight', *_OF_PARSE))}, once each, got {foreign[0]}"
    if not pa.types.is_floating(weight := kind.value_type.field("weight").type) and not pa.types.is_integer(weight):
        return f"column parses.weight must be a number, got {shown(str(weight))}"
    return None


def parse_columns(table: pa.RecordBatch) -> tuple[pa.RecordBatch, Ints, Floats]:
    """The parses of all documents of a file as rows with the columns of `SCHEMA`, of the file's types.

    Returns
    -------
    columns, counts, weights
        Rows of parses, number of parses of each document, and weight of each parse (NaN if it is missing).
    """
    lists = table.column("parses")
    if pa.types.is_large_list(lists.type):
        lists = lists.cast(pa.list_(lists.type.value_type))
    bounds, structs = flat_lists(lists)
    inner = dict(zip([field.name for field in structs.type], structs.flatten(), strict=True))
    documents = pa.array(np.repeat(np.arange(table.num_rows), np.diff(bounds)))
    columns, fields = [], []
    for field in SCHEMA:
        if field.name in inner:
            column = inner[field.name]
        elif field.name in table.schema.names and field.name not in _OF_PARSE:
            column = table.column(field.name).take(documents)
        else:
            column = pa.nulls(len(structs), field.type)
        columns.append(column)
        fields.append(pa.field(field.name, column.type))
    weights: Floats = inner["weight"].cast(pa.float64()).fill_null(np.nan).to_numpy(zero_copy_only=False)
    return pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields)), np.diff(bounds), weights


_ROW_GROUP = 256  # documents; some 20 MB decoded, so that a reader's memory stays small


class ParquetWriter:
    """Writes batches to a new Parquet file, in row groups of a few hundred documents; use as a context manager.

    The file has version 1, unless a document has alternative parses; then it has version 2 from its beginning.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._pending: list[DocumentBatch] = []
        self._n_pending = self._pending_bytes = self._n_groups = 0
        self._open(SCHEMA)

    def _open(self, schema: pa.Schema) -> None:
        # Scores hardly repeat: a dictionary of them would cost time and save nothing.
        prefix = "" if schema is SCHEMA else "parses.list.element."
        strings = [f"{prefix}tokens.{name}.list.element" for name in STRING_COLUMNS]
        self._schema = schema
        # Nobody selects row groups by other columns, and their minima and maxima take a tenth of the time of writing.
        options = {"use_dictionary": strings, "write_statistics": ["doc_id", "date"]}
        self._writer = pq.ParquetWriter(self._path, schema, compression="zstd", write_page_checksum=True, **options)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, error: object, *_: object) -> None:
        try:
            if error is None:  # after a failure, such as a full disk, another would hide it
                self.close()
        finally:
            self.abandon()

    def write(self, batch: DocumentBatch) -> None:
        """Append the documents of one batch."""
        if batch.parses is not None and self._schema is SCHEMA:
            self._begin_again()
        self._pending.append(batch)
        self._n_pending += len(batch)
        self._pending_bytes += (batch if batch.parses is None else batch.parses.batch).table.nbytes
        if self._n_pending >= _ROW_GROUP or self._pending_bytes >= 2 * BATCH_BYTES:
            self._flush()

    def end_group(self) -> None:
        """End the row group: the documents so far are not in the same one as those to come."""
        self._flush()

    def _flush(self) -> None:
        if self._n_pending:
            tables = [batch.table if self._schema is SCHEMA else parses_table(batch) for batch in self._pending]
            self._writer.write_table(pa.Table.from_batches(tables, self._schema), row_group_size=_ROW_GROUP)
            self._n_groups += 1
        self._pending, self._n_pending, self._pending_bytes = [], 0, 0

    def _begin_again(self) -> None:
        """Write the row groups so far again as version 2: the first documents had one parse each."""
        self._writer.close()
        if not self._n_groups:
            self._open(PARSES_SCHEMA)
            return
        earlier = f"{self._path}.v1"
        os.replace(self._path, earlier)
        try:
            pending, self._pending = self._pending, []
            self._open(PARSES_SCHEMA)
            for number in range(len(row_group_sizes(earlier))):
                for batch, _ in ParquetReader(earlier, range(number, number + 1)).batches(_ROW_GROUP):
                    self._pending.append(batch)
                    self._n_pending = 1
                self._flush()
            self._pending, self._n_pending = pending, sum(map(len, pending))
        finally:
            os.remove(earlier)

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
