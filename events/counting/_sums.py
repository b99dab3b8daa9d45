"""What was counted in documents: sums that merge, save and load, and the results that follow from them."""

from __future__ import annotations

import dataclasses
import datetime
import json
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa

from corefsample._lazy import pd
from corefsample.documents._batch import DocumentBatch
from corefsample.errors import InputError, ParameterError
from corefsample.files._atomic import write_json
from corefsample.posterior._posterior import unlike_scores
from events.counting._acceptance import DUPLICATE
from events.counting._counted_rows import CountedIds, CountedRows, SortedRows, document_rows, rows_batch
from events.counting._counts import CountsOfRules, EventCounts, Interval
from events.counting._evaluation import DocumentEvents
from events.counting._evidence import event_rows, evidence_rows, evidence_schema, parsed_mentions
from events.counting._notes import MergedActors
from events.counting._periods import NO_PERIOD, Calendar, Period
from events.counting._tables import EventKey
from events.counting._tally import MOST_PERIODS, CountTally
from events.matching._screening import DocumentMatches

_RECORD = "counter.json"
_TOTALS = ("n_sampled", "n_with_events", "n_ambiguous", "n_several_parses")
_SAVED = (*_TOTALS, "scores_had", "uncertainty")


@dataclass(frozen=True, slots=True)
class Counted:
    """What is counted, and how: the same in all counts that are merged.

    Attributes
    ----------
    columns
        Columns of the roles of each event, by its name.
    n_samples, seed
        Of the samples of each document.
    period
        As in `events.EventCounter`.
    definitions
        Texts that identify rules and lexicon, by what they are; empty for a predicate.
    codes
        Codes of the actors that can have an event, sorted; none if any name can.
    outcomes
        By name of an outcome, the actors with which it is declared.
    has_defaults
        Whether roles can be filled by default actors.
    """

    columns: Mapping[str, Sequence[str]]
    n_samples: int
    seed: int
    period: str
    definitions: Mapping[str, str] = field(default_factory=dict)
    codes: Sequence[str] = ()
    outcomes: Mapping[str, Sequence[str]] = field(default_factory=dict)
    has_defaults: bool = False

    def require_same(self, other: Counted) -> None:
        """Raise ParameterError for another rule, lexicon, period, seed or number of samples."""
        mine, others = (each._compared() for each in (self, other))
        for name in (*mine, *others):
            if mine.get(name) != others.get(name):
                rule = f"must have the same {name} as this counter ({mine.get(name)})"
                raise ParameterError(f"{rule}, got {others.get(name)}", parameter="other")

    def _compared(self) -> dict[str, object]:
        texts = {"events": ", ".join(self.columns), **self.definitions, "period": Calendar(self.period).freq}
        return {**texts, "seed": self.seed, "n_samples": self.n_samples}


class CountedEvents:
    """Sums over documents, with their rows: they can be merged, saved and read.

    Parameters
    ----------
    counted
        What is counted.
    folder
        An existing folder for rows of evidence and documents, so that memory is bounded; None: they stay in memory.
    compared
        The events that will be compared; None: any.
    """

    def __init__(self, counted: Counted, folder: Path | None = None, compared: Collection[EventKey] | None = None):
        self._counted, self._folder = counted, folder
        self.calendar = Calendar(counted.period)
        self.tallies = {event: CountTally(counted.n_samples, compared=compared) for event in counted.columns}
        self.rows = CountedRows(self.roles, folder)
        self.merged_actors = MergedActors()
        self.ids = CountedIds()
        self.n_sampled = self.n_with_events = self.n_ambiguous = self.n_several_parses = 0
        self.scores_had = ""  # recalibrations of the scores of the first document, if they decided
        self.uncertainty: str | None = None
        self._extremes: list[tuple[str, str]] = []  # the first and the last date, each with its place

    def __repr__(self) -> str:
        tallies = "".join(f"\n  {tally!r}" for tally in self.tallies.values())
        return f"{type(self).__name__}({self._description}, seed {self.seed}){tallies}"

    @property
    def _description(self) -> str:
        return ", ".join(self._counted.columns)

    @property
    def seed(self) -> int:
        """Seed of the samples."""
        return self._counted.seed

    @property
    def n_samples(self) -> int:
        """Samples of each document."""
        return self._counted.n_samples

    @property
    def has_defaults(self) -> bool:
        """Whether roles can be filled by default actors."""
        return self._counted.has_defaults

    @property
    def tally(self) -> CountTally:
        """Sums over the documents so far, of the first rule; `tallies` has them by event."""
        return next(iter(self.tallies.values()))

    @property
    def n_documents(self) -> int:
        """Number of documents so far."""
        return self.tally.n_documents

    @property
    def roles(self) -> tuple[str, ...]:
        """Columns of the roles of all rules."""
        return tuple(dict.fromkeys(column for columns in self._counted.columns.values() for column in columns))

    # --- sums ---

    def add_documents(self, batch: DocumentBatch) -> list[Period]:
        """Count the documents of a batch, with or without events; return their periods.

        Raises
        ------
        InputError
            If the periods become more than 100,000; then no document is counted.
        """
        numbers = self.calendar.numbers(batch.dates)
        outlier = self.tally.first_outlier(numbers)
        if outlier is not None:
            raise self._outlying(str(batch.dates[outlier]), batch.place(outlier))
        for tally in self.tallies.values():
            tally.add_documents(numbers)
        self.ids.add(batch)
        self.n_several_parses += 0 if batch.parses is None else int((batch.parses.counts > 1).sum())
        dated = np.flatnonzero(numbers != NO_PERIOD)
        if len(dated):
            rows = [int(dated[choose(batch.dates[dated])]) for choose in (np.argmin, np.argmax)]
            self._add_extremes([(str(batch.dates[row]), batch.place(row)) for row in rows])
        return self.calendar.periods(numbers)

    def is_outlying(self, batch: DocumentBatch) -> bool:
        """Whether the periods would become too many with the documents of a batch."""
        return self.tally.first_outlier(self.calendar.numbers(batch.dates)) is not None

    def _outlying(self, date: str, place: str) -> InputError:
        # We cannot tell whether this date or an earlier document's is wrong.
        rule = f"at most {MOST_PERIODS:,} periods ({self.calendar.period}) from first to last document"
        return InputError(f"date must leave {rule}, got {date}", place=place)

    def _add_extremes(self, extremes: Sequence[tuple[str, str]]) -> None:
        dated = [*self._extremes, *extremes]
        self._extremes = [choose(dated, key=lambda each: np.datetime64(each[0])) for choose in (min, max)]

    def add_events(
        self,
        batch: DocumentBatch,
        periods: Sequence[Period],
        matches: Mapping[int, DocumentMatches],
        events_of: Mapping[int, Sequence[DocumentEvents]],
    ) -> None:
        """Add the rows of a batch, and the events of its documents by row; of several rules in one document."""
        if len(batch):
            self.rows.all_documents.add(document_rows(batch, periods, matches, events_of))
        for event, triggers in (found for each in matches.values() for found in each.triggers.items()):
            self.tallies[event].add_triggers(triggers.values())
        with_events, evidence, of_triggers = [], [], []
        for row, several in events_of.items():
            self.n_sampled += 1
            self.merged_actors.add(batch, row, several)
            self.n_ambiguous += max((each.parses[0].matches.n_ambiguous for each in several if each.parses), default=0)
            for events in several:
                self.tallies[events.event].add_events(events, periods[row].number)
            if any(events.n_hits.any() for events in several):
                with_events.append(row)
                parses = parsed_mentions(batch, row)
                evidence += evidence_rows(several, periods[row].label, parses)
                of_triggers += event_rows(several, periods[row].label, parses[0].tokens)
        self.n_with_events += len(with_events)
        if with_events:
            for table, rows in ((self.rows.evidence, evidence), (self.rows.events, of_triggers)):
                table.add(rows_batch(table.schema, rows, self._counted.columns, self.roles))
            if self._folder is not None:
                self.rows.documents.add(batch.take(with_events).table)

    def merge(self, other: CountedEvents, *, distinct: bool = False) -> None:
        """Add the documents of other counts of the same events.

        Parameters
        ----------
        other
            A counter, or what `load` returns; files in its folder are read when they are needed.
        distinct
            Whether the doc_ids are known to differ from those so far.

        Raises
        ------
        ParameterError
            If rules, presets, lexicon, period, seed or number of samples differ.
        InputError
            If a doc_id is in both, both together have more than 100,000 periods, or the scores of one had a
            recalibration of known uncertainty and those of the other had not.
        """
        self._counted.require_same(other._counted)
        again = [] if distinct else self.ids.repeated_in(other.ids)
        if again:
            raise InputError(DUPLICATE, place=f"document {other.ids.numbers[again[0][1]]} of the other counter")
        if self.n_documents and other.n_documents and self.uncertainty != other.uncertainty:
            raise unlike_scores(other.scores_had, self.scores_had).as_input_error(other._source)
        dates = [datetime.date.fromisoformat(date) for date, _ in other._extremes]
        outlier = self.tally.first_outlier(self.calendar.numbers(dates))
        if outlier is not None:
            raise self._outlying(*other._extremes[outlier])
        if not self.n_documents:
            self.uncertainty, self.scores_had = other.uncertainty, other.scores_had
        for event, tally in self.tallies.items():
            tally.merge(other.tallies[event])
        for name in _TOTALS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        if other._extremes:
            self._add_extremes(other._extremes)
        self.merged_actors.merge(other.merged_actors)
        self.ids.extend(other.ids)
        self.rows.extend(other.rows)

    @property
    def _source(self) -> str:
        """File of the first document, or its name; empty if no document has a date."""
        return self._extremes[0][1].partition(": ")[0] if self._extremes else ""

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write everything into an existing folder, for `load`; the folder of a counter is one."""
        path = Path(folder)
        self.rows.save(path)
        self.ids.save(path)
        record = {
            "counted": dataclasses.asdict(self._counted),
            "extremes": self._extremes,
            "merged_actors": self.merged_actors.to_json(),
            **{name: getattr(self, name) for name in _SAVED},
            "tallies": {event: tally.to_json() for event, tally in self.tallies.items()},
        }
        write_json(path / _RECORD, record, indent=None)

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> CountedEvents:
        """The counts that `save` wrote, to be read or merged into a counter, which can count more documents."""
        path = Path(folder)
        record = json.loads((path / _RECORD).read_text(encoding="utf-8"))
        counts = CountedEvents(Counted(**record["counted"]), path)
        for name in _SAVED:
            setattr(counts, name, record[name])
        counts.tallies = {event: CountTally.from_json(tally) for event, tally in record["tallies"].items()}
        counts._extremes = [(date, place) for date, place in record["extremes"]]
        counts.merged_actors = MergedActors.from_json(record["merged_actors"])
        counts.ids = CountedIds.load(path)
        counts.rows.load(path)
        return counts

    # --- results ---

    def counts(self, *, event: str | None = None, level: float = 0.95, interval: Interval = "quantile") -> EventCounts:
        """Posterior of the counts so far, with credible intervals: see `EventCounts`.

        Parameters
        ----------
        event
            Name of the rule; needed where there are several.
        level, interval
            Of the intervals, as in `EventCounts`.

        Raises
        ------
        ParameterError
            If `event` is not the name of a rule, or is missing where there are several.
        """
        if event is None and len(self.tallies) == 1:
            event = next(iter(self.tallies))
        if event not in self.tallies:
            shown = "none" if event is None else repr(event)
            raise ParameterError(f"must be one of {', '.join(self.tallies)}, got {shown}", parameter="event")
        return EventCounts(
            self.tallies[event].copy(),
            self.calendar,
            level=level,
            interval=interval,
            known=frozenset(self._counted.outcomes.get(event, self._counted.codes)),
            event=event,
            columns=tuple(self._counted.columns[event]),
            uncertainty=self.uncertainty,
            has_defaults=self.has_defaults,
        )

    def counts_of_all(self, *, level: float = 0.95, interval: Interval = "quantile") -> CountsOfRules:
        """The posterior of each rule's counts."""
        of_rules = (self.counts(event=event, level=level, interval=interval) for event in self.tallies)
        return CountsOfRules(tuple(of_rules), self.roles)

    def to_frame(self, *, level: float = 0.95, interval: Interval = "quantile") -> pd.DataFrame:
        """The counts of all rules in one table, as counts.csv of the command `events`.

        It has the columns of `EventCounts.to_frame`, with the columns of the roles of all rules; those of other rules
        are empty.
        """
        return self.counts_of_all(level=level, interval=interval).to_frame()

    def evidence(self) -> pd.DataFrame:
        """Tidy table, one row for each document and event with P > 0: see `EvidenceRow`.

        Rows are in the order of date, document and event. Instead of `actors` the table has the columns of the rules'
        roles.
        """
        return _frame(self._table(self.rows.evidence).select(self.evidence_schema.names))

    @property
    def evidence_schema(self) -> pa.Schema:
        """Schema of `evidence`."""
        return evidence_schema(self.roles, parses=self.n_several_parses > 0, defaults=self.has_defaults)

    def events(self) -> pd.DataFrame:
        """Tidy table, one row for each trigger and actor: see `events.counting._evidence.EventRow`.

        Rows are in the order of date, document and trigger. Instead of `actors` the table has the columns of the roles.
        """
        return _frame(self._table(self.rows.events))

    def all_documents(self) -> pd.DataFrame:
        """Tidy table, one row for each document, with or without events, as all_documents.parquet of a run."""
        return _frame(self.table_of_all_documents())

    def table_of_all_documents(self) -> pa.Table:
        """The same as an Arrow table."""
        return self._table(self.rows.all_documents)

    def near_half(self, n: int = 50) -> pd.DataFrame:
        """Rows of `evidence` whose probability is closest to one half, where errors are easiest to find."""
        table = self.evidence()
        return table.iloc[np.argsort(np.abs(table["probability"] - 0.5), kind="stable")[:n]].reset_index(drop=True)

    def _table(self, rows: SortedRows) -> pa.Table:
        return pa.concat_tables([rows.schema.empty_table(), *rows.tables(self._folder)])


def _frame(table: pa.Table) -> pd.DataFrame:
    """A table of pandas, with dates as timestamps."""
    frame: pd.DataFrame = table.to_pandas(date_as_object=False)
    return frame
