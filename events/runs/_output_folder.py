"""A folder of results: its files are written beside their place, and moved there when all are complete."""

from __future__ import annotations

import json
import os
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, ClassVar, Self

from corefsample.documents._faults import Rejected
from corefsample.errors import OutputError, ParameterError, ParameterHint
from corefsample.files._atomic import unwritable
from corefsample.files._digests import sha256
from corefsample.files._folders import folder_names, upload_folder
from corefsample.files._locks import LOCK_NAME, PARTIAL_PREFIX, leftovers, new_partial, remove_leftovers
from corefsample.files._paths import PathLike, joined, open_binary
from corefsample.files._remote_services import is_url
from corefsample.formats.scored._writing import QuarantineFile
from events.runs._pictures import picture_files


class OutputFolder:
    """Collects the files of a command; use as a context manager, and finish with `finish_record`.

    Each kind of folder names its files in `FILES`, and the record of the run in `RECORD`.

    Parameters
    ----------
    path
        The folder, or its URL. It appears when it is complete; after an error nothing is left.
    overwrite
        Whether an earlier folder of the same kind may be replaced. A folder with other files is never replaced.

    Attributes
    ----------
    n_set_aside, first_set_aside
        Number of documents set aside, and the message of the first of them.

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
        self._quarantine: QuarantineFile | None = None
        self.n_set_aside = 0
        self.first_set_aside = ""

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
        parent = self.path.parent
        if not self._is_remote:
            self._made = [folder for folder in (parent, *parent.parents) if not folder.exists()]
        try:
            for folder in reversed(self._made):
                folder.mkdir(exist_ok=True)
            self._begin_partial()
        except OSError as error:
            self._clear()
            raise unwritable(self._given, error) from None
        return self

    def _begin_partial(self) -> None:
        """Make the incomplete folder; what killed runs left is removed, unless it shows that the folder is ours."""
        exists = self.path.exists()
        interrupted = exists and not (self.path / self.RECORD).exists()
        # Inside an existing folder or beside a new one, so that files move within one file system.
        place = self._given if self._is_remote else str(self.path / self.RECORD if exists else self.path)
        self._partial = Path(self._held.enter_context(new_partial(place, is_folder=True, tidy=not interrupted)))

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
        if not self.path.exists():
            os.replace(self.file("."), self.path)
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

    def set_aside(self, rejected: Rejected) -> None:
        """Append an invalid document with its reason."""
        if self._quarantine is None:
            self._quarantine = QuarantineFile(str(self.file("quarantine.jsonl")))
        self.n_set_aside += 1
        self.first_set_aside = self.first_set_aside or rejected.message()
        self._quarantine(rejected)

    def checksums(self) -> dict[str, str]:
        """SHA-256 of each file so far, by its name."""
        return {entry.name: sha256(entry) for entry in sorted(self.file(".").iterdir())}

    def finish_record(self, record: dict[str, Any]) -> None:
        """Write the record of the run."""
        self.file(self.RECORD).write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


class RunFolder(OutputFolder):
    """Collects the files of an events run: see `OutputFolder`."""

    RECORD: ClassVar[str] = "run.json"
    FILES: ClassVar[frozenset[str]] = frozenset(
        [
            *(f"{name}.csv" for name in ("counts", "evidence", "near_half", "events", "comparisons")),
            *(f"{name}.parquet" for name in ("counts", "evidence", "count_samples", "documents", "all_documents")),
            *picture_files("bands", "comparison"),
            "report.html",  # from another command, outdated once the run is repeated
            *("quarantine.jsonl", RECORD),
        ]
    )
    STORES: ClassVar[frozenset[str]] = frozenset(["parts"])

    def _is_run(self, names: set[str]) -> bool:
        """Whether a folder has a run, or the parts of one that was killed while its files were moved there."""
        return super()._is_run(names) or (self.RECORD not in names and (self.path / "parts").is_dir())
