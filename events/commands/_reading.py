"""The documents of a stream, with progress; documents with gold entities; and the handling of bad documents."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from corefsample.documents._batch import DocumentBatch
from corefsample.documents._rejected import Fault, Rejected
from corefsample.documents._scored import ScoredDocument
from corefsample.errors import CorefsampleError, InputError
from corefsample.files._paths import PathLike
from corefsample.formats import DocumentStream
from events.queries._queries import match_queries
from events.runs._progress import Progress


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


@dataclass(frozen=True, slots=True, eq=False)
class GoldDocuments:
    """The documents with gold of scored files, how many others there are, and the files."""

    documents: list[ScoredDocument]
    n_without_gold: int
    paths: list[str]

    @property
    def place(self) -> str:
        """The files, for an error about all of them."""
        return ", ".join(self.paths)


def gold_documents(
    inputs: PathLike | Iterable[PathLike],
    purpose: str,
    *,
    for_queries: bool,
    role: str,
    scheme: str | None,
    on_rejected: Callable[[Rejected], None] | None,
    on_progress: Progress | None,
) -> GoldDocuments:
    """Read the documents with gold of scored files.

    Parameters
    ----------
    inputs
        Files, globs, or "-" for JSON Lines on standard input.
    purpose
        What gold is required for.
    for_queries
        Whether documents with gold must have what queries need: tokens, with labels that fit a scheme.
    role, scheme
        As for `events.queries.match_queries`.
    on_rejected
        Called with each bad document, which is then left out; None: the first one raises.
    on_progress
        Called after each batch with bytes read, bytes in all, and documents.

    Raises
    ------
    InputError
        If there is none, or a document is bad.
    """

    def faults(batch: DocumentBatch) -> dict[int, Fault]:
        """Rows with gold for which no query can be matched, and why."""
        found: dict[int, Fault] = {}
        if not for_queries:
            return found
        for row in batch.table.column("gold").is_valid().to_numpy(zero_copy_only=False).nonzero()[0].tolist():
            try:
                match_queries(batch.document(row), role=role, scheme=scheme)
            except CorefsampleError as error:
                found[row] = Fault(error.message, error.hint)
        return found

    stream = DocumentStream(inputs, on_rejected=on_rejected)
    documents = list(streamed(stream, on_progress, faults))
    with_gold = [document for document in documents if document.gold is not None]
    gold = GoldDocuments(with_gold, len(documents) - len(with_gold), stream.paths)
    if not with_gold:
        rule = f"gold is required for {purpose}"
        raise InputError(f"{rule}, got none in {gold.n_without_gold} documents", place=gold.place)
    return gold
