"""Content of a report, read from the folder of a finished events run.

With the error of rules, the content has P(a > b) of two actors in each period, from draws of what readers would count;
where documents share the uncertainty of a recalibration alone, from their counts sample by sample. Otherwise the page
itself compares counts of independent documents.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from corefsample import CorefsampleError, InputError, _checks
from corefsample._arrays import pd
from corefsample._random import document_key
from corefsample.documents._tokens import counted
from corefsample.files._atomic import unescaped
from corefsample.files._paths import PathLike
from events.counts._evidence import read_evidence
from events.counts._run_tables import SAMPLES, CountNotes, run_table, verified_record, verify_table
from events.evidence._columns import RULE_COLUMNS, UNDATED, Calendar, role_columns, row_names, shown_name
from events.news._quality import outlying_dates, outlying_notice, set_aside_before, tally_of_run
from events.pages._document_texts import Places, document_texts, run_texts
from events.pages._labels import Labels, read_audit, read_learned, whole_label
from events.pages._rendering import PER_PART, packed_parts
from events.rule_error._counts import READER, CountTables, actor_of, joint_counts
from events.rule_error._model import reference_model

# A document without evidence has a trigger and an actor, one of them, or none.
KINDS = ("trigger and actor found, no event", "trigger found, no actor", "actor found, no trigger", "neither found")
_EVIDENCE = ("doc_id", "date", "period", "probability", "mc_se", "one_best", "places")
_ALL_COLUMNS = ("doc_id", "date", "trigger", "actor", "probability")
_NUMBERS = ("mean", "lower", "upper", "mean_named", *RULE_COLUMNS)
_N_MISSES = 20
_N_COMPARED = 30  # actors of which P(a > b) is that of readers
_DAY = 86_400_000  # milliseconds
_SAME = ("level", "interval", "n_samples", "uncertainty")  # columns of counts whose values are those of the run
_MOST_PAIRS = 40_000  # about a megabyte of the page


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
    notices
        Sentences on documents that were set aside, on what was changed in texts, and on dates far from others.
    notes
        What the record says about counts: triggers that were left out, merged actors, and the error of rules.
    misses
        Documents that are not counted for an actor, and that a reader most probably counts: P of the reader, document,
        date, name of the actor, and sentence.
    others
        Documents without evidence: see `other_documents`.
    audit, learned
        Labels with audited counts, and results learned from labels; None without them.
    """

    record: dict[str, Any]
    counts: dict[str, Any]
    texts: list[str]
    n_documents: int
    n_texts: int
    notices: list[str]
    notes: CountNotes
    misses: list[list[Any]]
    others: dict[str, Any]
    audit: Labels | None
    learned: Labels | None

    @property
    def about(self) -> Labels | None:
        """Labels of the plan, for what they are about; None of a report without labels."""
        return self.audit or self.learned


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
        return _report(_run_folder(folder), n_documents, n_others, audit, learned)
    except CorefsampleError as error:
        raise error if isinstance(error, InputError) else error.as_input_error(str(folder)) from None
    except (ArithmeticError, AttributeError, LookupError, OSError, TypeError, ValueError) as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise InputError(f"the files of a run must fit together, got: {reason}", place=str(folder)) from None


def _run_folder(folder: PathLike) -> Path:
    """The folder of a finished run; raise InputError for any other folder."""
    path = Path(folder)
    inner = path / "run"  # a demo's run is a folder in the demo's
    if not (path / "run.json").is_file():
        hint = f"did you mean {inner}?" if (inner / "run.json").is_file() else "`corefsample events` makes one"
        kind = (
            "one without run.json" if path.is_dir() else "a file" if path.exists() else "a folder that does not exist"
        )
        rule = f"input must be the folder of a finished events run, got {kind}"
        raise InputError(rule, place=str(folder), hint=hint)
    return path


def _report(folder: Path, n_documents: int, n_others: int, audit: PathLike | None, learned: PathLike | None) -> Report:
    record = verified_record(folder)
    summary = record["summary"]
    verify_table(folder / "documents.parquet")
    counts, table = run_table(folder, "counts"), run_table(folder, "all_documents", _ALL_COLUMNS)
    named, full = ("event", *role_columns(counts.columns)), counts["event"].nunique() > 1
    readers = () if summary.get("rule_error") is None else READER
    evidence = run_table(folder, "evidence", (*named, *_EVIDENCE, *readers))
    evidence["name"] = row_names(evidence[[*named, "period"]], full=full, like=counts)
    names = row_names(counts, full=full)
    totals = _totals(folder, counts, full)
    actors = _actors(counts.assign(name=names), record, named, totals)
    actor_codes = {actor["code"]: a for a, actor in enumerate(actors)}
    period_codes = {label: i for i, label in enumerate(_dated(counts)["period"].unique())}
    doc_ids = list(dict.fromkeys(evidence["doc_id"]))
    document_codes = {doc_id: d for d, doc_id in enumerate(doc_ids)}
    places: dict[str, Places] = {doc_id: [] for doc_id in _documents_with_text(evidence, n_documents)}
    for doc_id, actor, text in zip(evidence["doc_id"], evidence["name"], evidence["places"], strict=True):
        if doc_id in places:
            places[doc_id].append((actor_codes[actor], text))
    texts, numbers = document_texts(folder / "documents.parquet", places)
    dates = dict(zip(evidence["doc_id"], evidence["date"], strict=True))
    rows: dict[str, Any] = {
        "document": [document_codes[doc_id] for doc_id in evidence["doc_id"]],
        "actor": [actor_codes[name] for name in evidence["name"]],
        "period": [period_codes.get(label, -1) for label in evidence["period"]],
        "probability": _rounded(evidence["probability"]),
        "error": _rounded(evidence["mc_se"]),
        "oneBest": [int(value) for value in evidence["one_best"]],
        **{name: _rounded(evidence[name]) for name in READER if name in evidence},
    }
    documents = {
        "id": doc_ids,
        "date": [_date_text(dates[doc_id]) for doc_id in doc_ids],
        "text": [numbers.get(doc_id, -1) for doc_id in doc_ids],
        "perPart": PER_PART,
    }
    samples, drawn = None, _reader_counts(folder, record, actors, named)
    if drawn is not None:
        samples = sampled_pairs(drawn, actor_codes, period_codes)
        samples["compared"] = min(samples["compared"], _N_COMPARED)
    elif (
        "uncertainty" in counts and counts["uncertainty"].ne("none").any() and (folder / f"{SAMPLES}.parquet").is_file()
    ):
        drawn = run_table(folder, SAMPLES)
        drawn["name"] = row_names(drawn[[*named, "period"]], full=full, like=counts)
        samples = sampled_pairs(drawn[drawn["period"].isin(list(period_codes))], actor_codes, period_codes)
    periods = _periods(Calendar(str(record["arguments"]["period"])), table["date"])
    days = np.array([period["start"] // _DAY for period in periods], "datetime64[D]")
    n_docs = np.array([period["n"] for period in periods])
    outliers = outlying_notice(days, n_docs, [period["label"] for period in periods])
    shown = np.flatnonzero(~outlying_dates(days, n_docs)).tolist()
    if not record["arguments"].get("all_periods", False):
        periods, shown = periods[shown[0] : shown[-1] + 1], [0, shown[-1] - shown[0]]
    content: dict[str, Any] = {
        "level": record["arguments"]["level"],
        "columns": list(counts.columns),
        "actors": actors,
        "documents": documents,
        "evidence": rows,
        "shared": summary.get("uncertainty") in ("fit", "domain"),
        "pairs": samples,
        "sampled": samples is not None or summary.get("uncertainty") in ("fit", "domain"),
        "periods": periods,
        "shown": [shown[0], shown[-1]],  # charts leave out periods with few documents, far from the others
    }
    all_ids = set(table["doc_id"])
    audited = None if audit is None else read_audit(audit, all_ids, record)
    taught = None if learned is None else read_learned(learned, all_ids, record)
    if audited and taught and audited.plan != taught.plan:
        rule = "learned must be of the plan of the audit"
        raise InputError(f"{rule}, {audited.plan}, got {taught.plan}", place=str(learned))
    _add_labels(content, evidence, audited, taught)
    others = other_documents(table, record, n_others, audited, taught)
    content["others"] = others["content"]
    n_bad, n_undated = summary.get("n_quarantined", 0), summary.get("n_undated", 0)
    bad = f"{n_bad:,} bad documents set aside, and counted nowhere: quarantine.jsonl." if n_bad else ""
    undated = f"{counted(n_undated, 'document')} without a date in totals and lists, and in no period."
    scored = (*set_aside_before(record), *tally_of_run(record).notices())
    notices = [notice for notice in (bad, undated if n_undated else "", *scored, outliers) if notice]
    notes = CountNotes(summary.get("merged_actors"), summary.get("triggers", {}), summary.get("rule_error"))
    misses = _likely_misses(folder, counts, record["names"], full)
    return Report(record, content, texts, len(doc_ids), len(numbers), notices, notes, misses, others, audited, taught)


def _totals(folder: Path, counts: pd.DataFrame, full: bool) -> dict[str, dict[str, Any]]:
    """Total of each actor: what is reported first, with its interval and source, and what the rule counts."""
    verify_table(folder / "totals.csv")
    table = pd.read_csv(folder / "totals.csv", keep_default_na=False)
    roles = list(role_columns(counts.columns))
    table[roles] = table[roles].astype(str).map(unescaped)
    names = row_names(table[["event", *roles]].assign(period=""), full=full, like=counts)
    is_rule = RULE_COLUMNS[0] in table
    first = table[list(RULE_COLUMNS if is_rule else ("mean", "lower", "upper"))].to_numpy(float).tolist()
    values = zip(names, first, table["mean"].tolist(), strict=True)
    return {name: {"source": "rule" * is_rule, "first": ends, "counted": counted} for name, ends, counted in values}


def _reader_counts(
    folder: Path, record: Mapping[str, Any], actors: list[dict[str, Any]], named: Sequence[str]
) -> pd.DataFrame | None:
    """Draws of what readers would count, for the first actors: columns name, period and counts, as in `sampled_pairs`.

    They are None without the error of rules. Raises InputError if its table or an audit is missing.
    """
    arguments = record["arguments"]
    if record["summary"].get("rule_error") is None or not actors:
        return None
    model, kin = reference_model(arguments["rule_error"], tuple(arguments["reference"])), record["rule"].get("kin", {})
    evidence = read_evidence(folder)
    options = {"all_periods": arguments.get("all_periods", False), **{n: arguments[n] for n in ("level", "interval")}}
    tables = CountTables.of(evidence.counts_of_all(**options), ())
    name_of = {}
    for actor in actors[:_N_COMPARED]:
        event, *codes = (str(actor["same"][column]) for column in named)
        name_of[event, actor_of(codes)] = actor["code"]
    settings, names = evidence.settings, list(name_of)
    drawn = joint_counts(tables, model, settings.kinds, kin, names, seed=settings.seed)
    rows = [(name_of[name], period, draws) for name in names for period, draws in drawn[name].items()]
    table = pd.DataFrame(rows, columns=["name", "period", "counts"])
    return table[table["period"] != UNDATED] if set(table["period"]) != {UNDATED} else table


def _likely_misses(folder: Path, counts: pd.DataFrame, names: Mapping[str, str], full: bool) -> list[list[Any]]:
    """The rows of near_half.csv with P < 0.5 that a reader most probably counts: see `Report`."""
    verify_table(folder / "near_half.csv")
    texts = ["doc_id", "event", *role_columns(counts.columns), "sentences"]
    table = pd.read_csv(folder / "near_half.csv", keep_default_na=False, dtype=dict.fromkeys(texts, str))
    if READER[0] not in table:
        return []
    table[READER[0]] = pd.to_numeric(table[READER[0]], errors="coerce")  # "" where no error is known
    table = table[table["probability"] < 0.5].dropna(subset=READER[0])
    table = table.sort_values(READER[0], ascending=False, kind="stable").head(_N_MISSES)
    table[texts] = table[texts].map(unescaped)
    codes = row_names(table[texts[:-1]].drop(columns="doc_id").assign(period=""), full=full, like=counts)
    table["actor"] = [shown_name(code, names) for code in codes]
    return table[[READER[0], "doc_id", "date", "actor", "sentences"]].to_numpy().tolist() if len(table) else []


def _actors(
    counts: pd.DataFrame, record: Mapping[str, Any], named: tuple[str, ...], totals_of: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Counts of each actor by period.

    Actors with most documents come first, then outcomes (unions of other events), and events without an actor last.
    """
    outcomes = {text.partition("=")[0] for text in record["rule"].get("outcomes", ())}
    totals = counts.groupby(["name", "event"])["mean"].sum().sort_values(ascending=False, kind="stable")
    events = {str(name): event for name, event in totals.index}

    def rank(name: str) -> int:
        is_nobody = name.rpartition(": ")[2].split(">")[0] == "-"
        return 2 if is_nobody else int(events[name] in outcomes)

    actors = []
    for name in sorted(events, key=rank):
        rows = _dated(counts[counts["name"] == name])
        same = rows[[*named, *rows.columns.intersection(list(_SAME))]].astype(object).iloc[0].to_dict()
        actor = {
            "code": name,
            "name": shown_name(name, record["names"]),
            "isUnion": events[name] in outcomes,  # of other events, which have its documents too
            "same": same,  # what all its rows of counts.csv have
            **{column: _rounded(rows[column]) for column in _NUMBERS if column in rows},
            "total": totals_of[name],
            "sd": _rounded(rows["sd"]),
            "error": _rounded(rows["mean_mc_se"]),
            "oneBest": [int(value) for value in rows["one_best"]],
        }
        actors.append(actor)
    return actors


def _dated(counts: pd.DataFrame) -> pd.DataFrame:
    """The counts of periods; of documents without a date, if none has one."""
    dated = counts[counts["period_start"].notna()]
    return counts if dated.empty else dated


def _date_text(date: object) -> str:
    """Text of a date, which a document need not have."""
    return UNDATED if pd.isna(date) else str(date)  # type: ignore[call-overload]


def _rounded(values: pd.Series[Any]) -> list[float | int]:
    """Round to four digits, the most that the page shows, and write whole numbers without a point."""
    rounded = (float(f"{value:.4g}") for value in values)
    return [int(value) if value.is_integer() else value for value in rounded]


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
    number_of = calendar.numbers(dates.dropna().to_numpy().astype("datetime64[D]"))
    n_docs = np.bincount(number_of - number_of.min()).tolist()
    numbers = number_of.min() + np.arange(len(n_docs) + 1)
    days = calendar.index(numbers).start_time.to_numpy().astype("datetime64[D]").astype(np.int64)
    starts = (days * _DAY).tolist()
    rows = zip(calendar.periods(numbers[:-1]), starts[:-1], starts[1:], n_docs, strict=True)
    return [{"label": period.label, "start": start, "end": end, "n": n} for period, start, end, n in rows]


def _add_labels(
    counts: dict[str, Any], evidence_rows: pd.DataFrame, audited: Labels | None, taught: Labels | None
) -> None:
    """Add labels to the evidence, and counts that rest on labels."""
    sources = {"learned": taught, "audited": audited}
    evidence = counts["evidence"]
    rows = [
        (doc_id, event, name.removeprefix(f"{event}: "))
        for doc_id, event, name in evidence_rows[["doc_id", "event", "name"]].itertuples(index=False, name=None)
    ]
    targets: dict[tuple[str, str], dict[str, Any]] = {}
    for kind, labels in reversed(sources.items()):
        for target in () if labels is None else labels.targets:
            targets.setdefault(target["key"], {"name": target["name"]})[kind] = target
        if labels is not None:
            answers = [labels.answers.get(doc_id, {}).get(labels.target_of(*key), "") for doc_id, *key in rows]
            earlier = evidence.get("label", [""] * len(rows))
            evidence["label"] = [answer or label for answer, label in zip(answers, earlier, strict=True)]
            counts["audit"] = list(targets.values())
    if audited is not None:  # audited counts come first
        columns = {"mean": "estimate", "lower": "lower", "upper": "upper"}
        of_audit = {target["key"]: target for target in audited.targets}
        for actor in counts["actors"]:
            key = actor["same"]["event"], actor["same"].get("actor", "")
            if key in of_audit:
                row_of = {row["period"]: row for row in of_audit[key]["rows"]}  # periods without documents have no row
                of_periods = [row_of.get(period["label"], {}) for period in counts["periods"]]
                actor["audited"] = {name: [row.get(end, 0) for row in of_periods] for name, end in columns.items()}
                first = [of_audit[key]["total"][end] for end in columns.values()]
                actor["total"] = {**actor["total"], "source": "audit", "first": first}
    if taught is not None:
        names = [taught.target_of(event, actor) for _, event, actor in rows]
        evidence["learned"] = [
            round(taught.learned[name][doc_id], 4) if name else None
            for name, (doc_id, *_) in zip(names, rows, strict=True)
        ]
        counts["chosen"] = sorted(taught.chosen)


def other_documents(
    table: pd.DataFrame,
    record: Mapping[str, Any],
    n_documents: int,
    audited: Labels | None = None,
    taught: Labels | None = None,
) -> dict[str, Any]:
    """Choose documents without evidence, and read their texts from the inputs of the run that still exist.

    Those with a label come first; of the others, as many of each kind as possible, at random; with learned P instead
    those where it is highest.

    Parameters
    ----------
    table
        Table of all documents of the run: doc_id, date, trigger, actor and probability.
    record
        Content of run.json of the run.
    n_documents
        Largest number of documents in the page.
    audited, taught
        Labels of an audit, and what was learned from labels.

    Returns
    -------
    dict
        ``counts``: number of documents in the run of each of `KINDS`. ``content``: documents in the page, as columns:
        id, date, kind (index in `KINDS`), label, and learned P if there is any; and "perPart", the number of texts of
        a packed part. ``texts``: texts of these documents in pieces, packed.
    """
    labels = {
        doc_id: whole_label(answers, source.names)
        for source in (audited, taught)
        if source is not None
        for doc_id, answers in source.answers.items()
    }
    without = table[table["probability"] == 0.0]
    doc_ids = [str(doc_id) for doc_id in without["doc_id"]]
    kinds = np.where(without["trigger"], np.where(without["actor"], 0, 1), np.where(without["actor"], 2, 3))
    unlabelled = np.array([doc_id not in labels for doc_id in doc_ids], np.bool_)
    keys = np.array([document_key(0, doc_id) for doc_id in doc_ids], np.uint64)
    order = np.lexsort((keys, unlabelled, kinds))
    n_of_kind = np.bincount(kinds, minlength=len(KINDS)).tolist()
    turns = np.concatenate([np.arange(n) for n in n_of_kind])  # one of each kind in turn
    highest = None
    if taught is not None:
        highest = np.array([round(max(each[doc_id] for each in taught.learned.values()), 4) for doc_id in doc_ids])
        turns = -highest[order]
    by_turn = order[np.lexsort((kinds[order], turns, unlabelled[order]))][:n_documents]
    listed_rows = sorted(by_turn.tolist(), key=lambda row: (kinds[row], row))
    shown_ids = [doc_ids[row] for row in listed_rows]
    texts = dict(run_texts(record, set(shown_ids))) if shown_ids else {}
    content = {
        "id": shown_ids,
        "date": [_date_text(date) for date in without["date"].iloc[listed_rows]],
        "kind": kinds[listed_rows].tolist(),
        "label": [labels.get(doc_id, "") for doc_id in shown_ids],
        "perPart": PER_PART,
        **({} if highest is None else {"learned": highest[listed_rows].tolist()}),
    }
    packed = packed_parts(texts[doc_id].pieces if doc_id in texts else [] for doc_id in shown_ids)
    return {"counts": n_of_kind, "content": content, "texts": packed}


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
    by_period: dict[int, dict[int, Any]] = {number: {} for number in periods.values()}  # counts by actor
    for name, period, counts in zip(samples["name"], samples["period"], samples["counts"], strict=True):
        by_period[periods[period]][actors[name]] = np.asarray(counts, np.int32)
    n_pairs = np.zeros(len(actors), np.int64)  # that each actor adds, with those before it
    for drawn in by_period.values():
        n_pairs[sorted(drawn)] += np.arange(len(drawn))
    compared = int(np.searchsorted(np.cumsum(n_pairs), _MOST_PAIRS, side="right"))
    columns: dict[str, list[Any]] = {name: [] for name in ("period", "first", "second", "more", "less")}
    for period, drawn in sorted(by_period.items()):
        present = sorted(actor for actor in drawn if actor < compared)
        for first, second in [*((actor, -1) for actor in present), *combinations(present, 2)]:
            difference = drawn[first] - (0 if second < 0 else drawn[second])
            shares = float(np.mean(difference > 0)), float(np.mean(difference < 0))
            for column, value in zip(columns.values(), (period, first, second, *shares), strict=True):
                column.append(value)
    return {"compared": compared, **columns}
