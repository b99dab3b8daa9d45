"""Store of results under content keys; a part whose folder is complete and undamaged is not computed again."""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import shutil
import sys
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from glob import escape, glob
from importlib import util
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import corefsample
import events
from corefsample._lazy import requirements, versions_of
from corefsample.documents._faults import Rejected
from corefsample.errors import CorefsampleError, InputError, OutputError, ParameterError
from corefsample.files._atomic import unwritable, write_json
from corefsample.files._paths import Inputs, PathLike, absolute, file_version, input_paths, path_list
from corefsample.files._reading import is_sealed, read_json, sealed, sha256
from events._options import EngineOptions
from events._summary import Summary

STANDARD_INPUT = "-"
CONTINUES = "the same command continues"  # the next step after an error that leaves complete parts
_FORMAT = 8
LOCK_NAME = ".lock"
_RECORD = "record.json"
_PART_NAME = re.compile(r"[0-9a-f]{64}-[0-9a-f]{16}")
_PACKAGES = tuple(Path(package.__path__[0]) for package in (corefsample, events))
# A file that changed so short a time ago is read again, because the next change may have the same time.
_TICK = 2_000_000_000  # nanoseconds
_NOT_IN_OUTPUTS = ("workers", "scheduler", "worker_timeout", "threads", "part_size", "overwrite")  # options
_FOLDERS = ("pipeline", "encoder", "reference")  # options that name folders
_checksums_so_far: dict[str, list[Any]] = {}  # size, time of change and checksum of files that this process read


@cache
def package_checksum() -> str:
    """SHA-256 of all files of the packages: a part that other code, rules or models computed is not used."""
    files = [path for package in _PACKAGES for path in _files_below(package)]
    return hashlib.sha256(b"\0".join(map(Path.read_bytes, files))).hexdigest()


def _files_below(folder: PathLike) -> list[Path]:
    """Files in a folder and below it, without what Python compiled."""
    paths = sorted(Path(folder).rglob("*"))
    return [path for path in paths if "__pycache__" not in path.parts and path.is_file()]


@dataclass(frozen=True, slots=True)
class Source:
    """An input file as it was when a run began.

    Attributes
    ----------
    path, absolute
        Path as the user wrote it, and absolute path; for a URL, both are the URL.
    n_bytes
        Size in bytes.
    changed
        Value that changes with the file: the time of the last change in nanoseconds; for a URL, its entity tag or time.
        See `corefsample.files._paths.file_version`.
    fingerprint
        SHA-256 of the file; for a URL with an entity tag, the tag; for standard input, a random text, because its
        bytes cannot be read again.
    """

    path: str
    absolute: str
    n_bytes: int
    changed: int | str
    fingerprint: str

    @classmethod
    def of(cls, path: str, remembered: Mapping[str, Any] | None = None) -> Source:
        """Describe a file; it is not read if `remembered` has its absolute path with the same size and time."""
        if path == STANDARD_INPUT:
            return cls(path, path, 0, 0, secrets.token_hex(32))
        absolute_path, version = absolute(path), file_version(path)
        for earlier in ((remembered or {}).get(absolute_path), _checksums_so_far.get(absolute_path)):
            if earlier is not None and earlier[:2] == [*version]:
                _checksums_so_far[absolute_path] = earlier
                return cls(path, absolute_path, *version, earlier[2])
        now, is_tagged = time.time_ns(), isinstance(version[1], str) and version[1]
        source = cls(path, absolute_path, *version, str(version[1]) if is_tagged else sha256(path))
        if isinstance(version[1], str) or version[1] < now - _TICK:
            _checksums_so_far[absolute_path] = source.remembered
        return source

    @property
    def remembered(self) -> list[Any]:
        """Size, time of change and checksum."""
        return [self.n_bytes, self.changed, self.fingerprint]

    @property
    def current_path(self) -> str:
        """Path as the user wrote it if it leads to the file from the current folder; otherwise the absolute path."""
        return self.path if absolute(self.path) == self.absolute else self.absolute

    def require_unchanged(self) -> None:
        """Raise InputError unless the file exists with the same size and time of change."""
        try:
            is_same = self.path == STANDARD_INPUT or file_version(self.current_path) == (self.n_bytes, self.changed)
        except OSError as error:
            raise InputError(f"file must still be readable, got: {error.strerror or error}", place=self.path) from None
        if not is_same:
            rule = "file must be as it was when the run began, got another size or time of change"
            raise InputError(rule, place=self.path, hint="repeat the command to count the changed file")

    def to_record(self) -> dict[str, Any]:
        """Path, size and checksum for the record of a run; for standard input, only the path."""
        if self.path == STANDARD_INPUT:
            return {"path": self.path, "bytes": None, "sha256": None}
        if self.fingerprint == self.changed:
            return {"path": self.path, "bytes": self.n_bytes, "sha256": None, "etag": self.changed}
        return {"path": self.path, "bytes": self.n_bytes, "sha256": self.fingerprint}


class StoredPart(NamedTuple):
    """A part in the store.

    Attributes
    ----------
    folder
        Folder with the files of the part.
    record
        Record of the part, which has at least the entries `documents` (a number) and `rejected`.
    is_new
        True if this run computed the part.
    """

    folder: Path
    record: dict[str, Any]
    is_new: bool = False

    def rejected(self) -> list[Rejected]:
        """The documents of the part that were set aside."""
        return [Rejected.from_json(row) for row in self.record["rejected"]]


@dataclass(frozen=True, slots=True)
class PartStore:
    """A folder with a folder for each part.

    The name of a part's folder is its key and a random number, because two processes may compute the same part at the
    same time. The folder has the files of the result and a sealed record, which is written last.

    Attributes
    ----------
    path
        Absolute path of the store's folder.
    """

    path: Path

    def key(self, *values: Any) -> str:
        """SHA-256 of the packages, the version of the store, and JSON values on which a result depends."""
        text = json.dumps([_FORMAT, package_checksum(), *values], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()

    def find(self, key: str, *, raise_first_fault: bool = False) -> StoredPart | None:
        """Find the complete part with a key; a part with a file that differs from its record is removed.

        Parameters
        ----------
        key
            Content key of the part, which the method `key` returned.
        raise_first_fault
            True if the first invalid document is an error, so that a part with rejected documents cannot be used.
        """
        for folder in sorted(self.path.glob(f"{key}-*")):
            record = read_sealed(folder / _RECORD)
            if record is None or record["key"] != key:
                continue
            if record["files"] == _checksums(folder):
                return None if raise_first_fault and record["rejected"] else StoredPart(folder, record)
            shutil.rmtree(folder, ignore_errors=True)
        return None

    @contextmanager
    def adding(self, key: str) -> Iterator[StoredPart]:
        """Add a part whose files and record the `with` block writes; after an error in it, the part is removed."""
        stored = StoredPart(self.path / f"{key}-{secrets.token_hex(8)}", {}, is_new=True)
        stored.folder.mkdir()
        try:
            yield stored
            record = {"key": key, "files": _checksums(stored.folder), **stored.record}
            write_sealed(stored.folder / _RECORD, record)
        except BaseException:
            shutil.rmtree(stored.folder, ignore_errors=True)
            raise

    def keep(self, stored: Collection[StoredPart]) -> None:
        """Remove all parts except these, whether they are complete or not."""
        names = {part.folder.name for part in stored}
        for entry in self.path.iterdir():
            if entry.name not in names and _PART_NAME.fullmatch(entry.name):
                shutil.rmtree(entry, ignore_errors=True)

    def records(self) -> Iterator[dict[str, Any]]:
        """Yield the records of complete parts."""
        return filter(None, (read_sealed(path) for path in self.path.glob(f"*/{_RECORD}")))


def _checksums(folder: Path) -> dict[str, str]:
    """SHA-256 of the files of a part by name."""
    return {each.name: sha256(each) for each in sorted(folder.iterdir()) if each.name != _RECORD}


class FinishedCommand:
    """A command and everything on which its outputs depend: repeated without a change, it has nothing to do.

    The outputs depend on the options, the versions of the libraries, all files of the packages, the inputs, and the
    files that options name. The record of a finished command has a checksum of these, a checksum of each output, and
    what was printed. It is in the folder of the parts, and is written only if nothing changed during the work.

    Parameters
    ----------
    name, inputs, options
        Name of the command, its inputs, and its options.
    """

    def __init__(self, name: str, inputs: Inputs, options: EngineOptions) -> None:
        self.name, self.inputs, self.options, self.started = name, inputs, options, time.monotonic()
        self.folder, self.run_record, *self.outputs = options.written
        self.path = Path(self.folder) / f"{name}.json"
        self.record = read_sealed(self.path) or {}
        self.state = self._state()

    def _state(self) -> dict[str, Any] | None:
        """Checksum of everything on which outputs depend, and all files; None if it cannot be determined."""
        values = {name: value for name, value in vars(self.options).items() if name not in _NOT_IN_OUTPUTS}
        try:
            paths: list[PathLike] = []
            for path in input_paths(self.inputs, folders=True):
                paths += _files_below(path) if os.path.isdir(path) else [path]
                paths += glob(f"{escape(path)}.scoring.json")
            for name, value in values.items():
                for text in value if isinstance(value, tuple) else (value,):
                    if isinstance(text, str) and name != "out":
                        folders = [text] if name in _FOLDERS else []
                        if name == "pipeline" and text.isidentifier() and (package := util.find_spec(text)):
                            folders += package.submodule_search_locations or []
                        paths += [text] if os.path.isfile(text) else []
                        paths += [file for folder in folders for file in _files_below(folder)]
            if STANDARD_INPUT in paths:
                return None
            sources = [Source.of(os.fspath(path), self.record.get("sources")) for path in paths]
        except (CorefsampleError, OSError, ValueError):
            return None
        contents = [(each.path, each.absolute, each.fingerprint) for each in sources]
        required, extras = requirements()
        versions = versions_of(chain(required, *extras.values()))
        arguments = [self.name, path_list(self.inputs), values]
        text = json.dumps([_FORMAT, package_checksum(), sys.version, versions, arguments, contents])
        files = {each.absolute: each.remembered for each in sources}
        return {"key": hashlib.sha256(text.encode()).hexdigest(), "sources": files}

    def summary(self) -> dict[str, Any] | None:
        """What the command printed, if nothing on which outputs depend has changed, and every output is intact."""
        record = self.record
        if self.state is None or record.get("key") != self.state["key"]:
            return None
        is_intact = all(os.path.isfile(path) and sha256(path) == each for path, each in record["files"].items())
        return record["summary"] if is_intact else None

    def repeated_or_run(self, run: Callable[[], Summary], warnings: Sequence[str]) -> Summary:
        """Summary of the command, which runs only if something has changed since it finished, or to overwrite."""
        earlier = self.summary()
        if earlier is not None and not self.options.subset("overwrite")["overwrite"]:
            return Summary.repeated(earlier, time.monotonic() - self.started)
        summary = run()
        self.finish(summary.to_json(warnings))
        return summary

    def finish(self, summary: dict[str, Any]) -> None:
        """Write the record of the command, unless something changed during the work or the outputs are at a URL."""
        if not os.path.isdir(self.folder) or self.state is None or self.state != self._state():
            return
        sources = {path: each for path, each in self.state["sources"].items() if each == _checksums_so_far.get(path)}
        paths = [Path(path) for pattern in self.outputs for path in glob(pattern)]
        files = [file for path in paths for file in ([path] if path.is_file() else _files_below(path))]
        checksums = {absolute(file): sha256(file) for file in files if file.parent != self.path.parent}
        with suppress(InputError, LookupError, OSError):
            # Another run in the folder has another record; the last one that was written belongs to all outputs.
            if read_json(self.run_record)["summary"].items() <= summary["values"].items():
                write_sealed(self.path, {**self.state, "sources": sources, "files": checksums, "summary": summary})


@contextmanager
def opened_store(path: Path, out: str) -> Iterator[PartStore]:
    """Create or open the store of a run, and lock it against other runs.

    After an error, the store is removed unless it has a complete part with documents. Empty folders that were created
    for it are removed too.

    Parameters
    ----------
    path
        Path of the store's folder.
    out
        Path of the run's output, which error messages name.

    Raises
    ------
    ParameterError
        If another run is using the folder.
    OutputError
        If a file or folder of the run cannot be written.
    KeyboardInterrupt
        If the run is interrupted; the message states how many complete parts the store has.
    """
    path = path.resolve()
    new_folders = [folder for folder in (path, *path.parents) if not folder.exists()]
    store = PartStore(path)
    step = ""
    try:
        path.mkdir(parents=True, exist_ok=True)
        with _locked(path, out):
            try:
                yield store
            except BaseException:
                n_complete = sum(bool(record["documents"]) for record in store.records())
                if n_complete:
                    step = f"{n_complete} complete parts are in {os.path.relpath(path)}, and {CONTINUES}"
                else:
                    shutil.rmtree(path, ignore_errors=True)
                raise
    except BaseException as raised:
        for folder in new_folders:
            with suppress(OSError):
                folder.rmdir()
        if step and isinstance(raised, KeyboardInterrupt):
            raise type(raised)(f"interrupted; {step}") from None
        error = _about_output(raised, path, out)
        if error is None:
            raise
        if step:
            first = str(error.hint or "").removesuffix(CONTINUES).removesuffix("; ")
            error.hint = "; ".join(filter(None, [first, step]))
        raise error from None


@contextmanager
def _locked(path: Path, out: str) -> Iterator[None]:
    """Lock a folder against other runs; the lock ends with this process, even if the process is killed."""
    if sys.platform == "win32":
        yield
        return
    import fcntl

    with open(path / LOCK_NAME, "wb") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            rule = "folder must not be in use, but another run is using it"
            raise ParameterError(rule, place=out, hint="wait for that run, or stop it", obstacle="Locked") from None
        except OSError:  # a file system without locks
            pass
        yield


def _about_output(error: BaseException, path: Path, out: str) -> OutputError | None:
    """Error about the output of a run for one about a file of the run; None for any other error."""
    if isinstance(error, OutputError):
        if error.place is not None and Path(error.place).is_relative_to(path.parent):
            error.place = out
        return error
    if isinstance(error, OSError) and not isinstance(error, BrokenPipeError):
        is_ours = error.filename is None or Path(os.fsdecode(error.filename)).is_relative_to(path.parent)
        return unwritable(out, error) if is_ours else None
    return None


def write_sealed(path: Path, record: Mapping[str, Any]) -> None:
    """Write a record as JSON with a checksum, and replace an existing file."""
    write_json(path, sealed(record), indent=None)


def read_sealed(path: Path) -> dict[str, Any] | None:
    """Read a record that `write_sealed` wrote; None if the file is missing or damaged."""
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return {name: value for name, value in record.items() if name != "sha256"} if is_sealed(record) else None
