"""The documents of a stream, with progress; documents with gold entities; and the handling of bad documents."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from corefsample.documents import DocumentBatch, Fault, Rejected, ScoredDocument
from corefsample.errors import CorefsampleError, InputError
from corefsample.files import PathLike
from corefsample.formats import DocumentStream
from events.jobs._output_folder import OutputFolder
from events.queries import match_queries

__all__ = ["BadDocuments", "GoldDocuments", "Progress", "streamed"]

Progress = Callable[[int, int, int], None]  # bytes read, bytes in all, documents


class BadDocuments:
    """Counts bad documents, and adds each to a folder of results if there is one."""

    def __init__(self, folder: OutputFolder | None) -> None:
        self.count = 0
        self._folder = folder

    def __call__(self, rejected: Rejected) -> None:
        """Take one document."""
        self.count += 1
        if self._folder is not None:
            self._folder.set_aside(rejected)


def streamed(
    stream: DocumentStream,
    on_progress: Progress | None,
    faults_of: Callable[[DocumentBatch], Mapping[int, str | Fault]] = lambda batch: {},
) -> Iterator[ScoredDocument]:
    """Yield the documents of a stream, and report progress after each batch.

    `faults_of` gives the rows of a batch to reject, with the reason.

    Raises
    ------
    InputError
        If a document is bad, or there is none.
    """
    n_documents = 0
    for batch, _ in stream.inspected(lambda batch: ({}, faults_of(batch))):
        for row in range(len(batch)):
            yield batch.document(row)
        n_documents += len(batch)
        if on_progress is not None:
            on_progress(stream.bytes_read, stream.total_bytes, n_documents)
    if not n_documents:
        raise InputError("a corpus must have at least one document, got none", place=", ".join(stream.paths))


class GoldDocuments:
    """The documents with gold of scored files, one after another; iterate once.

    Parameters
    ----------
    inputs
        Files, globs, or "-" for JSON Lines on standard input.
    for_queries
        Whether documents with gold must have what queries need: tokens, with labels that fit a scheme.
    role, scheme
        As for `events.queries.match_queries`.
    on_rejected
        Called with each bad document, which is then left out; None: the first one raises.
    on_progress
        Called after each batch with bytes read, bytes in all, and documents.

    Attributes
    ----------
    stream
        The stream of all documents.
    n_without_gold
        Documents left out so far because they have no gold.
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
        self._for_queries = for_queries
        self._on_progress = on_progress
        self.stream = DocumentStream(inputs, on_rejected=on_rejected)

    def _faults(self, batch: DocumentBatch) -> dict[int, Fault]:
        """Rows with gold for which no query can be matched, and why."""
        faults: dict[int, Fault] = {}
        if not self._for_queries:
            return faults
        for row in batch.table.column("gold").is_valid().to_numpy(zero_copy_only=False).nonzero()[0].tolist():
            try:
                match_queries(batch.document(row), role=self._role, scheme=self._scheme)
            except CorefsampleError as error:
                faults[row] = Fault(error.message, error.hint)
        return faults

    def __iter__(self) -> Iterator[ScoredDocument]:
        for document in streamed(self.stream, self._on_progress, self._faults):
            if document.gold is None:
                self.n_without_gold += 1
            else:
                yield document
