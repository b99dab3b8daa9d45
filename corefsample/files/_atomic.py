"""Files that appear under their name when they are complete, and not before."""

from __future__ import annotations

import errno
import gzip
import json
import os
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from corefsample._log import logger
from corefsample.errors import OutputError, ParameterError, ParameterHint
from corefsample.files._paths import PathLike

__all__ = [
    "PARTIAL_PREFIX",
    "new_file",
    "new_text_file",
    "open_output",
    "partial_name",
    "require_free",
    "require_writable",
    "unwritable",
    "write_bytes",
    "write_json",
]

PARTIAL_PREFIX = ".partial-"


def partial_name(path: str, suffix: str = "") -> str:
    """Name for an incomplete file beside `path`."""
    return os.path.join(os.path.dirname(path), f"{PARTIAL_PREFIX}{secrets.token_hex(8)}{suffix}")


def unwritable(path: PathLike, error: OSError) -> OutputError:
    """Error of an output that the system does not let us write."""
    folder = os.path.dirname(os.fspath(path))
    missing = isinstance(error, FileNotFoundError) and folder and not os.path.exists(folder)
    return OutputError(
        f"output must be writable, got: {error.strerror or error}",
        place=os.fspath(path),
        hint=f"make the folder {folder} first" if missing else None,
    )


def require_free(path: PathLike, *, overwrite: bool) -> None:
    """Raise, before the work, if an output exists.

    Raises
    ------
    ParameterError
        If it is a folder, or a file and `overwrite` is false.
    """
    place = os.fspath(path)
    if os.path.isdir(path):
        raise ParameterError("output must be a file, got a folder", place=place)
    if os.path.exists(path) and not overwrite:
        hint = ParameterHint("overwrite", "replaces it")
        raise ParameterError("output must not exist, got a file", place=place, hint=hint)


def require_writable(path: PathLike) -> None:
    """Raise, before the work, if the folder of an output is missing or closed.

    Raises
    ------
    OutputError
        With the system's reason.
    """
    folder = os.path.dirname(os.fspath(path)) or os.curdir
    number = 0
    if not os.path.isdir(folder):
        number = errno.ENOTDIR if os.path.exists(folder) else errno.ENOENT
    elif not os.access(folder, os.W_OK | os.X_OK):
        number = errno.EACCES
    if number:
        raise unwritable(path, OSError(number, os.strerror(number)))


@contextmanager
def new_file(path: PathLike, *, overwrite: bool, suffix: str = "") -> Iterator[str]:
    """Make a file under a temporary name beside `path`, and rename it if the context ends without an error.

    Parameters
    ----------
    path
        The file to make.
    overwrite
        Whether an existing file may be replaced.
    suffix
        Ending of the temporary name, for libraries that look at it.

    Yields
    ------
    str
        The temporary name of an existing, empty file, to be written and closed. If it is removed within the context,
        no file appears under `path`.

    Raises
    ------
    ParameterError
        If the file exists and `overwrite` is false.
    OutputError
        If it cannot be written.
    """
    name = os.fspath(path)
    require_free(name, overwrite=overwrite)
    partial = partial_name(name, suffix)
    try:
        open(partial, "xb").close()
        yield partial
        if os.path.exists(partial):
            os.replace(partial, name)
            logger("files").debug("wrote %s", name)
    except OSError as error:
        # An error of another file, such as one that is being read or a closed pipe, is not this output's.
        if isinstance(error, (OutputError, BrokenPipeError)) or error.filename not in (None, partial, name):
            raise
        raise unwritable(name, error) from None
    finally:
        if os.path.exists(partial):
            os.unlink(partial)


@contextmanager
def new_text_file(path: PathLike, *, overwrite: bool) -> Iterator[Callable[[str], None]]:
    """Make a UTF-8 file, gzip if its name ends in .gz, as `new_file` does; yield the function that appends text.

    Raises
    ------
    ParameterError, OutputError
        As `new_file`, and if UTF-8 cannot encode the text.
    """
    name = os.fspath(path)

    def write(text: str) -> None:
        try:
            stream.write(text.encode())
        except UnicodeEncodeError as error:
            found = repr(error.object[error.start : error.end])
            raise OutputError(f"text must be valid UTF-8, got {found}", place=name) from None

    with new_file(path, overwrite=overwrite) as partial, open_output(partial, gzipped=name.endswith(".gz")) as stream:
        yield write


@contextmanager
def open_output(path: PathLike, *, gzipped: bool) -> Iterator[Any]:
    """Open a file for writing bytes, compressed if `gzipped`.

    The bytes depend on the content alone: the gzip header carries neither name nor time.
    """
    with open(path, "wb") as raw:
        if not gzipped:
            yield raw
            return
        with gzip.GzipFile(filename="", mode="wb", compresslevel=6, fileobj=raw, mtime=0) as packed:
            yield packed


def write_bytes(path: PathLike, content: bytes, *, overwrite: bool) -> None:
    """Write a whole file, as `new_file` does."""
    with new_file(path, overwrite=overwrite) as partial, open(partial, "wb") as stream:
        stream.write(content)


def write_json(path: PathLike, content: Mapping[str, Any], *, overwrite: bool = True, indent: int | None = 2) -> None:
    """Write a JSON object to a file, as `new_file` does."""
    write_bytes(path, (json.dumps(content, indent=indent) + "\n").encode(), overwrite=overwrite)
