"""Files of a news corpus: the endings of their names, and the files in folders."""

from __future__ import annotations

import os
from typing import NoReturn

from corefsample.errors import InputError
from corefsample.files._paths import Inputs, input_paths, require_suffix, suffix_of

TABLES = (".jsonl", ".jsonl.gz", ".csv", ".csv.gz", ".parquet", ".xlsx")

TEXTS = (".txt", ".txt.gz")

MARKUP = (".xml", ".xml.gz")

ARCHIVES = (".tgz", ".tar.gz", ".tar")

_SUFFIXES = (*TABLES, *TEXTS, *MARKUP, *ARCHIVES)


def news_suffix(name: str) -> str | None:
    """Return the ending of a name if it is that of a format of news, otherwise None."""
    return suffix_of(name, _SUFFIXES)


def corpus_paths(inputs: Inputs) -> list[str]:
    """Expand globs and folders, and check that the name of every file ends like that of a format of news.

    A folder stands for all such files in it, at any depth, sorted by path; names that begin with a dot are left out.
    Texts (.txt) are articles only in a folder without files of another format, because texts beside such files describe
    them, like README.txt.

    Raises
    ------
    ParameterError
        If `inputs` are not paths.
    InputError
        If `inputs` are empty, a file is missing, a glob or folder contains no file, a name has another ending, or a
        file is listed twice.
    """
    paths: dict[str, None] = {}  # an ordered set
    for name in input_paths(inputs, folders=True):
        for path in _files_of(name) if name != "-" and os.path.isdir(name) else [name]:
            if path != "-":
                require_suffix(path, _SUFFIXES, InputError)
            if path in paths:
                raise InputError("input must be listed once, got it twice", place=path)
            paths[path] = None
    return [*paths]


def _files_of(folder: str) -> list[str]:
    def fail(error: OSError) -> NoReturn:
        raise InputError(f"folder must be readable, got: {error.strerror}", place=error.filename) from None

    paths: list[str] = []
    for parent, folders, names in os.walk(folder, onerror=fail):
        folders[:] = [name for name in folders if not name.startswith(".")]
        paths += [os.path.join(parent, name) for name in names if not name.startswith(".") and news_suffix(name)]
    other_formats = [path for path in paths if news_suffix(path) not in TEXTS]
    paths = other_formats or paths
    if not paths:
        rule = f"folder must contain files that end in one of {', '.join(_SUFFIXES)}"
        raise InputError(f"{rule}, got none", place=folder)
    return sorted(paths)
