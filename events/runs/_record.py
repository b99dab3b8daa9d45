"""The record of a run: its arguments and inputs, versions, and the time."""

from __future__ import annotations

import datetime
import json
import os
import platform
from collections.abc import Hashable, Iterable, Mapping, Sequence
from importlib import metadata
from typing import Any

import corefsample
from corefsample._lazy import pd
from corefsample.documents._faults import Rejected
from corefsample.errors import InputError, ParameterHint
from corefsample.files._atomic import require_free
from events.runs._store import Source

RECORD_SUFFIX = ".scoring.json"  # of the record beside a file of scored documents
_VERSIONS = ("numpy", "numba", "scipy", "pandas", "pyarrow", "matplotlib")


def checksums(paths: Sequence[str]) -> list[dict[str, Any]]:
    """Size in bytes and SHA-256 of each input (None for standard input); the entity tag of a URL that has one."""
    records = {path: Source.of(path).to_record() for path in paths}
    return [records[path] for path in paths]


def run_record(
    arguments: Mapping[str, Any], inputs: Sequence[Mapping[str, Any]], started: float, **more: Any
) -> dict[str, Any]:
    """Return the record of a run: version, arguments, `more`, inputs, start, versions of libraries.

    Parameters
    ----------
    arguments
        Arguments of the command.
    inputs
        Rows of `checksums`; the record says of scored documents what the record beside them says of their texts.
    started
        Seconds since the epoch.
    more
        Entries that only this command records.
    """
    return {
        "corefsample": corefsample.__version__,
        "arguments": dict(arguments),
        **more,
        "inputs": [{**row, **scoring_of(row.get("path"))} for row in inputs],
        "started": datetime.datetime.fromtimestamp(started, datetime.UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "versions": {name: metadata.version(name) for name in _VERSIONS},
    }


def scoring_of(path: Any) -> dict[str, Any]:
    """What the record beside a file of scored documents says, for the records of runs that read the file.

    Returns
    -------
    dict
        ``scoring``: n_quarantined, and the counts of `TextTally` that are not 0. Empty for a file without a record.
    """
    name = f"{path}{RECORD_SUFFIX}"
    if not os.path.isfile(name):
        return {}
    try:
        with open(name, encoding="utf-8") as file:
            summary = json.load(file)["summary"]
        texts = {name: count for name, count in summary["texts"].items() if count}
        return {"scoring": {"n_quarantined": summary["n_quarantined"], "texts": texts}}
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return {}


def require_documents(
    n_documents: int,
    rejected: Sequence[Rejected],
    where: Sequence[str] | None,
    max_quarantined: float | None,
    paths: Sequence[str],
) -> None:
    """Raise InputError if a run has no good document: none for which the conditions hold, or none at all.

    Raise InputError also if more documents were set aside than `max_quarantined`: a share of all documents if it is
    below 1, otherwise a number.
    """
    n_all, most = n_documents + len(rejected), max_quarantined
    if most is not None and len(rejected) > (most * n_all if most < 1.0 else most):
        shown = f"{most:.4g} of all" if 0.0 < most < 1.0 else f"{most:,.0f}"
        rule = f"at most {shown} documents may be set aside, got {len(rejected):,} of {n_all:,}"
        hint = ParameterHint("max_quarantined", "allows more")
        raise InputError(f"{rule}, the first: {rejected[0].message()}", hint=hint)
    if n_documents:
        return
    if where and not rejected:
        condition = " and ".join(where)
        raise InputError(f"must hold for at least one document, got none for {condition!r}", parameter="where")
    aside = f", {len(rejected)} set aside, first: {rejected[0].message()}" if rejected else ""
    raise InputError(f"a corpus must have at least one document, got none{aside}", place=", ".join(paths))


def quarantine_lines(rejected: Iterable[Rejected]) -> bytes:
    """Content of the quarantine file of a run."""
    return "".join(json.dumps(each.to_json()) + "\n" for each in rejected).encode()


def json_rows(frame: pd.DataFrame) -> list[dict[Hashable, Any]]:
    """Rows of a table for JSON: missing values are None."""
    return frame.astype(object).where(frame.notna(), None).to_dict(orient="records")


def free_outputs(path: str, record_suffix: str, *, overwrite: bool) -> str:
    """Raise, before the work, if an output or its record exists; return the name of the record.

    Raises
    ------
    ParameterError
        If an output is a folder, or if it is a file and `overwrite` is false.
    """
    for name in (path, path + record_suffix):
        require_free(name, overwrite=overwrite)
    return path + record_suffix
