"""The record of a run: what it was given, with which versions, and when."""

from __future__ import annotations

import datetime
import hashlib
import json
import os
import platform
from collections.abc import Iterable, Mapping, Sequence
from importlib import metadata
from typing import Any

import corefsample
from corefsample.errors import ParameterError
from corefsample.files import new_text_file

__all__ = ["checksums", "free_outputs", "paths_of", "require_free", "run_record", "write_record"]

PathLike = str | os.PathLike[str]

_VERSIONS = ("numpy", "numba", "scipy", "pandas", "pyarrow", "matplotlib")


def checksums(paths: Sequence[str]) -> list[dict[str, Any]]:
    """Size and SHA-256 of each input; standard input has neither."""
    rows: list[dict[str, Any]] = []
    for path in paths:
        if path == "-":
            rows.append({"path": path, "bytes": None, "sha256": None})
            continue
        with open(path, "rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
        rows.append({"path": path, "bytes": os.path.getsize(path), "sha256": digest})
    return rows


def run_record(
    arguments: Mapping[str, Any], inputs: Sequence[Mapping[str, Any]], started: float, **more: Any
) -> dict[str, Any]:
    """Record of a run: version, arguments, what is particular to the command, inputs, start, and versions of others.

    Parameters
    ----------
    arguments
        Of the command.
    inputs
        As `checksums` gives them.
    started
        Seconds since the epoch.
    more
        What the command has to say besides.
    """
    return {
        "corefsample": corefsample.__version__,
        "arguments": dict(arguments),
        **more,
        "inputs": list(inputs),
        "started": datetime.datetime.fromtimestamp(started, datetime.UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "versions": {name: metadata.version(name) for name in _VERSIONS},
    }


def paths_of(inputs: PathLike | Iterable[PathLike]) -> list[str]:
    """One path, or several, as a list of strings."""
    return [os.fspath(inputs)] if isinstance(inputs, (str, os.PathLike)) else [os.fspath(each) for each in inputs]


def require_free(path: str, *, overwrite: bool) -> None:
    """Refuse, before the work, an output that is there.

    Raises
    ------
    ParameterError
        If it is a folder, or a file and overwrite is not said.
    """
    if os.path.isdir(path):
        raise ParameterError(f"{path}: output must be a file, got a folder")
    if os.path.exists(path) and not overwrite:
        raise ParameterError(f"{path}: output must not exist (overwrite replaces it), got a file")


def free_outputs(path: str, record_suffix: str, *, overwrite: bool) -> str:
    """Refuse, before the work, an output or its record that is there; return the name of the record.

    Raises
    ------
    ParameterError
        If one of them is a folder, or a file and overwrite is not said.
    """
    for name in (path, path + record_suffix):
        require_free(name, overwrite=overwrite)
    return path + record_suffix


def write_record(path: str, record: Mapping[str, Any]) -> None:
    """Write a record as JSON, in place of an earlier one; it appears when it is whole.

    Raises
    ------
    OutputError
        If it cannot be written.
    """
    with new_text_file(path, overwrite=True) as write:
        write(json.dumps(record, indent=2) + "\n")
