"""The Arrow schema of documents with scored mentions, behind every file format."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corefsample._arrays import Ints
from corefsample.documents._tokens import INTEGER_COLUMNS, STRING_COLUMNS

VERSION = 1  # of documents with one parse
PARSES_VERSION = 2  # of documents with several parses


def _tokens(strings: pa.DataType) -> pa.StructType:
    columns = [(name, pa.list_(strings)) for name in STRING_COLUMNS]
    return pa.struct(columns + [(name, pa.list_(pa.int32())) for name in INTEGER_COLUMNS])


TOKENS = _tokens(pa.string())
SPAN_COLUMNS = ("start", "end", "head")
SCHEMA = pa.schema(
    [
        ("doc_id", pa.string()),
        ("date", pa.string()),
        ("mentions", pa.struct([(name, pa.list_(pa.int32())) for name in SPAN_COLUMNS])),
        ("antecedents", pa.list_(pa.list_(pa.int32()))),
        ("scores", pa.list_(pa.list_(pa.float64()))),
        ("tokens", TOKENS),
        ("tokens_extra", pa.string()),  # JSON object of further token lists
        ("gold", pa.list_(pa.string())),  # each entity id as JSON, so that 1 and "1" stay apart
        ("metadata", pa.string()),  # JSON object of everything else
    ],
    metadata={"corefsample.version": str(VERSION)},
)
# The same with the strings of tokens as Arrow dictionaries, as some readers provide them.
_N_TOKENS = SCHEMA.get_field_index("tokens")
ENCODED_SCHEMA = SCHEMA.set(_N_TOKENS, pa.field("tokens", _tokens(pa.dictionary(pa.int32(), pa.string()))))


def flat_lists(lists: pa.ListArray) -> tuple[Ints, pa.Array]:
    """Bounds (n + 1) of each list and the values of all; a null list is empty."""
    values = lists.flatten()
    if lists.null_count:
        lengths = pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False)
        return np.concatenate(([0], np.cumsum(lengths, dtype=np.int64))), values
    offsets = lists.offsets.to_numpy().astype(np.int64)
    return offsets - offsets[0], values
