"""What a run writes beside its tables: folder, pictures, record of arguments and inputs, documents set aside."""

from __future__ import annotations

import datetime
import json
import logging
import os
import platform
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import corefsample
from corefsample.documents._faults import Rejected
from corefsample.errors import InputError, ParameterError, ParameterHint
from corefsample.files._atomic import OutputFolder, new_file, require_free
from corefsample.files._reading import read_json
from corefsample.plots import save_figure
from events.runs._store import Source

if TYPE_CHECKING:
    from matplotlib.figure import Figure, SubFigure

RECORD_SUFFIX = ".scoring.json"  # of the record beside a file of scored documents
_KINDS = ("png", "svg")  # of pictures
_VERSIONS = ("numpy", "numba", "scipy", "pandas", "pyarrow", "matplotlib")


def checksums(paths: Sequence[str]) -> list[dict[str, Any]]:
    """Describe each input: path, size in bytes and SHA-256, or the entity tag of a URL; see `Source.to_record`."""
    return [Source.of(path).to_record() for path in paths]


def run_record(
    arguments: Mapping[str, Any], inputs: Sequence[Mapping[str, Any]], started: float, **more: Any
) -> dict[str, Any]:
    """Return the record of a run: version, arguments, inputs, time, versions of libraries, and further entries.

    Parameters
    ----------
    arguments
        Arguments of the command.
    inputs
        Rows that `checksums` returned; `scoring_of` adds how the texts of scored documents were read.
    started
        Time at which the run began, in seconds since the epoch.
    more
        Further entries of the record of this command, by name.
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
    """Entry for the records of runs that read a file of scored documents, from the scoring record beside the file.

    Returns
    -------
    dict
        ``scoring`` with n_quarantined and the counts of `TextTally` that are not 0; empty for a file without a record.
    """
    name = f"{path}{RECORD_SUFFIX}"
    if not os.path.isfile(name):
        return {}
    try:
        summary = json.loads(Path(name).read_bytes())["summary"]
        texts = {name: count for name, count in summary["texts"].items() if count}
        return {"scoring": {"n_quarantined": summary["n_quarantined"], "texts": texts}}
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return {}


def require_documents(
    n_documents: int,
    rejected: Sequence[Rejected],
    where: Sequence[str] | None,
    n_not_selected: int,
    max_quarantined: float | None,
) -> None:
    """Raise InputError if no document is valid or selected, or more were set aside than `max_quarantined` allows.

    `max_quarantined` is a share of all documents if it is below 1, and a number of documents otherwise. A corpus of no
    documents at all is valid.
    """
    n_all, most = n_documents + len(rejected), max_quarantined
    if most is not None and len(rejected) > (most * n_all if most < 1.0 else most):
        shown = f"{most:.4g} of all" if 0.0 < most < 1.0 else f"{most:,.0f}"
        rule = f"at most {shown} documents may be set aside, got {len(rejected):,} of {n_all:,}"
        hint = ParameterHint("max_quarantined", "sets a higher limit")
        raise InputError(f"{rule}, the first: {rejected[0].message()}", hint=hint)
    if rejected and not n_documents:
        rule = f"a document must be valid, got none, {len(rejected)} set aside, first: {rejected[0].message()}"
        raise InputError(rule)
    if n_not_selected and not n_documents:
        condition = " and ".join(where or ())
        raise InputError(f"must hold for at least one document, got none for {condition!r}", parameter="where")


def quarantine_lines(rejected: Iterable[Rejected]) -> bytes:
    """Bytes of the quarantine file of a run, one line of JSON for each rejected document."""
    return "".join(json.dumps(document.to_json()) + "\n" for document in rejected).encode()


def free_outputs(path: str, record_suffix: str, *suffixes: str, overwrite: bool) -> str:
    """Check before a run that its output, its record and further files can be written; return the path of the record.

    Raises
    ------
    ParameterError
        If one of the paths is a folder, or an existing file although `overwrite` is false.
    """
    for suffix in ("", record_suffix, *suffixes):
        require_free(path + suffix, overwrite=overwrite)
    return path + record_suffix


def require_same(record: str, out: str, settings: Mapping[str, Any], paths: Sequence[str]) -> None:
    """Raise ParameterError if a run is there that has other settings, or an input that this one does not have.

    Contents of inputs may have changed, and there may be more inputs.

    Parameters
    ----------
    record, out
        Path of the record of the run, and path of its output.
    settings, paths
        Settings and inputs of the new run.
    """
    if not os.path.exists(record):
        return
    earlier = read_json(record)
    before, now = ({**each.get("options", {}), **each} for each in (earlier.get("settings", {"version": ""}), settings))
    different = [name for name, value in before.items() if name != "options" and now.get(name, ...) != value]
    removed = [each["path"] for each in earlier["inputs"] if each["path"] not in paths]
    if different or removed:
        difference = f"another {different[0]}" if different else f"the input {removed[0]}, which is left out"
        if different and different[0].isidentifier() and not isinstance(before[different[0]], dict):
            difference = f"{different[0]} {before[different[0]]}, not {now.get(different[0])}"
        rule = "must be new, or have the results of the same settings and of no other inputs"
        hint = ParameterHint("overwrite", "replaces them")
        raise ParameterError(f"{rule}, got {out} with {difference}", parameter="out", place=out, hint=hint)


def picture_files(*names: str) -> list[str]:
    """Files of pictures with these names."""
    return [f"{name}.{kind}" for name in names for kind in _KINDS]


def save_pictures(pictures: Mapping[str, Callable[[], Figure | SubFigure]], file: Callable[[str], Path]) -> list[str]:
    """Draw pictures and save each as PNG and SVG; log a warning for each picture that cannot be drawn.

    For example, axes cannot show dates in the first or the last year of the calendar. An earlier picture is replaced
    when the new one is drawn, and stays where it cannot be.

    Parameters
    ----------
    pictures
        Functions that draw the pictures, by the names of the files without their endings.
    file
        Function that returns the path of a file of the run by its name.

    Returns
    -------
    list of str
        Names of the files written.

    Raises
    ------
    OSError
        If a file cannot be written.
    """
    names: list[str] = []
    for name, draw in pictures.items():
        try:
            figure, paths = draw(), [*map(file, picture_files(name))]
            with ExitStack() as new_files:  # after an error, earlier files stay
                for path in paths:
                    partial = new_files.enter_context(new_file(path, overwrite=True, suffix=path.suffix))
                    save_figure(figure, partial)
            names += [path.name for path in paths]
        except OSError:
            raise
        except Exception as error:
            reason = " ".join(f"{type(error).__name__}: {error}".split())
            logging.getLogger("corefsample.jobs").warning(
                "the picture %s could not be drawn, all tables are complete: %s", name, reason
            )
    return names


class RunFolder(OutputFolder):
    """Collects the files of an events run: see `OutputFolder`."""

    RECORD = "run.json"
    FILES = frozenset(
        [
            *(f"{name}.csv" for name in ("counts", "totals", "evidence", "near_half", "events")),
            *(f"{name}comparisons.csv" for name in ("", "period_")),
            *(f"{name}.parquet" for name in ("counts", "evidence", "count_samples", "documents", "all_documents")),
            *picture_files("bands", "comparison"),
            "report.html",  # written by another command, and outdated when the run is repeated
            *("quarantine.jsonl", RECORD),
        ]
    )
    STORES = frozenset(["parts"])


class CalibrationFolder(OutputFolder):
    """Tables and pictures of `corefsample calibrate`."""

    RECORD = "calibration.json"
    FILES = frozenset(
        [
            *(RECORD, "quarantine.jsonl", "calibration.csv", "calibration.parquet", "reliability.csv"),
            *picture_files("reliability", "reliability_by_kind"),
        ]
    )
