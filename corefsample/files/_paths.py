"""Names of files: one or several, globs, endings and the formats that they stand for."""

import glob
import io
import os
from collections.abc import Iterable, Sequence
from typing import Any
from urllib.parse import unquote

from corefsample import _checks
from corefsample.errors import CorefsampleError, InputError
from corefsample.files._remote import exists, expanded, is_url, opened, stored, without_credentials

PathLike = str | os.PathLike[str]
Inputs = PathLike | Iterable[PathLike]  # one file or several

# Endings of the names of files, by what the files hold: the one table for all formats that the project reads.
SCORED = (".jsonl", ".jsonl.gz", ".ndjson", ".ndjson.gz", ".parquet")  # a table with these endings may be news, too
COREFUD = (".conllu", ".conllu.gz")
CONLL2012 = (".conll", "_conll", ".conll.gz", "_conll.gz")

# News: tables, a text in a file, NITF XML, and archives of it.
SEPARATED = (".csv", ".csv.gz", ".tsv", ".tsv.gz")
TEXTS = (".txt", ".txt.gz")
MARKUP = (".xml", ".xml.gz")
ARCHIVES = (".tgz", ".tar.gz", ".tar")
NEWS_ALONE = (*SEPARATED, *TEXTS, *MARKUP, *ARCHIVES)  # files of nothing but news
NEWS = (*SCORED, *NEWS_ALONE)

_DOCUMENTS = (".txt", ".doc", ".docx", ".odt", ".rtf", ".pdf", ".htm", ".html", ".md")
_HINTS = {
    "put the texts into a CSV file with the columns doc_id, date, title and text": _DOCUMENTS,
    "save it as CSV": (".tab", ".xls", ".xlsx", ".ods"),
    "`corefsample score` makes scored mentions of it": (*SEPARATED, *MARKUP, *ARCHIVES, *COREFUD, *CONLL2012),
    "JSON Lines has one object per line and no list around them, and ends in .jsonl": (".json",),
}


def path_list(inputs: Inputs) -> list[str]:
    """Return one name of a file, or several, as a list of strings.

    Raises
    ------
    ParameterError
        If `inputs` are not names of files.
    """
    is_single = isinstance(inputs, (str, os.PathLike)) or not isinstance(inputs, Iterable)
    paths: Any = [inputs] if is_single else inputs
    return [_checks.path("inputs", path) for path in paths]


def suffix_hint(path: str) -> str | None:
    """Return the next step for a file of a format that no reader takes, or None if there is no obvious one."""
    name = path.lower().removesuffix(".gz")
    return next((hint for hint, suffixes in _HINTS.items() if name.endswith(suffixes)), None)


def input_paths(inputs: Inputs, *, suffixes: Sequence[str] | None = None, folders: bool = False) -> list[str]:
    """Expand globs and check that every input exists; "-" is standard input.

    Parameters
    ----------
    inputs
        Files, globs (``**`` matches any depth), or "-". Files can be URLs, and globs where the service lists its files.
        With `suffixes`, a folder stands for the files in it and below it, such as a table in Hive partitions.
    suffixes
        Allowed endings of file names. By default any ending is allowed.
    folders
        True if folders are allowed; by default they are not.

    Raises
    ------
    ParameterError
        If `inputs` are not names of files.
    InputError
        If there is no input, a file is missing, a glob matches nothing, or a file name has no allowed ending.
    """
    names = path_list(inputs)
    if not names:
        raise InputError("must name at least one file, got none", parameter="inputs")
    if names.count("-") > 1:
        raise InputError(f"standard input can be read once, got it {names.count('-')} times", place="-")
    paths: list[str] = []
    for name in map(without_credentials, names):
        if is_url(name):
            matches = expanded(name)
        else:
            matches = [name] if name == "-" or os.path.exists(name) else sorted(glob.glob(name, recursive=True))
        if not matches:
            rule = "glob must match a file" if glob.has_magic(name) else "file must exist"
            raise InputError(f"{rule}, got none", place=name)
        paths += [file for each in matches for file in _below(each, () if folders else suffixes or ()) or [each]]
    for path in paths:
        if path == "-" or (folders and os.path.isdir(path)):
            continue
        if not is_url(path) and not os.path.isfile(path):
            if not os.path.isdir(path):
                raise InputError("input must be a regular file, got a special file", place=path)
            if suffixes and not is_run(path):
                raise InputError(f"folder must have a file that ends in {', '.join(suffixes)}, got none", place=path)
            example = os.path.join(path, "*")
            hint = "name the scored files that it counts" if is_run(path) else f"name its files, such as {example!r}"
            raise InputError("input must be a regular file, got a folder", place=path, hint=hint)
        if suffixes is not None:
            require_suffix(path, suffixes, InputError, hint=suffix_hint(path))
    return paths


def _below(folder: str, suffixes: Sequence[str]) -> list[str]:
    """Files with some endings in a folder and below it, without hidden ones, marks of jobs (_SUCCESS) and runs."""
    if not suffixes or is_url(folder) or not os.path.isdir(folder) or is_run(folder):
        return []
    files: list[str] = []
    for parent, folders, names in os.walk(folder):
        inner = (name for name in sorted(folders) if name[0] not in "._" and not name.endswith(".partial"))
        folders[:] = [name for name in inner if not is_run(os.path.join(parent, name))]
        shown_names = (name for name in sorted(names) if name[0] not in "._" and name.endswith((*suffixes,)))
        files += [os.path.join(parent, name) for name in shown_names]
    return files


def is_run(folder: str) -> bool:
    """Whether a folder is that of a finished run of `events`."""
    return os.path.isfile(os.path.join(folder, "run.json"))


def partition_values(path: str) -> dict[str, str]:
    """Values that the folders of a path give to columns, as Hive does: year=2001/section=Foreign/part.parquet."""
    levels = (part.partition("=") for part in os.path.dirname(path).split(os.sep))
    return {key: unquote(value) for key, sign, value in levels if key and sign}


def suffix_of(path: str, suffixes: Iterable[str]) -> str | None:
    """Return the longest of `suffixes` with which a file name ends, or None."""
    return max((suffix for suffix in suffixes if path.endswith(suffix)), key=len, default=None)


def require_suffix(
    path: str, suffixes: Sequence[str], error: type[CorefsampleError], *, hint: str | None = None
) -> str:
    """Return the ending of a file name, or raise `error` if it is not one of `suffixes`."""
    suffix = suffix_of(path, suffixes)
    if suffix is None:
        rule = f"file name must end in one of {', '.join(suffixes)}"
        raise error(f"{rule}, got {os.path.basename(path)!r}", place=path or repr(path), hint=hint)
    return suffix


def total_size(paths: Iterable[str]) -> int:
    """Bytes of all files; standard input counts 0."""
    return sum(file_version(path)[0] for path in paths if path != "-")


def absolute(path: PathLike) -> str:
    """The path from the root of the file system; a URL as it is."""
    return os.fspath(path) if is_url(path) else os.path.abspath(path)


def local_name(path: PathLike) -> str:
    """A local path as it is; of a URL its last part, for what is kept in the current folder."""
    return os.path.basename(os.fspath(path).rstrip("/")) if is_url(path) else os.fspath(path)


def joined(folder: PathLike, name: str) -> str:
    """Path or URL of a file in a folder."""
    return f"{os.fspath(folder).rstrip('/')}/{name}" if is_url(folder) else os.path.join(folder, name)


def is_file(path: PathLike) -> bool:
    """True if a file exists at a path or URL."""
    return exists(os.fspath(path)) if is_url(path) else os.path.isfile(path)


def file_version(path: PathLike) -> tuple[int, int | str]:
    """Size in bytes and version of a file; the version changes with the content.

    The version is the time of the last change in nanoseconds, that of the content or, because programs can set that one
    back, that of the file's entry; for a URL it is the entity tag, else the time, or "" if the service reports neither.

    Raises
    ------
    OSError
        If the file does not exist.
    InputError
        If the service of a URL does not answer.
    """
    if is_url(path):
        return stored(os.fspath(path))
    about = os.stat(path)
    return about.st_size, max(about.st_mtime_ns, about.st_ctime_ns)


def open_binary(path: PathLike) -> Any:
    """Open a file or URL for reading bytes, with `peek`; every failure is an OSError with a text of one line."""
    return io.BufferedReader(opened(os.fspath(path), in_order=True)) if is_url(path) else open(path, "rb")


def parquet_source(path: str) -> Any:
    """Source from which pyarrow reads: a local path unchanged, or the opened file of a URL.

    Raises
    ------
    OSError
        If a URL cannot be opened.
    """
    return opened(path) if is_url(path) else path
