"""What a report shows, read from the folder of a finished events run."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample.errors import InputError
from events.counting import Calendar
from events.report.texts import DocumentTexts, Places

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["FinishedRun", "Report", "read_report", "read_run"]

_COUNTS = ("country", "period", "period_start", "n_docs", "mean", "mean_mc_se", "sd", "lower", "upper", "one_best")
_EVIDENCE = ("doc_id", "date", "period", "country", "probability", "mc_se", "one_best", "places")
_FILES = ("run.json", "counts.parquet", "evidence.parquet", "documents.parquet")
_DAY = 86_400_000  # milliseconds


@dataclass(frozen=True, slots=True, eq=False)
class FinishedRun:
    """The files of a finished run that a report needs.

    Attributes
    ----------
    folder
        Where they are.
    record
        run.json.
    counts, evidence
        counts.parquet and evidence.parquet.
    """

    folder: Path
    record: dict[str, Any]
    counts: pd.DataFrame
    evidence: pd.DataFrame


@dataclass(frozen=True, slots=True, eq=False)
class Report:
    """What the page shows.

    Attributes
    ----------
    record
        run.json.
    counts
        Periods, countries with their counts, and the evidence, in columns: all of JSON.
    texts
        Documents with their mentions, in packed parts: see `events.report.texts`.
    n_documents, n_texts
        Documents with evidence, and those of them whose text is there.
    """

    record: dict[str, Any]
    counts: dict[str, Any]
    texts: list[str]
    n_documents: int
    n_texts: int


def read_run(folder: str | os.PathLike[str]) -> FinishedRun:
    """Read the tables of a finished run.

    Parameters
    ----------
    folder
        That `events.jobs.count_events.run_events` wrote.

    Raises
    ------
    InputError
        If this is no such folder, or a file of it is missing or not what the run wrote.
    """
    path = Path(folder)
    if not path.is_dir():
        found = "a file" if path.exists() else "none there"
        raise InputError(f"{folder}: input must be the folder of a finished events run, got {found}")
    for name in _FILES:
        if not (path / name).is_file():
            raise InputError(f"{folder}: a finished events run must have {', '.join(_FILES)}, got no {name}")
    run = FinishedRun(
        path,
        _record(path / "run.json"),
        _table(path / "counts.parquet", _COUNTS),
        _table(path / "evidence.parquet", _EVIDENCE),
    )
    strange = set(run.evidence["country"]) - set(run.counts["country"])
    strange |= set(run.evidence["period"]) - set(run.counts["period"])
    if strange:
        raise InputError(f"{folder}: evidence must be of what is counted, got {', '.join(sorted(strange)[:3])} besides")
    return run


def _record(path: Path) -> dict[str, Any]:
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: record must be readable JSON, got: {error}") from None
    parts = {"arguments": ("period", "n_samples", "level", "interval"), "rule": ("name", "preset")}
    parts |= {"summary": ("n_documents", "n_sampled", "periods"), "names": ()}
    for part, keys in parts.items():
        held = record.get(part) if isinstance(record, dict) else None
        if not isinstance(held, dict) or not all(key in held for key in keys):
            what = ", ".join(keys) or "countries by code"
            raise InputError(f"{path}: record must be that of this version's events runs, got no {part} with {what}")
    return dict(record)


def _table(path: Path, columns: tuple[str, ...]) -> pd.DataFrame:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        held = pq.read_schema(path).names
        absent = [name for name in columns if name not in held]
        if not absent:
            table: pd.DataFrame = pq.read_table(path, columns=list(columns)).to_pandas()
            return table
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{path}: file must be Parquet, got: {' '.join(str(error).split())}") from None
    raise InputError(f"{path}: column {absent[0]} must be there (an older run has to be made again), got none")


def read_report(folder: str | os.PathLike[str], *, n_documents: int = 1000) -> Report:
    """Read what a page needs from a run's folder.

    All evidence is listed. Texts take most room, so at most `n_documents` documents have theirs: taken in turn from
    those with P(event) nearest one half, and from those with the highest.

    Parameters
    ----------
    folder
        Of a finished run.
    n_documents
        At least 0.

    Raises
    ------
    ParameterError
        If `n_documents` is negative.
    InputError
        As `read_run`, and if documents.parquet lacks a document of the evidence, or does not fit it.
    """
    n_documents = _checks.whole("n_documents", n_documents, 0)
    run = read_run(folder)
    evidence = run.evidence
    countries = _ordered_countries(run.counts)
    country_codes = {code: c for c, code in enumerate(countries)}
    period_codes = {label: i for i, label in enumerate(run.counts["period"].unique())}
    doc_ids = list(dict.fromkeys(evidence["doc_id"]))
    document_codes = {doc_id: d for d, doc_id in enumerate(doc_ids)}
    shown = _chosen(evidence, n_documents)
    places: dict[str, Places] = {doc_id: [] for doc_id in shown}
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


def _ordered_countries(counts: pd.DataFrame) -> list[str]:
    """Those with most documents first, as in the picture of all bands."""
    totals = counts.groupby("country")["mean"].sum().sort_values(ascending=False, kind="stable")
    return [str(code) for code in totals.index]


def _chosen(evidence: pd.DataFrame, n_documents: int) -> list[str]:
    """The documents to show, as `read_report` says."""
    probabilities = evidence["probability"].to_numpy()
    doc_ids = evidence["doc_id"].to_numpy()
    nearest = dict.fromkeys(doc_ids[np.argsort(np.abs(probabilities - 0.5), kind="stable")])
    likeliest = dict.fromkeys(doc_ids[np.argsort(-probabilities, kind="stable")])
    in_turn = dict.fromkeys(doc_id for pair in zip(nearest, likeliest, strict=True) for doc_id in pair)
    return [str(doc_id) for doc_id in list(in_turn)[:n_documents]]


def _periods(run: FinishedRun) -> list[list[Any]]:
    """Label, first millisecond, end, and number of documents of each period."""
    if run.counts.empty:
        return []
    first = run.counts[run.counts["country"] == run.counts["country"].iloc[0]]
    calendar = Calendar(str(run.record["arguments"]["period"]))
    starts = np.asarray(first["period_start"], dtype="datetime64[D]")
    numbers = calendar.numbers(starts)
    ends = calendar.index(numbers + 1).start_time.to_numpy().astype("datetime64[D]")
    days: list[npt.NDArray[np.int64]] = [each.astype(np.int64) for each in (starts, ends)]
    columns = (first["period"].tolist(), (days[0] * _DAY).tolist(), (days[1] * _DAY).tolist(), first["n_docs"].tolist())
    return [list(row) for row in zip(*columns, strict=True)]


def _country(run: FinishedRun, code: str) -> dict[str, Any]:
    rows = run.counts[run.counts["country"] == code]
    names = run.record["names"]
    return {
        "code": code,
        "name": " > ".join(str(names.get(part, part)) for part in code.split(">")),
        "mean": _rounded(rows["mean"]),
        "lower": _rounded(rows["lower"]),
        "upper": _rounded(rows["upper"]),
        "sd": _rounded(rows["sd"]),
        "error": _rounded(rows["mean_mc_se"]),
        "oneBest": [int(value) for value in rows["one_best"]],
    }


def _rounded(values: pd.Series[Any]) -> list[float | int]:
    """To four digits, and whole numbers without a point: the page shows no more."""
    rounded = (float(f"{value:.4g}") for value in values)
    return [int(value) if value.is_integer() else value for value in rounded]
