"""The page of a report: one HTML file that needs nothing else, and can fetch nothing."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import json
import os
import secrets
from contextlib import suppress
from dataclasses import dataclass
from importlib import resources
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corefsample.errors import OutputError, ParameterError
from events.report.model import Report, read_report

if TYPE_CHECKING:
    from markupsafe import Markup

__all__ = ["ReportSummary", "can_report", "embedded_json", "rendered_page", "write_report"]

DEFAULT_NAME = "report.html"
_SCRIPTS = ("page", "texts", "bands", "listing", "reader", "main")
_LIBRARIES = ("altair", "jinja2", "vl_convert")


@dataclass(frozen=True, slots=True)
class ReportSummary:
    """What was written.

    Attributes
    ----------
    out
        The file.
    n_countries, n_periods
        Of the counts.
    n_documents, n_texts
        Documents with evidence, and those of them whose text the page holds.
    n_bytes
        Size of the file.
    """

    out: str
    n_countries: int
    n_periods: int
    n_documents: int
    n_texts: int
    n_bytes: int

    def to_json(self) -> dict[str, Any]:
        """The fields by name."""
        return dataclasses.asdict(self)


def can_report() -> bool:
    """Whether the libraries of the page are installed: the extra "report"."""
    return all(find_spec(name) is not None for name in _LIBRARIES)


def write_report(
    folder: str | os.PathLike[str],
    out: str | os.PathLike[str] | None = None,
    *,
    title: str | None = None,
    n_documents: int = 1000,
    overwrite: bool = False,
) -> ReportSummary:
    """Write the page of a finished events run.

    Parameters
    ----------
    folder
        That `events.jobs.count_events.run_events` wrote.
    out
        The file; report.html in the folder by default.
    title
        Of the page; by default it names the rule and the periods.
    n_documents
        Documents whose text the page holds, at most: see `events.report.model.read_report`.
    overwrite
        Whether an earlier file may be replaced.

    Raises
    ------
    ParameterError
        If a parameter is outside its range, the file exists and overwrite is not said, or a library is missing.
    InputError
        If the folder is not that of a finished run.
    OutputError
        If the file cannot be written.
    """
    path = Path(folder) / DEFAULT_NAME if out is None else Path(out)
    if out is not None and not os.fspath(out):
        raise ParameterError("out must name a file, got ''")
    if path.suffix.lower() not in (".html", ".htm"):
        raise ParameterError(f"out must end in .html or .htm, got {path}")
    if path.is_dir():
        raise ParameterError(f"out must be a file, got the folder {path}")
    if path.exists() and not overwrite:
        raise ParameterError(f"out must not exist (overwrite replaces it), got {path}")
    report = read_report(folder, n_documents=n_documents)
    content = rendered_page(report, title=title).encode("utf-8")
    _put(path, content)
    return ReportSummary(
        str(path),
        len(report.counts["countries"]),
        len(report.counts["periods"]),
        report.n_documents,
        report.n_texts,
        len(content),
    )


def _put(path: Path, content: bytes) -> None:
    """Write a file so that it appears when it is whole."""
    partial = path.with_name(f".partial-{secrets.token_hex(8)}.html")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.write_bytes(content)
        os.replace(partial, path)
    except OSError as error:
        raise OutputError(f"{path}: output must be writable, got: {error.strerror or error}") from None
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)


def rendered_page(report: Report, *, title: str | None = None) -> str:
    """Return the HTML of a report.

    All text comes in by way of Jinja2's escaping or `embedded_json`. The page's own policy lets the scripts and the
    style run that are written here, by their hashes, and nothing else: no network, no ``eval``, no HTML made of text.

    Parameters
    ----------
    report
        From `events.report.model.read_report`.
    title
        Of the page.

    Raises
    ------
    ParameterError
        If a library is missing.
    """
    try:
        import jinja2
        from markupsafe import Markup

        from events.report.charts import band_chart, chart_library

        charts = {"large": band_chart(), "small": band_chart(small=True)}
        library = chart_library()
    except ImportError as error:
        needed = f"{', '.join(_LIBRARIES)} installed (pip install 'corefsample[report]')"
        raise ParameterError(f"report must have {needed}, got no {error.name}") from None
    style, script = _static("report.css"), _own_script()
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_template), autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True
    )
    environment.filters["embedded"] = embedded_json
    record = report.record
    page: str = environment.get_template("page.html.j2").render(
        title=title or _title(report),
        report=report,
        record=record,
        charts=charts,
        fields=_flat(record),
        # Written by this package and its chart library alone: no input is in it.
        style=Markup(style),
        library=Markup(library),
        script=Markup(script),
        hashes={name: _hash(text) for name, text in (("style", style), ("library", library), ("script", script))},
    )
    return page


def embedded_json(content: object) -> Markup:
    r"""Return JSON that can stand in a script element of HTML.

    Nothing in it can end the element or begin a comment: <, > and & come as \u003c, \u003e, \u0026, and so do the two
    line separators that older JavaScript does not take.

    Examples
    --------
    >>> print(embedded_json("</script>&\u2028"))
    "\u003c/script\u003e\u0026\u2028"
    """
    from markupsafe import Markup

    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return Markup(text.translate({ord(letter): f"\\u{ord(letter):04x}" for letter in "<>&\u2028\u2029"}))


def _title(report: Report) -> str:
    first, last = report.record["summary"]["periods"]
    name = str(report.record["rule"]["name"]).replace("_", " ")
    return f"Events: {name}, {first} to {last}"


def _flat(record: dict[str, Any], prefix: str = "") -> list[tuple[str, str]]:
    """Name and value of everything in the record, the names of what is nested joined by points."""
    rows: list[tuple[str, str]] = []
    for name, value in record.items():
        if not prefix and name == "names":
            value = [f"{code} {known}" for code, known in value.items()]
        path = f"{prefix}{name}"
        if isinstance(value, dict):
            rows += _flat(value, f"{path}.")
        elif isinstance(value, list) and any(isinstance(each, dict) for each in value):
            for i, each in enumerate(value):
                rows += _flat(each if isinstance(each, dict) else {"value": each}, f"{path}[{i}].")
        elif isinstance(value, list):
            rows.append((path, ", ".join(map(str, value))))
        else:
            rows.append((path, "" if value is None else str(value)))
    return rows


def _own_script() -> str:
    return "(() => {\n'use strict';\n" + "\n".join(_static(f"{name}.js") for name in _SCRIPTS) + "\n})();\n"


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode('utf-8')).digest()).decode('ascii')}'"


def _static(name: str) -> str:
    return resources.files("events.report").joinpath("static", name).read_text(encoding="utf-8")


def _template(name: str) -> str:
    return resources.files("events.report").joinpath("templates", name).read_text(encoding="utf-8")
