"""Content of a report, read from the folder of a finished events run."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from corefsample import _checks
from corefsample._arrays import Ints
from corefsample._checks import shown
from corefsample.errors import CorefsampleError, InputError
from corefsample.files import FolderCopy, PathLike, opened_folder
from events.counting import Calendar, arrow_schema, count_columns, evidence_schema, role_columns, row_names
from events.pages import shown_name
from events.report.audited import AuditContent, read_audit
from events.report.others import OtherDocuments, other_documents
from events.report.texts import DocumentTexts, Places

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

__all__ = ["FinishedRun", "Report", "read_report", "read_run"]

_COUNTS = ("period", "period_start", "n_docs", "mean", "mean_mc_se", "sd", "lower", "upper", "one_best")
_EVIDENCE = ("doc_id", "date", "period", "probability", "mc_se", "one_best", "places")
_FILES = ("run.json", "counts.parquet", "evidence.parquet", "documents.parquet")
_ALL_DOCUMENTS = "all_documents.parquet"  # runs of earlier versions have none
_ALL_COLUMNS = ("doc_id", "date", "trigger", "actor", "probability")
_DEEPEST = 20  # containers around each other in the record
_DAY = 86_400_000  # milliseconds


@dataclass(frozen=True, slots=True, eq=False)
class FinishedRun:
    """The files of a finished run that a report needs.

    Attributes
    ----------
    folder
        Folder of the run; of one at a URL the local copy, which is gone after reading.
    record
        Content of run.json.
    counts, evidence
        Content of counts.parquet and evidence.parquet, with the column `country`: the name of each row's event and
        actors.
    """

    folder: Path
    record: dict[str, Any]
    counts: pd.DataFrame
    evidence: pd.DataFrame


@dataclass(frozen=True, slots=True, eq=False)
class Report:
    """Content of the page.

    Attributes
    ----------
    record
        Content of run.json.
    counts
        Periods, actors with their counts, and the evidence, as columns of JSON values.
    texts
        Documents with their mentions, in packed parts: see `events.report.texts`.
    n_documents, n_texts
        Numbers of documents with evidence, and of those with their text.
    others
        Documents without evidence; None of a run that has no table of all documents.
    audit
        Labels and audited counts, if there are any.
    """

    record: dict[str, Any]
    counts: dict[str, Any]
    texts: list[str]
    n_documents: int
    n_texts: int
    others: OtherDocuments | None = None
    audit: AuditContent | None = None


def read_run(folder: PathLike) -> FinishedRun:
    """Read the tables of a finished run.

    Parameters
    ----------
    folder
        Folder written by `events.jobs.count_events.run_events`.

    Raises
    ------
    InputError
        If it is not such a folder, or a file in it is missing or damaged.
    """
    with opened_folder(folder, only=_is_needed) as run:
        run.pull(_is_needed)
        return _checked_run(run)


def _is_needed(name: str) -> bool:
    return name.removeprefix("run/") in (*_FILES, _ALL_DOCUMENTS)


def _checked_run(folder: FolderCopy) -> FinishedRun:
    path, place = Path(folder), str(folder)
    inner = path / "run"  # a demo's run is a folder in the demo's
    hint = f"did you mean {inner}?" if (inner / "run.json").is_file() else "`corefsample events` makes one"
    if not path.is_dir():
        kind = "a file" if path.exists() else "none"
        raise InputError(f"input must be the folder of a finished events run, got {kind}", place=place, hint=hint)
    for name in _FILES:
        if not (path / name).is_file():
            files = ", ".join(_FILES)
            raise InputError(f"a finished events run must have {files}, got no {name}", place=place, hint=hint)
    record = _record(path / "run.json")
    named = _named_columns(path / "counts.parquet")
    counts = _table(path / "counts.parquet", (*named, *_COUNTS), arrow_schema(count_columns(named[1:])))
    evidence = _table(path / "evidence.parquet", (*named, *_EVIDENCE), evidence_schema(named[1:]))
    several = len(counts["event"].unique()) > 1
    run = FinishedRun(
        path,
        record,
        counts.assign(country=row_names(counts, several=several)),
        evidence.assign(country=row_names(evidence[[*named, "period"]], several=several, like=counts)),
    )
    unknown = set(run.evidence["country"]) - set(run.counts["country"])
    unknown |= set(run.evidence["period"]) - set(run.counts["period"])
    if unknown:
        names = ", ".join(sorted(unknown)[:3])
        raise InputError(f"evidence must have only actors and periods of the counts, got {names}", place=place)
    return run


def _named_columns(path: Path) -> tuple[str, ...]:
    """The columns of the event and the roles in the table of counts of a run."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return ("event", *role_columns(pq.read_schema(path).names))
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        found = " ".join(str(error).split())
        raise InputError(f"file must be Parquet, got: {found}", place=str(path)) from None


def _record(path: Path) -> dict[str, Any]:
    place = str(path)
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        json.dumps(record, ensure_ascii=False).encode()  # lone surrogates raise
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"record must be readable JSON, got: {error}", place=place) from None
    if _depth(record) > _DEEPEST:
        raise InputError(f"record must be nested at most {_DEEPEST} deep, got more", place=place)
    for section, keys in _RECORD.items():
        content = record.get(section) if isinstance(record, dict) else None
        if not isinstance(content, dict) or not all(key in content for key in keys):
            missing = f"{section} with {', '.join(keys) or 'countries by code'}"
            rule = "record must be that of this version's events runs"
            raise InputError(f"{rule}, got no {missing}", place=place)
        for key, is_valid in keys.items():
            if not is_valid(content[key]):
                raise InputError(f"{section}.{key} must be as a run writes it, got {shown(content[key])}", place=place)
    return dict(record)


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_share(value: object) -> bool:
    return isinstance(value, float) and 0.0 < value < 1.0


def _is_pair(value: object) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(map(_is_text, value))


_RECORD: dict[str, dict[str, Callable[[object], bool]]] = {
    "arguments": {"period": _is_text, "n_samples": _is_count, "level": _is_share, "interval": _is_text},
    "rule": {"name": _is_text, "preset": _is_text},
    "summary": {"n_documents": _is_count, "n_sampled": _is_count, "periods": _is_pair},
    "names": {},
}


def _depth(content: object) -> int:
    """Number of containers around the innermost value; without recursion."""
    depth, level = 0, [content]
    while level:
        inner = [each for each in level if isinstance(each, (dict, list))]
        level = [value for each in inner for value in (each.values() if isinstance(each, dict) else each)]
        depth += bool(inner)
    return depth


def _table(path: Path, columns: tuple[str, ...], schema: pa.Schema) -> pd.DataFrame:
    """Read columns of a table of the run, in which every number is finite and no value is missing."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    place = str(path)
    try:
        present = pq.read_schema(path).names
        missing = [name for name in columns if name not in present]
        if missing:
            hint = "repeat the run with this version"
            raise InputError(f"column {missing[0]} is missing", place=place, hint=hint)
        table = pq.read_table(path, columns=list(columns))
        table.validate(full=True)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise InputError(f"file must be Parquet, got: {' '.join(str(error).split())}", place=place) from None
    for name in columns:
        column, wanted = table.column(name), schema.field(name).type
        is_text = pa.types.is_large_string(column.type) and pa.types.is_string(wanted)  # pandas writes the former
        if column.type != wanted and not is_text:
            raise InputError(f"column {name} must be {wanted}, got {column.type}", place=place)
        if column.null_count:
            raise InputError(f"column {name} must have no missing value, got {column.null_count}", place=place)
        if pa.types.is_floating(wanted) and not pc.all(pc.is_finite(column)).as_py() and len(column):
            raise InputError(f"column {name} must be finite, got another number", place=place)
    # Metadata for pandas would be read from the file, and may be damaged.
    frame: pd.DataFrame = table.replace_schema_metadata(None).to_pandas()
    return frame


def read_report(
    folder: PathLike, *, n_documents: int = 1000, n_others: int = 500, audit: PathLike | None = None
) -> Report:
    """Read the content of a page from a run's folder.

    All evidence is listed. Texts need most of the space, so at most `n_documents` documents have theirs: alternately
    those with P(event) nearest to one half, and those with the highest.

    Parameters
    ----------
    folder
        Folder of a finished run.
    n_documents
        At least 0.
    n_others
        The most documents without evidence, at least 0.
    audit
        Folder that `corefsample audit estimate` wrote for this run.

    Raises
    ------
    ParameterError
        If `n_documents` or `n_others` is negative.
    InputError
        As `read_run`, `events.report.audited.read_audit`, and if documents.parquet lacks a document of the evidence, or
        is inconsistent with it.
    """
    n_documents = _checks.whole("n_documents", n_documents, 0)
    n_others = _checks.whole("n_others", n_others, 0)
    with opened_folder(folder, only=_is_needed) as opened:
        run = read_run(opened)
        try:
            return _with_all_documents(run, _content(run, n_documents), n_others, audit)
        except CorefsampleError as error:
            raise error if isinstance(error, InputError) else error.as_input_error(str(folder)) from None
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:  # tables that contradict each other
            found = " ".join(f"{type(error).__name__}: {error}".split())
            raise InputError(f"the tables of a run must fit together, got: {found}", place=str(folder)) from None


def _content(run: FinishedRun, n_documents: int) -> Report:
    evidence = run.evidence
    countries = _ordered_countries(run.counts)
    country_codes = {code: c for c, code in enumerate(countries)}
    period_codes = {label: i for i, label in enumerate(run.counts["period"].unique())}
    doc_ids = list(dict.fromkeys(evidence["doc_id"]))
    document_codes = {doc_id: d for d, doc_id in enumerate(doc_ids)}
    with_text = _documents_with_text(evidence, n_documents)
    places: dict[str, Places] = {doc_id: [] for doc_id in with_text}
    for doc_id, country, text in zip(evidence["doc_id"], evidence["country"], evidence["places"], strict=True):
        if doc_id in places:
            places[doc_id].append((country_codes[country], text))
    texts = DocumentTexts(run.folder / "documents.parquet", places)
    dates = dict(zip(evidence["doc_id"], evidence["date"], strict=True))
    counts = {
        "level": run.record["arguments"]["level"],
        "periods": _periods(run),
        "countries": [_country(run, code) for code in countries],
        "documents": {
            "id": doc_ids,
            "date": [str(dates[doc_id]) for doc_id in doc_ids],
            "text": [texts.places.get(doc_id, -1) for doc_id in doc_ids],
            "perPart": texts.per_part,
        },
        "evidence": {
            "document": [document_codes[doc_id] for doc_id in evidence["doc_id"]],
            "country": [country_codes[code] for code in evidence["country"]],
            "period": [period_codes[label] for label in evidence["period"]],
            "probability": _rounded(evidence["probability"]),
            "error": _rounded(evidence["mc_se"]),
            "oneBest": [int(value) for value in evidence["one_best"]],
        },
    }
    return Report(run.record, counts, texts.parts, len(doc_ids), len(texts.places))


def _with_all_documents(run: FinishedRun, report: Report, n_others: int, audit: PathLike | None) -> Report:
    """Add the documents without evidence, and the labels."""
    path = run.folder / _ALL_DOCUMENTS
    if not path.is_file():
        if audit is not None:
            hint = "repeat the run with this version"
            raise InputError(f"a run with an audit must have {_ALL_DOCUMENTS}, got none", place=str(path), hint=hint)
        return report
    table = _table(path, _ALL_COLUMNS, _all_schema())
    content = None if audit is None else read_audit(audit, set(table["doc_id"]), run.record["names"])
    if content is not None:
        pairs = zip(run.evidence["doc_id"], run.evidence["country"], strict=True)
        report.counts["evidence"]["label"] = [content.row_label(doc_id, country) for doc_id, country in pairs]
        report.counts["audit"] = content.targets
    others = other_documents(table, run.record, {} if content is None else content.labels, n_others)
    report.counts["others"] = others.content
    if not report.counts["periods"] and len(table):
        # A run without events has no counts, but its documents have periods.
        calendar = Calendar(str(run.record["arguments"]["period"]))
        numbers = calendar.numbers(table["date"].to_numpy().astype("datetime64[D]"))
        n_docs = np.bincount(numbers - numbers.min())
        report.counts["periods"] = _period_rows(calendar, numbers.min() + np.arange(len(n_docs)), n_docs.tolist())
    return dataclasses.replace(report, others=others, audit=content)


def _all_schema() -> pa.Schema:
    import pyarrow as pa

    kinds = (pa.string(), pa.date32(), pa.bool_(), pa.bool_(), pa.float64())
    return pa.schema(list(zip(_ALL_COLUMNS, kinds, strict=True)))


def _ordered_countries(counts: pd.DataFrame) -> list[str]:
    """Countries with most documents first, as in the picture of all bands."""
    totals = counts.groupby("country")["mean"].sum().sort_values(ascending=False, kind="stable")
    return [str(code) for code in totals.index]


def _documents_with_text(evidence: pd.DataFrame, n_documents: int) -> list[str]:
    """The documents with their text in the page; see `read_report`."""
    probabilities = evidence["probability"].to_numpy()
    doc_ids = evidence["doc_id"].to_numpy()
    nearest = dict.fromkeys(doc_ids[np.argsort(np.abs(probabilities - 0.5), kind="stable")])
    likeliest = dict.fromkeys(doc_ids[np.argsort(-probabilities, kind="stable")])
    alternating = dict.fromkeys(doc_id for pair in zip(nearest, likeliest, strict=True) for doc_id in pair)
    return [str(doc_id) for doc_id in list(alternating)[:n_documents]]


def _periods(run: FinishedRun) -> list[list[Any]]:
    """Label, first millisecond, end, and number of documents of each period."""
    if run.counts.empty:
        return []
    first = run.counts[run.counts["country"] == run.counts["country"].iloc[0]]
    calendar = Calendar(str(run.record["arguments"]["period"]))
    numbers = calendar.numbers(np.asarray(first["period_start"], dtype="datetime64[D]"))
    return _period_rows(calendar, numbers, first["n_docs"].tolist())


def _period_rows(calendar: Calendar, numbers: Ints, n_docs: list[int]) -> list[list[Any]]:
    days = [
        calendar.index(each).start_time.to_numpy().astype("datetime64[D]").astype(np.int64)
        for each in (numbers, numbers + 1)
    ]
    labels = [period.label for period in calendar.periods(numbers)]
    columns = (labels, (days[0] * _DAY).tolist(), (days[1] * _DAY).tolist(), n_docs)
    return [list(row) for row in zip(*columns, strict=True)]


def _country(run: FinishedRun, code: str) -> dict[str, Any]:
    rows = run.counts[run.counts["country"] == code]
    names = run.record["names"]
    return {
        "code": code,
        "name": shown_name(code, names),
        "mean": _rounded(rows["mean"]),
        "lower": _rounded(rows["lower"]),
        "upper": _rounded(rows["upper"]),
        "sd": _rounded(rows["sd"]),
        "error": _rounded(rows["mean_mc_se"]),
        "oneBest": [int(value) for value in rows["one_best"]],
    }


def _rounded(values: pd.Series[Any]) -> list[float | int]:
    """Round to four digits, the most that the page shows, and write whole numbers without a point."""
    rounded = (float(f"{value:.4g}") for value in values)
    return [int(value) if value.is_integer() else value for value in rounded]
