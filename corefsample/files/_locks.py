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
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from corefsample._log import logger
from corefsample.errors import OutputError, ParameterError
from corefsample.files._remote import upload
from corefsample.files._remote_services import is_url

LOCK_NAME = ".lock"
_TRIES = 100

# A file system without locks: then nothing is locked, and nothing that may be in use is removed.
_UNSUPPORTED = (errno.ENOSYS, errno.ENOTSUP, errno.ENOLCK, errno.EBADF, errno.EINVAL)


class _InUseError(Exception):
    """Another process, or this one, holds the lock."""


def _try_lock(descriptor: int) -> bool:
    """Lock an open file; return False where the file system has no locks.

    The lock belongs to the open file, so the system frees it when the process ends, however it ends.

    Raises
    ------
    _InUseError
        If it is locked.
    """
    if sys.platform == "win32":
        return False
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise _InUseError from None
    except OSError as error:
        if error.errno not in _UNSUPPORTED:
            raise
        return False
    return True


def _is_same(descriptor: int, path: str) -> bool:
    """Whether a path still names an open file, which another process may have removed before it was locked."""
    try:
        return os.path.samestat(os.lstat(path), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def locked(path: str) -> int | None:
    """Lock an existing regular file or folder; return its descriptor, or None if that is impossible.

    Closing the descriptor frees the lock. It is impossible if another run holds it, it is something else or gone, or
    the file system has no locks.
    """
    try:
        mode = os.lstat(path).st_mode
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
            return None
        descriptor = os.open(path, os.O_RDWR if stat.S_ISREG(mode) else os.O_RDONLY)
    except OSError:
        return None
    try:
        if _try_lock(descriptor) and _is_same(descriptor, path):
            return descriptor
    except (_InUseError, OSError):
        pass
    os.close(descriptor)
    return None


@contextmanager
def lock_file(path: str, folder: str) -> Iterator[None]:
    """Keep other runs out of a folder, which need not exist, while the context lasts.

    The lock is a file that names process, host, and time. It is freed when the process ends, also if that is killed.
    On file systems without locks nothing is locked.

    Parameters
    ----------
    path
        The file.
    folder
        The folder, for the message.

    Raises
    ------
    ParameterError
        If another run holds the lock; the message says which, and since when.
    OSError
        If the file cannot be written.
    """
    descriptor = _held(path, folder)
    try:
        yield
    finally:
        # First the name, then the lock: another run that opened the file before finds that it has no name any more.
        if _is_same(descriptor, path):
            os.unlink(path)
        os.close(descriptor)


def _held(path: str, folder: str) -> int:
    for _ in range(_TRIES):
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            _try_lock(descriptor)
            if _is_same(descriptor, path):
                os.ftruncate(descriptor, 0)
                now = datetime.datetime.now().astimezone().isoformat(" ", timespec="seconds")
                content = {"pid": os.getpid(), "host": socket.gethostname(), "since": now}
                os.pwrite(descriptor, json.dumps(content).encode(), 0)
                return descriptor
        except _InUseError:
            holder = _holder(descriptor)
            os.close(descriptor)
            rule = "folder must not be in use by another run"
            raise ParameterError(f"{rule}, got {holder}", place=folder, hint="wait for it, or stop it") from None
        except BaseException:
            _remove_unless_held(path, descriptor)
            os.close(descriptor)
            raise
        os.close(descriptor)
    raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN), path)


def _remove_unless_held(path: str, descriptor: int) -> None:
    """Remove the file of a lock that could not be written, as on a full disk, unless another run holds it."""
    with suppress(_InUseError, OSError):
        _try_lock(descriptor)  # again, because the error may be of the first time
        if _is_same(descriptor, path):
            os.unlink(path)


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
            return sorted(os.path.join(folder, entry.name) for entry in entries if _PARTIAL_NAME.fullmatch(entry.name))
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
