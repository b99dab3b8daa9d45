"""Evidence as one object: its two tables, outcomes that unite its events, and the counts that are functions of them."""

from __future__ import annotations

import dataclasses
import os
import shutil
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from corefsample import InputError, ParameterError, _checks
from corefsample._arrays import Bytes, Ints, pd
from corefsample._random import monte_carlo_errors
from corefsample.documents._batch import SCHEMA
from corefsample.files._atomic import unwritable
from corefsample.files._paths import joined, open_binary
from corefsample.files._reading import parquet_errors
from corefsample.files._remote import is_url
from corefsample.posterior._posterior import unlike_scores
from events.counts._event_counts import CountsOfRules, EventCounts, Interval
from events.counts._occurrences import MOST_PERIODS, Occurrences
from events.counts._run_tables import verify_table
from events.evidence._acceptance import DUPLICATE
from events.evidence._columns import ACTOR, COOCCURRENCES, TABLE_METADATA, Calendar, EventKey, EvidenceSettings
from events.evidence._document_evidence import evidence_schema
from events.evidence._documents_table import ALL_DOCUMENTS_SCHEMA, MERGED_ACTORS, excluded_triggers, merging_summary
from events.evidence._sorted_rows import SortedRows
from events.rules._format import Outcome

Dates = npt.NDArray[np.datetime64]
_BY_DOCUMENT = ("date", "doc_id")
EVIDENCE, DOCUMENTS, SCORED = "evidence", "all_documents", "documents"  # names of files
# Rows of a batch of a file: scored documents are large.
_EVIDENCE_BATCH, _DOCUMENT_BATCH, _SCORED_BATCH = 256, 4096, 8
_TABLE_GROUP = 2000  # rows of a row group of the saved tables
# Columns of the table of evidence that its users read; the others are for counts.
OF_COUNTS = ("samples", "named_samples", "inefficiency", "triggers", "numbers", "best_number")


class Evidence:
    """The evidence of documents: a row for each possible event of a document, and a row for each document.

    Counts, with other periods or of groups of documents, are functions of the two tables.

    Parameters
    ----------
    settings
        What the evidence is about, and how the documents were sampled.
    folder
        Path of an existing folder to which rows are written, which bounds memory; with None, they stay in memory.
    """

    def __init__(self, settings: EvidenceSettings, folder: Path | None = None) -> None:
        self.settings, self.calendar = settings, Calendar(settings.period)
        roles = settings.roles
        self.schema = evidence_schema(roles, defaults=settings.has_defaults, numbers=settings.is_predicate)
        self.is_in_files = folder is not None
        self.rows = SortedRows(EVIDENCE, self.schema, (*_BY_DOCUMENT, "event", *roles), _EVIDENCE_BATCH, folder)
        self.documents = SortedRows(DOCUMENTS, ALL_DOCUMENTS_SCHEMA, _BY_DOCUMENT, _DOCUMENT_BATCH, folder)
        self.scored = SortedRows(SCORED, SCHEMA, _BY_DOCUMENT, _SCORED_BATCH, folder)  # documents with evidence
        self.tables = (self.rows, self.documents, self.scored)

    def __repr__(self) -> str:
        settings = self.settings
        events = ", ".join(settings.columns)
        return f"{type(self).__name__}({events}: {self.n_documents:,} documents, {settings.n_samples:,} samples each)"

    @property
    def n_documents(self) -> int:
        """Number of documents."""
        return len(self.documents)

    @property
    def n_samples(self) -> int:
        """Number of samples per document."""
        return self.settings.n_samples

    def counts(
        self,
        *,
        event: str | None = None,
        period: str | None = None,
        by: str | Sequence[str] = (),
        level: float = 0.95,
        interval: Interval = "quantile",
        all_periods: bool = False,
    ) -> EventCounts:
        """Posterior counts of the documents, with credible intervals: see `EventCounts`.

        Parameters
        ----------
        event
            Name of the rule; required if there are several rules.
        period
            Length of a period: year, quarter, month, week, day, or a pandas alias; by default that of the evidence.
        by
            Column of the documents, or several, by which they are grouped: a field of the documents' metadata, such as
            "outlet". A document without the field is in the group "".
        level, interval
            Probability of each credible interval, in (0, 1), and kind of interval: see `EventCounts`.
        all_periods
            True to list all periods, even those from a date that is far from all others.

        Raises
        ------
        ParameterError
            If `event` is not the name of a rule or an outcome, or is None although there are several, `by` is not a
            column, `period` is not valid, `level` is not in (0, 1), or `interval` is not a kind of interval.
        """
        if event is None and len(self.settings.columns) == 1:
            event = next(iter(self.settings.columns))
        event = _checks.choice("event", event, tuple(self.settings.columns))
        by = (by,) if isinstance(by, str) else tuple(by)
        arrays = Occurrences(self.settings, self.rows, self.documents, period, by, all_periods)
        return EventCounts(arrays, event, by, level, interval)

    def counts_of_all(
        self,
        *,
        period: str | None = None,
        by: str | Sequence[str] = (),
        level: float = 0.95,
        interval: Interval = "quantile",
        all_periods: bool = False,
    ) -> CountsOfRules:
        """Posterior counts of every rule and outcome, as one result: see `counts`."""
        by = (by,) if isinstance(by, str) else tuple(by)
        arrays = Occurrences(self.settings, self.rows, self.documents, period, by, all_periods)
        of_rules = (EventCounts(arrays, event, by, level, interval) for event in self.settings.columns)
        return CountsOfRules(tuple(of_rules), self.settings.roles)

    def evidence(self) -> pd.DataFrame:
        """Table of evidence, one row for each document and event with P > 0: see `evidence_schema`.

        Rows are in the order of date, document and event.
        """
        return _frame(
            with_evidence(self._table(self.rows)).select([name for name in self.schema.names if name not in OF_COUNTS])
        )

    def events(self) -> pd.DataFrame:
        """Table of triggers, one row for each trigger and actors, in the order of date, document and trigger."""
        return _frame(trigger_rows(self._table(self.rows), self.settings.roles))

    def all_documents(self) -> pd.DataFrame:
        """Table of documents, one row each, with or without events, as in a run's all_documents.parquet."""
        return _frame(self._table(self.documents))

    def near_half(self, n: int = 50) -> pd.DataFrame:
        """The `n` rows of `evidence` (by default 50) whose probability is closest to 0.5, the least certain ones."""
        table = self.evidence()
        return table.iloc[np.argsort(np.abs(table["probability"] - 0.5), kind="stable")[:n]].reset_index(drop=True)

    def _table(self, rows: SortedRows) -> pa.Table:
        return pa.concat_tables([rows.schema.empty_table(), *rows.groups(_TABLE_GROUP)])

    def merging_summary(self) -> dict[str, Any] | None:
        """How often coreference alone merges distinct actors; None if they were not kept apart."""
        return merging_summary(self.documents.read("doc_id", *MERGED_ACTORS.names), self.n_samples)

    def document_counts(self) -> dict[str, int]:
        """Numbers of documents and names for the record of a run: see `EventsResult`."""
        names = ("date", "sampled", "probability", "ambiguous_names", "n_parses")
        date, sampled, probability, ambiguous, n_parses = self.documents.read(*names).columns
        return {
            "n_documents": self.n_documents,
            "n_undated": date.null_count,
            "n_sampled": pc.sum(sampled).as_py() or 0,
            "n_with_events": pc.sum(pc.greater(probability, 0.0)).as_py() or 0,
            "n_ambiguous": pc.sum(ambiguous).as_py() or 0,
            "n_several_parses": pc.sum(pc.greater(n_parses, 1)).as_py() or 0,
        }

    def excluded_triggers(self, presets: Mapping[str, str]) -> dict[str, dict[str, Any]]:
        """Number of triggers that conditions exclude, by rule; `presets` has the preset of each rule by its name."""
        texts = pc.value_counts(pc.list_flatten(self.documents.read("triggers")["triggers"]))
        numbers = {each["values"]: each["counts"] for each in texts.to_pylist()}
        return {rule: excluded_triggers(numbers, rule, preset) for rule, preset in presets.items()}

    def document_dates(self) -> Dates:
        """Date of each document, NaT where it is missing: datetime64[D] (n_documents,)."""
        return np.asarray(self.documents.read("date")["date"].to_numpy(), "datetime64[D]")

    def merge(self, other: Evidence) -> None:
        """Add the documents of other evidence of the same events.

        Parameters
        ----------
        other
            Evidence to add: a counter, or the result of `load`, whose files are read when they are needed.

        Raises
        ------
        ParameterError
            If `other` is not evidence, or its rules, presets, lexicon, period, seed or number of samples differ.
        InputError
            If both have a document with the same doc_id, both together have more than 100,000 periods, or the
            scores of only one of them had a recalibration whose uncertainty is recorded.
        """
        _checks.instance("other", other, Evidence)
        self.settings.require_same(other.settings)
        doc_ids, other_doc_ids = (each.documents.read("doc_id")["doc_id"] for each in (self, other))
        repeated = other_doc_ids.filter(pc.is_in(other_doc_ids, value_set=doc_ids))
        if len(repeated):
            raise InputError(DUPLICATE, place=f"doc_id {repeated[0].as_py()!r} of the other counter")
        if self.n_documents and other.n_documents and self.settings.uncertainty != other.settings.uncertainty:
            raise unlike_scores(other.settings.scores, self.settings.scores).as_input_error("the other counter")
        dates = extreme_dates([self.document_dates()])
        require_near(self.calendar, dates, other.document_dates(), lambda row: f"doc_id {other_doc_ids[row].as_py()!r}")
        if not self.n_documents:
            self.settings = other.settings
        for rows, added in zip(self.tables, other.tables, strict=True):
            rows.extend(added)

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the two tables to a folder for `load`, as Parquet; the folder is created if it does not exist."""
        path = Path(_checks.path("folder", folder))
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise unwritable(path, error) from None
        for rows in (self.rows, self.documents):
            rows.write(path / f"{rows.name}.parquet", _TABLE_GROUP, self.settings.in_metadata)

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> Evidence:
        """Load the evidence that `save` wrote. To count more documents, merge it into an `EventCounter`."""
        path = Path(_checks.path("folder", folder))
        evidence_files = sorted(path.glob(f"{EVIDENCE}-*.arrow")) or [path / f"{EVIDENCE}.parquet"]
        if not evidence_files[0].is_file():
            raise InputError(f"{EVIDENCE}.parquet is missing in the folder", place=str(path))
        with parquet_errors(str(evidence_files[0])):
            schema = SortedRows.schema_of(evidence_files[0])
        evidence = Evidence(EvidenceSettings.of_schema(schema, str(evidence_files[0])))
        evidence.rows.add_files(evidence_files)
        is_saved = evidence_files[0].suffix == ".parquet"
        for rows in (evidence.documents, *([] if is_saved else [evidence.scored])):
            rows.add_files([path / f"{rows.name}.parquet"] if is_saved else sorted(path.glob(f"{rows.name}-*.arrow")))
        return evidence

    def flush(self) -> None:
        """Write the rows in memory to the folder."""
        for rows in self.tables:
            rows.flush(self.settings.in_metadata)


def read_evidence(run: str | os.PathLike[str]) -> Evidence:
    """Read the evidence of a finished run, for counts of other periods, groups of documents or levels.

    Parameters
    ----------
    run
        Path of the folder that `corefsample events` wrote.

    Returns
    -------
    Evidence
        Its rows stay in the files, and are read when they are needed; those of a run at a URL are copied first.

    Raises
    ------
    InputError
        If one of the files is missing in the folder, or is not as the run wrote it.

    Examples
    --------
    >>> from events import read_evidence
    >>> read_evidence("run").counts(period="month", by="outlet").to_frame()  # doctest: +SKIP
    """
    run = _checks.path("run", run)
    for name in (EVIDENCE, DOCUMENTS):
        verify_table(joined(run, f"{name}.parquet"))
    if not is_url(run):
        return Evidence.load(run)
    copies = mkdtemp(prefix="corefsample-")
    for name in (EVIDENCE, DOCUMENTS):
        file_name = f"{name}.parquet"
        with open_binary(joined(run, file_name)) as source, open(Path(copies, file_name), "wb") as copy:
            shutil.copyfileobj(source, copy)
    evidence = Evidence.load(copies)
    weakref.finalize(evidence, shutil.rmtree, copies, ignore_errors=True)
    return evidence


def extreme_dates(dates: Iterable[Dates]) -> Dates:
    """The first and the last of several arrays of dates; empty without any."""
    every = np.concatenate([np.zeros(0, "datetime64[D]"), *dates])
    every = every[~np.isnat(every)]
    return np.array([every.min(), every.max()] if len(every) else [], "datetime64[D]")


def require_near(calendar: Calendar, before: Dates, dates: Dates, place: Callable[[int], str]) -> None:
    """Raise InputError for the first date that, after the dates before, makes the periods more than 100,000.

    Such a number of periods indicates a wrong date, or a period that is too short for the corpus. `place` returns the
    place of the document in a row.
    """
    dated = np.flatnonzero(~np.isnat(dates))
    numbers = calendar.numbers(np.concatenate([before, dates[dated]]))
    extent = np.maximum.accumulate(numbers) - np.minimum.accumulate(numbers)
    outliers = np.flatnonzero(extent >= MOST_PERIODS)
    if outliers.size:
        # We cannot tell whether this date or an earlier document's is wrong.
        row = int(dated[outliers[0] - len(before)])
        rule = f"at most {MOST_PERIODS:,} periods ({calendar.period}) from first to last document"
        raise InputError(f"date must leave {rule}, got {dates[row]}", place=place(row))


def with_evidence(rows: pa.Table) -> pa.Table:
    """Rows of evidence with P > 0."""
    return rows.filter(pc.greater(rows["probability"], 0.0))


def trigger_rows(evidence: pa.Table, roles: Sequence[str]) -> pa.Table:
    """Table of triggers, one row for each trigger and event, of all rows of evidence of some documents.

    Returns
    -------
    pa.Table
        doc_id, date, period, event and the columns of roles as in the evidence; probability: P(the trigger makes the
        event of these actors true), where the highest counts if several mentions can fill a role; filled: "named" if
        the text names the actors, "default" if a default actor fills a role, "stands for" if in most samples a class
        noun stands for an actor, "both" if parses differ, empty if the event has no actor; sentence and trigger, texts;
        token, its offset in the document; frame of the rule, or `learned` for a trigger that only the trigger model
        takes for one; p_reports: P(the trigger reports the event). Rows are in the order of date, document and token.
    """
    names = ["doc_id", "date", "period", "event", *roles, "triggers"]
    evidence = with_evidence(evidence).select(names).combine_chunks()
    triggers = evidence["triggers"].combine_chunks()
    table = evidence.drop_columns("triggers").take(pc.list_parent_indices(triggers))
    values = triggers.flatten()
    for name in ("probability", "filled", "sentence", "trigger", "token", "frame", "p_reports"):
        column = pc.struct_field(values, name)
        table = table.append_column(name, column.cast(pa.int64()) if name == "token" else column)
    keys = [(name, "ascending") for name in (*_BY_DOCUMENT, "token", "event", *roles)]
    return table.take(pc.sort_indices(table, keys)).replace_schema_metadata(TABLE_METADATA)


def _frame(table: pa.Table) -> pd.DataFrame:
    """A table of pandas, with dates as timestamps."""
    frame: pd.DataFrame = table.to_pandas(date_as_object=False)
    return frame


def with_outcomes(evidence: Evidence, outcomes: Sequence[Outcome]) -> Evidence:
    """Evidence with rows for further outcomes, whose samples are those with any of the united events.

    Raises
    ------
    ParameterError
        If an outcome has the name of an event of the evidence, or unites events that it does not have.
    """
    settings = evidence.settings
    for outcome in outcomes:
        unknown = [name for name in outcome.events if name not in settings.columns or name in settings.outcomes]
        if unknown or outcome.name in settings.columns:
            names = ", ".join(name for name in settings.columns if name not in settings.outcomes)
            rule = f"must unite events of the run ({names}) under another name than theirs"
            raise ParameterError(f"{rule}, got {outcome}", parameter="outcome")
    patterns: dict[str, list[str]] = {}
    for outcome in outcomes:
        patterns.setdefault(outcome.name, []).append(outcome.actors)
    united = Evidence(
        dataclasses.replace(
            settings,
            columns={**settings.columns, **dict.fromkeys(patterns, ACTOR)},
            outcomes={**settings.outcomes, **patterns},
        )
    )
    for rows, added in zip(united.tables, evidence.tables, strict=True):
        rows.extend(added)
    occurrences = Occurrences(settings, evidence.rows, evidence.documents)
    columns = evidence.rows.read("doc_id", "date", "one_best", "inefficiency", "samples", "named_samples")
    for outcome in outcomes:
        united.rows.add(_rows(outcome, occurrences, columns, united))
    return united


def _rows(outcome: Outcome, occurrences: Occurrences, columns: pa.Table, united: Evidence) -> pa.RecordBatch:
    """Rows of evidence of one outcome."""
    settings, keys = united.settings, occurrences.keys
    matching = {*outcome.matching_keys([key for _, key in keys], settings.kinds)}
    is_member = np.array([k in matching and name in outcome.events for k, (name, _) in enumerate(keys)], np.bool_)
    rows = np.flatnonzero(is_member[occurrences.key]) if len(keys) else np.zeros(0, np.int64)
    rows = rows[np.argsort(occurrences.document[rows], kind="stable")]
    starts = np.flatnonzero(np.diff(occurrences.document[rows], prepend=-1))
    members = columns.take(pa.array(rows))
    samples = _united(members["samples"], starts, settings.n_samples)
    named = _united(pc.coalesce(members["named_samples"], members["samples"]), starts, settings.n_samples)
    n_hits = np.unpackbits(samples, axis=1).sum(axis=1, dtype=np.int64)
    documents = members.take(pa.array(starts))
    inefficiency = np.maximum.reduceat(members["inefficiency"].to_numpy(), starts) if len(starts) else np.zeros(0)
    one_best = np.logical_or.reduceat(members["one_best"].to_numpy(), starts) if len(starts) else np.zeros(0, np.bool_)
    errors = [
        float(monte_carlo_errors(n, settings.n_samples, time)) if time else 0.0
        for n, time in zip(n_hits, inefficiency, strict=True)
    ]
    classes = np.maximum.reduceat(occurrences.cooccurrence[rows], starts) if len(starts) else starts
    cells = EventKey.of(outcome.actors).cells(ACTOR, settings.roles)
    n = len(starts)
    values = {
        "doc_id": documents["doc_id"].combine_chunks(),
        "date": documents["date"].combine_chunks(),
        "event": pa.array([outcome.name] * n, pa.string()),
        **{name: pa.array([cell] * n, pa.string()) for name, cell in cells.items()},
        "probability": pa.array(n_hits / settings.n_samples),
        "mc_se": pa.array(errors, pa.float64()),
        "one_best": pa.array(one_best),
        "samples": pa.array([bits.tobytes() for bits in samples], pa.binary(), mask=n_hits == 0),
        "named_samples": pa.array([bits.tobytes() for bits in named], pa.binary(), mask=n_hits == 0),
        "cooccurrence": pa.array(COOCCURRENCES).take(pa.array(classes, mask=classes < 0)),
        "inefficiency": pa.array(inefficiency),
    }
    return pa.RecordBatch.from_pydict(values)


def _united(bits: pa.ChunkedArray, starts: Ints, n_samples: int) -> Bytes:
    """Packed bits that are set in any of the rows from each start to the next; null stands for no bits."""
    n_bytes = -(-n_samples // 8)
    filled = bits.combine_chunks().fill_null(bytes(n_bytes))
    packed = np.frombuffer(b"".join(filled.to_pylist()), np.uint8).reshape(-1, n_bytes)
    return np.bitwise_or.reduceat(packed, starts, axis=0) if len(starts) else packed
