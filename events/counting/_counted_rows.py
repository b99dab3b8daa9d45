"""The rows that a counter collects beside its sums: evidence, all documents, and those with evidence."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from corefsample.documents._batch_schema import SCHEMA
from events.counting._all_documents import ALL_DOCUMENTS_SCHEMA
from events.counting._evidence import evidence_schema
from events.counting._sorted_rows import SortedRows

_BY_DOCUMENT = ("date", "doc_id")
# Rows of a batch of a file: of many files that are merged, one batch each is in memory.
_EVIDENCE_BATCH, _DOCUMENT_BATCH, _ROW_BATCH = 256, 8, 4096


class CountedRows:
    """Rows in the order of date, document and event.

    Attributes
    ----------
    evidence
        As `events.counting.evidence_batch` makes them.
    all_documents
        Of ALL_DOCUMENTS_SCHEMA: every document, with or without events.
    documents
        Complete documents with evidence; only with a folder, because they are large.
    """

    def __init__(self, roles: Sequence[str], folder: Path | None) -> None:
        schema = evidence_schema(roles, parses=True)
        self.evidence = SortedRows("evidence", schema, (*_BY_DOCUMENT, "event", *roles), _EVIDENCE_BATCH, folder)
        self.all_documents = SortedRows("all_documents", ALL_DOCUMENTS_SCHEMA, _BY_DOCUMENT, _ROW_BATCH, folder)
        self.documents = SortedRows("documents", SCHEMA, _BY_DOCUMENT, _DOCUMENT_BATCH, folder)
        self._every = (self.evidence, self.all_documents, self.documents)

    def extend(self, other: CountedRows) -> None:
        """Add the rows of another counter."""
        for own, others in zip(self._every, other._every, strict=True):
            own.extend(others)

    def save(self, folder: Path) -> None:
        """Write what is in memory into a folder."""
        for rows in self._every:
            rows.save(folder)

    def load(self, folder: Path) -> None:
        """Add the rows that are in a folder."""
        for rows in self._every:
            rows.load(folder)
