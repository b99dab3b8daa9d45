"""Sums over documents, which can be merged, saved and loaded, and the results that follow from them."""

from __future__ import annotations

import dataclasses
import datetime
import os
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa

from corefsample import _checks
from corefsample._arrays import Ints32
from corefsample._lazy import pd
from corefsample.coreference._conditioning import METHODS, Conditioned
from corefsample.documents._batch import DocumentBatch
from corefsample.errors import InputError, ParameterError
from corefsample.files._atomic import unwritable, write_json
from corefsample.files._contents import read_json
from corefsample.files._digests import is_sealed, sealed
from corefsample.posterior._posterior import DocumentPosterior, unlike_scores
from events.counting._acceptance import DUPLICATE
from events.counting._counts import CountsOfRules, EventCounts, Interval
from events.counting._document_events import DocumentEvents
from events.counting._evidence import DocumentEvidence, evidence_schema
from events.counting._periods import NO_PERIOD, Calendar, Period
from events.counting._rows import CountedIds, SortedRows, TableRows, document_rows, rows_batch
from events.counting._tables import EventKey
from events.counting._tally import MOST_PERIODS, CountTally
from events.lexicon._lexicon import Lexicon
from events.matching._matching import distinct_actors
from events.matching._screening import DocumentMatches

_RECORD = "counter.json"
_LARGEST_RECORD = 16 * 1024  # MiB
_TOTALS = ("n_sampled", "n_with_events", "n_ambiguous", "n_several_parses")
_SAVED = (*_TOTALS, "scores_had", "uncertainty")


_WORST = 3  # number of mentions that are listed
_OFTEN = 5  # mentions that are merged with a probability above 1 / 5 are counted
_UNSETTLED = 20  # number of doc_ids that are listed
_LONGEST = 12  # longest text of a mention, in tokens
_NO_DATE = "NaT"  # the text of NumPy's missing date

_Mention = tuple[float, str, str, int, int, str]  # minus the probability, date, doc_id, start, end, text


@dataclass(frozen=True, slots=True)
class CountSettings:
    """Settings of a counter, which must be the same in all counters that are merged.

    Attributes
    ----------
    columns
        Names of the columns of roles of each event, by the name of the event.
    n_samples, seed
        Number of samples per document, and seed of the random draws, in [0, 2**64).
    period
        Length of a period: year, quarter, month, week, day, or a pandas alias.
    definitions
        Texts that identify the rules and the lexicon, by "rule" and "lexicon"; empty for a predicate.
    codes
        Codes of the actors that can have an event, sorted; if empty, any name can have one.
    outcomes
        Patterns of actors with which each outcome is declared, by the name of the outcome.
    has_defaults
        Whether default actors can fill roles.
    """

    columns: Mapping[str, Sequence[str]]
    n_samples: int
    seed: int
    period: str
    definitions: Mapping[str, str] = field(default_factory=dict)
    codes: Sequence[str] = ()
    outcomes: Mapping[str, Sequence[str]] = field(default_factory=dict)
    has_defaults: bool = False

    def require_same(self, settings: CountSettings) -> None:
        """Raise ParameterError if rule, lexicon, period, seed or number of samples differ."""
        texts, other_texts = (each._compared_settings() for each in (self, settings))
        for name in (*texts, *other_texts):
            if texts.get(name) != other_texts.get(name):
                rule = f"must have the same {name} as this counter ({texts.get(name)})"
                raise ParameterError(f"{rule}, got {other_texts.get(name)}", parameter="other")

    def _compared_settings(self) -> dict[str, object]:
        texts = {"events": ", ".join(self.columns), **self.definitions, "period": Calendar(self.period).freq}
        return {**texts, "seed": self.seed, "n_samples": self.n_samples}


@dataclass(slots=True, eq=False)
class MergedActors:
    """How often coreference alone merges mentions of distinct actors, before samples are conditioned.

    All sums are integers, so the order of the documents cannot change them. A mention counts once for each sample whose
    parse has it.

    Attributes
    ----------
    n_named, n_merged, n_often
        Mentions that name an actor; mentions whose entity also names a distinct actor; mentions for which the share of
        such samples is above 0.2.
    ways
        Number of documents by how their samples were conditioned: see `Conditioned.method`.
    worst
        The mentions that are merged with the highest probability; ties are ordered by date, doc_id and position.
    unsettled
        The first 20 doc_ids, sorted, of documents whose Markov chains disagree.
    """

    n_named: int = 0
    n_merged: int = 0
    n_often: int = 0
    ways: Counter[str] = field(default_factory=Counter)
    worst: list[_Mention] = field(default_factory=list)
    unsettled: list[str] = field(default_factory=list)

    def add(self, batch: DocumentBatch, row: int, rule_events: Sequence[DocumentEvents]) -> None:
        """Add one document, given its events by each rule."""
        by_parse: dict[int, tuple[Conditioned, Ints32, int]] = {}  # the same for all rules
        for parse in (parse for events in rule_events for parse in events.parses):
            if parse.conditioned is not None and parse.matches is not None and parse.matches.naming is not None:
                by_parse[parse.parse] = parse.conditioned, parse.matches.naming, parse.n_drawn
        self._add(batch, row, by_parse)

    def add_document(
        self, batch: DocumentBatch, row: int, lexicon: Lexicon, *, scheme: str | None = None, n_samples: int = 100
    ) -> None:
        """Add one document with tokens without applying rules, from samples of its unchanged scores.

        Raises
        ------
        InputError
            If the labels of the document fit no scheme; the document is then not added.
        """
        by_parse: dict[int, tuple[Conditioned, Ints32, int]] = {}
        for parse, r in enumerate(batch.parses(row)):
            tokens = batch.tokens(r)
            assert tokens is not None
            pairs, naming = distinct_actors(tokens, batch.spans(r), lexicon, batch.dates[row].item(), scheme)
            if len(naming):
                n_mentions = int(pairs.max(initial=-1)) + 1
                posterior, apart = DocumentPosterior.of_row(batch, r), pairs if len(pairs) else None
                drawn = posterior.sample(n_samples=n_samples, n_mentions=n_mentions, cannot_link=apart)
                if drawn.samples.size:
                    # Without a pair there is nothing to condition.
                    conditioned = drawn.conditioned or Conditioned(np.zeros(0, np.int64), METHODS[0])
                    by_parse[parse] = conditioned, naming, drawn.samples.size
        self._add(batch, row, by_parse)

    def _add(self, batch: DocumentBatch, row: int, by_parse: Mapping[int, tuple[Conditioned, Ints32, int]]) -> None:
        """Add a document, given by parse its clashes, the mentions that name an actor, and its number of samples."""
        if not by_parse:
            return
        way = max((conditioned.method for conditioned, *_ in by_parse.values()), key=METHODS.index)
        self.ways[way] += 1
        if way == METHODS[-1]:
            self._add_unsettled([batch.doc_ids[row]])
        # Number of samples with a mention, and of those in which it is merged, by the token span of the mention.
        counts: dict[tuple[int, int], tuple[int, int]] = {}
        for parse, (conditioned, naming, n) in by_parse.items():
            spans, clashes = batch.spans(row + parse)[naming].tolist(), conditioned.n_clashes.tolist()
            for mention, (start, end, _) in zip(naming.tolist(), spans, strict=True):
                n_before, n_merged = counts.get((start, end), (0, 0))
                # Later mentions, which are not drawn, are in no pair.
                counts[start, end] = n_before + n, n_merged + (clashes[mention] if mention < len(clashes) else 0)
        worst = []
        for (start, end), (n, n_merged) in counts.items():
            self.n_named += n
            self.n_merged += n_merged
            self.n_often += n * (_OFTEN * n_merged > n)
            if n_merged and (len(self.worst) < _WORST or -n_merged / n <= self.worst[-1][0]):
                worst.append((-n_merged / n, str(batch.dates[row]), batch.doc_ids[row], start, end))
        if worst:
            tokens = batch.tokens(row)
            assert tokens is not None  # rules need them
            texts = [" ".join(tokens.text[start : min(end, start + _LONGEST)]) for *_, start, end in worst]
            self._add_worst([(*each, text) for each, text in zip(worst, texts, strict=True)])

    def _add_worst(self, mentions: Sequence[_Mention]) -> None:
        self.worst = sorted([*self.worst, *mentions])[:_WORST]

    def _add_unsettled(self, doc_ids: Sequence[str]) -> None:
        self.unsettled = sorted([*self.unsettled, *doc_ids])[:_UNSETTLED]

    def merge(self, actors: MergedActors) -> None:
        """Add the documents of another counter."""
        self.n_named += actors.n_named
        self.n_merged += actors.n_merged
        self.n_often += actors.n_often
        self.ways += actors.ways
        self._add_worst(actors.worst)
        self._add_unsettled(actors.unsettled)

    def to_json(self) -> dict[str, Any]:
        """Convert to JSON values, from which `from_json` makes the same sums."""
        sums = {name: getattr(self, name) for name in ("n_named", "n_merged", "n_often", "worst", "unsettled")}
        return {**sums, "ways": dict(self.ways)}

    @classmethod
    def from_json(cls, sums: Mapping[str, Any]) -> Self:
        """Make the sums from the result of `to_json`."""
        return cls(**{**sums, "ways": Counter(sums["ways"]), "worst": [(*each,) for each in sums["worst"]]})

    def summary(self, n_samples: int) -> dict[str, Any] | None:
        """Values for the record of a run (see docs/file-formats.md); None if distinct actors were not kept apart."""
        if not self.ways:
            return None
        n = max(self.n_named, 1)
        return {
            "n_mentions": round(self.n_named / n_samples, 3),
            "probability": self.n_merged / n,
            "share_above_0.2": self.n_often / n,
            "worst": [
                {"doc_id": doc_id, "date": None if date == _NO_DATE else date, "mention": text, "probability": -p}
                for p, date, doc_id, _, _, text in self.worst
            ],
            "n_documents": {way: self.ways[way] for way in METHODS},
            "unsettled": self.unsettled,
        }


class CountedEvents:
    """Sums over documents, with the rows of their tables, which can be merged, saved and loaded.

    Parameters
    ----------
    settings
        Settings of the counter.
    folder
        Path of an existing folder to which rows of evidence and documents are written, which bounds memory; with None,
        they stay in memory.
    compared
        Keys of the events that are compared later; by default any two events can be compared.
    """

    def __init__(self, settings: CountSettings, folder: Path | None, compared: Collection[EventKey] | None = None):
        self._settings, self._folder = settings, folder
        self.calendar = Calendar(settings.period)
        self.tallies = {event: CountTally(settings.n_samples, compared=compared) for event in settings.columns}
        self.rows = TableRows(self.roles, folder)
        self.merged_actors = MergedActors()
        self.ids = CountedIds()
        self.n_sampled = self.n_with_events = self.n_ambiguous = self.n_several_parses = 0
        self.scores_had = ""  # recalibration recorded in the first document's metadata, if the run depends on it
        self.uncertainty: str | None = None
        self._extremes: list[tuple[str, str]] = []  # the first and the last date, and where these documents are

    def __repr__(self) -> str:
        tallies = "".join(f"\n  {tally!r}" for tally in self.tallies.values())
        return f"{type(self).__name__}({self._description}, seed {self._settings.seed}){tallies}"

    @property
    def _description(self) -> str:
        return ", ".join(self._settings.columns)

    @property
    def n_samples(self) -> int:
        """Number of samples per document."""
        return self._settings.n_samples

    @property
    def tally(self) -> CountTally:
        """Sums over the counted documents for the first rule; `tallies` has the sums of every rule by its name."""
        return next(iter(self.tallies.values()))

    @property
    def n_documents(self) -> int:
        """Number of documents that were counted."""
        return self.tally.n_documents

    @property
    def roles(self) -> tuple[str, ...]:
        """Names of the columns of roles of all rules."""
        return tuple(dict.fromkeys(column for columns in self._settings.columns.values() for column in columns))

    # --- sums ---

    def add_documents(self, batch: DocumentBatch) -> list[Period]:
        """Count the documents of a batch, with or without events; return their periods.

        Raises
        ------
        InputError
            If the documents would extend the periods to more than 100,000; no document is then counted.
        """
        numbers = self.calendar.numbers(batch.dates)
        outlier = self.tally.first_outlier(numbers)
        if outlier is not None:
            raise self._outlying(str(batch.dates[outlier]), batch.place(outlier))
        for tally in self.tallies.values():
            tally.add_documents(numbers[batch.firsts])
        self.ids.add(batch)
        self.n_several_parses += int((np.diff([*batch.firsts, len(batch)]) > 1).sum())
        dated = np.flatnonzero(numbers != NO_PERIOD)
        if len(dated):
            rows = [int(dated[choose(batch.dates[dated])]) for choose in (np.argmin, np.argmax)]
            self._add_extremes([(str(batch.dates[row]), batch.place(row)) for row in rows])
        return self.calendar.periods(numbers)

    def is_outlying(self, batch: DocumentBatch) -> bool:
        """Whether the documents of a batch would extend the periods to more than 100,000."""
        return self.tally.first_outlier(self.calendar.numbers(batch.dates)) is not None

    def _outlying(self, date: str, location: str) -> InputError:
        # We cannot tell whether this date or an earlier document's is wrong.
        rule = f"at most {MOST_PERIODS:,} periods ({self.calendar.period}) from first to last document"
        return InputError(f"date must leave {rule}, got {date}", place=location)

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
        """Add the rows of a batch, and the events of its documents, one result per rule, by row."""
        if len(batch):
            self.rows.all_documents.add(document_rows(batch, periods, matches, events_of))
        for event, triggers in (item for document in matches.values() for item in document.triggers.items()):
            self.tallies[event].add_triggers(triggers.values())
        rows_with_events, evidence, trigger_rows = [], [], []
        for row, rule_events in events_of.items():
            self.n_sampled += 1
            self.merged_actors.add(batch, row, rule_events)
            of_rules = (events.parses[0].matches for events in rule_events if events.parses)
            self.n_ambiguous += max((each.n_ambiguous for each in of_rules if each is not None), default=0)
            for events in rule_events:
                self.tallies[events.event].add_events(events, periods[row].number)
            if any(events.n_hits.any() for events in rule_events):
                rows_with_events.append(row)
                document_evidence = DocumentEvidence.of(batch, row, rule_events, periods[row].label)
                evidence += document_evidence.rows()
                trigger_rows += document_evidence.trigger_rows()
        self.n_with_events += len(rows_with_events)
        if rows_with_events:
            for table, rows in ((self.rows.evidence, evidence), (self.rows.events, trigger_rows)):
                table.add(rows_batch(table.schema, rows, self._settings.columns, self.roles))
            if self._folder is not None:
                documents = np.searchsorted(batch.firsts, rows_with_events)
                self.rows.documents.add(batch.usual_parses().take(documents).table)

    def merge(self, other: CountedEvents, *, distinct: bool = False) -> None:
        """Add the documents of other counts of the same events.

        Parameters
        ----------
        other
            Counts to add: a counter, or the result of `load`, whose files are read when they are needed.
        distinct
            True if the caller knows that no document of `other` was counted here; by default doc_ids are compared.

        Raises
        ------
        ParameterError
            If `other` is not a counter, or its rules, presets, lexicon, period, seed or number of samples differ.
        InputError
            If both counters have a document with the same doc_id, both together have more than 100,000 periods, or the
            scores of only one of them had a recalibration whose uncertainty is recorded.
        """
        _checks.instance("other", other, CountedEvents)
        self._settings.require_same(other._settings)
        repeated = [] if distinct else self.ids.repeated_in(other.ids)
        if repeated:
            raise InputError(DUPLICATE, place=f"document {other.ids.numbers[repeated[0][1]]} of the other counter")
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
        """File of the document with the first date, or the place of a document without a file; "" without dates."""
        return self._extremes[0][1].partition(": ")[0] if self._extremes else ""

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write all sums and rows to a folder for `load`; the folder is created if it does not exist."""
        path = Path(_checks.path("folder", folder))
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise unwritable(path, error) from None
        self.rows.save(path)
        self.ids.save(path)
        record = {
            "counted": dataclasses.asdict(self._settings),
            "extremes": self._extremes,
            "merged_actors": self.merged_actors.to_json(),
            **{name: getattr(self, name) for name in _SAVED},
            "tallies": {event: tally.to_json() for event, tally in self.tallies.items()},
        }
        write_json(path / _RECORD, sealed(record), indent=None)

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> CountedEvents:
        """Load the counts that `save` wrote. To count more documents, merge them into an `EventCounter`."""
        path = Path(_checks.path("folder", folder))
        if not (path / _RECORD).is_file():
            raise InputError(f"{_RECORD} is missing in the counter's folder", place=str(path))
        record = read_json(path / _RECORD, most_mib=_LARGEST_RECORD)
        if not is_sealed(record):
            raise InputError("record must be as it was saved, got other content", place=str(path / _RECORD))
        counts = CountedEvents(CountSettings(**record["counted"]), path)
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
        """Posterior counts of the documents so far, with credible intervals: see `EventCounts`.

        Parameters
        ----------
        event
            Name of the rule; required if there are several rules.
        level, interval
            Probability of each credible interval, in (0, 1), and kind of interval: see `EventCounts`.

        Raises
        ------
        ParameterError
            If `event` is not the name of a rule or an outcome, or is None although there are several, `level` is not in
            (0, 1), or `interval` is not a kind of interval.
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
            codes=frozenset(self._settings.outcomes.get(event, self._settings.codes)),
            event=event,
            columns=tuple(self._settings.columns[event]),
            uncertainty=self.uncertainty,
            has_defaults=self._settings.has_defaults,
        )

    def counts_of_all(self, *, level: float = 0.95, interval: Interval = "quantile") -> CountsOfRules:
        """Posterior counts of every rule and outcome, as one result."""
        of_rules = (self.counts(event=event, level=level, interval=interval) for event in self.tallies)
        return CountsOfRules(tuple(of_rules), self.roles)

    def to_frame(self, *, level: float = 0.95, interval: Interval = "quantile") -> pd.DataFrame:
        """Table of the counts of all rules, as in the file counts.csv of the command `corefsample events`.

        The table has the columns of `EventCounts.to_frame` and a column for each role of any rule, which is empty in
        the rows of rules without this role.

        Parameters
        ----------
        level, interval
            Probability of each credible interval, in (0, 1), and kind of interval: see `EventCounts`.
        """
        return self.counts_of_all(level=level, interval=interval).to_frame()

    def evidence(self) -> pd.DataFrame:
        """Table of evidence, one row for each document and event with P > 0: see `EvidenceRow`.

        Rows are in the order of date, document and event. Instead of `actors` the table has the columns of the rules'
        roles.
        """
        return self._frame(self.rows.evidence, self.evidence_schema)

    @property
    def evidence_schema(self) -> pa.Schema:
        """Schema of `evidence`."""
        return evidence_schema(self.roles, defaults=self._settings.has_defaults)

    def events(self) -> pd.DataFrame:
        """Table of triggers, one row for each trigger and actor: see `events.counting._evidence.EventRow`.

        Rows are in the order of date, document and trigger. Instead of `actors` the table has the columns of the roles.
        """
        return self._frame(self.rows.events)

    def all_documents(self) -> pd.DataFrame:
        """Table of documents, one row each, with or without events, as in a run's all_documents.parquet."""
        return self._frame(self.rows.all_documents)

    def near_half(self, n: int = 50) -> pd.DataFrame:
        """The `n` rows of `evidence` (by default 50) whose probability is closest to 0.5, the least certain ones."""
        table = self.evidence()
        return table.iloc[np.argsort(np.abs(table["probability"] - 0.5), kind="stable")[:n]].reset_index(drop=True)

    def _frame(self, rows: SortedRows, schema: pa.Schema | None = None) -> pd.DataFrame:
        """Rows as a table of pandas, with dates as timestamps, and with the columns of a schema."""
        table = pa.concat_tables([rows.schema.empty_table(), *rows.tables(self._folder)])
        frame: pd.DataFrame = table.select((schema or rows.schema).names).to_pandas(date_as_object=False)
        return frame
