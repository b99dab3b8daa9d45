"""Writing pre-scored mention files: each appears under its name when it is whole, and not before."""

from __future__ import annotations

import dataclasses
import errno
import json
import os
import secrets
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from typing import Protocol, TextIO

from corefsample._checks import choice, shown, whole
from corefsample.documents import DocumentBatch, Rejected, ScoredDocument, from_documents
from corefsample.errors import InputError, OutputError, ParameterError
from corefsample.formats.scored._json_rules import require_json
from corefsample.formats.scored._jsonl import JsonLinesWriter
from corefsample.formats.scored._parquet import ParquetWriter
from corefsample.formats.scored._stream import DocumentStream, PathLike, file_suffix

__all__ = ["QuarantineFile", "convert", "quarantine_file", "write_documents"]

_QUARANTINE = ".quarantine.jsonl"


class _Writer(Protocol):
    def write(self, batch: DocumentBatch) -> None: ...

    def close(self) -> None: ...


class _AtomicWriter:
    """A writer whose file appears under its name when it is whole, and not before."""

    def __init__(self, path: PathLike, *, overwrite: bool) -> None:
        self.path = os.fspath(path)
        suffix = file_suffix(self.path, ParameterError)
        _refuse_existing(self.path, overwrite=overwrite)
        self._partial = _new_file(self.path, suffix)
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
            raise _unwritable(self.path, failure) from None
        finally:
            if error is not None and isinstance(self._writer, ParquetWriter):
                self._writer.abandon()
            if error is not None and os.path.exists(self._partial):
                os.unlink(self._partial)
        if isinstance(error, OSError) and not isinstance(error, OutputError) and error.filename is None:
            raise _unwritable(self.path, error) from None


def _refuse_existing(path: str, *, overwrite: bool) -> None:
    if os.path.isdir(path):
        raise ParameterError(f"{path}: output must be a file, got a folder")
    if os.path.exists(path) and not overwrite:
        raise ParameterError(f"{path}: output must not exist (overwrite replaces it), got a file")


def _require_folder(path: str) -> None:
    """Refuse a file that could not be made: its folder is not there, or is closed."""
    folder = os.path.dirname(path) or os.curdir
    number = 0
    if not os.path.isdir(folder):
        number = errno.ENOTDIR if os.path.exists(folder) else errno.ENOENT
    elif not os.access(folder, os.W_OK | os.X_OK):
        number = errno.EACCES
    if number:
        raise _unwritable(path, OSError(number, os.strerror(number)))


def _new_file(path: str, suffix: str) -> str:
    """Create an empty file beside `path`, with the rights of any new file, and return its name."""
    name = os.path.join(os.path.dirname(path), f".partial-{secrets.token_hex(8)}{suffix}")
    try:
        open(name, "xb").close()
    except OSError as error:
        raise _unwritable(path, error) from None
    return name


def _unwritable(path: str, error: OSError) -> OutputError:
    return OutputError(f"{path}: output must be writable, got: {error.strerror or error}")


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
        If the name has none of these endings, the file exists and overwrite is not said, batch_size is below 1,
        or something in `documents` is no document or holds metadata that JSON cannot (NaN for one).
    OutputError
        If the file cannot be written.
    """
    batch_size = whole("batch_size", batch_size, 1)
    if not isinstance(documents, Iterable) or isinstance(documents, (str, os.PathLike)):
        raise ParameterError(f"documents must be ScoredDocuments, got {shown(documents)}")
    count = 0
    stream = iter(documents)
    with _AtomicWriter(path, overwrite=overwrite) as writer:
        while chunk := list(islice(stream, batch_size)):
            for number, document in enumerate(chunk, start=count + 1):
                _refuse_unwritable(document, number)
            writer.write(from_documents(chunk))
            count += len(chunk)
    return count


def _refuse_unwritable(document: ScoredDocument, number: int) -> None:
    """Refuse what is no document, and what JSON cannot hold or turns into null."""
    if not isinstance(document, ScoredDocument):
        raise ParameterError(f"documents must be ScoredDocuments, got {shown(document)} (document {number})")
    try:
        require_json("metadata", document.metadata)
        if document.tokens is not None:
            require_json("tokens.extra", document.tokens.extra)
    except ParameterError as error:
        raise ParameterError(f"document {number}: doc_id {document.doc_id!r}: {error}") from None


class QuarantineFile:
    """Sets bad documents aside in a file of JSON Lines, which exists once there is one.

    Each line has source, place, doc_id, reason, and the document as it came. A full disk is told at the very document.
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
        self._stream.flush()

    def close(self) -> None:
        """Finish the file."""
        stream, self._stream = self._stream, None
        if stream is not None:
            stream.close()


@contextmanager
def quarantine_file(
    beside: PathLike, *, on_error: str = "quarantine", overwrite: bool = False
) -> Iterator[QuarantineFile | None]:
    """Open `beside`.quarantine.jsonl for bad documents; None where `on_error` is "stop".

    It appears if all goes well and a document was bad. One of an earlier run is not left beside new output.

    Raises
    ------
    ParameterError
        If there is one already, and `overwrite` is not said.
    OutputError
        If it cannot be written, or `beside` cannot: before hours of work, and not after.
    """
    choice("on_error", on_error, ("stop", "quarantine"))
    path = f"{os.fspath(beside)}{_QUARANTINE}"
    _refuse_existing(path, overwrite=overwrite)
    _require_folder(os.fspath(beside))
    quarantine = QuarantineFile(_new_file(path, _QUARANTINE)) if on_error == "quarantine" else None
    try:
        yield quarantine
        try:
            if quarantine is not None and quarantine.count:
                quarantine.close()
                os.replace(quarantine.path, path)
            elif os.path.exists(path):
                os.unlink(path)
        except OSError as error:
            raise _unwritable(path, error) from None
    finally:
        if quarantine is not None:
            with suppress(OSError):
                quarantine.close()
            with suppress(FileNotFoundError):
                os.unlink(quarantine.path)


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
