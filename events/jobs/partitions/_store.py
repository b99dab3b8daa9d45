"""The folder in which the partitions of a run are kept: the plan, results, and the records that make them complete."""

from __future__ import annotations

import json
import os
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from corefsample.errors import InputError, OutputError
from corefsample.files import (
    LOCK_NAME,
    PARTIAL_PREFIX,
    FolderCopy,
    PathLike,
    lock_file,
    opened_folder,
    sha256,
    unwritable,
    write_json,
)
from events.jobs.partitions._plan import Partition, RunPlan

__all__ = [
    "KEPT",
    "UNFINISHED",
    "UNFINISHED_SUFFIX",
    "Places",
    "Store",
    "completed_documents",
    "only_run",
    "opened_run",
    "pull_results",
    "unfinished_store",
    "writing",
]

KEPT, UNFINISHED, UNFINISHED_SUFFIX = "partitions", "unfinished", ".partial"
_PLAN = "plan.json"
# Not the prefix of incomplete files: other processes that write into the same folder remove those without a lock.
_COMPUTING = "computing-"
_EXCLUDED = "excluded.json"


@dataclass(frozen=True, slots=True)
class Places:
    """Where the partitions of a run can be.

    Attributes
    ----------
    out
        The folder of the run.
    beside, within, kept
        Of an unfinished run whose folder does not exist yet; of one whose folder exists; of a finished run.
    """

    out: Path

    @classmethod
    def of(cls, folder: PathLike) -> Places:
        """Places of the folder of a run; of a link, of its target."""
        return cls(Path(folder).resolve())

    @property
    def beside(self) -> Path:
        return self.out.with_name(self.out.name + UNFINISHED_SUFFIX)

    @property
    def within(self) -> Path:
        return self.out / UNFINISHED

    @property
    def kept(self) -> Path:
        return self.out / KEPT

    def unfinished(self) -> Store | None:
        """Partitions of an unfinished run, or None."""
        return next((Store(path) for path in (self.beside, self.within) if (path / _PLAN).is_file()), None)

    def any(self) -> Store | None:
        """Partitions of an unfinished run, or else of the finished one, or None."""
        return self.unfinished() or (Store(self.kept) if (self.kept / _PLAN).is_file() else None)

    def settle(self) -> None:
        """Put the partitions of a run in their place in its folder, if it is finished and was killed just before."""
        store = self.unfinished()
        record = _read_json(self.out / "run.json")
        if store is None or not isinstance(record, dict) or not isinstance(record.get("partitions"), dict):
            return
        if record["partitions"].get("plan") == store.plan_sha256():
            self.keep(store)

    def keep(self, store: Store) -> None:
        """Move the partitions of a finished run into its folder."""
        if store.path != self.kept:
            shutil.rmtree(self.kept, ignore_errors=True)
            shutil.move(store.path, self.kept)

    def new(self) -> Store:
        """Make a folder for a new run's partitions."""
        path = self.within if self.out.exists() else self.beside
        shutil.rmtree(path, ignore_errors=True)  # without a plan: what a killed run left
        path.mkdir(parents=True)
        return Store(path)


class Store:
    """The plan and the results of a run's partitions.

    Parameters
    ----------
    path
        An existing folder.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    # --- the plan ---

    def write_plan(self, plan: RunPlan) -> None:
        """Write the plan, in place of an earlier one."""
        write_json(self.path / _PLAN, plan.to_json())

    def plan(self) -> RunPlan:
        """Read the plan.

        Raises
        ------
        InputError
            If there is none that this version wrote.
        """
        try:
            return RunPlan.from_json(json.loads((self.path / _PLAN).read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            rule = "plan of the partitions must be as this version of corefsample writes it, got something else"
            raise InputError(rule, place=str(self.path / _PLAN)) from None

    def plan_sha256(self) -> str:
        """SHA-256 of the plan as it is written."""
        return sha256(self.path / _PLAN)

    # --- results ---

    def new_result(self) -> Path:
        """Make a folder for the result of a partition, under a temporary name."""
        path = self.path / f"{_COMPUTING}{secrets.token_hex(8)}"
        path.mkdir()
        return path

    def complete(self, partition: Partition, result: Path, record: dict[str, Any]) -> None:
        """Put a result in its place, and write its record, which makes the partition complete."""
        files = {each.name: _described(each) for each in sorted(result.iterdir())}
        # Each result has a name of its own: two processes may compute the same partition at the same time.
        name = f"partition-{partition.number:05d}-{result.name.removeprefix(_COMPUTING)}"
        os.rename(result, self.path / name)
        content = {"partition": partition.number, "result": name, "files": files, **record}
        write_json(self._record_path(partition), content, indent=None)

    def reopen(self, partition: Partition) -> None:
        """Remove the record of a partition, so that it is not complete."""
        self._record_path(partition).unlink(missing_ok=True)

    def record(self, partition: Partition, *, verify: bool = True) -> dict[str, Any] | None:
        """The record of a partition, or None if it is not complete: no record, or a file is not as recorded.

        Parameters
        ----------
        partition
            The partition.
        verify
            Whether to compare the checksums of its files too, not only their sizes.
        """
        record = _read_json(self._record_path(partition))
        try:
            folder = self.path / record["result"]
            for name, described in record["files"].items():
                if (folder / name).stat().st_size != described["bytes"]:
                    return None
                if verify and sha256(folder / name) != described["sha256"]:
                    return None
        except (OSError, KeyError, TypeError, AttributeError):
            return None
        return dict(record)

    def result(self, record: dict[str, Any]) -> Path:
        """Folder of the result of a complete partition."""
        return self.path / str(record["result"])

    def records(self, plan: RunPlan, *, verify: bool = True) -> dict[int, dict[str, Any]]:
        """Records of the complete partitions of a plan, by number."""
        digest = plan.digest()
        found = {each.number: self.record(each, verify=verify) for each in plan.partitions}
        return {n: record for n, record in found.items() if record is not None and record["plan"] == digest}

    def clean(self) -> None:
        """Remove what interrupted processes left: temporary files, and results without a record."""
        kept = {
            str(record.get("result"))
            for path in self.path.glob("partition-*.json")
            if isinstance(record := _read_json(path), dict)
        }
        for entry in self.path.iterdir():
            is_partial = entry.name.startswith((PARTIAL_PREFIX, _COMPUTING))
            if entry.is_dir() and (is_partial or (entry.name.startswith("partition-") and entry.name not in kept)):
                shutil.rmtree(entry, ignore_errors=True)
            elif is_partial:
                with suppress(OSError):
                    entry.unlink()

    def _record_path(self, partition: Partition) -> Path:
        return self.path / _record_name(partition.number)

    # --- documents whose doc_id an earlier partition has ---

    def excluded(self, partition: Partition) -> frozenset[int]:
        """Numbers of lines or rows of a partition whose doc_id belongs to a document of an earlier partition."""
        content = _read_json(self.path / _EXCLUDED)
        return frozenset(content.get(str(partition.number), ()) if isinstance(content, dict) else ())

    def exclude(self, numbers: dict[int, list[int]]) -> None:
        """Add numbers of lines or rows to exclude, by the numbers of their partitions."""
        content = _read_json(self.path / _EXCLUDED)
        known = content if isinstance(content, dict) else {}
        for partition, rows in numbers.items():
            known[str(partition)] = sorted({*known.get(str(partition), ()), *rows})
        write_json(self.path / _EXCLUDED, known, indent=None)


@contextmanager
def opened_run(folder: PathLike, number: int | None = None) -> Iterator[FolderCopy]:
    """Open the folder of a run, or a local copy of one at a URL with its records.

    Parameters
    ----------
    folder
        Path or URL; a folder that is open already is yielded as it is.
    number
        The partition to work with; None: all. The results of partitions are copied by `pull_results`.
    """
    with opened_folder(folder, only=None if number is None else _needed_for(number)) as run:
        run.pull(_is_record)
        yield run


def pull_results(run: FolderCopy) -> None:
    """Copy the results of all partitions that are complete now, from wherever they were computed."""
    run.refresh()
    run.pull(lambda name: name.startswith((f"{KEPT}/", f"{UNFINISHED}/")) or _is_record(name))


def completed_documents(run: FolderCopy, store: Store, number: int) -> int:
    """Number of documents of a partition that was just completed, by this process or another."""
    name = _record_name(number)
    run.fetch(f"{store.path.name}/{name}")
    content = _read_json(store.path / name)
    return int(content["documents"]) if isinstance(content, dict) else 0


def _is_record(name: str) -> bool:
    """Whether a file in the folder of a run is its record, the plan, or the record of a partition."""
    folder, _, last = name.rpartition("/")
    return (folder in (KEPT, UNFINISHED) and last.endswith(".json")) or name == "run.json"


def _needed_for(number: int) -> Callable[[str], bool]:
    last = {_PLAN, _EXCLUDED, _record_name(number)}
    names = {f"{folder}/{name}" for folder in (KEPT, UNFINISHED) for name in last}
    return names.__contains__


@contextmanager
def writing(folder: PathLike) -> Iterator[None]:
    """Turn errors of the system about the files of a run into one about its folder."""
    parent = Places.of(folder).out.parent
    try:
        yield
    except OutputError as error:
        raise OutputError(error.message, place=os.fspath(folder), hint=error.hint) from None
    except OSError as error:
        if error.filename is not None and not Path(os.fsdecode(error.filename)).is_relative_to(parent):
            raise
        raise unwritable(folder, error) from None


@contextmanager
def only_run(folder: PathLike) -> Iterator[None]:
    """Keep other runs out of the folder of a run, which need not exist, while the context lasts.

    The lock is the file .NAME.lock beside the folder, because the folder is made or replaced meanwhile; within it if
    nothing can be written beside it, and there is none if nothing can be written there either.

    Raises
    ------
    ParameterError
        If another run holds it.
    """
    out = Places.of(folder).out
    places = (out.parent / f".{out.name}{LOCK_NAME}", out / LOCK_NAME)
    with ExitStack() as held:
        for path in places if os.fspath(folder) else ():
            with suppress(OSError):
                held.enter_context(lock_file(str(path), os.fspath(folder)))
                break
        yield


def unfinished_store(folder: PathLike) -> Store:
    """The partitions with which a run works, of an unfinished run or of a finished one to which inputs are added.

    Raises
    ------
    InputError
        If there are none.
    """
    store = Places.of(folder).any()
    if store is None:
        raise InputError("run must have partitions, got none", place=str(folder))
    return store


def _record_name(number: int) -> str:
    return f"partition-{number:05d}.json"


def _described(path: Path) -> dict[str, Any]:
    return {"bytes": path.stat().st_size, "sha256": sha256(path)}


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
