"""Reading and writing pre-scored mention files: streams of documents, whatever the format.

References
----------
The format, version 1, is described in the README.
"""

from __future__ import annotations

import dataclasses
import glob
import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Protocol, TextIO

import pyarrow as pa

from corefsample._checks import whole
from corefsample.document_batch import DocumentBatch, Rejected, checked, from_documents
from corefsample.documents import ScoredDocument
from corefsample.errors import InputError, OutputError, ParameterError
from corefsample.formats.jsonl import JsonLinesReader, JsonLinesWriter
from corefsample.formats.parquet import ParquetReader, ParquetWriter

__all__ = [
    "DocumentStream",
    "QuarantineFile",
    "convert",
    "input_paths",
    "quarantine_file",
    "read_documents",
    "write_documents",
]

PathLike = str | os.PathLike[str]
_SUFFIXES = (".jsonl", ".jsonl.gz", ".parquet")


class _Reader(Protocol):
    bytes_read: int

    def batches(self, size: int) -> Iterator[tuple[pa.RecordBatch, list[str], list[Rejected]]]: ...


class _Writer(Protocol):
    def write(self, batch: DocumentBatch) -> None: ...

    def close(self) -> None: ...


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
        self._needs = tuple(needs)
        self._columns = columns
        self._on_rejected = on_rejected
        self._inspect = inspect
        self._batch_size = whole("batch_size", batch_size, 1)
        self._bytes_before = 0
        self._reader: _Reader | None = None
        self._seen: set[bytes] = set()

    @property
    def bytes_read(self) -> int:
        """Bytes of all files read so far."""
        return self._bytes_before + (self._reader.bytes_read if self._reader else 0)

    def __iter__(self) -> Iterator[DocumentBatch]:
        for path in self.paths:
            self._reader = self._open(path)
            for table, places, rejected in self._reader.batches(self._batch_size):
                yield self._accepted(path, table, places, rejected)
            self._bytes_before += 0 if path == "-" else os.path.getsize(path)
            self._reader = None

    def _open(self, path: str) -> _Reader:
        if path.endswith(".parquet"):
            return ParquetReader(path, self._columns)
        return JsonLinesReader(path)

    def _accepted(
        self, path: str, table: pa.RecordBatch, places: list[str], rejected: list[Rejected]
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
        twice = self._seen_before(batch)
        if twice:
            reason = "doc_id must be unique in the corpus, got it again"
            rejected += [batch.rejected(row, reason) for row in twice]
            batch = batch.take([row for row in range(len(batch)) if row not in twice])
        for bad in sorted(rejected, key=lambda bad: int(bad.place.split()[1])):
            if self._on_rejected is None:
                raise InputError(bad.message())
            self._on_rejected(bad)
        return batch

    def _seen_before(self, batch: DocumentBatch) -> set[int]:
        twice = set()
        for row, doc_id in enumerate(batch.doc_ids):
            digest = hashlib.blake2b(doc_id.encode("utf-8", "surrogatepass"), digest_size=16).digest()
            if digest in self._seen:
                twice.add(row)
            self._seen.add(digest)
        return twice


def input_paths(inputs: PathLike | Iterable[PathLike]) -> list[str]:
    """Expand globs, and refuse what is no file.

    Raises
    ------
    InputError
        If a file is missing, a glob matches nothing, or a name has none of the format's endings.
    """
    given = [inputs] if isinstance(inputs, (str, os.PathLike)) else list(inputs)
    if not given:
        raise InputError("inputs must name at least one file, got none")
    paths: list[str] = []
    for name in map(os.fspath, given):
        if name == "-" or os.path.exists(name):
            found = [name]
        else:
            found = sorted(glob.glob(name, recursive=True))
        if not found:
            rule = "glob must match a file" if glob.has_magic(name) else "file must exist"
            raise InputError(f"{name}: {rule}, got none")
        for path in found:
            if path != "-" and not os.path.isfile(path):
                raise InputError(f"{path}: input must be a file, got a folder")
            if path != "-":
                _suffix(path, InputError)
        paths += found
    return paths


def _suffix(path: str, error: type[Exception]) -> str:
    for suffix in sorted(_SUFFIXES, key=len, reverse=True):
        if path.endswith(suffix):
            return suffix
    raise error(f"{path}: file name must end in one of {', '.join(_SUFFIXES)}, got {Path(path).name!r}")


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
    InputError
        One line of file, place, doc_id, field, rule and value, at the first bad document.
    """
    for batch in DocumentStream(inputs, needs=needs, on_rejected=on_rejected, batch_size=32):
        for row in range(len(batch)):
            yield batch.document(row)


class _AtomicWriter:
    """A writer whose file appears under its name when it is whole, and not before."""

    def __init__(self, path: PathLike, *, overwrite: bool) -> None:
        self.path = os.fspath(path)
        suffix = _suffix(self.path, ParameterError)
        if os.path.exists(self.path) and not overwrite:
            raise OutputError(f"{self.path}: output must not exist (overwrite would replace it), got a file")
        folder = os.path.dirname(self.path) or "."
        try:
            handle, self._partial = tempfile.mkstemp(suffix, ".partial-", folder)
            os.close(handle)
            os.chmod(self._partial, 0o666 & ~_umask())
        except OSError as error:
            raise OutputError(f"{self.path}: output must be writable, got: {error.strerror}") from None
        self._writer: _Writer = (
            ParquetWriter(self._partial)
            if suffix == ".parquet"
            else JsonLinesWriter(self._partial, compressed=suffix.endswith(".gz"))
        )

    def __enter__(self) -> _Writer:
        return self._writer

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        try:
            self._writer.close()
            if error is None:
                os.replace(self._partial, self.path)
        except OSError as failure:
            error = error or failure
            raise OutputError(f"{self.path}: output must be writable, got: {failure.strerror or failure}") from None
        finally:
            if error is not None and os.path.exists(self._partial):
                os.unlink(self._partial)
        if isinstance(error, OSError) and not isinstance(error, OutputError) and error.filename is None:
            raise OutputError(f"{self.path}: output must be writable, got: {error.strerror or error}") from None


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def write_documents(
    documents: Iterable[ScoredDocument], path: PathLike, *, overwrite: bool = False, batch_size: int = 64
) -> int:
    """Write documents to a new file, in the format that its name asks for; return how many.

    Parameters
    ----------
    documents
        Any iterable; it is consumed as a stream.
    path
        Ends in .jsonl, .jsonl.gz or .parquet. The file appears when it is whole.
    overwrite
        Whether an existing file may be replaced.
    batch_size
        Documents held in memory at a time.

    Raises
    ------
    ParameterError
        If the name has none of these endings.
    OutputError
        If the file exists, or cannot be written.
    """
    count = 0
    stream = iter(documents)
    with _AtomicWriter(path, overwrite=overwrite) as writer:
        while chunk := list(islice(stream, batch_size)):
            writer.write(from_documents(chunk))
            count += len(chunk)
    return count


class QuarantineFile:
    """Sets bad documents aside in a file of JSON Lines, which exists once there is one.

    Each line has source, place, doc_id, reason, and the document as it came.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.count = 0
        self._stream: TextIO | None = None

    def __call__(self, rejected: Rejected) -> None:
        """Append one document."""
        if self._stream is None:
            self._stream = open(self.path, "w", encoding="utf-8")  # noqa: SIM115
        self.count += 1
        self._stream.write(json.dumps(dataclasses.asdict(rejected)) + "\n")

    def close(self) -> None:
        """Finish the file."""
        if self._stream is not None:
            self._stream.close()
            self._stream = None


@contextmanager
def quarantine_file(beside: PathLike | None) -> Iterator[QuarantineFile | None]:
    """Open `beside`.quarantine.jsonl for bad documents; None for None."""
    if beside is None:
        yield None
        return
    quarantine = QuarantineFile(f"{os.fspath(beside)}.quarantine.jsonl")
    try:
        yield quarantine
    finally:
        quarantine.close()


def convert(
    inputs: PathLike | Iterable[PathLike],
    path: PathLike,
    *,
    overwrite: bool = False,
    on_rejected: Callable[[Rejected], None] | None = None,
    on_progress: Callable[[DocumentStream, int], None] | None = None,
) -> int:
    """Copy documents to another file or format, checked, content unchanged; return how many.

    Parameters
    ----------
    inputs, on_rejected
        As of `read_documents`.
    path, overwrite
        As of `write_documents`.
    on_progress
        Called after each batch with the stream and the number of documents written.

    Raises
    ------
    InputError, ParameterError, OutputError
        As `read_documents` and `write_documents`; then no file is left.
    """
    stream = DocumentStream(inputs, on_rejected=on_rejected)
    count = 0
    with _AtomicWriter(path, overwrite=overwrite) as writer:
        for batch in stream:
            writer.write(batch)
            count += len(batch)
            if on_progress is not None:
                on_progress(stream, count)
        if count == 0:
            raise InputError(f"{', '.join(stream.paths)}: a corpus must hold at least one document, got none")
    return count
