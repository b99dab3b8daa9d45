"""The record of a run: its arguments and inputs, versions, and the time."""

from __future__ import annotations

import dataclasses
import datetime
import os
import platform
from collections.abc import Hashable, Mapping, Sequence
from importlib import metadata
from typing import TYPE_CHECKING, Any

import corefsample
from corefsample.files import require_free, sha256

if TYPE_CHECKING:
    import pandas as pd


_VERSIONS = ("numpy", "numba", "scipy", "pandas", "pyarrow", "matplotlib")


def checksums(paths: Sequence[str]) -> list[dict[str, Any]]:
    """Size in bytes and SHA-256 of each input; None for standard input."""
    files = {path: (None, None) if path == "-" else (os.path.getsize(path), sha256(path)) for path in paths}
    return [{"path": path, "bytes": files[path][0], "sha256": files[path][1]} for path in paths]


def run_record(
    arguments: Mapping[str, Any], inputs: Sequence[Mapping[str, Any]], started: float, **more: Any
) -> dict[str, Any]:
    """Return the record of a run: version, arguments, `more`, inputs, start, versions of libraries.

    Parameters
    ----------
    arguments
        Arguments of the command.
    inputs
        Rows of `checksums`.
    started
        Seconds since the epoch.
    more
        What only this command records.
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


def plain_fields(result: Any) -> dict[str, Any]:
    """Fields of a dataclass whose values are numbers, text or None."""
    values = {field.name: getattr(result, field.name) for field in dataclasses.fields(result)}
    return {name: value for name, value in values.items() if value is None or isinstance(value, (str, int, float))}


def json_rows(frame: pd.DataFrame) -> list[dict[Hashable, Any]]:
    """Rows of a table for JSON: missing values are None."""
    return frame.astype(object).where(frame.notna(), None).to_dict(orient="records")


def free_outputs(path: str, record_suffix: str, *, overwrite: bool) -> str:
    """Raise, before the work, if an output or its record exists; return the name of the record.

    Raises
    ------
    ParameterError
        If one of them is a folder, or a file and `overwrite` is false.
    """
    for name in (path, path + record_suffix):
        require_free(name, overwrite=overwrite)
    return path + record_suffix
