"""Evidence and its documents of all partitions, in the order of date, document and event."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from corefsample.documents import DocumentBatch
from events.jobs.partitions._sorted import Row, merged, taken
from events.jobs.partitions._sums import document_keys, evidence_keys
from events.runs import Store

__all__ = ["merged_documents", "merged_evidence", "sorted_runs"]

_ROW_GROUP = 256  # documents
_GROUP_BYTES = 32 * 2**20  # of their content, about
_EVIDENCE_ROWS = 2000


def sorted_runs(store: Store, records: Mapping[int, dict[str, Any]], name: str) -> list[Path]:
    folders = [store.result(record) for _, record in sorted(records.items())]
    return [path for folder in folders for path in sorted(folder.glob(f"{name}-*.arrow"))]


def merged_evidence(runs: list[Path], temporary: Path) -> Iterator[list[dict[str, Any]]]:
    """Rows of evidence in order, a row group at a time."""
    rows: list[dict[str, Any]] = []
    batch, content = None, []
    known: dict[int, tuple[pa.RecordBatch, list[dict[str, Any]]]] = {}
    for _, batch, row in merged(runs, evidence_keys, temporary):
        if row == 0 or id(batch) not in known:
            known[id(batch)] = batch, batch.to_pylist()
        content = known[id(batch)][1]
        rows.append(content[row])
        if row == batch.num_rows - 1:
            del known[id(batch)]
        if len(rows) == _EVIDENCE_ROWS:
            yield rows
            rows = []
    if rows:
        yield rows


def merged_documents(runs: list[Path], temporary: Path) -> Iterator[DocumentBatch]:
    """Documents in order, a row group at a time: of a number, or of a size that depends on their content alone."""
    rows: list[Row] = []
    n_bytes = 0
    sizes: dict[int, tuple[pa.RecordBatch, list[int]]] = {}
    for row in merged(runs, document_keys, temporary):
        _, batch, index = row
        if id(batch) not in sizes:
            sizes[id(batch)] = batch, _sizes(batch)
        n_bytes += sizes[id(batch)][1][index]
        if index == batch.num_rows - 1:
            del sizes[id(batch)]
        rows.append(row)
        if len(rows) == _ROW_GROUP or n_bytes >= _GROUP_BYTES:
            yield _batch(rows)
            rows, n_bytes = [], 0
    if rows:
        yield _batch(rows)


def _batch(rows: list[Row]) -> DocumentBatch:
    return DocumentBatch("evidence", taken(rows), "document", range(1, len(rows) + 1))


def _sizes(batch: pa.RecordBatch) -> list[int]:
    """About the bytes of each document: of its candidates and tokens."""
    documents = DocumentBatch("evidence", batch, "document", range(1, batch.num_rows + 1))
    mentions, candidates = documents.mentions[0], documents.candidates[0]
    sizes = 12 * np.diff(candidates[mentions]) + 40 * np.diff(documents.token_bounds)
    return [int(size) for size in sizes]
