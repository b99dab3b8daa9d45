"""Annotated documents of several files, one after another, whatever their format."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Protocol

from corefsample.documents import AnnotatedDocument, Rejected
from corefsample.errors import InputError, ParameterError
from corefsample.files import LineReader, PathLike, input_paths
from corefsample.formats.annotated._brackets import DocumentFaultError

__all__ = ["AnnotatedStream", "Lines", "RawDocument", "Written"]

Lines = list[tuple[int, str]]  # number from 1, and text


class RawDocument(Protocol):
    """The lines of one document, not yet looked at."""

    @property
    def doc_id(self) -> str:
        """Name, "" where it is not known yet."""

    @property
    def lines(self) -> Lines:
        """Its lines."""

    def document(self) -> AnnotatedDocument:
        """Read it; raises DocumentFaultError."""


class AnnotatedStream(Iterator[AnnotatedDocument]):
    """Iterator over the annotated documents of several files; memory stays flat however many there are.

    doc_ids must be unique over all files (16 bytes an id are kept, nothing more).

    Attributes
    ----------
    paths
        The files, globs expanded.
    total_bytes, bytes_read
        Size of all files, and how far they are read; standard input counts 0.
    n_documents
        Documents read so far.
    skipped
        Mentions that the files have and the documents have not so far, counted by reason.
    """

    def __init__(
        self,
        inputs: PathLike | Iterable[PathLike],
        split: Callable[[str, Iterable[tuple[int, str]]], Iterator[RawDocument]],
        on_rejected: Callable[[Rejected], None] | None,
    ) -> None:
        self.paths = input_paths(inputs)
        self.total_bytes = sum(os.path.getsize(path) for path in self.paths if path != "-")
        self.n_documents = 0
        self.skipped: Counter[str] = Counter()
        self._split = split
        self._on_rejected = on_rejected
        self._bytes_before = 0
        self._reader: LineReader | None = None
        self._seen: set[bytes] = set()
        self._documents = self._read()

    def __next__(self) -> AnnotatedDocument:
        return next(self._documents)

    @property
    def bytes_read(self) -> int:
        """Bytes of all files read so far."""
        return self._bytes_before + (self._reader.bytes_read if self._reader else 0)

    def _read(self) -> Iterator[AnnotatedDocument]:
        for path in self.paths:
            self._reader = LineReader(path)
            raw = None
            for raw in self._split(path, self._reader):
                document = self._accepted(path, raw)
                if document is not None:
                    self.n_documents += 1
                    self.skipped.update(document.skipped)
                    yield document
            if raw is None:
                raise InputError(f"{path}: a corpus must hold at least one document, got none")
            self._bytes_before += 0 if path == "-" else os.path.getsize(path)
            self._reader = None

    def _accepted(self, path: str, raw: RawDocument) -> AnnotatedDocument | None:
        """Read one document; tell of it, and return None, where it is bad."""
        line = raw.lines[0][0]
        try:
            document = raw.document()
            digest = hashlib.blake2b(document.doc_id.encode("utf-8", "surrogatepass"), digest_size=16).digest()
            if digest not in self._seen:
                self._seen.add(digest)
                return document
            reason = "doc_id must be unique in the corpus, got it again"
        except DocumentFaultError as fault:
            line = fault.line
            reason = f"{fault.sentence}: {fault.reason}" if fault.sentence else fault.reason
        except ParameterError as fault:
            reason = str(fault)
        text = "\n".join(text for _, text in raw.lines)
        rejected = Rejected(path, f"line {line}", raw.doc_id, reason, text)
        if self._on_rejected is None:
            raise InputError(rejected.message())
        self._on_rejected(rejected)
        return None


@dataclass(frozen=True, slots=True)
class Written:
    """What a writer wrote.

    Attributes
    ----------
    n_documents, n_mentions
        How many of each.
    left_out
        Mentions of the documents that the file has not, counted by reason: "singletons", "crossing_sentences",
        "crossing_mentions" (of one entity).
    """

    n_documents: int = 0
    n_mentions: int = 0
    left_out: Counter[str] = field(default_factory=Counter)

    def plus(self, n_mentions: int) -> Written:
        """Count one more document."""
        return replace(self, n_documents=self.n_documents + 1, n_mentions=self.n_mentions + n_mentions)
