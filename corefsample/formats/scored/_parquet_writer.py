"""Writing pre-scored mention files as Parquet, in row groups of a few hundred documents."""

from __future__ import annotations

import os
from typing import Self

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from corefsample._arrays import Floats, Ints
from corefsample._checks import shown
from corefsample.documents._batch import DocumentBatch, ParseRows, bounds_of
from corefsample.documents._batch_schema import PARSES_VERSION, SCHEMA, flat_lists
from corefsample.formats.scored._parquet import BATCH_BYTES, STRING_PATHS, ParquetReader, row_group_sizes

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
        strings = [f"{prefix}{name}list.element" for name in STRING_PATHS]
        self._schema = schema
        # Nobody selects row groups by other columns, and their minima and maxima take a tenth of the time of writing.
        options = {"use_dictionary": strings, "write_statistics": ["doc_id", "date"]}
        self._writer = pq.ParquetWriter(self._path, schema, compression="zstd", **options)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        try:
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


_OF_DOCUMENT = ("doc_id", "date", "metadata")

_OF_PARSE = tuple(name for name in SCHEMA.names if name not in _OF_DOCUMENT)

_PARSE = pa.struct([("weight", pa.float64()), *(SCHEMA.field(name) for name in _OF_PARSE)])

PARSES_SCHEMA = pa.schema(
    [*(SCHEMA.field(name) for name in _OF_DOCUMENT), ("parses", pa.list_(_PARSE))],
    metadata={"corefsample.version": str(PARSES_VERSION)},
)


def parses_table(batch: DocumentBatch) -> pa.RecordBatch:
    """The documents of a batch in `PARSES_SCHEMA`; one without several parses has one of weight 1."""
    parses = batch.parses
    if parses is None:
        parses = ParseRows(bounds_of(np.ones(len(batch), np.int64)), np.ones(len(batch)), batch)
    table = parses.batch.table
    columns = [pa.array(parses.weights), *(table.column(name) for name in _OF_PARSE)]
    structs = pa.StructArray.from_arrays(columns, fields=list(_PARSE))
    lists = pa.ListArray.from_arrays(pa.array(parses.bounds.astype(np.int32)), structs)
    documents = [batch.table.column(name) for name in _OF_DOCUMENT]
    return pa.RecordBatch.from_arrays([*documents, lists], schema=PARSES_SCHEMA)


def parses_fault(schema: pa.Schema) -> str | None:
    """What is wrong with the type of the column `parses` of a file, or None."""
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
        Rows of parses, the number of parses of each document, and the weight of each parse, NaN where it has none.
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
