"""Reading of scored documents for commands, with progress; a corpus must have a document, or a document with gold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from corefsample.documents._faults import Rejected
from corefsample.documents._scored import ScoredDocument
from corefsample.errors import InputError
from corefsample.files._paths import Inputs
from corefsample.formats import DocumentStream
from events._document_batches import streamed
from events._options import Progress


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
