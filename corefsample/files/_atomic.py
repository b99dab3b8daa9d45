"""Files that appear under their name only when they are complete."""

from __future__ import annotations

import errno
import gzip
import json
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from corefsample._log import logger
from corefsample.errors import OutputError, ParameterError, ParameterHint
from corefsample.files._locks import PARTIAL_PREFIX, new_partial, put_in_place
from corefsample.files._paths import PathLike
from corefsample.files._remote import remove, stored
from corefsample.files._remote_services import is_url, require_writable_url


def link_target(path: PathLike) -> str:
    """The file that a symbolic link leads to, which need not exist; any other path is returned as it is."""
    name = os.fspath(path)
    return os.path.realpath(name) if not is_url(name) and os.path.islink(name) else name


def unwritable(path: PathLike, error: OSError) -> OutputError:
    """Error of an output that cannot be written."""
    folder = os.path.dirname(os.fspath(path))
    missing = isinstance(error, FileNotFoundError) and folder and not os.path.exists(folder)
    return OutputError(
        f"output must be writable, got: {error.strerror or error}",
        place=os.fspath(path),
        hint=f"make the folder {folder} first" if missing else None,
    )


def require_free(path: PathLike, *, overwrite: bool) -> None:
    """Raise, before the work, if an output exists. Of a symbolic link, the file counts to which it leads.

    Raises
    ------
    ParameterError
        If it is a folder or a special file, such as a pipe, or a file and `overwrite` is false.
    """
    place, target = os.fspath(path), link_target(path)
    if is_url(place):
        require_writable_url(place)
        if not overwrite and stored(place) is not None:
            raise _taken(place)
        return
    try:
        mode = os.lstat(target).st_mode
    except OSError:  # writing says what is wrong
        return
    if stat.S_ISDIR(mode):
        raise ParameterError("output must be a file, got a folder", place=place)
    if not stat.S_ISREG(mode):
        found = "a symbolic link to itself" if stat.S_ISLNK(mode) else "a special file"
        raise ParameterError(f"output must be a regular file, got {found}", place=place)
    if not overwrite:
        raise _taken(place)


def _taken(place: str) -> ParameterError:
    hint = ParameterHint("overwrite", "replaces it")
    return ParameterError("output must not exist, got a file", place=place, hint=hint)


def require_writable(path: PathLike) -> None:
    """Raise, before the work, if the folder of an output is missing or closed; of a URL only its scheme is checked.

    Raises
    ------
    OutputError
        With the system's reason.
    ParameterError
        If a URL cannot be written to.
    """
    if is_url(path):
        require_writable_url(os.fspath(path))
        return
    target = link_target(path)
    folder = os.path.dirname(target) or os.curdir
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

    A symbolic link stays, and the file to which it leads is made or replaced. What killed runs left in the folder is
    removed. The file of a URL is made in the folder for temporary files, and uploaded if the context ends.

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
        If the file exists and `overwrite` is false, or it is no regular file.
    OutputError
        If it cannot be written.
    """
    name, target = os.fspath(path), link_target(path)
    require_free(name, overwrite=overwrite)
    try:
        with new_partial(target, suffix) as partial:
            yield partial
            if os.path.exists(partial):
                put_in_place(partial, target)
                logger("files").debug("wrote %s", name)
    except OSError as error:
        # An error of another file, such as one that is being read or a closed pipe, is not this output's.
        is_own = error.filename in (None, name, target)
        is_own = is_own or os.path.basename(os.fsdecode(error.filename)).startswith(PARTIAL_PREFIX)
        if isinstance(error, (OutputError, BrokenPipeError)) or not is_own:
            raise
        raise unwritable(name, error) from None


def remove_file(path: PathLike) -> None:
    """Remove a file, or that to which a link leads, if it exists.

    Raises
    ------
    OSError
        If it cannot be removed.
    """
    target = link_target(path)
    if is_url(target):
        remove([target])
        return
    with suppress(FileNotFoundError):
        os.unlink(target)


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

    The bytes depend only on the content: the gzip header carries neither name nor time.
    """
    with open(path, "wb") as raw:
        if not gzipped:
            yield raw
            return
        with gzip.GzipFile(filename="", mode="wb", compresslevel=6, fileobj=raw, mtime=0) as packed:
            yield packed


def write_bytes(path: PathLike, content: bytes, *, overwrite: bool) -> None:
    """Write a complete file, as `new_file` does."""
    with new_file(path, overwrite=overwrite) as partial, open(partial, "wb") as stream:
        stream.write(content)


def write_json(path: PathLike, content: Mapping[str, Any], *, overwrite: bool = True, indent: int | None = 2) -> None:
    """Write a JSON object to a file, as `new_file` does."""
    write_bytes(path, (json.dumps(content, indent=indent) + "\n").encode(), overwrite=overwrite)
