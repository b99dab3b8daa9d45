"""Annotated documents of several files, one after another, of any format."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

from corefsample.documents._annotated import AnnotatedDocument
from corefsample.documents._rejected import Rejected
from corefsample.errors import InputError, ParameterError
from corefsample.files._digests import SeenIds
from corefsample.files._paths import PathLike, input_paths
from corefsample.files._reading import FileSeries, LineReader
from corefsample.formats.annotated._brackets import DocumentFaultError

Lines = list[tuple[int, str]]  # number from 1, and text


class RawDocument(Protocol):
    """The lines of one document, not yet parsed."""

    @property
    def doc_id(self) -> str:
        """Name, "" where it is not known yet."""

    @property
    def lines(self) -> Lines:
        """Its lines."""

    def document(self) -> AnnotatedDocument:
        """Parse the lines; raises DocumentFaultError."""


class AnnotatedStream(FileSeries, Iterator[AnnotatedDocument]):
    """Iterator over the annotated documents of several files, in constant memory.

    doc_ids must be unique over all files (about 20 bytes of memory each).

    Attributes
    ----------
    paths
        The files, globs expanded.
    total_bytes, bytes_read
        Size of all files, and how far they are read; standard input counts 0.
    n_documents
        Documents read so far.
    skipped
        Mentions of the files that the documents so far lack, counted by reason.
    """

    def __init__(
        self,
        inputs: PathLike | Iterable[PathLike],
        split: Callable[[str, Iterable[tuple[int, str]]], Iterator[RawDocument]],
        on_rejected: Callable[[Rejected], None] | None,
    ) -> None:
        super().__init__(input_paths(inputs))
        self.n_documents = 0
        self.skipped: Counter[str] = Counter()
        self._split = split
        self._on_rejected = on_rejected
        self._seen = SeenIds()
        self._documents = self._read()

    def __next__(self) -> AnnotatedDocument:
        return next(self._documents)

    def _read(self) -> Iterator[AnnotatedDocument]:
        for path, lines in self._readers(LineReader):
            raw = None
            for raw in self._split(path, lines):
                document = self._accepted(path, raw)
                if document is not None:
                    self.n_documents += 1
                    self.skipped.update(document.skipped)
                    yield document
            if raw is None:
                raise InputError("a corpus must have at least one document, got none", place=path)

    def _accepted(self, path: str, raw: RawDocument) -> AnnotatedDocument | None:
        """Parse one document; if it is bad, report it and return None."""
        line, hint = raw.lines[0][0], None
        try:
            document = raw.document()
            if self._seen.add(document.doc_id):
                return document
            reason = "doc_id must be unique in the corpus, got it again"
        except DocumentFaultError as fault:
            line, reason, hint = fault.line, fault.reason, fault.hint
        except ParameterError as fault:
            reason = str(fault)
        text = "\n".join(text for _, text in raw.lines)
        rejected = Rejected(path, "line", line, raw.doc_id, reason, text, hint)
        if self._on_rejected is None:
            raise rejected.error()
        self._on_rejected(rejected)
        return None
