"""Incomplete files and folders, and what killed runs left of them."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from corefsample._log import logger
from corefsample.errors import OutputError
from corefsample.files._locks import locked
from corefsample.files._remote import upload
from corefsample.files._remote_services import is_url

PARTIAL_PREFIX = ".partial-"
_NAME = re.compile(r"\.partial-[0-9a-f]{16}(\.[a-z.]+)?")

log = logger("files")


def put_in_place(partial: str, path: str) -> None:
    """Move a complete file to its place, or upload it: under a URL it appears when all of it has arrived.

    Raises
    ------
    OutputError
        If a URL cannot be written. The file is then kept, and the hint names it.
    OSError
        If it cannot be moved.
    """
    if not is_url(path):
        os.replace(partial, path)
        return
    try:
        upload({partial: path})
    except OutputError as error:
        name = f"corefsample-{secrets.token_hex(4)}-{os.path.basename(path)}"
        kept = os.path.join(os.path.dirname(partial), name)
        os.replace(partial, kept)
        hint = f"the complete file is kept as {kept}"
        raise OutputError(
            error.message, place=error.place, hint=f"{error.hint}; {hint}" if error.hint else hint
        ) from None
    os.unlink(partial)


@contextmanager
def new_partial(path: str, suffix: str = "", *, is_folder: bool = False, tidy: bool = True) -> Iterator[str]:
    """Make an empty file or folder beside `path`, for content that is moved to `path` when it is complete.

    For a URL it is in the folder for temporary files.

    It is locked while the context lasts, and then removed if it is still there. With `tidy`, what killed runs left in
    the same folder is removed first.

    Yields
    ------
    str
        Its name.
    """
    folder = tempfile.gettempdir() if is_url(path) else os.path.dirname(path)
    if tidy:
        remove_leftovers(folder)
    while True:
        partial = os.path.join(folder, f"{PARTIAL_PREFIX}{secrets.token_hex(8)}{suffix}")
        if is_folder:
            os.mkdir(partial)
        else:
            open(partial, "xb").close()
        lock = locked(partial)
        if lock is not None or os.path.lexists(partial):
            break  # else another run took it for a leftover
    try:
        yield partial
    finally:
        _remove(partial)
        if lock is not None:
            os.close(lock)


def leftovers(folder: str) -> list[str]:
    """Paths of incomplete files and folders in a folder, of running and of killed runs."""
    try:
        with os.scandir(folder or os.curdir) as entries:
            return sorted(os.path.join(folder, entry.name) for entry in entries if _NAME.fullmatch(entry.name))
    except OSError:
        return []


def remove_leftovers(folder: str) -> None:
    """Remove incomplete files and folders whose run has ended; those of running runs are locked."""
    for path in leftovers(folder):
        lock = locked(path)
        if lock is not None:
            try:
                _remove(path)
            finally:
                os.close(lock)
            if not os.path.lexists(path):
                log.warning("removed %s, which a killed run left", path)


def _remove(path: str) -> None:
    if os.path.isdir(path):
        shutil.rmtree(path, ignore_errors=True)
    elif os.path.lexists(path):
        os.unlink(path)
