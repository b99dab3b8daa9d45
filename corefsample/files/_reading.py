"""Bytes and text lines of files, plain or gzip, with how far they are read."""

from __future__ import annotations

import gzip
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from corefsample.errors import InputError

__all__ = ["LineReader", "ReadProgress", "open_bytes"]

_GZIP_MAGIC = b"\x1f\x8b"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class ReadProgress:
    """How far a file is read, in bytes of the file; 0 for standard input."""

    def __init__(self) -> None:
        self.bytes_read = 0


class _CountedFile:
    """A binary file that counts the bytes read from it."""

    def __init__(self, raw: Any, progress: ReadProgress) -> None:
        self._raw, self._progress = raw, progress

    def read(self, size: int = -1) -> bytes:
        content: bytes = self._raw.read(size)
        self._progress.bytes_read += len(content)
        return content

    def readline(self, size: int = -1) -> bytes:
        content: bytes = self._raw.readline(size)
        self._progress.bytes_read += len(content)
        return content

    def __iter__(self) -> Iterator[bytes]:
        return iter(self.readline, b"")


@contextmanager
def open_bytes(path: str, progress: ReadProgress) -> Iterator[Any]:
    """Open a file for reading bytes, decompressed if it is gzip (by its first bytes); "-" is standard input.

    Raises
    ------
    InputError
        If it cannot be read or its gzip data is damaged, here or within the context.
    """
    try:
        # Standard input is typed as bare BinaryIO, but it is a BufferedReader, which has peek.
        source: Any = nullcontext(sys.stdin.buffer) if path == "-" else open(path, "rb")  # noqa: SIM115
        with source as raw:
            counted: Any = _CountedFile(raw, ReadProgress() if path == "-" else progress)
            yield gzip.GzipFile(fileobj=counted) if raw.peek(2)[:2] == _GZIP_MAGIC else counted
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(f"gzip data must be complete, got: {error}", place=path) from None
    except OSError as error:
        raise InputError(f"file must be readable, got: {error.strerror or error}", place=path) from None


class LineReader(ReadProgress):
    """The lines of one UTF-8 file, numbered from 1, without their ends.

    Parameters
    ----------
    path
        A file, plain or gzip (by its first bytes), or "-" for standard input.

    Attributes
    ----------
    bytes_read
        How far the file is read, in bytes of the file; 0 for standard input.
    """

    def __init__(self, path: str) -> None:
        super().__init__()
        self.path = path

    def byte_lines(self) -> Iterator[tuple[int, bytes]]:
        """Yield number and bytes of each line, its end included, without a byte order mark.

        Raises
        ------
        InputError
            If the file cannot be read; the place is the line.
        """
        number = 0
        try:
            with open_bytes(self.path, self) as stream:
                for number, line in enumerate(stream, start=1):
                    yield number, line.removeprefix(_BYTE_ORDER_MARK) if number == 1 else line
        except InputError as error:
            if error.place != self.path or number == 0:
                raise
            raise InputError(error.message, place=f"{self.path}: line {number + 1}") from None

    def __iter__(self) -> Iterator[tuple[int, str]]:
        for number, line in self.byte_lines():
            try:
                yield number, line.decode().rstrip("\r\n")
            except UnicodeDecodeError as error:
                found = f"{error.object[error.start : error.start + 1]!r} at byte {error.start + 1}"
                place = f"{self.path}: line {number}"
                raise InputError(
                    f"text must be UTF-8, got {found}", place=place, hint="save the file as UTF-8"
                ) from None
