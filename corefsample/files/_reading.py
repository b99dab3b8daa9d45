"""Bytes and text lines of files, plain or gzip, with how far they are read."""

from __future__ import annotations

import gzip
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, Protocol, TypeVar

from corefsample._log import logger
from corefsample.errors import InputError
from corefsample.files._paths import total_size

__all__ = ["FileSeries", "LineReader", "ReadProgress", "open_bytes"]

_GZIP_MAGIC = b"\x1f\x8b"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class ReadProgress:
    """How far a file is read, in bytes of the file; 0 for standard input."""

    def __init__(self) -> None:
        self.bytes_read = 0


class _CountingReader(Protocol):
    @property
    def bytes_read(self) -> int: ...


_Reader = TypeVar("_Reader", bound=_CountingReader)


class FileSeries:
    """Base of readers of several files, one after another, that report their progress.

    A subclass iterates over ``self._readers(opened)``, where ``opened(path)`` returns the reader of a file with its
    `bytes_read`: a `LineReader`, a stream of its own, or a `ReadProgress` to be given to `open_bytes`.

    Parameters
    ----------
    paths
        The files, in the order in which they are read.

    Attributes
    ----------
    total_bytes
        Size of all files; standard input counts 0.
    """

    def __init__(self, paths: list[str]) -> None:
        self.paths = paths
        self.total_bytes = total_size(paths)
        self._bytes_before = 0
        self._reader: _CountingReader = ReadProgress()

    def __repr__(self) -> str:
        names = ", ".join(map(repr, self.paths[:3])) + (", ..." if len(self.paths) > 3 else "")
        read = f"{self.bytes_read:,} of {self.total_bytes:,} bytes read"
        return f"{type(self).__name__}({names}; {read})"

    @property
    def bytes_read(self) -> int:
        """Bytes of all files read so far."""
        return self._bytes_before + self._reader.bytes_read

    def _readers(self, opened: Callable[[str], _Reader]) -> Iterator[tuple[str, _Reader]]:
        """Yield each path with its reader: what `opened` returns for it."""
        self._bytes_before = 0
        for path in self.paths:
            logger("files").debug("reading %s", path)
            self._reader = reader = opened(path)
            yield path, reader
            self._bytes_before += total_size([path])
            self._reader = ReadProgress()


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
            If the file cannot be opened, or read further; the place is then the line.
        """
        number = -1  # until the file is open
        try:
            with open_bytes(self.path, self) as stream:
                number = 0
                for number, line in enumerate(stream, start=1):
                    yield number, line.removeprefix(_BYTE_ORDER_MARK) if number == 1 else line
        except InputError as error:
            if number < 0:
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
