"""Files and folders of results that appear under their name only when they are complete."""

from __future__ import annotations

import csv
import errno
import gzip
import json
import logging
import os
import re
import secrets
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from corefsample import _checks
from corefsample._arrays import pd
from corefsample.errors import Obstacle, OutputError, ParameterError, ParameterHint
from corefsample.files._paths import PathLike, is_file, joined
from corefsample.files._reading import sha256
from corefsample.files._remote import is_url, remove, require_writable_url, upload

if TYPE_CHECKING:
    import pyarrow as pa

FULL = (errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC))  # of a disk, of a user's share of it
PARTIAL_PREFIX = ".partial-"


def link_target(path: PathLike) -> str:
    """The file that a symbolic link leads to, which need not exist; any other path is returned as it is."""
    return os.path.realpath(path) if os.path.islink(path) else os.fspath(path)


def unwritable(path: PathLike, error: OSError) -> OutputError:
    """Error of an output that cannot be written."""
    folder = os.path.dirname(os.fspath(path))
    missing = isinstance(error, FileNotFoundError) and folder and not os.path.exists(folder)
    rule, hint = f"output must be writable, got: {error.strerror or error}", f"make the folder {folder} first"
    obstacle: Obstacle | None = "DiskFull" if error.errno in FULL else None
    return OutputError(rule, place=os.fspath(path), hint=hint if missing else None, obstacle=obstacle)


def require_free(path: PathLike, *, overwrite: bool) -> None:
    """Raise, before the work, if an output exists. Of a symbolic link, the file counts to which it leads.

    Raises
    ------
    ParameterError
        If it is a folder or a special file, such as a pipe, or a file and `overwrite` is false.
    """
    name, target = os.fspath(path), link_target(path)
    if is_url(name):
        require_writable_url(name)
    elif os.path.lexists(target) and not os.path.isfile(target):
        rule = "a file, got a folder" if os.path.isdir(target) else "a regular file, got a special file"
        raise ParameterError(f"output must be {rule}", place=name)
    if not overwrite and is_file(target):
        hint = ParameterHint("overwrite", "replaces it")
        raise ParameterError("output must not exist, got a file", place=name, hint=hint)


def put_in_place(partial: str, path: PathLike) -> None:
    """Move a complete file to its place, or upload it: under a URL it appears when all of it has arrived."""
    target = link_target(path)
    if is_url(target):
        upload(partial, target)
        return
    with open(partial, "rb") as stream:
        os.fsync(stream.fileno())
    os.replace(partial, target)


@contextmanager
def new_file(path: PathLike, *, overwrite: bool, suffix: str = "") -> Iterator[str]:
    """Make a file under a temporary name beside `path`, and rename it if the context ends without an error.

    A symbolic link stays, and the file to which it leads is made or replaced. The file of a URL is made in the folder
    for temporary files, and uploaded if the context ends. A process that is killed leaves the temporary file.

    Parameters
    ----------
    path
        Path of the file to make.
    overwrite
        True if an existing file may be replaced.
    suffix
        Ending of the temporary name, for libraries that depend on it. By default "".

    Yields
    ------
    str
        Temporary name of an existing, empty file, to be written and closed. If it is removed within the context,
        no file appears under `path`.

    Raises
    ------
    ParameterError
        If the file exists and `overwrite` is false, or `path` is not that of a regular file.
    OutputError
        If the file cannot be written.
    """
    name, target = _checks.path("path", path), link_target(path)
    require_free(name, overwrite=overwrite)
    folder = tempfile.gettempdir() if is_url(target) else os.path.dirname(target)
    partial = os.path.join(folder, f"{PARTIAL_PREFIX}{secrets.token_hex(8)}{suffix}")
    try:
        open(partial, "xb").close()
        yield partial
        if os.path.exists(partial):
            put_in_place(partial, target)
            logging.getLogger("corefsample.files").debug("wrote %s", name)
    except OSError as error:
        # An error of another file, such as one that is being read or a closed pipe, is not this output's.
        is_own = error.filename in (None, name, target)
        is_own = is_own or os.path.basename(os.fsdecode(error.filename)).startswith(PARTIAL_PREFIX)
        if isinstance(error, (OutputError, BrokenPipeError)) or not is_own:
            raise
        raise unwritable(name, error) from None
    finally:
        with suppress(OSError):
            os.unlink(partial)


def require_writable(path: PathLike) -> None:
    """Raise OutputError, before hours of work, if no file can be made under a name, or replaced."""
    with new_file(path, overwrite=True) as partial:
        os.unlink(partial)


def remove_file(path: PathLike) -> None:
    """Remove a file, or that to which a link leads, if it exists.

    Raises
    ------
    OSError
        If it cannot be removed.
    """
    target = link_target(path)
    if is_url(target):
        remove(target)
    else:
        Path(target).unlink(missing_ok=True)


@contextmanager
def new_text_file(path: PathLike, *, overwrite: bool) -> Iterator[Callable[[str], None]]:
    """Make a UTF-8 file, gzip if its name ends in .gz, as `new_file` does; yield the function that appends text.

    Raises
    ------
    ParameterError, OutputError
        As `new_file`, and if UTF-8 cannot encode the text.
    """
    name = _checks.path("path", path)
    with new_file(path, overwrite=overwrite) as partial, open_output(partial, gzipped=name.endswith(".gz")) as stream:
        try:
            yield lambda text: stream.write(text.encode())
        except UnicodeEncodeError as error:
            character = repr(error.object[error.start : error.end])
            raise OutputError(f"text must be valid UTF-8, got {character}", place=name) from None


@contextmanager
def open_output(path: PathLike, *, gzipped: bool) -> Iterator[Any]:
    """Open a file for writing bytes, compressed if `gzipped`.

    The bytes depend only on the content: the gzip header carries neither name nor time.
    """
    with open(path, "wb") as raw:
        packed = gzip.GzipFile(filename="", mode="wb", compresslevel=6, fileobj=raw, mtime=0) if gzipped else None
        with packed or nullcontext(raw) as stream:
            yield stream


def write_bytes(path: PathLike, data: bytes, *, overwrite: bool) -> None:
    """Write a complete file, as `new_file` does."""
    with new_file(path, overwrite=overwrite) as partial, open(partial, "wb") as stream:
        stream.write(data)


def write_json(path: PathLike, record: Mapping[str, Any], *, overwrite: bool = True, indent: int | None = 2) -> None:
    """Write a JSON object to a file, as `new_file` does."""
    write_bytes(path, (json.dumps(record, indent=indent) + "\n").encode(), overwrite=overwrite)


# Cells of CSV files with texts that others wrote, such that a spreadsheet runs none of them as a formula. A text that
# begins with "=", "+", "-", "@", a tab or a line end gets an apostrophe before it, and so does one with apostrophes
# before such a beginning. Reading takes one apostrophe away, so that every text is the same again.
_FORMULA = r"\A('*[=+\-@\t\r\n])"


def escaped_frame(table: pd.DataFrame) -> pd.DataFrame:
    """Table in which texts that a spreadsheet would read as a formula are escaped by an apostrophe."""
    return table.replace(_FORMULA, r"'\1", regex=True)


def unescaped(text: str) -> str:
    """Original text of an escaped cell."""
    return text[1:] if text.startswith("'") and re.match(_FORMULA, text) else text


def escaped_texts(table: pa.Table) -> pa.Table:
    """Arrow table whose texts are escaped."""
    import pyarrow.compute as pc

    for number, field in enumerate(table.schema):
        if field.type == "string":
            table = table.set_column(number, field, pc.replace_substring_regex(table[number], _FORMULA, r"'\1"))
    return table


def write_csv(table: pd.DataFrame, path: str) -> None:
    """Write a table whose texts are escaped; they are in quotes, since a carriage return alone ends a row otherwise."""
    escaped_frame(table).to_csv(path, index=False, quoting=csv.QUOTE_NONNUMERIC)


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
        self._name = os.fspath(path)
        self._is_remote = is_url(path)
        self.path = Path(path) if self._is_remote else Path(path).resolve()  # for a link its target: the link stays
        self._require_free()

    def _require_free(self) -> None:
        if self._is_remote:
            require_writable_url(self._name)
            is_used = is_file(joined(self._name, self.RECORD))
        elif self.path.exists() and not self.path.is_dir():
            raise ParameterError(f"must be a folder, got the file {self._name}", parameter="out")
        else:
            entries = self.path.iterdir() if self.path.exists() else ()
            names = {entry.name for entry in entries if not entry.name.startswith(PARTIAL_PREFIX)} - self.STORES
            if names and not (names <= self.FILES and self._is_run(names)):
                rule = "must be a new or empty folder or an earlier run's"
                raise ParameterError(f"{rule}, got {self._name}, which has other files", parameter="out")
            is_used = bool(names)
        if is_used and not self._overwrite:
            hint = ParameterHint("overwrite", "replaces it")
            raise ParameterError(f"must be a new or empty folder, got {self._name}", parameter="out", hint=hint)

    def _is_run(self, names: set[str]) -> bool:
        """True if the folder contains a run that is complete, or that was killed while its files were moved there.

        The record is moved last, so after such an interruption it is still in the incomplete folder, or only the stores
        are there.
        """
        if self.RECORD not in names and any((self.path / store).is_dir() for store in self.STORES):
            return True
        for folder in [self.path] if self.RECORD in names else self.path.glob(f"{PARTIAL_PREFIX}*"):
            with suppress(OSError, ValueError, TypeError, RecursionError):
                if "corefsample" in json.loads((folder / self.RECORD).read_bytes()):
                    return True
        return False

    def __enter__(self) -> Self:
        self._context = self._new_files()
        return self._context.__enter__()

    def __exit__(self, *error: Any) -> None:
        self._context.__exit__(*error)

    @contextmanager
    def _new_files(self) -> Iterator[Self]:
        new_folders: list[Path] = []
        try:
            if not self._is_remote:
                new_folders = [folder for folder in (self.path, *self.path.parents) if not folder.exists()]
                self.path.mkdir(parents=True, exist_ok=True)
            # Inside the folder, so that files move within one file system.
            inside = None if self._is_remote else self.path
            with tempfile.TemporaryDirectory(prefix=PARTIAL_PREFIX, dir=inside, ignore_cleanup_errors=True) as partial:
                self._partial = Path(partial)
                yield self
                self._put_in_place()
        except OSError as error:
            raise error if isinstance(error, OutputError) else unwritable(self._name, error) from None
        finally:
            for folder in new_folders:
                with suppress(OSError):  # a folder with files stays
                    folder.rmdir()

    def _put_in_place(self) -> None:
        """Move the files into the folder, or upload them: see the class for the order."""
        self._require_free()  # once more, as another program may have written to the folder meanwhile
        names = sorted(os.listdir(self._partial), key=lambda name: (name == self.RECORD, name))
        if self._is_remote:
            for name in (self.RECORD, *sorted(self.FILES - {*names, self.RECORD})):
                remove_file(joined(self._name, name))
            for name in names:
                upload(str(self.file(name)), joined(self._name, name))
            return
        for name in (self.RECORD, *sorted(self.FILES - {self.RECORD})):
            (self.path / name).unlink(missing_ok=True)
        for name in names:
            os.replace(self.file(name), self.path / name)
        for folder in self.path.glob(f"{PARTIAL_PREFIX}*"):  # of this run and of killed ones
            shutil.rmtree(folder, ignore_errors=True)

    def file(self, name: str) -> Path:
        """Path under which to write a file of the run, within the context."""
        return self._partial / name

    def checksums(self) -> dict[str, str]:
        """SHA-256 of each file so far, by its name."""
        return {entry.name: sha256(entry) for entry in sorted(self.file(".").iterdir())}

    def finish_record(self, record: dict[str, Any]) -> None:
        """Write the record of the run."""
        self.file(self.RECORD).write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
