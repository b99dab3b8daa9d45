"""Batches of scored documents for commands, with progress; there must be at least one document."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

from corefsample.documents._batch import DocumentBatch
from corefsample.documents._faults import Fault
from corefsample.documents._scored import ScoredDocument
from corefsample.errors import InputError
from corefsample.formats import DocumentStream
from events._options import Progress

R = TypeVar("R")
Inspection = Callable[[DocumentBatch], tuple[Mapping[int, R], Mapping[int, str | Fault]]]


def batches(
    stream: DocumentStream,
    on_progress: Progress | None,
    inspect: Inspection[R] = lambda batch: ({}, {}),
    *,
    may_be_empty: Callable[[], bool] = lambda: False,
) -> Iterator[tuple[DocumentBatch, dict[int, R]]]:
    """Yield the batches of a stream with the results of `inspect` by row, and report progress after each batch.

    Parameters
    ----------
    stream
        Documents to read.
    on_progress
        Function that is called with the bytes read, the bytes of all files, and the number of documents.
    inspect
        Function of a batch that returns results by row, and the rows to reject with their reasons.
    may_be_empty
        Function that returns whether a stream without a valid document is allowed, because its faults are reported.

    Raises
    ------
    InputError
        If a document is invalid and is not set aside, or if the stream has no valid document.
    """
    n_documents = 0
    for valid, rejected in stream.checked():
        results, reasons = inspect(valid)
        batch, rows = stream.accepted(valid, rejected, reasons)
        yield batch, {new: results[old] for new, old in enumerate(rows) if old in results}
        n_documents += len(batch.firsts)
        if on_progress is not None:
            on_progress(stream.bytes_read, stream.total_bytes, n_documents)
    if not n_documents and not may_be_empty():
        raise InputError("a corpus must have at least one document, got none", place=", ".join(stream.paths))


def streamed(
    stream: DocumentStream,
    on_progress: Progress | None,
    faults_of: Callable[[DocumentBatch], Mapping[int, str | Fault]] = lambda batch: {},
) -> Iterator[ScoredDocument]:
    """Yield the documents of a stream; `faults_of` returns the rows of a batch that are rejected, with the reasons."""
    for batch, _ in batches(stream, on_progress, lambda batch: ({}, faults_of(batch))):
        for row in range(len(batch)):
            yield batch.document(row)
