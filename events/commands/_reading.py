"""Reading of scored documents for commands, with progress; a corpus must have a document, or a document with gold."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from corefsample.documents._batch import DocumentBatch
from corefsample.documents._faults import Fault, Rejected
from corefsample.documents._scored import ScoredDocument
from corefsample.errors import CorefsampleError, InputError
from corefsample.files._paths import Inputs
from corefsample.formats import DocumentStream
from events._options import CommandResult, Progress

_SHOWN = 20  # number of problems that are shown


@dataclass(slots=True, kw_only=True)
class CheckReport(CommandResult):
    """Base of reports on files.

    Attributes
    ----------
    title
        Names of the files.
    n_problems, problems
        Number of invalid documents and other problems, and the errors of the first 20.
    """

    title: str
    n_problems: int = 0
    problems: list[CorefsampleError] = field(default_factory=list)

    def lines(self) -> list[tuple[str, str]]:
        """Pairs of name and value, to print."""
        raise NotImplementedError

    def reject(self, rejected: Rejected) -> None:
        """Add an invalid document."""
        self.n_problems += 1
        if len(self.problems) < _SHOWN:
            self.problems.append(rejected.error())


R = TypeVar("R")
Inspection = Callable[[DocumentBatch], tuple[Mapping[int, R], Mapping[int, str | Fault]]]


def batches(
    stream: DocumentStream,
    on_progress: Progress | None,
    inspect: Inspection[R] = lambda batch: ({}, {}),
    *,
    report: CheckReport | None = None,
) -> Iterator[tuple[DocumentBatch, dict[int, R]]]:
    """Yield the batches of a stream with the results of `inspect` by row, and report progress after each batch.

    Raises
    ------
    InputError
        If a document is invalid and is not set aside, or if the stream has no valid document; the latter is no error if
        `report` has problems.
    """
    n_documents = 0
    for valid, rejected in stream.checked():
        results, reasons = inspect(valid)
        batch, rows = stream.accepted(valid, rejected, reasons)
        yield batch, {new: results[old] for new, old in enumerate(rows) if old in results}
        n_documents += len(batch.firsts)
        if on_progress is not None:
            on_progress(stream.bytes_read, stream.total_bytes, n_documents)
    if not n_documents and (report is None or not report.n_problems):
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


@dataclass(frozen=True, slots=True, eq=False)
class GoldDocuments:
    """The documents with gold of scored files, the number of documents without gold, and the paths of the files."""

    documents: list[ScoredDocument]
    n_without_gold: int
    paths: list[str]

    @property
    def place(self) -> str:
        """Paths of the files, for an error about all of them."""
        return ", ".join(self.paths)


def gold_documents(
    inputs: Inputs,
    purpose: str,
    *,
    on_rejected: Callable[[Rejected], None] | None,
    on_progress: Progress | None,
) -> GoldDocuments:
    """Read the documents with gold of scored files.

    Parameters
    ----------
    inputs
        Paths of files, globs, or "-" for JSON Lines on standard input.
    purpose
        Noun for the error message that says what gold is required for.
    on_rejected
        Function that is called with each invalid document, which is then left out. By default, the first invalid
        document raises an error.
    on_progress
        Function that is called after each batch with the bytes read, the bytes of all files, and the documents read.

    Raises
    ------
    InputError
        If no document has gold, or if a document is invalid and `on_rejected` is None.
    """
    stream = DocumentStream(inputs, on_rejected=on_rejected)
    documents = list(streamed(stream, on_progress))
    with_gold = [document for document in documents if document.gold is not None]
    gold = GoldDocuments(with_gold, len(documents) - len(with_gold), stream.paths)
    if not with_gold:
        rule = f"gold is required for {purpose}"
        raise InputError(f"{rule}, got none in {gold.n_without_gold} documents", place=gold.place)
    return gold
