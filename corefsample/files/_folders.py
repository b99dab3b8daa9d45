"""Folders of results: read, also at URLs, from a local copy; written aside, and put in their place when complete."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, ClassVar, Self

from corefsample.errors import CorefsampleError, OutputError, ParameterError, ParameterHint
from corefsample.files import _remote
from corefsample.files._atomic import unwritable
from corefsample.files._digests import sha256
from corefsample.files._locks import LOCK_NAME, PARTIAL_PREFIX, leftovers, new_partial, remove_leftovers
from corefsample.files._paths import PathLike, joined, open_binary
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


class OutputFolder:
    """Collects the files of a command; use as a context manager, and finish with `finish_record`.

    Each kind of folder names its files in `FILES`, and the record of the run in `RECORD`.

    Parameters
    ----------
    path
        The folder, or its URL. Its files appear when all are complete; after an error it is as it was.
    overwrite
        Whether an earlier folder of the same kind may be replaced. A folder with other files is never replaced.

    Raises
    ------
    ParameterError
        If the folder is in use.
    OutputError
        If it cannot be written.
    """

    FILES: ClassVar[frozenset[str]]
    RECORD: ClassVar[str]
    STORES: ClassVar[frozenset[str]] = frozenset()  # folders that stay when a run replaces another

    def __init__(self, path: PathLike, *, overwrite: bool = False) -> None:
        if not os.fspath(path):
            raise ParameterError("must name a folder, got ''", parameter="out")
        self._overwrite = overwrite
        self._given = os.fspath(path)
        self._is_remote = is_url(path)
        self.path = Path(path) if self._is_remote else Path(path).resolve()  # for a link its target: the link stays
        self._require_free()
        self._held = ExitStack()  # of the incomplete folder
        self._partial: Path | None = None
        self._made: list[Path] = []

    def _require_free(self) -> None:
        names = folder_names(self._given) if self._is_remote else self._local_names()
        names -= {*self.STORES, LOCK_NAME}
        if names and not (names <= self.FILES and self._is_run(names)):
            rule = "must be a new or empty folder or an earlier run's"
            raise ParameterError(f"{rule}, got {self._given} with other files", parameter="out")
        if names and not self._overwrite:
            hint = ParameterHint("overwrite", "replaces it")
            raise ParameterError(f"must be a new or empty folder, got {self._given}", parameter="out", hint=hint)

    def _local_names(self) -> set[str]:
        if not self.path.exists():
            return set()
        if not self.path.is_dir():
            raise ParameterError(f"must be a folder, got the file {self._given}", parameter="out")
        return {entry.name for entry in self.path.iterdir() if not entry.name.startswith(PARTIAL_PREFIX)}

    def _is_run(self, names: set[str]) -> bool:
        """Whether a folder holds a run: complete, or one that was killed while its files were moved there.

        The record is moved last, so that it is then still in the incomplete folder.
        """
        if self.RECORD in names:
            return self._is_record(joined(self._given, self.RECORD))
        return self._is_remote or any(
            self._is_record(joined(partial, self.RECORD)) for partial in leftovers(str(self.path))
        )

    @staticmethod
    def _is_record(path: str) -> bool:
        try:
            with open_binary(path) as stream:
                return "corefsample" in json.loads(stream.read())
        except (OSError, ValueError, TypeError, RecursionError):
            return False

    def __enter__(self) -> Self:
        if not self._is_remote:
            self._made = [folder for folder in (self.path, *self.path.parents) if not folder.exists()]
        try:
            if self._made:
                self.path.mkdir(parents=True, exist_ok=True)
            # Inside the folder, so that files move within one file system.
            beside = self._given if self._is_remote else str(self.path / self.RECORD)
            self._partial = Path(self._held.enter_context(new_partial(beside, is_folder=True)))
        except OSError as error:
            self._clear()
            raise unwritable(self._given, error) from None
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        try:
            if error is None:
                self._put_in_place()
                self._made = []
        except OutputError:
            raise
        except OSError as failure:
            raise unwritable(self._given, failure) from None
        finally:
            self._clear()
        if isinstance(error, OSError) and not isinstance(error, OutputError):
            raise unwritable(self._given, error) from None

    def _put_in_place(self) -> None:
        """Move the files into the folder: an earlier run's record is removed first, the new one is moved last."""
        self._require_free()  # once more, as another program may have written to the folder meanwhile
        if self._is_remote:
            upload_folder(str(self.file(".")), self._given, self.RECORD)
            return
        for name in (self.RECORD, *sorted(self.FILES - {self.RECORD})):
            (self.path / name).unlink(missing_ok=True)
        for entry in sorted(self.file(".").iterdir(), key=lambda entry: entry.name == self.RECORD):
            os.replace(entry, self.path / entry.name)
        remove_leftovers(str(self.path))

    def _clear(self) -> None:
        """Release the incomplete folder, and remove the folders that a failed run made."""
        self._held.close()
        for folder in self._made:
            with suppress(OSError):
                folder.rmdir()

    def file(self, name: str) -> Path:
        """Path under which to write a file of the run."""
        if self._partial is None:
            raise OutputError(f"output must be begun before files are added, got {name}", place=self._given)
        return self._partial / name

    def checksums(self) -> dict[str, str]:
        """SHA-256 of each file so far, by its name."""
        return {entry.name: sha256(entry) for entry in sorted(self.file(".").iterdir())}

    def finish_record(self, record: dict[str, Any]) -> None:
        """Write the record of the run."""
        self.file(self.RECORD).write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
