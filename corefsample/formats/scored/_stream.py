"""Reading pre-scored mention files: a stream of checked documents, whatever the format."""

from __future__ import annotations

import glob
import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Protocol

import pyarrow as pa

from corefsample._checks import choice, shown, whole
from corefsample.documents import DocumentBatch, Rejected, ScoredDocument, checked
from corefsample.errors import InputError, ParameterError
from corefsample.formats.scored._jsonl import JsonLinesReader
from corefsample.formats.scored._parquet import ParquetReader

__all__ = ["DocumentStream", "PathLike", "file_suffix", "input_paths", "read_documents"]

PathLike = str | os.PathLike[str]
_SUFFIXES = (".jsonl", ".jsonl.gz", ".parquet")


class _Reader(Protocol):
    bytes_read: int

    def batches(self, size: int) -> Iterator[tuple[pa.RecordBatch, list[str], list[Rejected]]]: ...


class DocumentStream:
    """The valid documents of several files, batch by batch, in order.

    Every document is checked; doc_ids must be unique over all files (16 bytes an id are kept, nothing more).

    Parameters
    ----------
    inputs
        Files, globs, or "-" for standard input.
    needs
        Fields that no document may lack: "date", "tokens", "gold".
    columns
        Names of the fields to read from Parquet, None for all.
    on_rejected
        Called with each document that breaks a rule, which is then left out; None: the first one raises InputError.
    inspect
        Called with each batch of documents that keep the format's rules, before their doc_ids count as seen; returns
        the rows to set aside, with the reason.
    batch_size
        Documents a batch, at most.

    Attributes
    ----------
    paths
        The files, globs expanded.
    total_bytes
        Size of all files; standard input counts 0.
    """

    def __init__(
        self,
        inputs: PathLike | Iterable[PathLike],
        *,
        needs: Iterable[str] = (),
        columns: Sequence[str] | None = None,
        on_rejected: Callable[[Rejected], None] | None = None,
        inspect: Callable[[DocumentBatch], dict[int, str]] | None = None,
        batch_size: int = 64,
    ) -> None:
        self.paths = input_paths(inputs)
        self.total_bytes = sum(os.path.getsize(path) for path in self.paths if path != "-")
        self._needs = tuple(choice("needs", name, ("date", "tokens", "gold")) for name in needs)
        self._columns = columns
        self._on_rejected = on_rejected
        self._inspect = inspect
        self._batch_size = whole("batch_size", batch_size, 1)
        self._bytes_before = 0
        self._reader: _Reader | None = None

    @property
    def bytes_read(self) -> int:
        """Bytes of all files read so far."""
        return self._bytes_before + (self._reader.bytes_read if self._reader else 0)

    def __iter__(self) -> Iterator[DocumentBatch]:
        """Read the files from the beginning; standard input can be read once."""
        self._bytes_before = 0
        seen: set[bytes] = set()
        for path in self.paths:
            self._reader = self._open(path)
            for table, places, rejected in self._reader.batches(self._batch_size):
                yield self._accepted(path, table, places, rejected, seen)
            self._bytes_before += 0 if path == "-" else os.path.getsize(path)
            self._reader = None

    def _open(self, path: str) -> _Reader:
        if path.endswith(".parquet"):
            return ParquetReader(path, self._columns)
        return JsonLinesReader(path)

    def _accepted(
        self, path: str, table: pa.RecordBatch, places: list[str], rejected: list[Rejected], seen: set[bytes]
    ) -> DocumentBatch:
        """Check a batch, tell of what is wrong in the order of the file, and return what is right."""
        everything = DocumentBatch(path, table, places)
        batch, reasons = checked(path, table, places, self._needs)
        rejected = rejected + [everything.rejected(row, reason) for row, reason in reasons.items()]
        if self._inspect is not None:
            found = self._inspect(batch)
            rejected += [batch.rejected(row, reason) for row, reason in found.items()]
            if found:
                batch = batch.take([row for row in range(len(batch)) if row not in found])
        twice = _seen_before(batch, seen)
        if twice:
            reason = "doc_id must be unique in the corpus, got it again"
            rejected += [batch.rejected(row, reason) for row in twice]
            batch = batch.take([row for row in range(len(batch)) if row not in twice])
        for bad in sorted(rejected, key=lambda bad: int(bad.place.split()[1])):
            if self._on_rejected is None:
                raise InputError(bad.message())
            self._on_rejected(bad)
        return batch


def _seen_before(batch: DocumentBatch, seen: set[bytes]) -> set[int]:
    """Rows whose doc_id was seen before; `seen` takes in those of the batch."""
    twice = set()
    for row, doc_id in enumerate(batch.doc_ids):
        digest = hashlib.blake2b(doc_id.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        if digest in seen:
            twice.add(row)
        seen.add(digest)
    return twice


def input_paths(inputs: PathLike | Iterable[PathLike]) -> list[str]:
    """Expand globs, and refuse what is no file.

    Raises
    ------
    ParameterError
        If `inputs` are no names of files at all.
    InputError
        If a file is missing, a glob matches nothing, or a name has none of the format's endings.
    """
    given = [inputs] if isinstance(inputs, (str, os.PathLike)) else inputs
    given = list(given) if isinstance(given, Iterable) else [given]
    for each in given:
        if not isinstance(each, (str, os.PathLike)):
            raise ParameterError(f"inputs must be names of files, got {shown(each)}")
    if not given:
        raise InputError("inputs must name at least one file, got none")
    if given.count("-") > 1:
        raise InputError(f"-: standard input can be read once, got it {given.count('-')} times")
    paths: list[str] = []
    for name in (os.fspath(each) for each in given):
        found = [name] if name == "-" or os.path.exists(name) else sorted(glob.glob(name, recursive=True))
        if not found:
            rule = "glob must match a file" if glob.has_magic(name) else "file must exist"
            raise InputError(f"{name}: {rule}, got none")
        for path in found:
            if path != "-" and not os.path.isfile(path):
                raise InputError(f"{path}: input must be a regular file, got something else (a folder, a pipe)")
            if path != "-":
                file_suffix(path, InputError)
        paths += found
    return paths


def file_suffix(path: str, error: type[Exception]) -> str:
    """Return the ending that tells the format of a file, or raise `error`."""
    for suffix in sorted(_SUFFIXES, key=len, reverse=True):
        if path.endswith(suffix):
            return suffix
    raise error(f"{path or repr(path)}: file name must end in one of {', '.join(_SUFFIXES)}, got {Path(path).name!r}")


def read_documents(
    inputs: PathLike | Iterable[PathLike],
    *,
    needs: Iterable[str] = (),
    on_rejected: Callable[[Rejected], None] | None = None,
) -> Iterator[ScoredDocument]:
    """Read documents one after another; memory stays flat however many there are.

    Parameters
    ----------
    inputs
        Files (.jsonl, .jsonl.gz, .parquet), globs, or "-" for JSON Lines on standard input.
    needs
        Fields that no document may lack: "date", "tokens", "gold".
    on_rejected
        Called with each bad document, which is then left out. By default the first one raises.

    Raises
    ------
    ParameterError
        If `inputs` are no names of files, or `needs` names no such field; at once, and not with the first document.
    InputError
        If a file is missing, at once. One line of file, place, doc_id, field, rule and value, at the first bad
        document.
    """
    stream = DocumentStream(inputs, needs=needs, on_rejected=on_rejected, batch_size=32)
    return (batch.document(row) for batch in stream for row in range(len(batch)))
