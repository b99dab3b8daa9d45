"""The documents of an audit: each with its date and P of each target, from arrays, a finished run or a CSV file."""

from __future__ import annotations

import csv
import datetime
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample._arrays import Bools, Floats, Ints, Ints32, pd
from corefsample.errors import CorefsampleError, InputError, ParameterError, did_you_mean, shown
from corefsample.files._paths import PathLike
from corefsample.files._reading import one_line, sha256
from events.counts._evidence import Evidence, read_evidence
from events.counts._run_tables import run_table, verified_record
from events.evidence._columns import NO_PERIOD, Calendar
from events.evidence._documents_table import ALL_DOCUMENTS_SCHEMA
from events.news._articles import separator_of
from events.news._quality import outlying_dates
from events.rule_error._model import CLASSES
from events.rules._format import ANYBODY

TOTAL = "total"  # in place of a period
RULES = ", "  # between the names of several rules
NEITHER, COUNTED = CLASSES.index("neither"), len(CLASSES)  # of `AuditFrame.divisions`

Names = npt.NDArray[np.object_]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class AuditFrame:
    """All documents of a corpus, from which an audit draws a sample, with the model's probability P of each target.

    A target is a question that a label answers: whether an event of any actor is in the document, or an event of one
    particular actor.

    Attributes
    ----------
    doc_ids
        Identifiers of the documents, distinct: str (n_documents,).
    dates
        Dates of the documents, NaT if a document has none: datetime64[D] (n_documents,).
    targets
        Names of the targets: the event, or its actors.
    rows, columns, values
        Probabilities: ``values[i]`` is P of target ``columns[i]`` in document ``rows[i]``; every other P is 0.
    event
        Name of the event, for tables and questions.
    period
        Length of the periods of counts: year, quarter, month, week, day, or a pandas alias.
    source
        Source of the documents: "kind" ("run", "table" or "arrays"), "path" and "sha256".
    properties
        Further columns of the documents by name, (n_documents,), from which strata and units can be made: of a run,
        the simple columns of its articles, as texts.
    kin, kinds
        Names of the shipped rules that events of a user's rules extend, by the names of the events; and kinds of the
        actors, by their codes.
    classes
        Index in `CLASSES` of each of `values`, int64; every other document is in the last class. None if P is that of
        another model than the rules of a run.
    """

    doc_ids: Names
    dates: npt.NDArray[np.datetime64]
    targets: tuple[str, ...]
    rows: Ints
    columns: Ints32
    values: Floats
    event: str = "event"
    period: str = "quarter"
    source: Mapping[str, Any] = field(default_factory=lambda: {"kind": "arrays", "path": "", "sha256": None})
    properties: Mapping[str, Names] = field(default_factory=dict)
    kin: Mapping[str, str] = field(default_factory=dict)
    kinds: Mapping[str, str] = field(default_factory=dict)
    classes: Ints | None = None

    def __repr__(self) -> str:
        return f"AuditFrame({len(self):,} documents, targets {', '.join(self.targets[:8])})"

    def __len__(self) -> int:
        return len(self.doc_ids)

    @classmethod
    def from_arrays(
        cls,
        doc_ids: Sequence[str],
        dates: npt.ArrayLike,
        probabilities: npt.ArrayLike,
        *,
        event: str = "event",
        period: str = "quarter",
        properties: Mapping[str, Sequence[Any]] | None = None,
        cooccurrence: Sequence[str] | None = None,
    ) -> AuditFrame:
        """Make a frame with one target from arrays.

        Parameters
        ----------
        doc_ids
            Identifiers of the documents, distinct.
        dates
            Dates of the documents, (n_documents,), none missing.
        probabilities
            Probability by any model that each document has the event, (n_documents,) in [0, 1].
        event
            Name of the event, by default "event".
        period
            Length of the periods of counts: year, quarter (the default), month, week, day, or a pandas alias.
        properties
            Further columns of the documents by name, from which strata can be made; by default none.
        cooccurrence
            "sentence", "document" or "" for each document, as in the evidence of a run, if P is that of a rule.

        Raises
        ------
        ParameterError
            If lengths differ, there is no document, a doc_id repeats, P is outside [0, 1], a document has no date, or
            the period is unknown.
        """
        names = np.array([str(doc_id) for doc_id in doc_ids], dtype=object)
        p, days = _checks.floats("probabilities", probabilities), np.asarray(dates, dtype="datetime64[D]")
        columns = {name: np.array(list(values), dtype=object) for name, values in (properties or {}).items()}
        for name, values in {"dates": days, "probabilities": p, **columns}.items():
            if len(values) != len(names):
                rule = f"must have one value for each of {len(names)} documents"
                raise ParameterError(f"{rule}, got {len(values)}", parameter=name)
        if not len(names):
            raise ParameterError("must hold at least one document, got none", parameter="doc_ids")
        for name, values, is_valid, rule in (
            ("doc_ids", names, ~pd.Index(names).duplicated(), "must be distinct"),
            ("probabilities", p, (p >= 0.0) & (p <= 1.0), "must lie in [0, 1]"),
            ("dates", days, ~np.isnat(days), "must be dates"),
        ):
            if not is_valid.all():
                raise ParameterError(f"{rule}, got {values[np.argmin(is_valid)]!r}", parameter=name)
        Calendar(period)
        rows, classes = np.arange(len(p)), None
        if cooccurrence is None:
            rows = np.flatnonzero(p)
        else:
            classes = _class_numbers(pd.Series(cooccurrence))
        targets = np.zeros(len(rows), np.int32)
        return cls(names, days, (event,), rows, targets, p[rows], event, period, properties=columns, classes=classes)

    @property
    def label_kind(self) -> Literal["yes-no", "events", "actors"]:
        """Kind of the labels: "yes-no" for one target; for several, "events" or "actors", whichever the targets are."""
        if len(self.targets) == 1:
            return "yes-no"
        return "events" if self.targets == tuple(self.event.split(RULES)) else "actors"

    def probability(self, target: int) -> Floats:
        """Probability of one target, given by its index, in every document: float64 (n_documents,)."""
        p = np.zeros(len(self))
        is_target = self.columns == target
        p[self.rows[is_target]] = self.values[is_target]
        return p

    def highest(self) -> Floats:
        """Highest probability of any target in each document: float64 (n_documents,)."""
        p = np.zeros(len(self))
        np.maximum.at(p, self.rows, self.values)
        return p

    def divisions(self, target: int | None = None) -> Ints:
        """Index in `CLASSES` of each document for a target, or the least of any target; `COUNTED` with P above .5."""
        is_used = np.full(len(self.rows), True) if target is None else self.columns == target
        divisions = np.full(len(self), NEITHER)
        if self.classes is not None:
            np.minimum.at(divisions, self.rows[is_used], self.classes[is_used])
        divisions[self.rows[is_used & (self.values > 0.5)]] = COUNTED
        return divisions

    def period_numbers(self) -> Ints:
        """Number of the period of each document, as the calendar counts periods: int64 (n_documents,)."""
        return Calendar(self.period).numbers(self.dates)

    def date_texts(self) -> Names:
        """ISO date of each document, "" if it has none: str (n_documents,)."""
        return np.where(np.isnat(self.dates), "", self.dates.astype(str))

    def groups(self) -> tuple[list[tuple[str, datetime.date | None, Bools]], Ints]:
        """Groups of documents that are counted: the whole corpus and each period; and each document's period.

        The periods are numbered from 0: those from the first of the bulk of the documents to the last, and before and
        after them only periods with documents, whose dates are far from all others. If there are documents without a
        date, one more period after these has them.

        Returns
        -------
        groups
            Label, first day (None without dates) and documents, bool (n_documents,), of the whole corpus ("total"),
            then of every period.
        numbers
            Number of the period of each document: int64 (n_documents,).
        """
        numbers = self.period_numbers()
        is_dated = numbers != NO_PERIOD
        dated = numbers[is_dated]
        calendar, (present, n_docs) = Calendar(self.period), np.unique(dated, return_counts=True)
        starts = np.array([each.start for each in calendar.periods(present)], "datetime64[D]")
        bulk = present[~outlying_dates(starts, n_docs)]
        every = np.union1d(present, np.arange(bulk[0], bulk[-1] + 1)) if len(bulk) else present
        number_of = np.where(is_dated, np.searchsorted(every, numbers), len(every))
        periods = calendar.periods([*every, *([] if is_dated.all() else [NO_PERIOD])])
        start = self.dates[is_dated].min().item() if len(dated) else None
        total = TOTAL, start, np.ones(len(self), np.bool_)
        return [total, *((period.label, period.start, number_of == g) for g, period in enumerate(periods))], number_of


def _class_numbers(cooccurrence: pd.Series) -> Ints:
    """Index in `CLASSES` of values of the column `cooccurrence`."""
    numbers = pd.Index(CLASSES).get_indexer(pd.Index(cooccurrence))
    return np.where(numbers < 0, NEITHER, numbers).astype(np.int64)


def event_and_actor(frame: AuditFrame, name: str) -> tuple[str, str]:
    """Event and actor of a target, as the tables of a run have them."""
    events = frame.event.split(RULES)
    if name in events:
        return name, ""
    event, _, actor = name.partition(": ") if len(events) > 1 else (frame.event, "", name)
    return event, actor


NO_ACTOR = ""  # in a table of scores: the row of a document without an actor
_REQUIRED = ("doc_id", "date", "probability")
PROBABILITY_LISTS = ["events", "actors", "probabilities"]  # columns of the documents of a run


def source_frame(source: PathLike, actors: Sequence[str] | None, period: str) -> AuditFrame:
    """The documents of a run, or of a CSV file, for which `period` is the length of the periods."""
    if not Path(source).is_file():
        return read_run_documents(source, actors)
    if actors is not None:
        raise ParameterError("must be left out where P comes from a CSV file", parameter="actors")
    return read_scores(source, period=period)


def read_run_documents(run: PathLike, actors: Sequence[str] | None = None) -> AuditFrame:
    """Read the table of all documents of a finished events run.

    Parameters
    ----------
    run
        Folder that `corefsample events` wrote.
    actors
        Actors to audit, as the run names them: "USA", or "arrest: USA" if the run has several rules. ("all",) stands
        for every actor with P > 0 in some document. By default, the targets are the events of any actor.

    Raises
    ------
    InputError
        If the folder is not that of a run with a table of all documents.
    ParameterError
        If no document of the run has an actor.
    """
    folder = Path(run)
    if not (folder / "run.json").is_file():
        rule = "input must be the folder of a finished events run, or a CSV file, got another path"
        raise InputError(rule, place=str(folder), hint="`corefsample events` makes one")
    record, documents = verified_record(folder), run_table(run, "all_documents")
    properties = documents.columns.difference([*ALL_DOCUMENTS_SCHEMA.names, "event"], sort=False)
    event, rows = (
        run_event(record),
        documents[PROBABILITY_LISTS].explode(PROBABILITY_LISTS).dropna().reset_index(names="row"),
    )
    evidence = read_evidence(run)
    rows = pd.concat([rows.assign(classes=NEITHER), _cooccurrences(evidence, documents["doc_id"])], ignore_index=True)
    rows = rows.groupby(["row", "events", "actors"], as_index=False).agg({"probabilities": "max", "classes": "min"})
    rules, is_total = event.split(RULES), rows["actors"] == ANYBODY
    if actors is None:
        names, all_names = rows["events"].where(is_total, ANYBODY), rules
        actors = rules
    else:
        names = rows["events"] + ": " + rows["actors"] if len(rules) > 1 else rows["actors"]
        # "any: *" is the event of anybody, which has every document of its other targets too.
        possible = rows["probabilities"] > 0.0
        by_actor = sorted(names[~is_total & possible].unique())
        all_names = [*by_actor, *sorted(names[is_total & possible].unique())]
        actors = by_actor if tuple(actors) == ("all",) else actors
    targets = tuple(dict.fromkeys(actors))
    unknown = [name for name in targets if name not in all_names]
    if unknown or not targets:
        like = next((name for name in all_names if unknown and name.endswith(f": {unknown[0]}")), None)
        hint = did_you_mean(unknown[0], all_names, record["names"]) if unknown else None
        if like is not None:
            hint = f"the run has several rules, so name the rule too: {like!r}"
        examples = ", ".join(all_names[:10]) + ", ..." * (len(all_names) > 10)
        rule = f"must be actors with P > 0 in some document of the run ({examples or 'none'})"
        got = repr(unknown[0]) if unknown else "a run without events"
        raise ParameterError(f"{rule}, got {got}", parameter="actors", hint=hint)
    columns = names.map({name: column for column, name in enumerate(targets)})
    entries = rows.assign(column=columns).dropna(subset="column")
    return AuditFrame(
        documents["doc_id"].to_numpy(object),
        documents["date"].to_numpy(object).astype("datetime64[D]"),
        targets,
        entries["row"].to_numpy(np.int64),
        entries["column"].to_numpy(np.int32),
        entries["probabilities"].to_numpy(np.float64),
        event,
        str(record["arguments"]["period"]),
        {"kind": "run", "path": os.fspath(run), "sha256": sha256(folder / "all_documents.parquet")},
        {name: documents[name].fillna("").to_numpy(object) for name in properties},
        record["rule"].get("kin", {}),
        evidence.settings.kinds,
        entries["classes"].to_numpy(np.int64),
    )


def _cooccurrences(evidence: Evidence, doc_ids: pd.Series) -> pd.DataFrame:
    """Rows of documents and targets with P of 0 and the class of each row of the evidence.

    The columns are row, events, actors, probabilities and classes; an event of anybody has the class of each actor.
    """
    settings = evidence.settings
    rows = evidence.rows.read("doc_id", "event", *settings.roles, "cooccurrence").to_pandas()
    rows = rows.assign(row=pd.Index(doc_ids).get_indexer(rows["doc_id"]), actors=ANYBODY)
    for event, columns in settings.columns.items():
        if columns:
            codes = rows.loc[rows["event"] == event, list(columns)].fillna("").replace("", "-")
            rows.loc[codes.index, "actors"] = codes.agg(">".join, axis=1)
    classes = rows.assign(events=rows["event"], classes=_class_numbers(rows["cooccurrence"]), probabilities=0.0)
    table = classes[["row", *PROBABILITY_LISTS, "classes"]]
    both: pd.DataFrame = pd.concat([table, table.assign(actors=ANYBODY)])
    return both


def run_event(record: Mapping[str, Any]) -> str:
    """Name of the event of a run, or names of its events and outcomes."""
    outcomes = [text.partition("=")[0] for text in record["rule"].get("outcomes", ())]
    return RULES.join(dict.fromkeys([str(record["rule"]["name"]), *outcomes]))


def read_scores(path: PathLike, *, period: str = "quarter") -> AuditFrame:
    """Read P of any model from a CSV file: a classifier's scores, or a language model's.

    Parameters
    ----------
    path
        CSV file with the columns doc_id, date and probability. With a column actor, a document has one row for each
        actor with P > 0, or one row with an empty actor, and each actor is a target. Strata can be made from other
        columns.
    period
        Length of the periods of counts: year, quarter (the default), month, week, day, or a pandas alias.

    Raises
    ------
    InputError
        If the file is not such a table; the error has the row, the rule and the value.
    """
    table_path, table = os.fspath(path), read_text_table(path, _REQUIRED)
    p = numbers_of(table["probability"])
    days = {text: _day(text) for text in table["date"].unique()}
    dates = table["date"].map(days).to_numpy().astype("datetime64[D]")
    key = ["doc_id", "actor"] if "actor" in table else ["doc_id"]
    for name, is_wrong, rule in (
        ("probability", ~((p >= 0.0) & (p <= 1.0)), "probability must be a number in [0, 1], got {!r}"),
        ("date", np.isnat(dates), "date must be an ISO date, got {!r}"),
        ("doc_id", table["doc_id"] == "", "doc_id is required"),
        ("doc_id", table.duplicated(key), " and ".join(key) + " must be unique, got {!r} again"),
    ):
        wrong = np.flatnonzero(is_wrong)
        if wrong.size:
            value, row = table[name].iloc[wrong[0]], table.index[wrong[0]]
            raise InputError(rule.format(value), place=f"{table_path}: row {row}")
    actors = table["actor"] if "actor" in table else pd.Series("event", table.index)
    targets = tuple(sorted(set(actors) - {NO_ACTOR}))
    if not targets:
        raise InputError("a table with a column actor must name at least one, got none", place=table_path)
    rows, _ = pd.factorize(table["doc_id"])
    documents = table[~table["doc_id"].duplicated()]
    is_evidence = (p > 0.0) & (actors != NO_ACTOR).to_numpy()
    properties = [name for name in table.columns if name not in (*_REQUIRED, "actor")]
    return AuditFrame(
        documents["doc_id"].to_numpy(object),
        dates[~table["doc_id"].duplicated()],
        targets,
        rows[is_evidence],
        actors[is_evidence].map({name: column for column, name in enumerate(targets)}).to_numpy(np.int32),
        p[is_evidence],
        "event",
        Calendar(period).period,
        {"kind": "table", "path": table_path, "sha256": sha256(path)},
        {name: documents[name].to_numpy(object) for name in properties},
    )


def _day(text: str) -> datetime.date | None:
    """Day of an ISO date or time as it is written, in any time zone; None if the text is not a date."""
    try:
        return datetime.datetime.fromisoformat(text.strip()).date()
    except ValueError:
        return None


@contextmanager
def as_written(subject: str, location: str) -> Iterator[None]:
    """Turn errors of reading what a command wrote into an InputError that names it."""
    try:
        yield
    except CorefsampleError:
        raise
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise InputError(f"{subject} must be as it was written, got: {one_line(error)}", place=location) from None


def read_text_table(path: PathLike, required: Sequence[str]) -> pd.DataFrame:
    """Read separated values as text, with these columns; raise InputError if they are missing.

    Separators are those of news tables. Empty rows, which spreadsheets leave behind, are skipped. The index has the
    number of each row in the file, where the header is the first.
    """
    table_path = os.fspath(path)
    texts: Any = {"dtype": str, "keep_default_na": False, "na_filter": False, "encoding": "utf-8-sig"}
    try:
        (header,) = pd.read_csv(path, header=None, nrows=1, sep="\x01", quoting=csv.QUOTE_NONE, **texts).iloc[0]
        table = pd.read_csv(path, sep=separator_of(header, required), **texts)
    except OSError as error:
        raise InputError(f"file must be readable, got: {error.strerror}", place=table_path) from None
    except (ValueError, pd.errors.ParserError) as error:
        raise InputError(f"file must be CSV in UTF-8, got: {one_line(error)}", place=table_path) from None
    for name in required:
        if name not in table:
            columns = shown(", ".join(table.columns))
            raise InputError(f"columns must include {name!r}, got {columns}", place=table_path)
    table.index += 2
    filled: pd.DataFrame = table.loc[(table != "").any(axis=1)]
    if filled.empty:
        raise InputError("table must have at least one row, got none", place=table_path)
    return filled


def numbers_of(texts: pd.Series) -> Floats:
    """Numbers of a column of text, NaN where it has none; a comma is a decimal one unless it may part thousands."""
    texts = texts.str.strip()
    is_decimal = texts.str.fullmatch(r"-?\d*,\d+") & ~texts.str.fullmatch(r"-?[1-9]\d{0,2},\d{3}")
    plain = texts.mask(is_decimal, texts.str.replace(",", "."))
    return np.asarray(pd.to_numeric(plain, errors="coerce").to_numpy(dtype=np.float64))
