"""Content of a report, read from the folder of a finished events run.

The page itself compares counts of independent documents. Where documents share the uncertainty of a recalibration, the
content has P(a > b) of two actors in each period, from their counts sample by sample.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from corefsample import _checks
from corefsample._arrays import Floats, Ints
from corefsample._lazy import pd
from corefsample._random import document_key
from corefsample.documents._tokens import counted
from corefsample.errors import CorefsampleError, InputError
from corefsample.files._paths import PathLike
from events.counts._notes import CountNotes
from events.counts._run_tables import run_table
from events.evidence._columns import RULE_ENDS, Columns, shown_name
from events.evidence._periods import UNDATED, Calendar
from events.news._dates import Timeline
from events.news._quality import ScoredInputs
from events.pages._document_texts import Places, document_texts, run_texts
from events.pages._labels import LabelContent, LabelTargets, read_audit, read_learned
from events.pages._rendering import PER_PART, packed_parts
from events.pages._run_files import FinishedRun, read_run
from events.rule_error._counts import READER

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
        outliers = _timeline(periods).notice([period["label"] for period in periods])
        bad = (
            f"{n_quarantined:,} bad documents set aside, and counted nowhere: quarantine.jsonl."
            if n_quarantined
            else ""
        )
        n_undated = self.record["summary"].get("n_undated", 0)
        undated = f"{counted(n_undated, 'document')} without a date in totals and lists, and in no period."
        return [
            notice
            for notice in (bad, undated if n_undated else "", *ScoredInputs.of(self.record).notices(), outliers)
            if notice
        ]

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
        As `read_run`, `events.pages._labels.read_audit`, and if documents.parquet lacks a document of the evidence, or
        is inconsistent with it.
    """
    n_documents = _checks.whole("n_documents", n_documents, 0)
    n_others = _checks.whole("n_others", n_others, 0)
    try:
        run = read_run(folder)
        return _with_all_documents(run, _content(run, n_documents), n_others, audit, learned)
    except CorefsampleError as error:
        raise error if isinstance(error, InputError) else error.as_input_error(str(folder)) from None
    except (
        ArithmeticError,
        AttributeError,
        LookupError,
        TypeError,
        ValueError,
    ) as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise InputError(f"the files of a run must fit together, got: {reason}", place=str(folder)) from None


def _content(run: FinishedRun, n_documents: int) -> Report:
    evidence = run.evidence
    outcomes = {text.partition("=")[0] for text in run.record["rule"].get("outcomes", ())}
    actors = _ordered_actors(run.counts, outcomes)
    actor_codes = {name: a for a, name in enumerate(actors)}
    period_codes = {label: i for i, label in enumerate(_dated(run.counts)["period"].unique())}
    doc_ids = list(dict.fromkeys(evidence["doc_id"]))
    document_codes = {doc_id: d for d, doc_id in enumerate(doc_ids)}
    with_text = _documents_with_text(evidence, n_documents)
    places: dict[str, Places] = {doc_id: [] for doc_id in with_text}
    for doc_id, actor, text in zip(evidence["doc_id"], evidence["name"], evidence["places"], strict=True):
        if doc_id in places:
            places[doc_id].append((actor_codes[actor], text))
    texts, numbers = document_texts(run.folder / "documents.parquet", places)
    dates = dict(zip(evidence["doc_id"], evidence["date"], strict=True))
    counts = {
        "level": run.record["arguments"]["level"],
        "columns": list(run.counts.drop(columns="name").columns),
        "actors": [_actor(run, name, outcomes) for name in actors],
        "documents": {
            "id": doc_ids,
            "date": [_date_text(dates[doc_id]) for doc_id in doc_ids],
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
    summary = run.record["summary"]
    notes = CountNotes(summary.get("merged_actors"), summary.get("triggers", {}))
    merging = f"{notes.merging()} {notes.unsettled()}" if notes.merging() else ""
    report = Report(run.record, counts, texts, len(doc_ids), len(numbers), merging, notes.exclusions())
    counts["shared"] = report.is_recalibration_covered
    counts["pairs"] = None
    if run.samples is not None:
        of_periods = run.samples[run.samples["period"].isin(list(period_codes))]
        counts["pairs"] = sampled_pairs(of_periods, actor_codes, period_codes)
    return report


def _with_all_documents(
    run: FinishedRun, report: Report, n_others: int, audit: PathLike | None, learned: PathLike | None
) -> Report:
    """Add the documents without evidence, the labels, and what was learned from them."""
    table = run_table(run.folder, "all_documents", _ALL_COLUMNS)
    report.counts["periods"] = _periods(Calendar(str(run.record["arguments"]["period"])), table["date"])
    report.counts["shown"] = _shown(report.counts["periods"])
    doc_ids = set(table["doc_id"])
    audited = None if audit is None else read_audit(audit, doc_ids, run.record)
    taught = None if learned is None else read_learned(learned, doc_ids, run.record)
    if audited and taught and audited.about.plan != taught.about.plan:
        rule = "learned must be of the plan of the audit"
        raise InputError(f"{rule}, {audited.about.plan}, got {taught.about.plan}", place=str(learned))
    contents = [labelled for labelled in (taught, audited) if labelled is not None]
    evidence, columns = report.counts["evidence"], (run.evidence[name] for name in ("doc_id", "event", "name"))
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
    without_evidence = other_documents(table, run.record, labels, n_others, None if taught is None else taught.highest)
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


def _date_text(date: object) -> str:
    return UNDATED if pd.isna(date) else str(date)  # type: ignore[call-overload]


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
    shown = np.flatnonzero(~_timeline(periods).outlying())
    return [int(shown[0]), int(shown[-1])]


def _timeline(periods: list[dict[str, Any]]) -> Timeline:
    days = np.array([period["start"] // _DAY for period in periods], "datetime64[D]")
    return Timeline(days, np.array([period["n"] for period in periods]))


def _actor(run: FinishedRun, code: str, outcomes: Collection[str]) -> dict[str, Any]:
    rows = _dated(run.counts[run.counts["name"] == code])
    named = ("event", *Columns.of_roles(rows.columns))
    first = rows[[*named, *rows.columns.intersection(list(_SAME))]].astype(object).iloc[0]
    return {
        "code": code,
        "name": shown_name(code, run.record["names"]),
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


# A document without evidence has a trigger and an actor, one of them, or none.
KINDS = ("trigger and actor found, no event", "trigger found, no actor", "actor found, no trigger", "neither found")


@dataclass(frozen=True, slots=True)
class OtherDocuments:
    """Documents without evidence.

    Attributes
    ----------
    counts
        Number of documents in the run of each of `KINDS`.
    content
        Documents in the page, as columns: id, date, kind (index in `KINDS`), label, and learned P if there is any; and
        "perPart", the number of texts of a packed part.
    texts
        Texts of the documents in the page in pieces, packed.
    n_shown
        Number of documents in the page.
    """

    counts: tuple[int, ...]
    content: dict[str, Any]
    texts: list[str]
    n_shown: int


def other_documents(
    table: pd.DataFrame,
    record: Mapping[str, Any],
    labels: Mapping[str, str],
    n_documents: int,
    learned: Callable[[str], float] | None = None,
) -> OtherDocuments:
    """Choose documents without evidence, and read their texts from the inputs of the run that still exist.

    Those with a label come first; of the others, as many of each kind as possible, at random; with learned P instead
    those where it is highest.

    Parameters
    ----------
    table
        Table of all documents of the run: doc_id, date, trigger, actor and probability.
    record
        Content of run.json of the run.
    labels
        Label of each labelled document, by doc_id.
    n_documents
        Largest number of documents in the page.
    learned
        Function that returns the learned P that a reader says yes of a document, by its doc_id; without it, documents
        are drawn at random.
    """
    without = table[table["probability"] == 0.0]
    kinds: Ints = np.where(without["trigger"], np.where(without["actor"], 0, 1), np.where(without["actor"], 2, 3))
    taught = None if learned is None else np.array([learned(doc_id) for doc_id in without["doc_id"]])
    row_numbers = _chosen(without["doc_id"].tolist(), kinds, labels, n_documents, taught)
    rows = without.iloc[row_numbers]
    doc_ids = [str(doc_id) for doc_id in rows["doc_id"]]
    texts_by_id = dict(run_texts(record, set(doc_ids))) if doc_ids else {}
    columns = {
        "id": doc_ids,
        "date": [_date_text(date) for date in rows["date"]],
        "kind": kinds[row_numbers].tolist(),
        "label": [labels.get(doc_id, "") for doc_id in doc_ids],
        "perPart": PER_PART,
        **({} if taught is None else {"learned": taught[row_numbers].tolist()}),
    }
    texts = packed_parts([texts_by_id[doc_id].pieces if doc_id in texts_by_id else [] for doc_id in doc_ids])
    return OtherDocuments(tuple(np.bincount(kinds, minlength=len(KINDS)).tolist()), columns, texts, len(doc_ids))


def _chosen(
    doc_ids: list[str], kinds: Ints, labels: Mapping[str, str], n_documents: int, learned: Floats | None
) -> list[int]:
    """Rows to show, ordered by kind: first those with a label, then one of each kind in turn, or by learned P."""
    keys = np.array([document_key(0, doc_id) for doc_id in doc_ids], np.uint64)
    labelled = np.array([doc_id in labels for doc_id in doc_ids], np.bool_)
    order = np.lexsort((keys, ~labelled, kinds))
    counts = np.bincount(kinds, minlength=len(KINDS))
    turn = np.concatenate([np.arange(n) for n in counts]) if len(order) else order
    first = turn if learned is None else -learned[order]
    by_turn = np.lexsort((kinds[order], first, ~labelled[order]))
    return sorted(order[by_turn[:n_documents]].tolist(), key=lambda row: (kinds[row], row))
