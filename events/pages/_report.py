"""The page of a report: one self-contained HTML file that loads nothing from the network."""

import functools
import json
import logging
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

from corefsample._lazy import can_report, install_hint
from corefsample.errors import OutputError, ParameterError
from corefsample.files._atomic import require_free, write_bytes
from corefsample.files._paths import PathLike, joined
from events.audit._plan import SHEET_COLUMNS
from events.counts._run_tables import REPORTED
from events.evidence._columns import shown_name
from events.pages._labels import CHOSEN, label_kind
from events.pages._rendering import rendered
from events.pages._report_content import KINDS, Report, read_report

DEFAULT_NAME = "report.html"
_SCRIPTS = (
    "elements files page address texts differences sheet progress answers export sentences charts bands panels audited "
    "others desk listing reader choices main"
)


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
        return str(write_report(folder, overwrite=overwrite)["out"])
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
) -> dict[str, Any]:
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

    Returns
    -------
    dict
        Path of the page, ``out``; ``n_actors``, over all events, and ``n_periods`` of the counts; ``n_with_events`` and
        ``n_texts``, numbers of documents with evidence, and of those whose text is in the page; ``n_others``, number of
        documents without evidence in the page; and ``n_bytes``, the size of the file.

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
    if Path(path).suffix.lower() not in (".html", ".htm"):
        raise ParameterError(f"must end in .html or .htm, got {path!r}", parameter="out")
    require_free(path, overwrite=overwrite)
    report = read_report(folder, n_documents=n_documents, n_others=n_others, audit=audit, learned=learned)
    page = rendered_page(report, title=title).encode("utf-8")
    write_bytes(path, page, overwrite=overwrite)
    return {
        "out": path,
        "n_actors": len(report.counts["actors"]),
        "n_periods": len(report.counts["periods"]),
        "n_with_events": report.n_documents,
        "n_texts": report.n_texts,
        "n_others": len(report.others["content"]["id"]),
        "n_bytes": len(page),
    }


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
    drawn, record = _drawn_charts(), report.record
    first, last = record["summary"]["periods"]
    event, kind = (
        str(record["rule"]["name"]).replace("_", " "),
        " in simulated news" * (record.get("simulated") is True),
    )
    values = {
        "title": title or f"Events{kind}: {event}, {first} to {last}",
        "report": report,
        "record": record,
        "charts": drawn["charts"],
        "kinds": KINDS,
        "reported": REPORTED,
        "fields": _flat({**record, "names": [f"{code} {name}" for code, name in record["names"].items()]}),
        "sheet": _chosen_sheet(report),
    }
    libraries = {"library": drawn["library"]}
    return rendered("page", "base answers report", _SCRIPTS, values, libraries=libraries)


def _chosen_sheet(report: Report) -> dict[str, Any]:
    """The sheet of the documents that a person chooses on the page of a report; empty if there is no plan.

    Such documents have no inclusion probability: their round is "chosen".
    """
    about, names = report.about, {} if report.about is None else report.about.names
    documents, others = report.counts["documents"], report.counts["others"]
    with_text = [d for d, number in enumerate(documents["text"]) if number >= 0]
    columns = {name: [*(documents[name][d] for d in with_text), *others[name]] for name in ("id", "date") if about}
    choices = [] if label_kind(names) == "yes-no" else names.values()
    return {
        "plan": "" if about is None else about.plan,
        "key": CHOSEN,
        "file": f"{CHOSEN}.csv",
        "kind": label_kind(names),
        "actors": [[code, shown_name(code, report.record["names"])] for code in choices],
        "columns": list(SHEET_COLUMNS),
        "documents": {"doc_id": columns.get("id", []), "date": columns.get("date", []), "labeller": [], "note": []},
        "same": {"round": CHOSEN, "stratum": "", "inclusion_probability": ""},
    }


@functools.cache
def _drawn_charts() -> dict[str, Any]:
    """Specifications of the charts, and their library, from another process.

    vl-convert runs JavaScript in V8, which reserves many gigabytes of addresses, and ends its process where memory is
    limited.
    """
    command = [sys.executable, "-m", "events.pages._rendering"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    try:
        process = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, env=environment, check=False)
        status, output, text = process.returncode, process.stdout, process.stderr.decode(errors="replace")
    except OSError as error:
        status, output, text = 1, b"", str(error)
    if status == 0:
        charts: dict[str, Any] = json.loads(output)
        return charts
    lines = [line.strip("# ") for line in text.splitlines() if line.strip("# ")] or [f"status {status}"]
    reason = next((line for line in lines if "Fatal" in line), lines[-1])
    hint = "vl-convert reserves many gigabytes of addresses: run it without a limit such as `ulimit -v`"
    raise ChartError(f"charts could not be made: {reason}", hint=hint)


def _flat(value: Any, path: str = "") -> list[tuple[str, str]]:
    """Name and value of all fields of the record; names of nested fields are joined by points."""
    if isinstance(value, dict):
        inner = [(f"{path}.{name}".lstrip("."), each) for name, each in value.items()]
    elif isinstance(value, list) and any(isinstance(each, dict) for each in value):
        inner = [(f"{path}[{i}]", each) for i, each in enumerate(value)]
    else:
        return [(path, ", ".join(map(str, value)) if isinstance(value, list) else "" if value is None else str(value))]
    return [row for name, each in inner for row in _flat(each, name)]
