"""The record of a run: what it was given, with which versions, and when."""

from __future__ import annotations

import datetime
import hashlib
import os
import platform
from collections.abc import Mapping, Sequence
from importlib import metadata
from typing import Any

import corefsample

__all__ = ["checksums", "run_record"]

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
