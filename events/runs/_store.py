"""A store of results under content keys: a part that is there and intact is done, and nothing else is known of it."""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import shutil
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import corefsample
from corefsample.documents._faults import Rejected
from corefsample.errors import InputError, OutputError, ParameterError
from corefsample.files._atomic import unwritable, write_json
from corefsample.files._digests import is_sealed, sealed, sha256
from corefsample.files._paths import absolute, file_version

STANDARD_INPUT = "-"
_FORMAT = 5
LOCK_NAME = ".lock"
_RECORD, _SOURCES = "record.json", "sources.json"
_PART_NAME = re.compile(r"[0-9a-f]{64}-[0-9a-f]{16}")


@dataclass(frozen=True, slots=True)
class Source:
    """An input file as it was when a run began.

    Attributes
    ----------
    path, absolute
        Path as given, and from the root of the file system; a URL is both.
    n_bytes
        Size in bytes.
    changed
        What changes with the content: the time of the last change in nanoseconds; for a URL its entity tag, or time.
    content
        Checksum of the content; for a URL with a tag the tag; of standard input a random text, as it never comes again.
    """

    path: str
    absolute: str
    n_bytes: int
    changed: int | str
    content: str

    @classmethod
    def of(cls, path: str, remembered: Mapping[str, Any] | None = None) -> Source:
        """Describe a file; it is not read if its size and time are those that are remembered by its absolute path."""
        if path == STANDARD_INPUT:
            return cls(path, path, 0, 0, secrets.token_hex(32))
        place, version = absolute(path), file_version(path)
        *known, content = (remembered or {}).get(place, [None])
        if known != [*version]:
            is_tagged = isinstance(version[1], str) and version[1]
            content = version[1] if is_tagged else sha256(path)
        return cls(path, place, *version, content)

    @property
    def place(self) -> str:
        """The path as given where it leads to the file, which it need not on another machine."""
        return self.path if absolute(self.path) == self.absolute else self.absolute

    def require_unchanged(self) -> None:
        """Raise InputError unless the file is there with the same size and time."""
        if self.path == STANDARD_INPUT:
            return
        try:
            version = file_version(self.place)
        except FileNotFoundError:
            raise InputError("file must exist, as when the run began, got none", place=self.path) from None
        except OSError as error:
            raise InputError(f"file must be readable, got: {error.strerror or error}", place=self.path) from None
        if version != (self.n_bytes, self.changed):
            rule = "file must be as it was when the run began, got another size or time of change"
            raise InputError(rule, place=self.path, hint="the same command counts it as it is now")

    def to_record(self) -> dict[str, Any]:
        """Path, size and checksum for the record of a run; nothing but the path of standard input."""
        if self.path == STANDARD_INPUT:
            return {"path": self.path, "bytes": None, "sha256": None}
        if self.content == self.changed:
            return {"path": self.path, "bytes": self.n_bytes, "sha256": None, "etag": self.changed}
        return {"path": self.path, "bytes": self.n_bytes, "sha256": self.content}


class StoredPart(NamedTuple):
    """The folder of a part, and its record: at least the number of `documents` and the `rejected` ones."""

    folder: Path
    record: dict[str, Any]

    def rejected(self) -> list[Rejected]:
        """The documents that are set aside."""
        return [Rejected.from_json(row) for row in self.record["rejected"]]


@dataclass(frozen=True, slots=True)
class PartStore:
    """A folder with a folder for each part.

    The name of a part is its key and a random number, because two processes may compute the same part at the same time.
    It has the files of the result and a sealed record, which is written last.

    Attributes
    ----------
    path
        The absolute path of the folder.
    """

    path: Path

    def key(self, *content: Any) -> str:
        """SHA-256 of this version, and of JSON values on which a result depends."""
        text = json.dumps([_FORMAT, corefsample.__version__, *content], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()

    def find(self, key: str, *, verify: bool = True, stops: bool = False) -> StoredPart | None:
        """The part of a key, or None if it is not complete: no record, or a file is not as recorded.

        Parameters
        ----------
        key
            From `key`.
        verify
            Whether to compare the checksums of its files too, not only their sizes, and to remove what is damaged.
        stops
            Whether the first bad document is an error, so that a part with rejected documents is none.
        """
        for folder in sorted(self.path.glob(f"{key}-*")):
            record = read_sealed(folder / _RECORD)
            if record is None or record["key"] != key:
                continue
            if _is_intact(folder, record["files"], verify):
                return None if stops and record["rejected"] else StoredPart(folder, record)
            if verify:
                shutil.rmtree(folder, ignore_errors=True)
        return None

    @contextmanager
    def adding(self, key: str) -> Iterator[StoredPart]:
        """Add a part, whose folder and record the block fills; after an error nothing is left of it."""
        part = StoredPart(self.path / f"{key}-{secrets.token_hex(8)}", {})
        part.folder.mkdir()
        try:
            yield part
            files = {each.name: [each.stat().st_size, sha256(each)] for each in sorted(part.folder.iterdir())}
            write_sealed(part.folder / _RECORD, {"key": key, "files": files, **part.record})
        except BaseException:
            shutil.rmtree(part.folder, ignore_errors=True)
            raise

    def keep(self, parts: Collection[StoredPart]) -> None:
        """Remove all other parts, complete or not."""
        names = {part.folder.name for part in parts}
        for entry in self.path.iterdir():
            if entry.name not in names and _PART_NAME.fullmatch(entry.name):
                shutil.rmtree(entry, ignore_errors=True)

    def remove(self) -> None:
        """Remove the store of a run whose output is complete, also if an interrupt arrives meanwhile."""
        try:
            shutil.rmtree(self.path)
        except BaseException:
            shutil.rmtree(self.path, ignore_errors=True)
            raise

    def n_complete(self) -> int:
        """Number of complete parts that have documents, whoever uses them; their files are not read."""
        records = (read_sealed(path) for path in self.path.glob(f"*/{_RECORD}"))
        return sum(record is not None and bool(record["documents"]) for record in records)

    def sources(self, paths: Iterable[str]) -> list[Source]:
        """Describe input files, and remember their checksums: a file of the same size and time is not read again."""
        remembered = read_sealed(self.path / _SOURCES) or {}
        sources = [Source.of(path, remembered) for path in paths]
        known = {each.absolute: [each.n_bytes, each.changed, each.content] for each in sources}
        known.pop(STANDARD_INPUT, None)
        if not known.items() <= remembered.items():
            write_sealed(self.path / _SOURCES, {**remembered, **known})
        return sources


def _is_intact(folder: Path, files: Mapping[str, Any], verify: bool) -> bool:
    try:
        if {each.name for each in folder.iterdir()} != {*files, _RECORD}:
            return False
        return all(
            (folder / name).stat().st_size == n_bytes and (not verify or sha256(folder / name) == checksum)
            for name, (n_bytes, checksum) in files.items()
        )
    except OSError:
        return False


@contextmanager
def opened_store(path: Path, out: str) -> Iterator[PartStore]:
    """Make or open the store of a run, and keep other runs out.

    After an error it is removed unless it has a complete part with documents, and so are the folders that were made.

    Parameters
    ----------
    path
        Folder of the store.
    out
        Output of the run, for messages.

    Raises
    ------
    ParameterError
        If another run works there.
    OutputError
        If something cannot be written.
    KeyboardInterrupt
        With a message about the parts that an interrupted run left.
    """
    path = path.resolve()
    made = [each for each in (path, *path.parents) if not each.exists()]
    store = PartStore(path)
    try:
        with _output_errors(path, out):
            path.mkdir(parents=True, exist_ok=True)
            with _locked(path, out):
                try:
                    with _output_errors(path, out):
                        yield store
                except BaseException as error:
                    n_complete = store.n_complete()
                    if not n_complete:
                        shutil.rmtree(path, ignore_errors=True)
                        raise
                    left = f"{n_complete} complete parts are in {os.path.relpath(path)}, and the same command continues"
                    if isinstance(error, KeyboardInterrupt):
                        raise type(error)(f"interrupted; {left}") from None
                    if isinstance(error, OutputError):
                        hint = left if error.hint is None else f"{error.hint}; {left}"
                        obstacle = error.obstacle
                        raise OutputError(error.message, place=error.place, hint=hint, obstacle=obstacle) from None
                    raise
    except BaseException:
        for each in made:
            with suppress(OSError):
                each.rmdir()
        raise


@contextmanager
def _locked(path: Path, out: str) -> Iterator[None]:
    """Keep other runs out of a folder; the lock ends with its process, also when that is killed."""
    if sys.platform == "win32":
        yield
        return
    import fcntl

    with open(path / LOCK_NAME, "wb") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            rule = "folder must not be in use by another run, got one that works there"
            raise ParameterError(rule, place=out, hint="wait for it, or stop it", obstacle="Locked") from None
        except OSError:  # of a file system without locks
            pass
        yield


@contextmanager
def _output_errors(path: Path, out: str) -> Iterator[None]:
    """Turn errors of the system about the files of a run into one about its output."""
    try:
        yield
    except OutputError as error:
        if error.place is not None and Path(error.place).is_relative_to(path.parent):
            raise OutputError(error.message, place=out, hint=error.hint, obstacle=error.obstacle) from None
        raise
    except OSError as error:
        is_ours = error.filename is None or Path(os.fsdecode(error.filename)).is_relative_to(path.parent)
        if isinstance(error, BrokenPipeError) or not is_ours:
            raise
        raise unwritable(out, error) from None


def write_sealed(path: Path, content: Mapping[str, Any]) -> None:
    """Write a file of JSON with the checksum of its content, in place of an earlier one."""
    write_json(path, sealed(content), indent=None)


def read_sealed(path: Path) -> dict[str, Any] | None:
    """Content of a file that `write_sealed` wrote; None if it is missing or damaged."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return {name: value for name, value in content.items() if name != "sha256"} if is_sealed(content) else None
