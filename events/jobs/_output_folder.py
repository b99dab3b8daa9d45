"""A folder of results: written beside its place, and put there when it is whole."""

from __future__ import annotations

import json
import os
import secrets
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar, Self

from corefsample.documents import Rejected
from corefsample.errors import OutputError, ParameterError
from corefsample.formats import QuarantineFile

__all__ = ["OutputFolder"]

_PARTIAL = ".run-partial-"


class OutputFolder:
    """Collects the files of a command; use as a context manager, and finish with `finish_record`.

    A kind of folder names its files in `FILES`, and the one that says how it came about in `RECORD`.

    Parameters
    ----------
    path
        The folder. It appears when it is whole; what fails leaves nothing.
    overwrite
        Whether an earlier folder of the same kind may be replaced; one of anything else never is.

    Raises
    ------
    ParameterError
        If the folder is in use.
    OutputError
        If it cannot be written.
    """

    FILES: ClassVar[frozenset[str]]
    RECORD: ClassVar[str]

    def __init__(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        self._shown = os.fspath(path)
        if not self._shown:
            raise ParameterError("out must name a folder, got ''")
        self.path = Path(path).resolve()  # a link's target, so that it is the folder that is filled
        self._overwrite = overwrite
        self._refuse_in_use()
        self._partial: Path | None = None
        self._made: list[Path] = []
        self._quarantine: QuarantineFile | None = None

    def _refuse_in_use(self) -> None:
        if not self.path.exists():
            return
        if not self.path.is_dir():
            raise ParameterError(f"out must be a folder, got the file {self._shown}")
        names = {entry.name for entry in self.path.iterdir() if not entry.name.startswith(_PARTIAL)}
        if names and not (names <= self.FILES and self._is_record(self.path / self.RECORD)):
            raise ParameterError(
                f"out must be a new or empty folder or an earlier run's, got {self._shown} with other files"
            )
        if names and not self._overwrite:
            raise ParameterError(f"out must be a new or empty folder (overwrite replaces it), got {self._shown}")

    @staticmethod
    def _is_record(path: Path) -> bool:
        try:
            return "corefsample" in json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError, TypeError):
            return False

    def __enter__(self) -> Self:
        parent = self.path.parent
        self._made = [folder for folder in (parent, *parent.parents) if not folder.exists()]
        try:
            parent.mkdir(parents=True, exist_ok=True)
            # Inside a folder that is there, so that files move within one file system, and beside one that is not.
            place = self.path if self.path.exists() else parent
            partial = place / f"{_PARTIAL}{secrets.token_hex(8)}"
            partial.mkdir()
            self._partial = partial
            self._open()
        except OSError as error:
            self._clear()
            raise self._failure(error) from None
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        try:
            self._close()
            if error is None:
                self._put_in_place()
                self._made = []
        except OSError as failure:
            raise self._failure(failure) from None
        finally:
            self._clear()
        if isinstance(error, OSError) and not isinstance(error, OutputError):
            raise self._failure(error) from None

    def _put_in_place(self) -> None:
        """Move the files into the folder: an earlier run's record goes first, this one's comes last."""
        self._refuse_in_use()  # once more: somebody may have put something there meanwhile
        if not self.path.exists():
            os.replace(self.file("."), self.path)
            return
        for name in (self.RECORD, *sorted(self.FILES - {self.RECORD})):
            (self.path / name).unlink(missing_ok=True)
        for entry in sorted(self.file(".").iterdir(), key=lambda entry: entry.name == self.RECORD):
            os.replace(entry, self.path / entry.name)

    def _open(self) -> None:
        """Open what is written bit by bit."""

    def _close(self) -> None:
        """Close what is open, for good."""
        quarantine, self._quarantine = self._quarantine, None  # not closed twice, should it fail
        if quarantine is not None:
            quarantine.close()

    def _abandon(self) -> None:
        """Let go of what is still open, whatever becomes of it."""

    def _clear(self) -> None:
        """Let go of what is still open, and remove what the run made and does not leave."""
        self._abandon()
        if self._partial is not None:
            shutil.rmtree(self._partial, ignore_errors=True)
        for folder in self._made:
            with suppress(OSError):
                folder.rmdir()

    def _failure(self, error: OSError) -> OutputError:
        return OutputError(f"{self._shown}: output must be writable, got: {error.strerror or error}")

    def file(self, name: str) -> Path:
        """Where to write a file of the run."""
        if self._partial is None:
            raise OutputError(f"{self._shown}: output must be begun before files are added, got {name}")
        return self._partial / name

    def set_aside(self, rejected: Rejected) -> None:
        """Append a bad document with its reason."""
        if self._quarantine is None:
            self._quarantine = QuarantineFile(str(self.file("quarantine.jsonl")))
        self._quarantine(rejected)

    def finish_record(self, record: dict[str, Any]) -> None:
        """Write the record of how the folder came about."""
        self.file(self.RECORD).write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
