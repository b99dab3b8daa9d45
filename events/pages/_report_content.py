"""Content of a report, read from the folder of a finished events run.

The page itself compares counts of independent documents. Where documents share the uncertainty of a recalibration, the
content has P(a > b) of two actors in each period, from their counts sample by sample.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample._arrays import pd
from corefsample.documents._tokens import counted
from corefsample.errors import CorefsampleError, InputError
from corefsample.files._paths import PathLike
from events.counts._notes import CountNotes
from events.counts._run_tables import SAMPLES, run_table, verified_record, verify_table
from events.evidence._columns import RULE_ENDS, role_columns, row_names, shown_name
from events.evidence._periods import UNDATED, Calendar
from events.news._quality import outlying_dates, outlying_notice, set_aside_before, tally_of_run
from events.pages._document_texts import Places, document_texts
from events.pages._labels import LabelContent, LabelTargets, read_audit, read_learned
from events.pages._other_documents import OtherDocuments, date_text, other_documents
from events.pages._rendering import PER_PART
from events.rule_error._counts import READER

_FILES = ("run.json", "counts.parquet", "evidence.parquet", "documents.parquet", "all_documents.parquet")
_EVIDENCE = ("doc_id", "date", "period", "probability", "mc_se", "one_best", "places")
_ALL_COLUMNS = ("doc_id", "date", "trigger", "actor", "probability")
_DAY = 86_400_000  # milliseconds
_SAME = ("level", "interval", "n_samples", "uncertainty")  # columns of counts whose values are those of the run


@dataclass(frozen=True, slots=True, eq=False)
class Report:
    """Content of the page.

    Attributes
    ----------
    record
        Content of run.json of the run.
    counts
        Periods, actors with their counts, and the evidence, as columns of JSON values.
    texts
        Documents with their mentions, in packed parts: see `events.pages._document_texts`.
    n_documents, n_texts
        Number of documents with evidence, and of those whose text is in the page.
    merging
        How often coreference by itself merges distinct actors; "" if the run does not keep them apart.
    exclusions
        How many triggers the conditions of the presets leave out, by rule; empty if none.
    others
        Documents without evidence; None if the run has no table of all documents.
    audit, learned
        Labels with audited counts, and results learned from labels; None without them.
    """

    record: dict[str, Any]
    counts: dict[str, Any]
    texts: list[str]
    n_documents: int
    n_texts: int
    merging: str
    exclusions: list[str]
    others: OtherDocuments | None = None
    audit: LabelContent | None = None
    learned: LabelContent | None = None

    @property
    def about(self) -> LabelTargets | None:
        """What the labels are about; None of a report without labels."""
        labelled = self.audit or self.learned
        return None if labelled is None else labelled.about

    @property
    def notices(self) -> list[str]:
        """Sentences on documents that were set aside, on what was changed in texts, and on dates far from others."""
        periods, n_quarantined = self.counts["periods"], self.record["summary"].get("n_quarantined", 0)
        outliers = outlying_notice(*_documents_by_day(periods), [period["label"] for period in periods])
        bad = (
            f"{n_quarantined:,} bad documents set aside, and counted nowhere: quarantine.jsonl."
            if n_quarantined
            else ""
        )
        n_undated = self.record["summary"].get("n_undated", 0)
        undated = f"{counted(n_undated, 'document')} without a date in totals and lists, and in no period."
        scored = (*set_aside_before(self.record), *tally_of_run(self.record).notices())
        return [notice for notice in (bad, undated if n_undated else "", *scored, outliers) if notice]

    @property
    def reference(self) -> str:
        """What the reference class of rules says; "" if the run leaves the error of rules out."""
        return CountNotes(None, rule_error=self.record["summary"].get("rule_error")).reference()

    @property
    def is_recalibration_covered(self) -> bool:
        """Whether the intervals cover the uncertainty of a recalibration."""
        return self.record["summary"].get("uncertainty") in ("fit", "domain")


def read_report(
    folder: PathLike,
    *,
    n_documents: int = 1000,
    n_others: int = 500,
    audit: PathLike | None = None,
    learned: PathLike | None = None,
) -> Report:
    """Read the content of a page from a run's folder.

    All evidence is listed. Texts need most of the space, so at most `n_documents` documents have theirs: alternately
    those with P(event) nearest to one half, and those with the highest.

    Parameters
    ----------
    folder
        Folder of the finished run.
    n_documents
        Largest number of documents whose texts the page has, at least 0.
    n_others
        Largest number of documents without evidence in the page, at least 0.
    audit
        Folder that `corefsample audit estimate` wrote for this run.
    learned
        Folder that `corefsample audit learn` wrote for this run.

    Raises
    ------
    ParameterError
        If `n_documents` or `n_others` is negative.
    InputError
        If the folder is not that of a finished run, a file in it or in the folders of labels is missing or damaged, or
        documents.parquet lacks a document of the evidence or is inconsistent with it.
    """
    n_documents = _checks.whole("n_documents", n_documents, 0)
    n_others = _checks.whole("n_others", n_others, 0)
    try:
        path = _run_folder(folder)
        record = verified_record(path)
        counts, evidence, samples = _read_tables(path, record)
        report = _content(path, record, counts, evidence, samples, n_documents)
        return _with_all_documents(path, report, evidence, n_others, audit, learned)
    except CorefsampleError as error:
        raise error if isinstance(error, InputError) else error.as_input_error(str(folder)) from None
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise InputError(f"the files of a run must fit together, got: {reason}", place=str(folder)) from None


def _run_folder(folder: PathLike) -> Path:
    """The folder of a finished run; raise InputError unless it has the files that a page needs."""
    path = Path(folder)
    inner = path / "run"  # a demo's run is a folder in the demo's
    hint = f"did you mean {inner}?" if (inner / "run.json").is_file() else "`corefsample events` makes one"
    if not path.is_dir():
        kind = "a file" if path.exists() else "a folder that does not exist"
        rule = f"input must be the folder of a finished events run, got {kind}"
        raise InputError(rule, place=str(folder), hint=hint)
    for name in _FILES:
        if not (path / name).is_file():
            rule = f"a finished events run must have {', '.join(_FILES)}, got no {name}"
            raise InputError(rule, place=str(folder), hint=hint)
    return path


def _read_tables(folder: Path, record: Mapping[str, Any]) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame | None]:
    """Tables of counts, of evidence, and of counts by sample, with the name of the event and actors of each row.

    Counts by sample are None unless documents share the uncertainty of a recalibration.
    """
    verify_table(folder / "documents.parquet")
    counts = run_table(folder, "counts")
    named = ("event", *role_columns(counts.columns))
    readers = () if record["summary"].get("rule_error") is None else READER
    evidence = run_table(folder, "evidence", (*named, *_EVIDENCE, *readers))
    has_several_events = len(counts["event"].unique()) > 1

    def with_names(table: pd.DataFrame) -> pd.DataFrame:
        return table.assign(name=row_names(table[[*named, "period"]], full=has_several_events, like=counts))

    is_shared = "uncertainty" in counts and bool(counts["uncertainty"].ne("none").any())
    has_samples = is_shared and (folder / f"{SAMPLES}.parquet").is_file()
    samples = with_names(run_table(folder, SAMPLES)) if has_samples else None
    return counts.assign(name=row_names(counts, full=has_several_events)), with_names(evidence), samples


def _content(
    folder: Path,
    record: dict[str, Any],
    count_rows: pd.DataFrame,
    evidence: pd.DataFrame,
    samples: pd.DataFrame | None,
    n_documents: int,
) -> Report:
    outcomes = {text.partition("=")[0] for text in record["rule"].get("outcomes", ())}
    actors = _ordered_actors(count_rows, outcomes)
    actor_codes = {name: a for a, name in enumerate(actors)}
    period_codes = {label: i for i, label in enumerate(_dated(count_rows)["period"].unique())}
    doc_ids = list(dict.fromkeys(evidence["doc_id"]))
    document_codes = {doc_id: d for d, doc_id in enumerate(doc_ids)}
    with_text = _documents_with_text(evidence, n_documents)
    places: dict[str, Places] = {doc_id: [] for doc_id in with_text}
    for doc_id, actor, text in zip(evidence["doc_id"], evidence["name"], evidence["places"], strict=True):
        if doc_id in places:
            places[doc_id].append((actor_codes[actor], text))
    texts, numbers = document_texts(folder / "documents.parquet", places)
    dates = dict(zip(evidence["doc_id"], evidence["date"], strict=True))
    counts = {
        "level": record["arguments"]["level"],
        "columns": list(count_rows.drop(columns="name").columns),
        "actors": [_actor(count_rows, record["names"], name, outcomes) for name in actors],
        "documents": {
            "id": doc_ids,
            "date": [date_text(dates[doc_id]) for doc_id in doc_ids],
            "text": [numbers.get(doc_id, -1) for doc_id in doc_ids],
            "perPart": PER_PART,
        },
        "evidence": {
            "document": [document_codes[doc_id] for doc_id in evidence["doc_id"]],
            "actor": [actor_codes[name] for name in evidence["name"]],
            "period": [period_codes.get(label, -1) for label in evidence["period"]],
            "probability": _rounded(evidence["probability"]),
            "error": _rounded(evidence["mc_se"]),
            "oneBest": [int(value) for value in evidence["one_best"]],
            **{name: _rounded(evidence[name]) for name in READER if name in evidence},
        },
    }
    summary = record["summary"]
    notes = CountNotes(summary.get("merged_actors"), summary.get("triggers", {}))
    merging = f"{notes.merging()} {notes.unsettled()}" if notes.merging() else ""
    report = Report(record, counts, texts, len(doc_ids), len(numbers), merging, notes.exclusions())
    counts["shared"] = report.is_recalibration_covered
    counts["pairs"] = None
    if samples is not None:
        of_periods = samples[samples["period"].isin(list(period_codes))]
        counts["pairs"] = sampled_pairs(of_periods, actor_codes, period_codes)
    return report


def _with_all_documents(
    folder: Path,
    report: Report,
    evidence_rows: pd.DataFrame,
    n_others: int,
    audit: PathLike | None,
    learned: PathLike | None,
) -> Report:
    """Add the documents without evidence, the labels, and what was learned from them."""
    table = run_table(folder, "all_documents", _ALL_COLUMNS)
    report.counts["periods"] = _periods(Calendar(str(report.record["arguments"]["period"])), table["date"])
    report.counts["shown"] = _shown(report.counts["periods"])
    doc_ids = set(table["doc_id"])
    audited = None if audit is None else read_audit(audit, doc_ids, report.record)
    taught = None if learned is None else read_learned(learned, doc_ids, report.record)
    if audited and taught and audited.about.plan != taught.about.plan:
        rule = "learned must be of the plan of the audit"
        raise InputError(f"{rule}, {audited.about.plan}, got {taught.about.plan}", place=str(learned))
    contents = [labelled for labelled in (taught, audited) if labelled is not None]
    evidence, columns = report.counts["evidence"], (evidence_rows[name] for name in ("doc_id", "event", "name"))
    rows = [(doc_id, event, name.removeprefix(f"{event}: ")) for doc_id, event, name in zip(*columns, strict=True)]
    labels: dict[str, str] = {}
    for labelled in reversed(contents):
        labels |= labelled.whole_labels
    if contents:
        evidence["label"] = [next(filter(None, (each.row_label(*row) for each in contents)), "") for row in rows]
        report.counts["audit"] = _targets(audited, taught)
    if audited is not None:
        _put_audited_ends(report.counts, audited)
    if taught is not None:
        evidence["learned"] = [taught.row_probability(*row) for row in rows]
        report.counts["chosen"] = sorted(taught.chosen)
    highest = None if taught is None else taught.highest
    without_evidence = other_documents(table, report.record, labels, n_others, highest)
    report.counts["others"] = without_evidence.content
    return dataclasses.replace(report, others=without_evidence, audit=audited, learned=taught)


def _put_audited_ends(counts: dict[str, Any], audited: LabelContent) -> None:
    """Replace the ends of the error of the rule by those of the audit, for audited actors."""
    rows = {(*target["key"], row["period"]): row for target in audited.targets for row in target["rows"]}
    for actor in counts["actors"]:
        key = actor["same"]["event"], actor["same"].get("actor", "")
        of_actor = [rows.get((*key, period["label"])) for period in counts["periods"]]
        if RULE_ENDS[0] in actor and any(of_actor):
            for name, end in zip(RULE_ENDS, ("lower", "upper"), strict=True):
                actor[name] = [row[end] if row else 0 for row in of_actor]  # a period without documents has no row


def _targets(audited: LabelContent | None, learned: LabelContent | None) -> list[dict[str, Any]]:
    """Counts from labels by target: those of the sample's design, those of learned P, or both."""
    targets: dict[tuple[str, str], dict[str, Any]] = {}
    for kind, labelled in (("audited", audited), ("learned", learned)):
        for target in () if labelled is None else labelled.targets:
            targets.setdefault(target["key"], {"name": target["name"]})[kind] = target
    return list(targets.values())


def _ordered_actors(counts: pd.DataFrame, outcomes: Collection[str] = ()) -> list[str]:
    """Actors with most documents first, then outcomes (unions of other events), and events without an actor last."""
    totals = counts.groupby(["name", "event"])["mean"].sum().sort_values(ascending=False, kind="stable")
    events = {str(name): event for name, event in totals.index}

    def rank(name: str) -> int:
        is_nobody = name.rpartition(": ")[2].split(">")[0] == "-"
        return 2 if is_nobody else int(events[name] in outcomes)

    return sorted(events, key=rank)


def _dated(counts: pd.DataFrame) -> pd.DataFrame:
    """The counts of periods; of documents without a date, if none has one."""
    dated = counts[counts["period_start"].notna()]
    return counts if dated.empty else dated


def _documents_with_text(evidence: pd.DataFrame, n_documents: int) -> list[str]:
    """The documents with their text in the page; see `read_report`."""
    probabilities = evidence["probability"].to_numpy()
    doc_ids = evidence["doc_id"].to_numpy()
    nearest = dict.fromkeys(doc_ids[np.argsort(np.abs(probabilities - 0.5), kind="stable")])
    likeliest = dict.fromkeys(doc_ids[np.argsort(-probabilities, kind="stable")])
    alternating = dict.fromkeys(doc_id for pair in zip(nearest, likeliest, strict=True) for doc_id in pair)
    return [str(doc_id) for doc_id in list(alternating)[:n_documents]]


def _periods(calendar: Calendar, dates: pd.Series[Any]) -> list[dict[str, Any]]:
    """Label, first millisecond, end, and number of documents of each period."""
    if dates.isna().all():  # a chart needs a period
        return [{"label": UNDATED, "start": 0, "end": _DAY, "n": len(dates)}]
    dates = dates.dropna()
    number_of = calendar.numbers(dates.to_numpy().astype("datetime64[D]"))
    n_docs = np.bincount(number_of - number_of.min())
    numbers = number_of.min() + np.arange(len(n_docs))
    days = [
        calendar.index(each).start_time.to_numpy().astype("datetime64[D]").astype(np.int64)
        for each in (numbers, numbers + 1)
    ]
    labels = [period.label for period in calendar.periods(numbers)]
    columns = (labels, (days[0] * _DAY).tolist(), (days[1] * _DAY).tolist(), n_docs.tolist())
    names = ("label", "start", "end", "n")
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def _shown(periods: list[dict[str, Any]]) -> list[int]:
    """The first and the last period that charts show: all but those with few documents, far from the others."""
    shown = np.flatnonzero(~outlying_dates(*_documents_by_day(periods)))
    return [int(shown[0]), int(shown[-1])]


def _documents_by_day(periods: list[dict[str, Any]]) -> tuple[npt.NDArray[np.datetime64], npt.NDArray[np.integer]]:
    """First day of each period, and number of its documents."""
    days = np.array([period["start"] // _DAY for period in periods], "datetime64[D]")
    return days, np.array([period["n"] for period in periods])


def _actor(counts: pd.DataFrame, names: Mapping[str, str], code: str, outcomes: Collection[str]) -> dict[str, Any]:
    rows = _dated(counts[counts["name"] == code])
    named = ("event", *role_columns(rows.columns))
    first = rows[[*named, *rows.columns.intersection(list(_SAME))]].astype(object).iloc[0]
    return {
        "code": code,
        "name": shown_name(code, names),
        "isUnion": first["event"] in outcomes,  # of other events, which have its documents too
        "same": first.to_dict(),  # what all its rows of counts.csv have
        "mean": _rounded(rows["mean"]),
        "lower": _rounded(rows["lower"]),
        "upper": _rounded(rows["upper"]),
        **({name: _rounded(rows[name]) for name in RULE_ENDS if name in rows}),
        "sd": _rounded(rows["sd"]),
        "error": _rounded(rows["mean_mc_se"]),
        "oneBest": [int(value) for value in rows["one_best"]],
    }


def _rounded(values: pd.Series[Any]) -> list[float | int]:
    """Round to four digits, the most that the page shows, and write whole numbers without a point."""
    rounded = (float(f"{value:.4g}") for value in values)
    return [int(value) if value.is_integer() else value for value in rounded]


_MOST_PAIRS = 40_000  # about a megabyte of the page


def sampled_pairs(samples: pd.DataFrame, actors: Mapping[str, int], periods: Mapping[str, int]) -> dict[str, Any]:
    """Compare the sampled counts of actors, the first ones as far as the page has room for their pairs.

    Parameters
    ----------
    samples
        Columns name, period, and counts: lists of the same length, joint over all rows.
    actors, periods
        Number of each actor and of each period in the page, by name.

    Returns
    -------
    dict
        ``compared``: only actors below this number are compared. As columns, for pairs with any samples above 0:
        ``period``, ``first``, ``second`` (its number is greater than that of the first; -1 stands for a count of 0),
        and the share of samples in which the first is ``more`` or ``less`` than the second.
    """
    counts = [np.asarray(drawn, np.int32) for drawn in samples["counts"]]
    by_period: dict[int, dict[int, int]] = {number: {} for number in periods.values()}  # rows by actor
    for row, (actor, period) in enumerate(zip(samples["name"], samples["period"], strict=True)):
        by_period[periods[period]][actors[actor]] = row
    compared = _compared(by_period, len(actors))
    columns: dict[str, list[Any]] = {name: [] for name in ("period", "first", "second", "more", "less")}
    for period, rows in sorted(by_period.items()):
        present = sorted(actor for actor in rows if actor < compared)
        for first, second in [*((actor, -1) for actor in present), *combinations(present, 2)]:
            first_counts, second_counts = counts[rows[first]], 0 if second < 0 else counts[rows[second]]
            shares = (
                np.count_nonzero(first_counts > second_counts) / len(first_counts),
                np.count_nonzero(first_counts < second_counts) / len(first_counts),
            )
            for column, value in zip(columns.values(), (period, first, second, *shares), strict=True):
                column.append(value)
    return {"compared": compared, **columns}


def _compared(by_period: Mapping[int, Mapping[int, int]], n_actors: int) -> int:
    """The number of actors, from the first, whose pairs are not too many."""
    n_pairs = np.zeros(n_actors + 1, np.int64)  # that each actor adds, with those before it
    for rows in by_period.values():
        for before, actor in enumerate(sorted(rows)):
            n_pairs[actor] += before
    return int(np.searchsorted(np.cumsum(n_pairs[:n_actors]), _MOST_PAIRS, side="right"))
