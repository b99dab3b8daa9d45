"""Files of a news corpus: which there are, and how their bytes are read."""

from __future__ import annotations

import glob
import gzip
import os
import sys
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from corefsample._checks import shown
from corefsample.errors import InputError, ParameterError

__all__ = ["ARCHIVES", "MARKUP", "TABLES", "PathLike", "Progress", "corpus_paths", "ending", "opened"]

PathLike = str | os.PathLike[str]
TABLES = (".jsonl", ".jsonl.gz", ".csv", ".csv.gz", ".parquet")
MARKUP = (".xml", ".xml.gz")
ARCHIVES = (".tgz", ".tar.gz", ".tar")
_ENDINGS = (*TABLES, *MARKUP, *ARCHIVES)
_GZIP_MAGIC = b"\x1f\x8b"


class Progress:
    """How far a file is read, in bytes of the file; 0 for standard input."""

    def __init__(self) -> None:
        self.bytes_read = 0


def ending(name: str) -> str | None:
    """Which of the known endings a file name has, if any."""
    return next((known for known in sorted(_ENDINGS, key=len, reverse=True) if name.endswith(known)), None)


def corpus_paths(inputs: PathLike | Iterable[PathLike]) -> list[str]:
    """Expand globs and folders, and refuse what is no file of a known ending.

    Of a folder all files with a known ending count, at any depth, in the order of their paths; names that begin with
    a dot do not.

    Raises
    ------
    ParameterError
        If `inputs` are no names of files at all.
    InputError
        If nothing is named, a file is missing, a glob or folder holds none, a file has another ending, or one is
        named twice.
    """
    given: list[Any] = [inputs] if isinstance(inputs, (str, os.PathLike)) else _listed(inputs)
    if not given:
        raise InputError("inputs must name at least one file, got none")
    paths = [path for each in given for path in _expanded(each)]
    seen = set()
    for path in paths:
        if path in seen:
            raise InputError(f"{path}: input must be named once, got it again")
        seen.add(path)
    return paths


def _listed(inputs: object) -> list[Any]:
    if not isinstance(inputs, Iterable):
        raise ParameterError(f"inputs must be names of files, got {shown(inputs)}")
    return list(inputs)


def _expanded(given: object) -> list[str]:
    if not isinstance(given, (str, os.PathLike)):
        raise ParameterError(f"inputs must be names of files, got {shown(given)}")
    name = os.fspath(given)
    if name == "-":
        return [name]
    found = [name] if os.path.exists(name) else sorted(glob.glob(name, recursive=True))
    if not found:
        rule = "glob must match a file" if glob.has_magic(name) else "file must exist"
        raise InputError(f"{name}: {rule}, got none")
    paths: list[str] = []
    for path in found:
        paths += _in_folder(path) if os.path.isdir(path) else [path]
    for path in paths:
        if not os.path.isfile(path):
            raise InputError(f"{path}: input must be a regular file or a folder, got something else")
        if ending(path) is None:
            raise InputError(
                f"{path}: file name must end in one of {', '.join(_ENDINGS)}, got {os.path.basename(path)!r}"
            )
    return paths


def _in_folder(folder: str) -> list[str]:
    def refuse(error: OSError) -> None:
        raise InputError(f"{error.filename}: folder must be readable, got: {error.strerror}") from None

    paths = [
        os.path.join(parent, name)
        for parent, folders, names in os.walk(folder, onerror=refuse)
        if not _prune_hidden(folders)
        for name in names
        if not name.startswith(".") and ending(name)
    ]
    if not paths:
        raise InputError(f"{folder}: folder must hold files that end in one of {', '.join(_ENDINGS)}, got none")
    return sorted(paths)


def _prune_hidden(folders: list[str]) -> bool:
    folders[:] = [name for name in folders if not name.startswith(".")]
    return False


class _Counted:
    """A binary file that notes how far it is read."""

    def __init__(self, raw: Any, progress: Progress) -> None:
        self._raw, self._progress = raw, progress

    def read(self, size: int = -1) -> bytes:
        content: bytes = self._raw.read(size)
        self._progress.bytes_read += len(content)
        return content

    def readline(self, size: int = -1) -> bytes:
        content: bytes = self._raw.readline(size)
        self._progress.bytes_read += len(content)
        return content


@contextmanager
def opened(path: str, progress: Progress) -> Iterator[Any]:
    """Open a file for reading bytes, unpacked where it is gzip (told by its first bytes), "-" being standard input.

    Raises
    ------
    InputError
        If it cannot be read, or its gzip data is broken; so do reads within the context.
    """
    try:
        # Standard input is typed as bare BinaryIO, yet is a BufferedReader, which can peek.
        source: Any = nullcontext(sys.stdin.buffer) if path == "-" else open(path, "rb")  # noqa: SIM115
        with source as raw:
            counted: Any = _Counted(raw, Progress() if path == "-" else progress)
            yield gzip.GzipFile(fileobj=counted) if raw.peek(2)[:2] == _GZIP_MAGIC else counted
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(f"{path}: gzip data must be whole, got: {error}") from None
    except OSError as error:
        raise InputError(f"{path}: file must be readable, got: {error.strerror or error}") from None
