"""The folder in which the parts of a run are kept: the plan, results, and the records that make them complete."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import secrets
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from corefsample.errors import InputError, OutputError, ParameterError
from corefsample.files._atomic import unwritable, write_json
from corefsample.files._digests import sha256
from corefsample.files._locks import LOCK_NAME, PARTIAL_PREFIX, remove_leftovers
from corefsample.files._paths import local_name
from corefsample.files._remote_services import is_url
from events.runs._plan import Part, Plan

KEPT, UNFINISHED, _UNFINISHED_SUFFIX = "partitions", "unfinished", ".partial"
_PLAN, _GROWING, _JOINED = "plan.json", "growing.json", "joined"

P = TypeVar("P", bound=Plan)
Records = dict[int, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Places:
    """Where the parts of a run can be.

    Attributes
    ----------
    given
        The output of the run, a file or a folder, as it was given.
    out
        Its path; of a URL, its name in the current folder; of a link, its target.
    beside, within, kept
        Of an unfinished run whose folder does not exist yet; of one whose folder exists; of a finished run.
    """

    given: str

    @property
    def out(self) -> Path:
        return Path(local_name(self.given)).resolve()

    @property
    def beside(self) -> Path:
        return self.out.with_name(self.out.name + _UNFINISHED_SUFFIX)

    @property
    def within(self) -> Path:
        return self.out / UNFINISHED

    @property
    def kept(self) -> Path:
        return self.out / KEPT

    def unfinished(self) -> Store | None:
        """Parts of an unfinished run, or of a finished one that grows, or None."""
        stores = [Store(self.beside)]
        if not is_url(self.given):  # else a folder with the name of its last part is of another run
            stores += [Store(self.within), Store(self.kept, _GROWING)]
        return next((store for store in stores if store.plan_path.is_file()), None)

    def finished(self) -> Store | None:
        """Parts of the finished run, or None; those at a URL are not kept."""
        store = Store(self.kept)
        return store if store.plan_path.is_file() and not is_url(self.given) else None

    def any(self) -> Store | None:
        """Parts of an unfinished run, or else of the finished one, or None."""
        return self.unfinished() or self.finished()

    def settle(self) -> None:
        """Complete a finished run that was killed just before its end: its parts, and what it left in its folder."""
        store, record = self.unfinished(), read_sealed(self.out / "run.json")
        if record is None or is_url(self.given):
            return
        remove_leftovers(str(self.out))
        if store is not None and record["partitions"]["plan"] == sha256(store.plan_path):
            self.keep(store)

    def keep(self, store: Store) -> None:
        """Move the parts of a finished run into its folder."""
        if store.grows:
            os.replace(store.plan_path, self.kept / _PLAN)
        elif store.path != self.kept:
            shutil.rmtree(self.kept, ignore_errors=True)
            shutil.move(store.path, self.kept)

    def new(self, *, is_folder: bool) -> Store:
        """Make a folder for the parts of a new run.

        Raises
        ------
        ParameterError
            If there is a folder that no run has made.
        """
        path = self.within if is_folder and self.out.exists() and not is_url(self.given) else self.beside
        if path.exists() and not (path.is_dir() and all(map(_is_ours, path.iterdir()))):
            raise ParameterError("folder must be of an earlier run or not exist, got something else", place=str(path))
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir(parents=True)
        return Store(path)

    def mark_joined(self) -> None:
        """Note that all parts of the unfinished run are complete, before its output is put in its place."""
        (self.beside / _JOINED).touch()

    def is_joined(self) -> bool:
        """Whether the output may be that of an unfinished run, which was killed before it was noted."""
        return self.unfinished() is not None and (self.beside / _JOINED).is_file()

    def discard(self) -> None:
        """Remove the parts of an unfinished run, if there are any; of a finished one that grows, the new plan."""
        store = self.unfinished()
        if store is not None:
            store.plan_path.unlink()  # first: what is left of a folder without a plan is no run
            if not store.grows:
                shutil.rmtree(store.path, ignore_errors=True)


class Store:
    """The plan and the results of a run's parts.

    Parameters
    ----------
    path
        An existing folder.
    plan_name
        Name of the plan: that of a finished run stays until a growing one is complete.
    """

    def __init__(self, path: Path, plan_name: str = _PLAN) -> None:
        self.path, self.plan_path = path, path / plan_name

    @property
    def grows(self) -> bool:
        """Whether the parts are those of a finished run, and more."""
        return self.plan_path.name == _GROWING

    def growing(self) -> Store:
        """The same parts with a plan of their own."""
        return Store(self.path, _GROWING)

    # --- the plan ---

    def write_plan(self, plan: Plan) -> None:
        """Write the plan, in place of an earlier one."""
        write_sealed(self.plan_path, plan.to_json())

    def plan(self, kind: type[P]) -> P:
        """Read the plan.

        Raises
        ------
        InputError
            If there is none that this version wrote.
        """
        try:
            return kind.from_json(read_sealed(self.plan_path) or {})
        except (ValueError, TypeError, KeyError, AttributeError):
            rule = "plan of the parts must be as this version of corefsample writes it, got something else"
            raise InputError(rule, place=str(self.plan_path)) from None

    # --- results ---

    @contextmanager
    def computing(self, part: Part, plan: Plan) -> Iterator[tuple[Path, dict[str, Any]]]:
        """Compute a part: a folder that the block fills, and a record that it completes, which is written last.

        A part that is computed again replaces its result.
        """
        self._record_path(part.number).unlink(missing_ok=True)
        # Each result has a name of its own: two processes may compute the same part at the same time.
        folder = self.path / f"part-{part.number:05d}-{secrets.token_hex(8)}"
        folder.mkdir()
        record = {"plan": plan.digest(part)}
        try:
            yield folder, record
            self._complete(part, folder, record)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise

    def _complete(self, part: Part, folder: Path, record: Mapping[str, Any]) -> None:
        """Write the record of a result, which makes the part complete."""
        files = {each.name: {"bytes": each.stat().st_size, "sha256": sha256(each)} for each in sorted(folder.iterdir())}
        content = {"part": part.number, "result": folder.name, "files": files, **record}
        write_sealed(self._record_path(part.number), content)

    def record(self, part: Part, *, verify: bool = True) -> dict[str, Any] | None:
        """The record of a part, or None if it is not complete: no record, or a file is not as recorded.

        Parameters
        ----------
        part
            The part.
        verify
            Whether to compare the checksums of its files too, not only their sizes.
        """
        record = read_sealed(self._record_path(part.number))
        if record is None:
            return None
        folder = self.result(record)
        is_inside = folder.parent == self.path and folder.name.startswith("part-")
        if not is_inside or any(Path(name).name != name for name in record["files"]):
            return None
        try:
            for name, described in record["files"].items():
                if (folder / name).stat().st_size != described["bytes"]:
                    return None
                if verify and sha256(folder / name) != described["sha256"]:
                    return None
        except OSError:
            return None
        return record

    def result(self, record: Mapping[str, Any]) -> Path:
        """Folder of the result of a complete part."""
        return self.path / str(record["result"])

    def records(self, plan: Plan, *, verify: bool = True) -> Records:
        """Records of the complete parts of a plan, by number in order."""
        parts = [Part(number) for number in self._numbers()] if plan.parts is None else plan.parts
        found = {}
        for part in sorted(parts, key=lambda each: each.number):
            record = self.record(part, verify=verify)
            if record is not None and record["plan"] == plan.digest(part):
                found[part.number] = record
        return found

    def _numbers(self) -> list[int]:
        """Numbers of the parts that have records."""
        return [int(path.stem[5:]) for path in self.path.glob("part-*.json") if path.stem[5:].isdecimal()]

    def highest(self) -> int:
        """The highest number of a part with a record, which may be of an input that is gone; at least 0."""
        return max(self._numbers(), default=0)

    def clean(self, records: Records) -> None:
        """Remove everything but a plan and complete parts: what interrupted processes and dropped inputs left."""
        kept = {record["result"] for record in records.values()} | {self._record_path(n).name for n in records}
        for entry in self.path.iterdir():
            if entry.name in (*kept, _PLAN, _GROWING) or not _is_ours(entry):
                continue
            if entry.is_dir():
                shutil.rmtree(entry, ignore_errors=True)
            else:
                with suppress(OSError):
                    entry.unlink()

    def _record_path(self, number: int) -> Path:
        return self.path / f"part-{number:05d}.json"

    # --- documents whose doc_id an earlier part has ---

    def exclude(self, plan: P, numbers: Mapping[int, list[int]]) -> P:
        """The plan with more lines or rows excluded, by the numbers of their parts, which are no longer complete."""
        known = {str(part): sorted({*plan.excluded.get(str(part), ()), *rows}) for part, rows in numbers.items()}
        plan = dataclasses.replace(plan, excluded={**plan.excluded, **known})
        self.write_plan(plan)
        return plan


@contextmanager
def writing(places: Places) -> Iterator[None]:
    """Turn errors of the system about the files of a run into one about its output."""
    parent = places.out.parent
    try:
        yield
    except OutputError as error:
        if error.place is not None and Path(error.place).is_relative_to(parent):
            raise OutputError(error.message, place=places.given, hint=error.hint) from None
        raise
    except OSError as error:
        if error.filename is not None and not Path(os.fsdecode(error.filename)).is_relative_to(parent):
            raise
        raise unwritable(places.given, error) from None


def _is_ours(path: Path) -> bool:
    """Whether a run made an entry of the folder of its parts."""
    return path.name in (LOCK_NAME, _PLAN, _GROWING) or path.name.startswith((PARTIAL_PREFIX, "part-", _JOINED))


def _digest(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def sealed(content: Mapping[str, Any]) -> dict[str, Any]:
    """An object for a file of JSON, with the checksum of its content."""
    content = json.loads(json.dumps(content))  # as it is read back
    return {**content, "sha256": _digest(content)}


def write_sealed(path: Path, content: Mapping[str, Any]) -> None:
    """Write a file, in place of an earlier one, for `read_sealed`."""
    write_json(path, sealed(content), indent=None)


def read_sealed(path: Path) -> dict[str, Any] | None:
    """Content of a file that was sealed; None if it is missing or damaged."""
    try:
        content = dict(json.loads(path.read_text(encoding="utf-8")))
        return content if content.pop("sha256") == _digest(content) else None
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
