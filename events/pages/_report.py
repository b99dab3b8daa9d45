"""The page of a report: one self-contained HTML file that loads nothing from the network."""

from __future__ import annotations

import functools
import json
import logging
import os
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from corefsample._lazy import can_report, install_hint
from corefsample.errors import OutputError, ParameterError
from corefsample.files._atomic import require_free, unwritable, write_bytes
from corefsample.files._paths import PathLike, joined
from corefsample.files._remote import is_url
from events.audit._plan import SHEET_COLUMNS
from events.evidence._columns import shown_name
from events.pages._labels import CHOSEN, LabelTargets
from events.pages._other_documents import KINDS
from events.pages._rendering import rendered
from events.pages._report_content import Report, read_report

DEFAULT_NAME = "report.html"
_SCRIPTS = (
    "elements files page address texts differences sheet progress answers export sentences charts bands panels audited "
    "others desk listing reader choices main"
)


@dataclass(frozen=True, slots=True)
class ReportResult:
    """Size and content of a page.

    Attributes
    ----------
    out
        Path of the page.
    n_actors, n_periods
        Number of actors, over all events, and of periods in the counts.
    n_with_events, n_texts
        Number of documents with evidence, and of those whose text is in the page.
    n_others
        Number of documents without evidence in the page.
    n_bytes
        Size of the file in bytes.
    """

    out: str
    n_actors: int
    n_periods: int
    n_with_events: int
    n_texts: int
    n_others: int
    n_bytes: int


class ChartError(OutputError):
    """The charts of a page cannot be made, mostly because memory is limited."""


def page_of_run(folder: PathLike, *, overwrite: bool) -> str | None:
    """Write the page of a run that was just counted, and return its path.

    Returns
    -------
    str or None
        None if the library of the extra "report" is missing, or if memory does not suffice for the charts: a warning
        is logged, because the tables of the run are complete.
    """
    if not can_report():
        return None
    try:
        return write_report(folder, overwrite=overwrite).out
    except ChartError as error:
        command = f"corefsample report {shlex.quote(os.fspath(folder))}"
        logging.getLogger("corefsample.jobs").warning(
            "no page, all tables are complete: %s; afterwards, `%s` makes it", error, command
        )
        return None


def write_report(
    folder: PathLike,
    out: PathLike | None = None,
    *,
    title: str | None = None,
    n_documents: int = 1000,
    n_others: int = 500,
    audit: PathLike | None = None,
    learned: PathLike | None = None,
    overwrite: bool = False,
) -> ReportResult:
    """Write the page of a finished events run.

    Parameters
    ----------
    folder
        Folder written by `events.commands.run_events`.
    out
        Path of the page; by default, report.html in the folder.
    title
        Title of the page; by default, it names the rule and the periods.
    n_documents
        Largest number of documents with their text in the page: see `events.pages._report_content.read_report`.
    n_others
        Largest number of documents without evidence, with their texts where the inputs of the run still exist.
    audit
        Folder that `corefsample audit estimate` wrote: labels are shown beside P, audited counts beside the model's.
    learned
        Folder that `corefsample audit learn` wrote: P that a reader says yes, and counts that rest on it.
    overwrite
        True if an existing file may be replaced.

    Raises
    ------
    ParameterError
        If a parameter is outside its range, if the file exists and `overwrite` is false, or if a library that the page
        needs is not installed.
    InputError
        If the folder is not that of a finished run.
    OutputError
        If the file cannot be written, or if memory does not suffice for the charts.
    """
    path = joined(folder, DEFAULT_NAME) if out is None else os.fspath(out)
    if not path:
        raise ParameterError("must name a file, got ''", parameter="out")
    if Path(path).suffix.lower() not in (".html", ".htm"):
        raise ParameterError(f"must end in .html or .htm, got {path}", parameter="out")
    require_free(path, overwrite=overwrite)
    report = read_report(folder, n_documents=n_documents, n_others=n_others, audit=audit, learned=learned)
    page = rendered_page(report, title=title).encode("utf-8")
    if not is_url(path):
        try:
            Path(path).parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise unwritable(path, error) from None
    write_bytes(path, page, overwrite=overwrite)
    return ReportResult(
        path,
        len(report.counts["actors"]),
        len(report.counts["periods"]),
        report.n_documents,
        report.n_texts,
        report.others.n_shown if report.others else 0,
        len(page),
    )


def rendered_page(report: Report, *, title: str | None = None) -> str:
    """Return the HTML of a report.

    All text is inserted through Jinja2's escaping or `embedded_json`. The page's security policy allows
    the scripts and the style written here, by their hashes, and nothing else: no network, no ``eval``, no HTML made
    from text.

    Parameters
    ----------
    report
        Result of `events.pages._report_content.read_report`.
    title
        Title of the page.

    Raises
    ------
    ParameterError
        If the library that the page needs is not installed.
    ChartError
        If memory does not suffice for the charts.
    """
    if not can_report():
        raise ParameterError("vl-convert must be installed", hint=install_hint("report"))
    drawn = _drawn_charts()
    record = report.record
    values = {
        "title": title or _title(report),
        "report": report,
        "record": record,
        "charts": drawn["charts"],
        "kinds": KINDS,
        "fields": _flat({**record, "names": [f"{code} {name}" for code, name in record["names"].items()]}),
        "sheet": _chosen_sheet(report),
    }
    libraries = {"library": drawn["library"]}
    return rendered("page", "base answers report", _SCRIPTS, values, libraries=libraries)


def _chosen_sheet(report: Report) -> dict[str, Any]:
    """The sheet of the documents that a person chooses on the page of a report; empty if there is no plan.

    Such documents have no inclusion probability: their round is "chosen".
    """
    documents, other_documents = report.counts["documents"], report.counts.get("others", {})
    about = report.about or LabelTargets("")
    rows = [d for d, place in enumerate(documents["text"]) if place >= 0 and report.about]
    without_evidence = other_documents if report.about else {}
    doc_ids, dates = ([documents[name][d] for d in rows] + without_evidence.get(name, []) for name in ("id", "date"))
    names = report.record["names"]
    return {
        "plan": about.plan,
        "key": CHOSEN,
        "file": f"{CHOSEN}.csv",
        "kind": about.kind,
        "actors": [[code, shown_name(code, names)] for code in about.choices],
        "columns": list(SHEET_COLUMNS),
        "documents": {"doc_id": doc_ids, "date": dates, "labeller": [], "note": []},
        "same": {"round": CHOSEN, "stratum": "", "inclusion_probability": ""},
    }


@functools.cache
def _drawn_charts() -> dict[str, Any]:
    """Specifications of the charts, and their library, from another process.

    vl-convert runs JavaScript in V8, which reserves many gigabytes of addresses, and ends its process where memory is
    limited.
    """
    command = [sys.executable, "-m", "events.pages._charts"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    try:
        process = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, env=environment, check=False)
    except OSError as error:
        raise _chart_error(str(error)) from None
    if process.returncode == 0:
        charts: dict[str, Any] = json.loads(process.stdout)
        return charts
    lines = [line.strip("# ") for line in process.stderr.decode(errors="replace").splitlines() if line.strip("# ")]
    reason = lines[-1] if lines else f"status {process.returncode}"
    raise _chart_error(next((line for line in lines if "Fatal" in line), reason))


def _chart_error(reason: str) -> ChartError:
    hint = "vl-convert reserves many gigabytes of addresses: run it without a limit such as `ulimit -v`"
    return ChartError(f"charts could not be made: {reason}", hint=hint)


def _title(report: Report) -> str:
    first, last = report.record["summary"]["periods"]
    name = str(report.record["rule"]["name"]).replace("_", " ")
    kind = "Events in simulated news" if report.record.get("simulated") is True else "Events"
    return f"{kind}: {name}, {first} to {last}"


def _flat(value: Any, path: str = "") -> list[tuple[str, str]]:
    """Name and value of all fields of the record; names of nested fields are joined by points."""
    if isinstance(value, dict):
        inner = [(f"{path}.{name}".lstrip("."), each) for name, each in value.items()]
    elif isinstance(value, list) and any(isinstance(each, dict) for each in value):
        inner = [(f"{path}[{i}]", each) for i, each in enumerate(value)]
    else:
        return [(path, ", ".join(map(str, value)) if isinstance(value, list) else "" if value is None else str(value))]
    return [row for name, each in inner for row in _flat(each, name)]
