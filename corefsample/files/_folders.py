"""Folders at URLs: read from a local copy of some files, and written from a local folder."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from corefsample.errors import CorefsampleError, ParameterError
from corefsample.files import _remote
from corefsample.files._locks import new_partial
from corefsample.files._paths import PathLike, joined
from corefsample.files._remote_services import is_listable, is_url, require_writable_url


class FolderCopy(os.PathLike[str]):
    """A local folder, or a local copy of some files of one at a URL.

    Attributes
    ----------
    given
        The path or URL, as it was given.
    """

    def __init__(self, given: str, local: str) -> None:
        self.given, self._local = given, local

    def __str__(self) -> str:
        return self.given

    def __fspath__(self) -> str:
        return self._local

    def shown(self, text: str) -> str:
        """A message with the URL in place of the path of the copy."""
        return text.replace(self._local, self.given)


@contextmanager
def opened_folder(folder: PathLike, *, only: Callable[[str], bool]) -> Iterator[FolderCopy]:
    """Open a folder for reading: a local one as it is, one at a URL in a copy that is removed at the end.

    Parameters
    ----------
    folder
        Path or URL; a folder that is open already is yielded as it is.
    only
        Whether a file of a folder at a URL is copied, by its name in the folder.

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
    if not is_url(given):
        yield FolderCopy(given, given)
        return
    names = [name for name in _listing(given) if only(name)]
    with new_partial(given, is_folder=True) as place:
        local = os.path.realpath(place)
        for name in names:
            os.makedirs(os.path.dirname(os.path.join(local, name)), exist_ok=True)
        _remote.download({joined(given, name): os.path.join(local, name) for name in names})
        copy = FolderCopy(given, local)
        try:
            yield copy
        except CorefsampleError as error:
            error.message = copy.shown(error.message)
            error.args = (error.message,)
            error.place = None if error.place is None else copy.shown(error.place)
            raise


def folder_names(url: str) -> set[str]:
    """Names of the files and folders in a folder at a URL; none if it does not exist.

    Raises
    ------
    ParameterError, InputError
        As `opened_folder`.
    """
    return {name.partition("/")[0] for name in _listing(url)}


def _listing(url: str) -> list[str]:
    if not is_listable(url):
        rule = "folder must be a local path or at a service that lists its files, such as s3:// or gs://"
        raise ParameterError(f"{rule}, got {url.partition('://')[0]}://", place=url)
    require_writable_url(url)
    return _remote.listing(url)


def upload_folder(local: str, url: str, record: str) -> None:
    """Replace the files of a folder at a URL by those of a local one.

    An earlier record is removed before the other files change, and the new one is uploaded last.

    Raises
    ------
    OutputError
        If that fails.
    """
    names, earlier = set(os.listdir(local)), set(_listing(url))
    _remote.remove([joined(url, name) for name in earlier & {record}])
    for group in (names - {record}, names & {record}):
        _remote.upload({os.path.join(local, name): joined(url, name) for name in sorted(group)})
    _remote.remove([joined(url, name) for name in sorted(earlier - names - {record})])
