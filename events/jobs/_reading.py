"""The documents of a stream, with progress; documents with gold entities; and the handling of bad documents."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, field

from corefsample.documents import DocumentBatch, Fault, Rejected, ScoredDocument
from corefsample.errors import CorefsampleError, InputError
from corefsample.files import PathLike
from corefsample.formats import DocumentStream
from events.jobs._output_folder import OutputFolder
from events.queries import match_queries

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


@dataclass(eq=False)
class GoldDocuments:
    """The documents with gold of scored files; read them once, with `required`.

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

    inputs: PathLike | Iterable[PathLike]
    _: KW_ONLY
    for_queries: bool
    role: str = "subject"
    scheme: str | None = None
    on_rejected: Callable[[Rejected], None] | None = None
    on_progress: Progress | None = None
    n_without_gold: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        self.stream = DocumentStream(self.inputs, on_rejected=self.on_rejected)

    @property
    def place(self) -> str:
        """The files, for an error about all of them."""
        return ", ".join(self.stream.paths)

    def required(self, purpose: str) -> list[ScoredDocument]:
        """All documents with gold.

        Raises
        ------
        InputError
            If there is none, or a document is bad.
        """
        documents = list(streamed(self.stream, self.on_progress, self._faults))
        with_gold = [document for document in documents if document.gold is not None]
        self.n_without_gold = len(documents) - len(with_gold)
        if not with_gold:
            rule = f"gold is required for {purpose}"
            raise InputError(f"{rule}, got none in {self.n_without_gold} documents", place=self.place)
        return with_gold

    def _faults(self, batch: DocumentBatch) -> dict[int, Fault]:
        """Rows with gold for which no query can be matched, and why."""
        faults: dict[int, Fault] = {}
        if not self.for_queries:
            return faults
        for row in batch.columns.column("gold").is_valid().to_numpy(zero_copy_only=False).nonzero()[0].tolist():
            try:
                match_queries(batch.document(row), role=self.role, scheme=self.scheme)
            except CorefsampleError as error:
                faults[row] = Fault(error.message, error.hint)
        return faults
