"""Documents as Python objects turned into a batch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from corefsample.documents._batch import DocumentBatch, ParseRows, bounds_of
from corefsample.documents._batch_schema import SCHEMA, SPAN_COLUMNS, TOKENS
from corefsample.documents._scored import ScoredDocument
from corefsample.documents._tokens import INTEGER_COLUMNS, STRING_COLUMNS


def from_documents(documents: Sequence[ScoredDocument]) -> DocumentBatch:
    """Turn Python documents into one batch."""
    batch = _of_first_parses(documents)
    if any(document.parses for document in documents):
        parses = [document.with_parse(k) for document in documents for k in range(document.n_parses)]
        weights = [[parse.weight for parse in document.parses] or [1.0] for document in documents]
        bounds = bounds_of([len(each) for each in weights])
        batch.parses = ParseRows(bounds, np.concatenate(weights).astype(np.float64), _of_first_parses(parses))
    return batch


def _of_first_parses(documents: Sequence[ScoredDocument]) -> DocumentBatch:
    """The batch with the first parse of each document alone."""
    distributions = [document.antecedents for document in documents]
    n_mentions = [document.n_mentions for document in documents]
    n_candidates = _joined([np.diff(distribution.indptr) for distribution in distributions])

    def lists(parts: Sequence[npt.NDArray[Any]]) -> pa.ListArray:
        return _lists([len(part) for part in parts], pa.array(_joined(parts), pa.int32()))

    def nested(parts: Sequence[npt.NDArray[Any]], kind: pa.DataType) -> pa.ListArray:
        return _lists(n_mentions, _lists(n_candidates, pa.array(_joined(parts), kind)))

    tokens = [d.tokens for d in documents]
    missing = pa.array([t is None for t in tokens], pa.bool_())
    words = pa.list_(pa.string())
    strings = [pa.array([[] if t is None else list(getattr(t, n)) for t in tokens], words) for n in STRING_COLUMNS]
    empty = np.zeros(0, np.int32)
    integers = [lists([empty if t is None else getattr(t, n) for t in tokens]) for n in INTEGER_COLUMNS]
    columns = [
        pa.array([d.doc_id for d in documents], pa.string()),
        pa.array([None if d.date is None else d.date.isoformat() for d in documents], pa.string()),
        pa.StructArray.from_arrays([lists([d.mentions[:, c] for d in documents]) for c in range(3)], SPAN_COLUMNS),
        nested([d.antecedents for d in distributions], pa.int32()),
        nested([d.scores for d in distributions], pa.float64()),
        pa.StructArray.from_arrays([*strings, *integers], fields=list(TOKENS), mask=missing),
        pa.array([_json_object(t.extra if t else {}) for t in tokens], pa.string()),
        pa.array([None if d.gold is None else gold_texts(d.gold) for d in documents], pa.list_(pa.string())),
        pa.array([_json_object(d.metadata) for d in documents], pa.string()),
    ]
    table = pa.RecordBatch.from_arrays(columns, schema=SCHEMA)
    return DocumentBatch("documents", table, "document", range(1, len(documents) + 1))


def _joined(parts: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    return np.concatenate(parts) if parts else np.zeros(0, np.int64)


def _lists(lengths: npt.NDArray[np.integer] | Sequence[int], values: pa.Array) -> pa.ListArray:
    return pa.ListArray.from_arrays(pa.array(bounds_of(lengths), pa.int32()), values)


def gold_texts(gold: Iterable[int | str | None]) -> list[str | None]:
    """Entity ids as JSON texts."""
    return [None if g is None else str(g) if isinstance(g, int) else msgspec.json.encode(g).decode() for g in gold]


def _json_object(content: Any) -> str | None:
    return msgspec.json.encode(dict(content)).decode() if content else None
