"""Folders of results: written aside, and put in their place when they are complete."""

from __future__ import annotations

import json
import os
import shutil
from contextlib import ExitStack, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar, Self

from corefsample.errors import OutputError, ParameterError, ParameterHint
from corefsample.files._atomic import PARTIAL_PREFIX, remove_file, unwritable
from corefsample.files._digests import sha256
from corefsample.files._paths import PathLike, is_file, joined
from corefsample.files._remote import is_url, require_writable_url, upload


class OutputFolder:
    """Collects the files of a command; use as a context manager, and finish with `finish_record`.

    Each kind of folder names its files in `FILES`, and the record of the run in `RECORD`. The record of an earlier run
    is removed before the other files change, and the new one comes last, so that a folder with a record is complete.

    Parameters
    ----------
    path
        Path or URL of the folder. Its files appear when all are complete; after an error it is unchanged.
    overwrite
        True if an earlier folder of the same kind may be replaced; by default it may not. A local folder with other
        files is never replaced.

    Raises
    ------
    ParameterError
        If the folder is in use.
    OutputError
        If the folder cannot be written.
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
        if self._is_remote:
            require_writable_url(self._given)
            is_used = is_file(joined(self._given, self.RECORD))
        else:
            names = self._local_names()
            if names and not (names <= self.FILES and self._is_run(names)):
                rule = "must be a new or empty folder or an earlier run's"
                raise ParameterError(f"{rule}, got {self._given}, which has other files", parameter="out")
            is_used = bool(names)
        if is_used and not self._overwrite:
            hint = ParameterHint("overwrite", "replaces it")
            raise ParameterError(f"must be a new or empty folder, got {self._given}", parameter="out", hint=hint)

    def _local_names(self) -> set[str]:
        if not self.path.exists():
            return set()
        if not self.path.is_dir():
            raise ParameterError(f"must be a folder, got the file {self._given}", parameter="out")
        names = {entry.name for entry in self.path.iterdir() if not entry.name.startswith(PARTIAL_PREFIX)}
        return names - self.STORES

    def _is_run(self, names: set[str]) -> bool:
        """True if the folder contains a run that is complete, or that was killed while its files were moved there.

        The record is moved last, so after such an interruption it is still in the incomplete folder.
        """
        folders = [self.path] if self.RECORD in names else self._leftovers()
        return any(self._is_record(folder / self.RECORD) for folder in folders)

    def _leftovers(self) -> list[Path]:
        """Incomplete folders of this run and of killed ones."""
        return [*self.path.glob(f"{PARTIAL_PREFIX}*")]

    @staticmethod
    def _is_record(path: Path) -> bool:
        try:
            return "corefsample" in json.loads(path.read_bytes())
        except (OSError, ValueError, TypeError, RecursionError):
            return False

    def __enter__(self) -> Self:
        try:
            if not self._is_remote:
                self._made = [folder for folder in (self.path, *self.path.parents) if not folder.exists()]
                self.path.mkdir(parents=True, exist_ok=True)
            # Inside the folder, so that files move within one file system.
            inside = None if self._is_remote else self.path
            partial = TemporaryDirectory(prefix=PARTIAL_PREFIX, dir=inside, ignore_cleanup_errors=True)
            self._partial = Path(self._held.enter_context(partial))
        except OSError as error:
            self._clear()
            raise unwritable(self._given, error) from None
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        try:
            if error is None:
                self._put_in_place()
                self._made = []
        except OSError as failure:
            error = failure
        finally:
            self._clear()
        if isinstance(error, OSError):
            raise error if isinstance(error, OutputError) else unwritable(self._given, error) from None

    def _put_in_place(self) -> None:
        """Move the files into the folder, or upload them: see the class for the order."""
        self._require_free()  # once more, as another program may have written to the folder meanwhile
        complete = {entry.name: entry for entry in self.file(".").iterdir()}
        names = sorted(complete, key=lambda name: (name == self.RECORD, name))
        if self._is_remote:
            for name in (self.RECORD, *sorted(self.FILES - {*names, self.RECORD})):
                remove_file(joined(self._given, name))
            for name in names:
                upload(str(complete[name]), joined(self._given, name))
            return
        for name in (self.RECORD, *sorted(self.FILES - {self.RECORD})):
            (self.path / name).unlink(missing_ok=True)
        for name in names:
            os.replace(complete[name], self.path / name)
        for folder in self._leftovers():
            shutil.rmtree(folder, ignore_errors=True)

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
