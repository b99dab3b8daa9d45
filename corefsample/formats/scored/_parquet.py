"""Reader and writer of pre-scored mention files as Parquet: one document per row, lists in list columns."""

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from typing import Any, Self

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from corefsample.documents._batch import SCHEMA, VERSION, DocumentBatch, flat_lists
from corefsample.documents._faults import Rejected, missing_field, version_fault
from corefsample.documents._scored import FIELDS
from corefsample.documents._tokens import STRING_COLUMNS, TOKEN_COLUMNS
from corefsample.errors import DamagedFileError, InputError, shown
from corefsample.files._paths import parquet_source, total_size
from corefsample.files._reading import ReadProgress, one_line, parquet_errors

_VERSION_KEY = b"corefsample.version"
_REQUIRED = ("doc_id", "mentions", "antecedents", "scores")
_GOLD_ID = msgspec.json.Decoder(int | str)
_OBJECT = msgspec.json.Decoder(dict[str, Any])
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
            names: list[str] = list(schema.names)  # a damaged name raises UnicodeDecodeError
            if names.count("tokens") == 1 and pa.types.is_struct(schema.field("tokens").type):
                names += [f"tokens.{field.name}" for field in schema.field("tokens").type]
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
        """Cast to the schema, leaving out rows with a value that does not fit; absent columns are null."""
        for field in SCHEMA:
            if field.name not in table.schema.names:
                table = table.append_column(field, pa.nulls(table.num_rows, field.type))
        batch = DocumentBatch(self.path, table, "row", range(first, first + table.num_rows))
        faults: dict[int, str] = {}
        try:
            cast = replace(batch, table=self._cast(table))
        except pa.ArrowInvalid:
            for row in range(table.num_rows):
                try:
                    self._cast(table.take(pa.array([row], pa.int64())))  # not a slice: the cast looks at all its rows
                except pa.ArrowInvalid as error:
                    faults[row] = str(error)
            good = batch.take([row for row in range(table.num_rows) if row not in faults])
            cast = replace(good, table=self._cast(good.table))
        rejected = [batch.rejected(row, reason) for row, reason in faults.items()]
        faults = _json_faults(cast.table)
        rejected += [cast.rejected(row, reason) for row, reason in faults.items()]
        return cast.take([row for row in range(len(cast)) if row not in faults]) if faults else cast, rejected

    def _cast(self, table: pa.RecordBatch) -> pa.RecordBatch:
        """Cast to the schema; raises ArrowInvalid about a value that does not fit."""
        columns = []
        for field in SCHEMA:
            column = table.column(field.name)
            try:
                columns.append(column.cast(field.type))
            except pa.ArrowInvalid as error:
                raise pa.ArrowInvalid(f"{field.name}: {one_line(error)}") from None
            except (pa.ArrowNotImplementedError, pa.ArrowTypeError):
                rule = f"column {field.name} must be {field.type}"
                raise InputError(f"{rule}, got {column.type}", place=self.path) from None
        return pa.RecordBatch.from_arrays(columns, schema=SCHEMA)


def _json_faults(table: pa.RecordBatch) -> dict[int, str]:
    """Reasons for rejecting rows with a JSON column that does not decode to the right type."""
    faults: dict[int, str] = {}
    texts = flat_lists(table.column("gold"))[1].unique().to_pylist()
    bad_texts = {text for text in texts if text is not None and not _decodes(_GOLD_ID, text)}
    for row, gold in enumerate(table.column("gold").to_pylist() if bad_texts else ()):
        for i, text in enumerate(gold or ()):
            if text in bad_texts:
                faults.setdefault(row, f"gold[{i}] must be JSON of a number or a string, got {text!r}")
    for name, reserved in (("metadata", FIELDS), ("tokens_extra", TOKEN_COLUMNS)):
        column = table.column(name).to_pylist()
        for text in {*column} - {None}:  # many are the same
            reason = f"{name} must be a JSON object, got {shown(text)}"
            if _decodes(_OBJECT, text):
                repeated = [member for member in _OBJECT.decode(text) if member in reserved]
                if not repeated:
                    continue
                reason = f"{name} must contain no field of the document, got {repeated[0]!r}"
            faults |= {row: reason for row, other in enumerate(column) if other == text and row not in faults}
    n_tokens = np.diff(flat_lists(table.column("tokens").flatten()[0])[0])
    for row, text in enumerate(table.column("tokens_extra").to_pylist()):
        for name, values in _OBJECT.decode(text).items() if text is not None and row not in faults else ():
            if not isinstance(values, list) or len(values) != n_tokens[row]:
                rule = f"tokens.{name} must be a list as long as tokens.text ({n_tokens[row]})"
                faults[row] = f"{rule}, got {shown(values)}"
    return faults


def _decodes(decoder: msgspec.json.Decoder[Any], text: str) -> bool:
    try:
        decoder.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return False
    return True


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
