"""Reading documents with gold entities for fitting and for queries; the others are counted and left out."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator

from corefsample.documents import DocumentBatch, Rejected, ScoredDocument
from corefsample.errors import InputError, ParameterError
from corefsample.formats import DocumentStream
from events.queries import match_queries

__all__ = ["GoldDocuments", "Progress"]

Progress = Callable[[int, int, int], None]
PathLike = str | os.PathLike[str]


class GoldDocuments:
    """The documents with gold of pre-scored mention files, one after the other; iterate once.

    Parameters
    ----------
    inputs
        Files, globs, or "-" for JSON Lines on standard input.
    for_queries
        Whether documents with gold have to hold what queries need: tokens, with labels that fit a scheme.
    role, scheme
        As of `events.queries.match_queries`.
    on_rejected
        Called with each bad document, which is then left out; None: the first one raises.
    on_progress
        Called after each batch with bytes read, bytes in all, and documents.

    Attributes
    ----------
    stream
        What is read.
    n_without_gold
        Documents left out so far, as they have no gold.
    """

    def __init__(
        self,
        inputs: PathLike | Iterable[PathLike],
        *,
        for_queries: bool,
        role: str = "subject",
        scheme: str | None = None,
        on_rejected: Callable[[Rejected], None] | None = None,
        on_progress: Progress | None = None,
    ) -> None:
        self.n_without_gold = 0
        self._role, self._scheme = role, scheme
        self._on_progress = on_progress
        self.stream = DocumentStream(
            inputs, on_rejected=on_rejected, inspect=self._unqueried if for_queries else None, batch_size=64
        )

    def _unqueried(self, batch: DocumentBatch) -> dict[int, str]:
        """Rows with gold that no query can be asked of, and why."""
        reasons = {}
        for row in self._rows_with_gold(batch):
            try:
                match_queries(batch.document(row), role=self._role, scheme=self._scheme)
            except (InputError, ParameterError) as error:
                reasons[row] = str(error).removeprefix(f"doc_id {batch.doc_ids[row]!r}: ")
        return reasons

    @staticmethod
    def _rows_with_gold(batch: DocumentBatch) -> list[int]:
        valid = batch.table.column("gold").is_valid().to_pylist()
        return [row for row, has_gold in enumerate(valid) if has_gold]

    def __iter__(self) -> Iterator[ScoredDocument]:
        n_documents = 0
        for batch in self.stream:
            rows = self._rows_with_gold(batch)
            self.n_without_gold += len(batch) - len(rows)
            for row in rows:
                yield batch.document(row)
            n_documents += len(batch)
            if self._on_progress is not None:
                self._on_progress(self.stream.bytes_read, self.stream.total_bytes, n_documents)
