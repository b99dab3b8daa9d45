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
from corefsample.files._locks import LOCK_NAME, PARTIAL_PREFIX
from corefsample.files._paths import local_name
from corefsample.files._remote_services import is_url
from events.runs._plan import Part, Plan

KEPT, UNFINISHED, _UNFINISHED_SUFFIX = "partitions", "unfinished", ".partial"
_PLAN = "plan.json"

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
        """Parts of an unfinished run, or None."""
        return next((Store(path) for path in (self.beside, self.within) if (path / _PLAN).is_file()), None)

    def any(self) -> Store | None:
        """Parts of an unfinished run, or else of the finished one, or None; those at a URL are not kept."""
        return self.unfinished() or (Store(self.kept) if (self.kept / _PLAN).is_file() else None)

    def settle(self) -> None:
        """Put the parts of a run in their place in its folder, if it is finished and was killed just before."""
        store = self.unfinished()
        record = _read_json(self.out / "run.json")
        if store is None or not isinstance(record, dict) or not isinstance(record.get("partitions"), dict):
            return
        if record["partitions"].get("plan") == store.plan_sha256():
            self.keep(store)

    def keep(self, store: Store) -> None:
        """Move the parts of a finished run into its folder."""
        if store.path != self.kept:
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

    def discard(self) -> None:
        """Remove the parts of an unfinished run, if there are any."""
        store = self.unfinished()
        if store is not None:
            shutil.rmtree(store.path, ignore_errors=True)


class Store:
    """The plan and the results of a run's parts.

    Parameters
    ----------
    path
        An existing folder.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    # --- the plan ---

    def write_plan(self, plan: Plan) -> None:
        """Write the plan, in place of an earlier one."""
        _write_checked(self.path / _PLAN, plan.to_json())

    def plan(self, kind: type[P]) -> P:
        """Read the plan.

        Raises
        ------
        InputError
            If there is none that this version wrote.
        """
        try:
            return kind.from_json(_read_checked(self.path / _PLAN) or {})
        except (ValueError, TypeError, KeyError, AttributeError):
            rule = "plan of the parts must be as this version of corefsample writes it, got something else"
            raise InputError(rule, place=str(self.path / _PLAN)) from None

    def plan_sha256(self) -> str:
        """SHA-256 of the plan as it is written."""
        return sha256(self.path / _PLAN)

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
        record = {"plan": plan.digest()}
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
        _write_checked(self._record_path(part.number), content)

    def record(self, part: Part, *, verify: bool = True) -> dict[str, Any] | None:
        """The record of a part, or None if it is not complete: no record, or a file is not as recorded.

        Parameters
        ----------
        part
            The part.
        verify
            Whether to compare the checksums of its files too, not only their sizes.
        """
        record = _read_checked(self._record_path(part.number))
        if record is None:
            return None
        try:
            folder = self.result(record)
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
        digest = plan.digest()
        if plan.parts is None:
            parts = [Part(int(path.stem.removeprefix("part-"))) for path in sorted(self.path.glob("part-*.json"))]
        else:
            parts = list(plan.parts)
        found = {each.number: self.record(each, verify=verify) for each in parts}
        return {n: record for n, record in sorted(found.items()) if record is not None and record["plan"] == digest}

    def clean(self) -> None:
        """Remove what interrupted processes left: temporary files, and results without a record."""
        records = map(_read_checked, self.path.glob("part-*.json"))
        kept = {record["result"] for record in records if record is not None}
        for entry in self.path.iterdir():
            if entry.is_dir() and entry.name not in kept and _is_ours(entry):
                shutil.rmtree(entry, ignore_errors=True)
            elif entry.name.startswith(PARTIAL_PREFIX):
                with suppress(OSError):
                    entry.unlink()

    def _record_path(self, number: int) -> Path:
        return self.path / f"part-{number:05d}.json"

    # --- documents whose doc_id an earlier part has ---

    def exclude(self, plan: P, numbers: Mapping[int, list[int]]) -> P:
        """The plan with more lines or rows excluded, by the numbers of their parts, which are no longer complete."""
        for number in numbers:
            self._record_path(number).unlink(missing_ok=True)
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
    return path.name in (LOCK_NAME, _PLAN) or path.name.startswith((PARTIAL_PREFIX, "part-", "merged"))


def _digest(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _write_checked(path: Path, content: dict[str, Any]) -> None:
    content = json.loads(json.dumps(content))  # as it is read back
    write_json(path, {"sha256": _digest(content), "content": content}, indent=None)


def _read_checked(path: Path) -> dict[str, Any] | None:
    """Content of a file of `_write_checked`; None if it is missing or damaged."""
    whole = _read_json(path)
    try:
        content = dict(whole["content"])
        return content if whole["sha256"] == _digest(content) else None
    except (KeyError, TypeError, ValueError):
        return None


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
