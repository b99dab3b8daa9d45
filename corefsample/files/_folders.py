"""Folders at URLs: their files are read and written in a local copy, which is made and brought back here."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from corefsample.errors import CorefsampleError, ParameterError
from corefsample.files import _remote
from corefsample.files._partials import new_partial
from corefsample.files._paths import PathLike

__all__ = ["FolderCopy", "opened_folder"]

Wanted = Callable[[str], bool]
_Signature = tuple[int, int, int]  # inode, size, time of the last change


class FolderCopy(os.PathLike[str]):
    """A local folder itself, with which there is nothing to do.

    Attributes
    ----------
    given
        The path or URL, as it was given.
    """

    def __init__(self, given: str) -> None:
        self.given = given

    def __str__(self) -> str:
        return self.given

    def __fspath__(self) -> str:
        return self.given

    def pull(self, wanted: Wanted) -> None:
        """Copy the files whose names in the folder are wanted from their URLs, unless that has been done."""

    def fetch(self, name: str) -> None:
        """Copy a file that another process has written since; `name` is as in the folder."""

    def refresh(self) -> None:
        """Notice all files that other processes have written since."""

    def push(self) -> None:
        """Bring what changed in the copy to the URL."""


class _RemoteCopy(FolderCopy):
    """A local copy of a folder at a URL.

    All files of the folder are in the copy with their sizes; those that were not pulled have no content. What the copy
    never had is not removed, so that two processes can add files at the same time.
    """

    def __init__(self, url: str, local: str, only: Wanted | None) -> None:
        super().__init__(url)
        self._local = local
        self._only = only
        self._remote: dict[str, str] = {}  # tag of each file at the URL
        self._known: dict[str, _Signature] = {}  # of the same files in the copy
        self._hollow: set[str] = set()  # those without their content
        os.mkdir(local)
        self.refresh()

    def __fspath__(self) -> str:
        return self._local

    def shown(self, text: str) -> str:
        """A message with the URL in place of the path of the copy."""
        return text.replace(self._local, self.given)

    def _url(self, name: str) -> str:
        return f"{self.given.rstrip('/')}/{name}"

    def _path(self, name: str) -> str:
        return os.path.join(self._local, *name.split("/"))

    def refresh(self) -> None:
        found = _remote.listing(self.given)
        if self._only is not None:
            found = {name: each for name, each in found.items() if self._only(name)}
        for name in set(self._remote) - set(found):
            if os.path.exists(self._path(name)):
                os.unlink(self._path(name))
            self._forget(name)
        for name, each in found.items():
            # Results have names of their own; records can be written again.
            is_new = name not in self._remote or (name.endswith(".json") and self._remote[name] != each.tag)
            if is_new:
                path = self._path(name)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "wb") as stream:
                    stream.truncate(each.n_bytes)
                self._hollow.add(name)
                self._known[name] = _signature(path)
            self._remote[name] = each.tag

    def _forget(self, name: str) -> None:
        self._remote.pop(name, None)
        self._known.pop(name, None)
        self._hollow.discard(name)

    def pull(self, wanted: Wanted) -> None:
        names = sorted(name for name in self._hollow if wanted(name) and os.path.exists(self._path(name)))
        _remote.download({self._url(name): self._path(name) for name in names})
        self._hollow.difference_update(names)
        self._known.update({name: _signature(self._path(name)) for name in names})

    def fetch(self, name: str) -> None:
        path = self._path(name)
        _remote.download({self._url(name): path})
        self._remote[name], self._known[name] = "", _signature(path)
        self._hollow.discard(name)

    def push(self) -> None:
        now = dict(_signatures(self._local))
        changed = [name for name, signature in now.items() if self._known.get(name) != signature]
        removed = [name for name in self._known if name not in now]
        old_names = {self._known[name]: name for name in removed}
        moved = {name: old_names[now[name]] for name in changed if now[name] in old_names}
        self._remove(self._outdated(changed, removed, {*moved.values()}))
        for group in sorted({_order(name) for name in changed}):
            names = [name for name in changed if _order(name) == group]
            _remote.copy_files({self._url(moved[name]): self._url(name) for name in names if name in moved})
            _remote.upload({self._path(name): self._url(name) for name in names if name not in moved})
            for name in names:
                self._remote[name], self._known[name] = "", now[name]
                self._hollow.discard(name)
            self._hollow.update(name for name in names if moved.get(name) in self._hollow)
        self._remove(sorted((name for name in removed if name in self._known), key=_order, reverse=True))

    def _outdated(self, changed: list[str], removed: list[str], moved: set[str]) -> list[str]:
        """Records that must go before other files change: of what is removed, and of a folder that is replaced."""
        files = [name for name in (*changed, *removed) if "/" not in name]
        replaced = [name for name in changed if name in files and _is_record(name) and name in self._known]
        gone = [name for name in removed if _is_record(name) and name not in moved]
        return gone + (replaced if len(files) > 1 else [])

    def _remove(self, names: list[str]) -> None:
        _remote.remove([self._url(name) for name in names])
        for name in names:
            self._forget(name)


def _is_record(name: str) -> bool:
    return name.endswith(".json")


def _order(name: str) -> tuple[int, bool]:
    """Deeper files first; of one folder, records last."""
    return -name.count("/"), _is_record(name)


def _signature(path: str) -> _Signature:
    about = os.stat(path)
    return about.st_ino, about.st_size, about.st_mtime_ns


def _signatures(folder: str) -> Iterator[tuple[str, _Signature]]:
    """Names in a folder at any depth, with "/", and what changes with the files; hidden ones are left out."""
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            if not name.startswith("."):
                path = os.path.join(parent, name)
                yield os.path.relpath(path, folder).replace(os.sep, "/"), _signature(path)


@contextmanager
def opened_folder(folder: PathLike, *, only: Wanted | None = None) -> Iterator[FolderCopy]:
    """Open a folder for reading and writing: a local one as it is, one at a URL in a local copy.

    The copy is in the folder for temporary files, and is removed at the end. `FolderCopy.push` brings changes to the
    URL: files appear one by one, each when it is complete, and records (.json) after the files of their folder.

    Parameters
    ----------
    folder
        Path or URL; a folder that is open already is yielded as it is.
    only
        Names of the files to consider, of a folder at a URL; None: all.

    Raises
    ------
    ParameterError
        If the service of a URL cannot list files, or a library is missing.
    InputError
        If the service cannot be asked.
    """
    if isinstance(folder, FolderCopy):
        yield folder
        return
    given = os.fspath(folder)
    if not _remote.is_url(given):
        yield FolderCopy(given)
        return
    if not _remote.is_listable(given):
        rule = "folder must be a local path or at a service that lists its files, such as s3:// or gs://"
        raise ParameterError(f"{rule}, got {given.partition('://')[0]}://", place=given)
    _remote.require_writable_url(given)
    with new_partial(os.path.join(tempfile.gettempdir(), "copy"), is_folder=True) as place:
        copy = _RemoteCopy(given, os.path.join(os.path.realpath(place), "folder"), only)
        try:
            yield copy
        except CorefsampleError as error:
            error.message = copy.shown(error.message)
            error.args = (error.message,)
            error.place = None if error.place is None else copy.shown(error.place)
            if isinstance(error.hint, str):
                error.hint = copy.shown(error.hint)
            raise
