"""Documents with alternative parses in Parquet files of version 2: one row a document, with a list of its parses."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from corefsample._arrays import Floats, Ints
from corefsample._checks import shown
from corefsample.documents._batch import DocumentBatch, ParseRows, bounds_of
from corefsample.documents._batch_schema import PARSES_VERSION, SCHEMA, flat_lists

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
