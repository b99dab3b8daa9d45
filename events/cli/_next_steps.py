"""What to do about an error, in the command line's words, where the error itself leaves that open."""

from __future__ import annotations

import os
import re
from collections.abc import Callable

from corefsample.errors import CorefsampleError, InputError, OutputError

__all__ = ["next_step"]

Step = str | Callable[[re.Match[str]], str | None]

_TABLE = "put the texts into a CSV file with the columns doc_id, date, title and text"
_SPREADSHEET = "save it as CSV, with commas"
_SCORE = "`corefsample score` makes scored mentions of it"
_BY_ENDING = {
    **dict.fromkeys((".txt", ".doc", ".docx", ".odt", ".rtf", ".pdf", ".htm", ".html", ".md"), _TABLE),
    **dict.fromkeys((".tsv", ".tab", ".xls", ".xlsx", ".ods"), _SPREADSHEET),
    **dict.fromkeys((".csv", ".xml", ".tgz", ".tar", ".conllu", ".conll"), _SCORE),
    ".json": "JSON Lines has one object a line and no list around them, and ends in .jsonl",
}


def next_step(error: CorefsampleError) -> str | None:
    """Say what to do next, if the kind of error tells.

    Parameters
    ----------
    error
        Of a command.

    Returns
    -------
    str or None
        A few words without a full stop.
    """
    for kind, pattern, step in _STEPS:
        found = re.search(pattern, str(error)) if isinstance(error, kind) else None
        if found is not None:
            said = step if isinstance(step, str) else step(found)
            if said is not None:
                return said
    return None


def _of_ending(found: re.Match[str]) -> str | None:
    """What to do with a file of that ending."""
    bare = found["name"].lower().removesuffix(".gz")
    if bare.endswith("_conll"):
        return _SCORE
    return _BY_ENDING.get(os.path.splitext(bare)[1])


def _of_folder(found: re.Match[str]) -> str | None:
    """What to name instead of a folder."""
    folder = found["path"]
    if not os.path.isdir(folder):
        return None
    if os.path.isfile(os.path.join(folder, "run.json")):
        return f"the documents of a run are in {os.path.join(folder, 'documents.parquet')}"
    return f"name its files, such as {os.path.join(folder, '*.parquet')!r}"


def _of_missing_folder(found: re.Match[str]) -> str | None:
    folder = os.path.dirname(found["path"])
    return f"make the folder {folder} first" if folder and not os.path.exists(folder) else None


# The first that fits is said; each by the class of the error and what its text holds.
_STEPS: tuple[tuple[type[CorefsampleError], str, Step], ...] = (
    (InputError, r"columns must include .*, got '[^,]*(?:;|\\t|\|)[^,]*'", "commas must part the columns"),
    (InputError, r"columns must include 'doc_id'", "--id-column names another, --number-articles does without"),
    (
        InputError,
        r"columns must include '(?P<name>date|text)'",
        lambda found: f"--{found['name']}-column names another",
    ),
    # A string that is no ISO date, in a table: the dates of NITF have their own places.
    (
        InputError,
        r"^(?!\S*\.(?:xml|tgz|tar)\b)(?!.*::).* must be an ISO date, got '",
        "--date-format says how dates are written, such as %m/%d/%Y",
    ),
    (InputError, r" must be UTF-8, got ", "save the file as UTF-8"),
    (InputError, r"line 1: a line must be (?:JSON|a JSON object), got\b", "one object a line, no list around them"),
    (InputError, r"file name must end in one of .*, got '(?P<name>[^']*)'$", _of_ending),
    (InputError, r"^(?P<path>.*): input must be a regular file, got ", _of_folder),
    (InputError, r"mentions must be there, got none$", "`corefsample score` finds and scores the mentions of news"),
    (InputError, r"tokens must be there, got none$", "the file must hold the parse, as `corefsample score` writes it"),
    (OutputError, r"^(?P<path>.*): output must be writable, got: No such file or directory$", _of_missing_folder),
)
