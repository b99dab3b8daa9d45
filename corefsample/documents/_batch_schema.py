"""Layout of documents with scored mentions: the Arrow schema behind every file format, and a JSON line's object."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corefsample._arrays import Ints
from corefsample.documents._tokens import INTEGER_COLUMNS, STRING_COLUMNS, TOKEN_COLUMNS

VERSION = 1  # of documents with one parse
PARSES_VERSION = 2  # of documents with several parses
SPAN_COLUMNS = ("start", "end", "head")
GOLD = pa.list_(pa.string())

SCHEMA = pa.schema(
    [
        ("doc_id", pa.string()),
        ("date", pa.string()),
        ("mentions", pa.struct([(name, pa.list_(pa.int32())) for name in SPAN_COLUMNS])),
        ("antecedents", pa.list_(pa.list_(pa.int32()))),
        ("scores", pa.list_(pa.list_(pa.float64()))),
        (
            "tokens",
            pa.struct(
                [(name, pa.list_(pa.string())) for name in STRING_COLUMNS]
                + [(name, pa.list_(pa.int32())) for name in INTEGER_COLUMNS]
            ),
        ),
        ("tokens_extra", pa.string()),  # JSON object of further token lists
        ("gold", GOLD),  # each entity id as JSON, so that 1 and "1" stay apart
        ("metadata", pa.string()),  # JSON object of everything else
    ],
    metadata={"corefsample.version": str(VERSION)},
)


def flat_lists(lists: pa.ListArray) -> tuple[Ints, pa.Array]:
    """Bounds (n + 1) of each list and the values of all; a null list is empty."""
    values = lists.flatten()
    if lists.null_count:
        lengths = pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False)
        return np.concatenate(([0], np.cumsum(lengths, dtype=np.int64))), values
    offsets = lists.offsets.to_numpy().astype(np.int64)
    return offsets - offsets[0], values


_OF_PARSES = ("tokens", "mentions", "antecedents", "scores", "gold")  # fields of each parse of version 2
_TOKENS_OF_PARSES = tuple(name for name in TOKEN_COLUMNS if name != "text")  # written for each parse


def to_json(table: pa.RecordBatch, row: int) -> dict[str, Any]:
    """One row as the object of a JSON line."""
    fields: dict[str, Any] = {name: table.column(name)[row].as_py() for name in table.schema.names}
    document: dict[str, Any] = {"version": VERSION, "doc_id": fields["doc_id"]}
    if fields["date"] is not None:
        document["date"] = fields["date"]
    if fields["metadata"]:
        document |= _members("metadata", fields["metadata"])
    if fields["tokens"] is not None:
        document["tokens"] = dict(fields["tokens"])
        if fields["tokens_extra"]:
            document["tokens"] |= _members("tokens_extra", fields["tokens_extra"])
    spans = fields["mentions"] or {}
    document["mentions"] = list(zip(*(spans.get(name) or [] for name in SPAN_COLUMNS), strict=False))
    document["antecedents"] = fields["antecedents"]
    document["scores"] = fields["scores"]
    if fields["gold"] is not None:
        document["gold"] = [None if g is None else _loaded(g) for g in fields["gold"]]
    return document


def _loaded(text: str) -> Any:
    """Decode JSON within a column; invalid JSON, of a document rejected for it, stays text."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return text


def _members(name: str, text: str) -> dict[str, Any]:
    content = _loaded(text)
    return content if isinstance(content, dict) else {name: content}


def parses_json(parses: Sequence[dict[str, Any]], weights: Sequence[float]) -> dict[str, Any]:
    """Objects of the parses of one document, as of `to_json`, as the object of a JSON line of version 2."""
    document = {name: value for name, value in parses[0].items() if name not in _OF_PARSES}
    document["version"] = PARSES_VERSION
    tokens = [each.get("tokens") or {} for each in parses]
    # The words, and further lists that are the same in all parses, are written once.
    kept = [
        name
        for name in tokens[0]
        if name not in _TOKENS_OF_PARSES and all(name in each and each[name] == tokens[0][name] for each in tokens)
    ]
    document["tokens"] = {name: tokens[0][name] for name in kept}
    document["parses"] = [
        {
            "weight": _weight(weight),
            "tokens": {name: column for name, column in own.items() if name not in kept},
            **{name: each[name] for name in _OF_PARSES if name in each and name != "tokens"},
        }
        for weight, own, each in zip(weights, tokens, parses, strict=True)
    ]
    return document


def _weight(weight: float) -> float | int:
    """A whole weight, such as a number of samples, without a point."""
    return int(weight) if weight.is_integer() and abs(weight) < 2**53 else weight
