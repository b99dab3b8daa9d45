"""Files of text lines, plain or gzip: named by globs, read with line numbers, written whole or not at all."""

from __future__ import annotations

import glob
import gzip
import os
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from corefsample.errors import InputError, OutputError

__all__ = ["LineReader", "PathLike", "new_text_file", "text_paths"]

PathLike = str | os.PathLike[str]
_GZIP_MAGIC = b"\x1f\x8b"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def text_paths(inputs: PathLike | Iterable[PathLike]) -> list[str]:
    """Expand globs, and refuse what is no file; "-" is standard input.

    Raises
    ------
    InputError
        If nothing is named, a file is missing, or a glob matches nothing.
    """
    given = [inputs] if isinstance(inputs, (str, os.PathLike)) else list(inputs)
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
        paths += found
    return paths


class LineReader:
    """The lines of one UTF-8 file, numbered from 1, without their ends.

    Parameters
    ----------
    path
        A file, plain or gzip (told by its first bytes), or "-" for standard input.

    Attributes
    ----------
    bytes_read
        How far the file is read, in bytes of the file; 0 for standard input.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.bytes_read = 0

    def __iter__(self) -> Iterator[tuple[int, str]]:
        # Standard input is typed as bare BinaryIO, yet is a BufferedReader, which can peek.
        try:
            opened: Any = nullcontext(sys.stdin.buffer) if self.path == "-" else open(self.path, "rb")  # noqa: SIM115
        except OSError as error:
            raise InputError(f"{self.path}: file must be readable, got: {error.strerror}") from None
        number = 0
        with opened as raw:
            try:
                stream = gzip.GzipFile(fileobj=raw) if raw.peek(2)[:2] == _GZIP_MAGIC else raw
                for number, line in enumerate(stream, start=1):
                    if raw.seekable():
                        self.bytes_read = raw.tell()
                    text = line.removeprefix(_BYTE_ORDER_MARK) if number == 1 else line
                    yield number, text.decode().rstrip("\r\n")
            except (EOFError, zlib.error, gzip.BadGzipFile) as error:
                raise InputError(f"{self.path}: line {number + 1}: gzip data must be whole, got: {error}") from None
            except UnicodeDecodeError as error:
                found = f"{error.object[error.start : error.start + 1]!r} at byte {error.start + 1}"
                raise InputError(f"{self.path}: line {number}: text must be UTF-8, got {found}") from None
            except OSError as error:
                reason = error.strerror or error
                raise InputError(f"{self.path}: line {number + 1}: file must be readable, got: {reason}") from None


@contextmanager
def new_text_file(path: PathLike, *, overwrite: bool) -> Iterator[Callable[[str], None]]:
    """Open a new UTF-8 file, gzip where its name ends in .gz; it appears under its name when it is whole.

    Yields the function that appends text. The bytes depend on the content alone: gzip's header carries neither name
    nor time.

    Raises
    ------
    OutputError
        If the file exists and `overwrite` is false, or cannot be written.
    """
    name = os.fspath(path)
    if os.path.exists(name) and not overwrite:
        raise OutputError(f"{name}: output must not exist (overwrite would replace it), got a file")
    if os.path.isdir(name):
        raise OutputError(f"{name}: output must be a file, got a folder")
    try:
        handle, partial = tempfile.mkstemp(".partial", ".partial-", os.path.dirname(name) or ".")
    except OSError as error:
        raise OutputError(f"{name}: output must be writable, got: {error.strerror}") from None
    try:
        os.chmod(partial, 0o666 & ~_umask())
        with os.fdopen(handle, "wb") as raw:
            if name.endswith(".gz"):
                with gzip.GzipFile(filename="", mode="wb", compresslevel=6, fileobj=raw, mtime=0) as packed:
                    yield lambda text: _written(name, packed, text)
            else:
                yield lambda text: _written(name, raw, text)
        os.replace(partial, name)
    except OSError as error:
        if isinstance(error, OutputError) or error.filename not in (None, partial, name):
            raise
        raise OutputError(f"{name}: output must be writable, got: {error.strerror or error}") from None
    finally:
        if os.path.exists(partial):
            os.unlink(partial)


def _written(name: str, stream: Any, text: str) -> None:
    try:
        stream.write(text.encode())
    except UnicodeEncodeError as error:
        found = repr(error.object[error.start : error.end])
        raise OutputError(f"{name}: text must be such that UTF-8 can hold it, got {found}") from None


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
