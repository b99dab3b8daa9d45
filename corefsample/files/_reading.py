"""Reading files: bytes or text lines, plain or gzip, with progress; JSON and Parquet files as a whole.

Every error of the libraries that read a file is an InputError.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import logging
import os
import sqlite3
import sys
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, TypeVar, cast

from corefsample.errors import CorefsampleError, DamagedFileError, InputError
from corefsample.files._paths import PathLike, open_binary, parquet_source, total_size

if TYPE_CHECKING:
    import pyarrow as pa

MIB = 2**20
_START = 1000  # bytes that are kept of a line over the limit
_GZIP_MAGIC = b"\x1f\x8b"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class ReadProgress:
    """Number of bytes of a file that were read so far; 0 for standard input."""

    bytes_read = 0


T = TypeVar("T")


class FileSeries:
    """Base of readers of several files, one after another, that report their progress.

    A subclass iterates over ``self._readers(opened)``, where ``opened(path)`` returns the reader of a file with its
    `bytes_read`: a `LineReader`, a stream of its own, or a `ReadProgress` to be given to `open_bytes`.

    Parameters
    ----------
    paths
        Paths of the files, in the order in which they are read.

    Attributes
    ----------
    total_bytes
        Size of all files; standard input counts 0.
    """

    def __init__(self, paths: list[str]) -> None:
        self.paths = paths
        self._sizes = {path: total_size([path]) for path in paths}
        self.total_bytes = sum(self._sizes.values())
        self._bytes_before = 0
        self._reader: Any = ReadProgress()

    def __repr__(self) -> str:
        names = ", ".join(map(repr, self.paths[:3])) + (", ..." if len(self.paths) > 3 else "")
        return f"{type(self).__name__}({names}; {self.bytes_read:,} of {self.total_bytes:,} bytes read)"

    @property
    def bytes_read(self) -> int:
        """Bytes of all files read so far."""
        return self._bytes_before + int(self._reader.bytes_read)

    def _readers(self, opened: Callable[[str], T]) -> Iterator[tuple[str, T]]:
        """Yield each path with its reader: what `opened` returns for it."""
        self._bytes_before = 0
        for path in self.paths:
            logging.getLogger("corefsample.files").debug("reading %s", path)
            self._reader = reader = opened(path)
            yield path, reader
            self._bytes_before += self._sizes[path]
            self._reader = ReadProgress()


class _CountedFile(io.RawIOBase):
    """A binary file that counts the bytes read from it."""

    def __init__(self, raw: Any, progress: ReadProgress) -> None:
        self._raw, self._progress = raw, progress

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        n_bytes: int = self._raw.readinto1(buffer)
        self._progress.bytes_read += n_bytes
        return n_bytes


@contextmanager
def open_bytes(path: str, progress: ReadProgress) -> Iterator[Any]:
    """Open a file for reading bytes, decompressed if it is gzip (by its first bytes); "-" is standard input.

    Raises
    ------
    InputError
        If it cannot be read or its gzip data is damaged, here or within the context.
    """
    try:
        # Standard input is typed as bare BinaryIO, but it is a BufferedReader, which has readinto1.
        source: Any = nullcontext(sys.stdin.buffer) if path == "-" else open_binary(path)
        with source as raw:
            counted = io.BufferedReader(_CountedFile(raw, ReadProgress() if path == "-" else progress))
            yield gzip.GzipFile(fileobj=counted) if counted.peek(2)[:2] == _GZIP_MAGIC else counted
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DamagedFileError(f"gzip data must be complete, got: {error}", place=path) from None
    except OSError as error:
        raise InputError(f"file must be readable, got: {error.strerror or error}", place=path) from None


# Bytes of the longest line that readers accept, decompressed, and of the longest field of CSV. A line is read as a
# whole, and its content may need twenty times its length: the limit keeps a small compressed file from filling the
# memory.
MAX_LINE_BYTES = 64 * MIB


def too_long(text: str = "a line") -> tuple[str, str]:
    """Message and hint of the error of a line over the limit."""
    return f"{text} must be at most {MAX_LINE_BYTES // MIB} MiB, got more", "Parquet has no such limit"


class LineReader(ReadProgress):
    """The lines of one UTF-8 file, numbered from 1, without their ends.

    Parameters
    ----------
    path
        A file, plain or gzip (by its first bytes), or "-" for standard input.

    Attributes
    ----------
    bytes_read
        Number of bytes of the file that were read so far, before decompression; 0 for standard input.
    """

    def __init__(self, path: str) -> None:
        self.path = path

    def byte_lines(self) -> Iterator[tuple[int, bytes, bool]]:
        """Yield number, bytes and completeness of each line, without a byte order mark, in bounded memory.

        For a line over the limit, only the start is yielded.

        Raises
        ------
        InputError
            If the file cannot be opened, or read further; the place is then the line.
        """
        number = -1  # until the file is open
        try:
            with open_bytes(self.path, self) as stream:
                number = 0
                while line := stream.readline(MAX_LINE_BYTES + 1):
                    number += 1
                    is_complete = len(line) <= MAX_LINE_BYTES or line.endswith(b"\n")
                    if not is_complete:
                        line = line[:_START]
                        while (piece := stream.readline(MIB)) and not piece.endswith(b"\n"):
                            pass
                    yield number, line.removeprefix(_BYTE_ORDER_MARK) if number == 1 else line, is_complete
        except InputError as error:
            if number < 0:
                raise
            raise type(error)(error.message, place=f"{self.path}: line {number + 1}", obstacle=error.obstacle) from None

    def __iter__(self) -> Iterator[tuple[int, str]]:
        return ((number, text.rstrip("\r\n")) for number, text in self.text_lines())

    def text_lines(self, line_name: str = "a line") -> Iterator[tuple[int, str]]:
        """Yield number and text of each line, with its end; the error of a line over the limit calls it `line_name`."""
        for number, line, is_complete in self.byte_lines():
            if not is_complete:
                message, hint = too_long(line_name)
                raise InputError(message, place=f"{self.path}: line {number}", hint=hint)
            try:
                yield number, line.decode()
            except UnicodeDecodeError as error:
                actual = f"{error.object[error.start : error.start + 1]!r} at byte {error.start + 1}"
                rule, hint = f"text must be UTF-8, got {actual}", "save the file as UTF-8"
                raise InputError(rule, place=f"{self.path}: line {number}", hint=hint) from None


_END = object()


def read_ahead(items: Iterator[T]) -> Iterator[T]:
    """Yield the items of an iterator in order, one of them in advance.

    It pays where an item is made without Python's global lock, as Arrow decodes Parquet. An exception of the iterator
    is raised in its place. A consumer that stops early waits for the item in the making.
    """
    with ThreadPoolExecutor(1, thread_name_prefix="corefsample-read") as pool:
        following = pool.submit(next, items, _END)
        while (item := following.result()) is not _END:
            following = pool.submit(next, items, _END)
            yield cast("T", item)


def read_whole(path: PathLike, most_mib: int) -> bytes:
    """Content of a file, decompressed; a small compressed file cannot fill the memory.

    Parameters
    ----------
    path
        Path of the file.
    most_mib
        Largest size of the decompressed file, in MiB.

    Raises
    ------
    InputError
        If the file cannot be read, or is larger than `most_mib`.
    """
    with open_bytes(os.fspath(path), ReadProgress()) as stream:
        data: bytes = stream.read(most_mib * MIB + 1)
    if len(data) > most_mib * MIB:
        raise InputError(f"file must be at most {most_mib} MiB, decompressed, got more", place=os.fspath(path))
    return data


def parsed_json(text: bytes | str, source: str = "file", path: str | None = None) -> Any:
    """Parse JSON; raise InputError about `source` if the content is not valid JSON or is nested too deeply."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{source} must be JSON, got: {one_line(error)}", place=path) from None


def read_json(path: PathLike, most_mib: int = 64) -> Any:
    """Content of a JSON file; raise InputError on the conditions of `read_whole` and `parsed_json`."""
    return parsed_json(read_whole(path, most_mib), path=os.fspath(path))


@contextmanager
def parquet_errors(location: str) -> Iterator[None]:
    """Turn the errors of Arrow about the content of a Parquet file into an InputError."""
    import pyarrow as pa

    try:
        yield
    except CorefsampleError:
        raise
    # Besides its own errors, Arrow raises those of Python for damaged names, types and dates.
    except (pa.ArrowException, OSError, ValueError, TypeError, KeyError, OverflowError, MemoryError) as error:
        raise DamagedFileError(f"file must be Parquet, got: {one_line(error)}", place=location) from None


def read_parquet(path: PathLike, columns: Sequence[str]) -> pa.Table:
    """Read and validate columns of a Parquet file.

    Not by `pyarrow.parquet.read_table`, which never returns for some damaged files.

    Raises
    ------
    InputError
        If it is damaged, or a column is missing.
    """
    import pyarrow.parquet as pq

    location, wanted = os.fspath(path), list(dict.fromkeys(columns))
    with parquet_errors(location), pq.ParquetFile(parquet_source(location), page_checksum_verification=True) as file:
        missing = [name for name in wanted if name not in file.schema_arrow.names]
        if missing:
            raise InputError(f"column {missing[0]} is missing", place=location, hint="repeat the run with this version")
        table = file.read_row_groups(range(file.num_row_groups), columns=wanted, use_threads=False)
        table.validate(full=True)
        return table.select(list(columns))


def one_line(error: Exception) -> str:
    """Text of an error of a library without line breaks."""
    return " ".join(str(error).split())


# --- repeated identifiers, and checksums of files ---


class SeenIds:
    """The identifiers of a corpus so far: their 16-byte BLAKE2b digests, in a tree of SQLite of some 25 bytes each."""

    def __init__(self) -> None:
        self._database = sqlite3.connect(":memory:", check_same_thread=False)
        self._database.execute("CREATE TABLE ids (digest BLOB PRIMARY KEY) WITHOUT ROWID")

    def add(self, identifier: str) -> bool:
        """Add an identifier, in which lone surrogates are allowed; return whether it is new."""
        digest = hashlib.blake2b(identifier.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        return self._database.execute("INSERT OR IGNORE INTO ids VALUES (?)", (digest,)).rowcount == 1

    def __del__(self) -> None:
        self._database.close()


def sealed(record: Mapping[str, Any]) -> dict[str, Any]:
    """Fields after a round trip through JSON, with their checksum as the further field sha256."""
    fields: dict[str, Any] = json.loads(json.dumps({**record, "sha256": None}))
    return {**fields, "sha256": hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()}


def is_sealed(record: object) -> bool:
    """True if a value read from JSON is a result of `sealed` that has not changed since."""
    return isinstance(record, dict) and "sha256" in record and record["sha256"] == sealed(record)["sha256"]


def sha256(path: PathLike) -> str:
    """SHA-256 of a file, in hexadecimal digits."""
    with open_binary(path) as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
