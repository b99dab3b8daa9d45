"""Writing pre-scored mention files: each appears under its name when it is whole, and not before."""

from __future__ import annotations

import dataclasses
import json
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Protocol, TextIO

from corefsample._checks import whole
from corefsample.document_batch import DocumentBatch, Rejected, from_documents
from corefsample.documents import ScoredDocument
from corefsample.errors import InputError, OutputError, ParameterError
from corefsample.formats.jsonl import JsonLinesWriter
from corefsample.formats.parquet import ParquetWriter
from corefsample.formats.stream import DocumentStream, PathLike, file_suffix

__all__ = ["QuarantineFile", "convert", "quarantine_file", "write_documents"]


class _Writer(Protocol):
    def write(self, batch: DocumentBatch) -> None: ...

    def close(self) -> None: ...


class _AtomicWriter:
    """A writer whose file appears under its name when it is whole, and not before."""

    def __init__(self, path: PathLike, *, overwrite: bool) -> None:
        self.path = os.fspath(path)
        suffix = file_suffix(self.path, ParameterError)
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
            if error is not None and isinstance(self._writer, ParquetWriter):
                self._writer.abandon()
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
        If the name has none of these endings, or batch_size is below 1.
    OutputError
        If the file exists, or cannot be written.
    """
    batch_size = whole("batch_size", batch_size, 1)
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

    def __init__(self, path: str, *, overwrite: bool = True) -> None:
        self.path = path
        self.count = 0
        if not overwrite and os.path.exists(path):
            raise OutputError(f"{path}: output must not exist (overwrite would replace it), got a file")
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
def quarantine_file(beside: PathLike | None, *, overwrite: bool = False) -> Iterator[QuarantineFile | None]:
    """Open `beside`.quarantine.jsonl for bad documents; None for None. It stays if all goes well."""
    if beside is None:
        yield None
        return
    quarantine = QuarantineFile(f"{os.fspath(beside)}.quarantine.jsonl", overwrite=overwrite)
    try:
        yield quarantine
    except BaseException:
        quarantine.close()
        if quarantine.count:
            os.unlink(quarantine.path)
        raise
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
