"""Locks that end with the process that holds them, also when it is killed; incomplete files that killed runs left."""

from __future__ import annotations

import datetime
import errno
import json
import os
import re
import secrets
import shutil
import socket
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from corefsample._log import logger
from corefsample.errors import ParameterError
from corefsample.files._remote import upload
from corefsample.files._remote_services import is_url

LOCK_NAME = ".lock"

# A file system without locks: then nothing is locked, and nothing that may be in use is removed.
_UNSUPPORTED = (errno.ENOSYS, errno.ENOTSUP, errno.ENOLCK, errno.EBADF, errno.EINVAL)


def _is_locked(descriptor: int) -> bool | None:
    """Lock an open file; False if another run holds it, None where the file system has no locks.

    The lock belongs to the open file, so the system frees it when the process ends, however it ends.
    """
    if sys.platform == "win32":
        return None
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in _UNSUPPORTED:
            raise
        return None
    return True


def _is_same(descriptor: int, path: str) -> bool:
    """Whether a path still names an open file, which another process may have removed before it was locked."""
    try:
        return os.path.samestat(os.lstat(path), os.fstat(descriptor))
    except FileNotFoundError:
        return False


@contextmanager
def lock_file(path: str, folder: str) -> Iterator[None]:
    """Keep other runs out of a folder while the context lasts.

    The lock is a file that names process, host, and time. It is freed when the process ends, also if that is killed.
    On file systems without locks nothing is locked.

    Parameters
    ----------
    path
        The file, in an existing folder.
    folder
        The folder, for the message.

    Raises
    ------
    ParameterError
        If another run holds the lock; the message says which, and since when.
    OSError
        If the file cannot be written.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        if _is_locked(descriptor) is False:
            rule = f"folder must not be in use by another run, got {_holder(descriptor)}"
            raise ParameterError(rule, place=folder, hint="wait for it, or stop it")
        if not _is_same(descriptor, path):  # the run that held it has just removed it
            raise ParameterError("folder must not be in use by another run, got one that has just ended", place=folder)
        now = datetime.datetime.now().astimezone().isoformat(" ", timespec="seconds")
        content = json.dumps({"pid": os.getpid(), "host": socket.gethostname(), "since": now}).encode()
        try:
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, content, 0)
            yield
        finally:  # first the name, then the lock: another run that opened the file before finds that it has no name
            if _is_same(descriptor, path):
                os.unlink(path)
    finally:
        os.close(descriptor)


def _holder(descriptor: int) -> str:
    """Describe who holds a lock, as the file says."""
    try:
        content = json.loads(os.pread(descriptor, 4096, 0))
        return f"process {content['pid']:d} on {content['host']} since {content['since']}"
    except (OSError, ValueError, KeyError, TypeError):
        return "a process that has just begun"


PARTIAL_PREFIX = ".partial-"
_PARTIAL_NAME = re.compile(r"\.partial-[0-9a-f]{16}(\.[a-z.]+)?")
log = logger("files")


def put_in_place(partial: str, path: str) -> None:
    """Move a complete file to its place, or upload it: under a URL it appears when all of it has arrived.

    Raises
    ------
    OutputError
        If a URL cannot be written.
    OSError
        If it cannot be moved.
    """
    if is_url(path):
        upload({partial: path})
        os.unlink(partial)
    else:
        os.replace(partial, path)


@contextmanager
def new_partial(path: str, suffix: str = "", *, is_folder: bool = False) -> Iterator[str]:
    """Make an empty file or folder beside `path`, for content that is moved to `path` when it is complete.

    For a URL it is in the folder for temporary files. It is locked while the context lasts, and then removed if it is
    still there. For a file, what killed runs left in the same folder is removed first.

    Yields
    ------
    str
        Its name.
    """
    folder = tempfile.gettempdir() if is_url(path) else os.path.dirname(path)
    if not is_folder:
        remove_leftovers(folder)
    while True:
        partial = os.path.join(folder, f"{PARTIAL_PREFIX}{secrets.token_hex(8)}{suffix}")
        if is_folder:
            os.mkdir(partial)
        descriptor = os.open(partial, os.O_RDONLY if is_folder else os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
        _is_locked(descriptor)
        if os.path.lexists(partial):
            break  # else another run took it for a leftover
        os.close(descriptor)
    try:
        yield partial
    finally:
        _remove(partial)
        os.close(descriptor)


def leftovers(folder: str) -> list[str]:
    """Paths of incomplete files and folders in a folder, of running and of killed runs."""
    try:
        with os.scandir(folder or os.curdir) as entries:
            return sorted(os.path.join(folder, entry.name) for entry in entries if _PARTIAL_NAME.fullmatch(entry.name))
    except OSError:
        return []


def remove_leftovers(folder: str) -> None:
    """Remove incomplete files and folders whose run has ended; those of running runs are locked."""
    for path in leftovers(folder):
        with suppress(OSError):
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
            try:
                if _is_locked(descriptor):
                    _remove(path)
                    log.warning("removed %s, which a killed run left", path)
            finally:
                os.close(descriptor)


def _remove(path: str) -> None:
    if os.path.isdir(path):
        shutil.rmtree(path, ignore_errors=True)
    elif os.path.lexists(path):
        os.unlink(path)
