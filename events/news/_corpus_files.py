"""Files of a news corpus, also of those in folders."""

from __future__ import annotations

import os
from typing import NoReturn

from corefsample.errors import InputError
from corefsample.files._paths import NEWS, TEXTS, Inputs, input_paths, require_suffix


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
                require_suffix(path, NEWS, InputError)
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
        paths += [os.path.join(parent, name) for name in names if not name.startswith(".") and name.endswith(NEWS)]
    other_formats = [path for path in paths if not path.endswith(TEXTS)]
    paths = other_formats or paths
    if not paths:
        rule = f"folder must contain files that end in one of {', '.join(NEWS)}"
        raise InputError(f"{rule}, got none", place=folder)
    return sorted(paths)
