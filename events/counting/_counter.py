"""Counting events: documents are added one by one or in batches, counters are merged, and posterior counts read."""

from __future__ import annotations

import datetime
import json
import os
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa

from corefsample import _checks
from corefsample._lazy import pd
from corefsample.documents._batch import DocumentBatch
from corefsample.documents._rejected import Fault
from corefsample.documents._scored import ScoredDocument
from corefsample.errors import InputError, ParameterError
from corefsample.files._atomic import write_json
from corefsample.formats import DocumentStream
from corefsample.languages._language import declared_language, differ
from corefsample.posterior import DocumentPosterior
from corefsample.posterior._posterior import CorpusRecalibration, unlike_scores
from corefsample.recalibration._uncertain import UNCERTAINTIES, UncertainRecalibration, Uncertainty
from corefsample.syntax._schemes import scheme_names
from events.counting._counted_rows import CountedIds, CountedRows, SortedRows, document_rows, rows_batch
from events.counting._counts import CountsOfRules, EventCounts, Interval
from events.counting._definitions import Definitions
from events.counting._evaluation import (
    DocumentEvents,
    Task,
    Threads,
    evaluate_document,
    outcome_events,
)
from events.counting._evidence import event_rows, evidence_rows, evidence_schema, parsed_mentions
from events.counting._periods import Calendar, Period
from events.counting._predicates import Predicate, evaluate_predicate
from events.counting._tables import ACTOR, EventKey
from events.counting._tally import MOST_PERIODS, CountTally, MergedActors
from events.lexicon._lexicon import Lexicon
from events.matching._screening import DocumentMatches, Screen
from events.rules._rules import FILLED, Filled, Rule

DUPLICATE = "doc_id must be unique in the corpus, got it again"
_AT_ONCE = 64  # documents that come one by one
_AHEAD = 2  # batches that are being sampled while the next is read and matched
_RECORD = "counter.json"
_TOTALS = ("n_sampled", "n_with_events", "n_ambiguous", "n_several_parses")
_SAVED = (*_TOTALS, "seed", "scores_had", "uncertainty", "has_defaults")


@dataclass(frozen=True, slots=True)
class _BegunBatch:
    """A batch whose documents are being sampled."""

    batch: DocumentBatch
    periods: list[Period]
    matches: Mapping[int, DocumentMatches]
    tasks: dict[int, Task[list[DocumentEvents]]]  # by row, of the documents in which an event is possible


class EventCounter:
    """Counts documents with an event, by actor and period, with posterior uncertainty.

    Parameters
    ----------
    rule
        Definition of the event, or of several events with different names, which are then counted in one pass; by
        default the shipped rule `attack`, preset `asserted`. `events.counting.Definitions` were checked before.
    lexicon
        Names of actors; by default the shipped lexicon of countries.
    predicate
        The user's own predicate on clusterings, instead of rule and lexicon: see
        `events.counting.evaluate_predicate`. If it returns whole numbers, the counts are their sums over documents, and
        the probabilities of the evidence those of a number above 0.
    scheme
        Dependency scheme of the documents, or None to recognise each document's from its labels.
    period
        year, quarter, month, week, day, or a pandas alias.
    n_samples
        Sampled clusterings per document, at least 1.
    seed
        In [0, 2**64).
    recalibration
        Applied to the scores of each document, from `corefsample.recalibration.read_recalibration`; or a
        `corefsample.posterior.CorpusRecalibration`. None: the scores as
        they are, with the uncertainty of the recalibration of a model of the package if it is the one that they had, as
        those of `corefsample score` and `corefsample.recalibration.score_english`.
    uncertainty
        "none", "fit" or "domain": of the recalibration, which all documents share; None: all that it has.
    compared
        The events that will be compared; None: any.
    filled
        Which actors count, of rules with default actors: those that the text "named", those by "default", or "either".
        An event of nobody is the same in all three.
    outcomes
        Unions of events that are counted beside those of the rules: "police_action=arrest|kill:POLICE", as
        docs/rules.md says.
    folder
        An existing folder for rows of evidence and documents, so that memory is bounded; None: they stay in memory.

    Raises
    ------
    ParameterError
        If a parameter breaks its rule.
    InputError
        If an inline example of a rule fails.

    Notes
    -----
    Several rules share the sampled clusterings of a document, and their counts are those of a counter of each.

    Examples
    --------
    >>> from corefsample import read_documents
    >>> from events import EventCounter
    >>> counter = EventCounter(n_samples=1000, seed=0)
    >>> counter.update(read_documents("scored.jsonl.gz"))  # doctest: +SKIP
    >>> counter.counts().to_frame()  # doctest: +SKIP

    Several rules in one pass, and the table of all of them:

    >>> from events import load_rules
    >>> several = EventCounter([load_rules("attack"), load_rules("arrest")])
    >>> several.update(read_documents("scored.jsonl.gz"))  # doctest: +SKIP
    >>> several.to_frame()  # doctest: +SKIP
    >>> several.counts(event="arrest").to_frame()  # doctest: +SKIP
    """

    def __init__(
        self,
        rule: Rule | Sequence[Rule] | Definitions | None = None,
        lexicon: Lexicon | None = None,
        *,
        predicate: Predicate | None = None,
        scheme: str | None = None,
        period: str = "quarter",
        n_samples: int = 1000,
        seed: int = 0,
        recalibration: UncertainRecalibration | CorpusRecalibration | None = None,
        uncertainty: Uncertainty | None = None,
        compared: Collection[str] | None = None,
        filled: Filled = "either",
        outcomes: Sequence[str] = (),
        folder: str | os.PathLike[str] | None = None,
    ) -> None:
        if predicate is not None and (rule is not None or lexicon is not None):
            raise ParameterError("cannot be combined with a rule or a lexicon", parameter="predicate")
        if predicate is not None and not callable(predicate):
            raise ParameterError(
                f"must be a function of a document and its labels, got {predicate!r}", parameter="predicate"
            )
        if scheme is not None:
            _checks.choice("scheme", scheme, scheme_names())
        if uncertainty is not None:
            _checks.choice("uncertainty", uncertainty, UNCERTAINTIES)
        self.seed = _checks.seed(seed)
        self.n_samples = _checks.n_samples(n_samples, 1)
        self._predicate = predicate
        self._definitions: Definitions | None = None
        self._screen: Screen | None = None
        columns: dict[str, tuple[str, ...]] = {"event": ACTOR}
        codes = frozenset[str]()
        if predicate is None:
            found = rule if isinstance(rule, Definitions) else Definitions.of(rule, lexicon, outcomes).with_examples()
            _checks.choice("filled", filled, FILLED)
            found = found.only(filled)
            self._definitions, columns, codes = found, found.columns, frozenset(found.lexicon.codes)
            self._screen = Screen(found.rules, found.lexicon, scheme)
        if not isinstance(recalibration, CorpusRecalibration):
            recalibration = CorpusRecalibration(recalibration, uncertainty, self.seed)
        self._recalibrated: CorpusRecalibration | None = recalibration
        self._begin(columns, codes, period, folder)
        if self._definitions is not None:
            self._outcomes = self._definitions.actors_of_outcomes
            self.has_defaults = any(each.defaults for each in self._definitions.rules)
        keys = None if compared is None else {EventKey.of(name) for name in compared}
        self.tallies = {event: CountTally(n_samples, compared=keys) for event in columns}

    def _begin(
        self,
        columns: dict[str, tuple[str, ...]],
        codes: frozenset[str],
        period: str,
        folder: str | os.PathLike[str] | None,
    ) -> None:
        """Begin without documents."""
        self.calendar = Calendar(period)
        self._columns, self._codes = columns, codes  # of the roles of each event; of the actors
        self._folder = None if folder is None else Path(folder)
        self.rows = CountedRows(self.roles, self._folder)
        self.merged_actors = MergedActors()
        self.ids = CountedIds()
        self._repeated: set[str] = set()  # doc_ids that another file has, all of whose documents are rejected
        self.has_defaults = False
        self._outcomes = {}  # by name, the actors with which it is declared
        self.n_sampled = self.n_with_events = self.n_ambiguous = self.n_several_parses = 0
        self.scores_had = ""  # recalibrations of the scores of the first document, if they decided
        self.uncertainty: str | None = None if self._recalibrated is None else self._recalibrated.uncertainty
        self._extremes: list[tuple[str, str]] = []  # the first and the last date, each with its place

    def __repr__(self) -> str:
        counted = "a predicate" if self._predicate is not None else ", ".join(self._columns)
        if self._definitions is not None:
            counted = ", ".join(map(repr, self._definitions.rules))
        tallies = "".join(f"\n  {tally!r}" for tally in self.tallies.values())
        return f"EventCounter({counted}, seed {self.seed}){tallies}"

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
        return tuple(dict.fromkeys(column for columns in self._columns.values() for column in columns))

    # --- adding documents ---

    def add(self, document: ScoredDocument) -> DocumentEvents | None:
        """Add one document; return its events, or None if no clustering of it can have one.

        Of several rules these are the events of the first that can have one; `add_to_each` returns those of all.

        Raises
        ------
        ParameterError, InputError
            As of `add_to_each`.
        """
        return next(iter(self.add_to_each(document)), None)

    def add_to_each(self, document: ScoredDocument) -> tuple[DocumentEvents, ...]:
        """Add one document to the counts of each rule; return its events by the rules that can have one in it.

        Raises
        ------
        ParameterError
            If `document` is not a ScoredDocument.
        InputError
            If the document has no date or no tokens, its labels fit no scheme, its doc_id was added before, or its
            date makes the periods more than 100,000. Then the document is not counted.
        """
        recalibration = self._recalibration()
        place = required(document, self.ids, tokens=self._predicate is None)
        batch, matches = DocumentBatch.of([document]), {0: DocumentMatches()}
        if self._predicate is not None:
            try:
                recalibrated = recalibration.for_scores(document.metadata)
            except ParameterError as error:
                raise error.as_input_error(place) from None
            sampling: dict[str, Any] = {"n_samples": self.n_samples, "seed": self.seed}
            found = [evaluate_predicate(document, self._predicate, recalibrated=recalibrated, **sampling)]
        else:
            matches = self._valid(batch)
            found = self._events(batch, 0, matches[0]) if matches[0].parses else []
        self._add_events(batch, self._add_documents(batch), matches, {0: found} if found else {})
        return tuple(found)

    def update(
        self,
        documents: Iterable[ScoredDocument] | Iterable[DocumentBatch] | DocumentStream,
        *,
        threads: int = 1,
        repeated: Collection[int] = (),
        on_batch: Callable[[], None] | None = None,
    ) -> None:
        """Add documents, as `add` does.

        Parameters
        ----------
        documents
            Documents, batches of documents with dates and tokens, or the stream of a file's, which is the fastest way.
            Of a stream, bad documents are rejected as it says.
        threads
            That sample batches while the next are read and matched; documents are added in any case in their order.
        repeated
            Numbers of the lines or rows of a stream that are rejected, because another file has their doc_id.
        on_batch
            Called after each batch.

        Raises
        ------
        ParameterError
            If `documents` is not an iterable of documents; read a file with `corefsample.read_documents` first.
        InputError
            As `add` does; the documents before the invalid one are counted, and of a stream most of them.
        """
        if isinstance(documents, (str, os.PathLike)) or not isinstance(documents, Iterable):
            found = _checks.shown(documents)
            raise ParameterError(
                f"must be ScoredDocuments, as read_documents yields them, got {found}", parameter="documents"
            )
        if isinstance(documents, DocumentStream) and self._predicate is None:
            self._update(self._of_stream(documents, frozenset(repeated)), threads, on_batch)
            return
        given: list[ScoredDocument] = []
        try:
            for each in documents:
                if isinstance(each, DocumentBatch):
                    rows = [(each, self._valid(each))] if self._predicate is None else []
                    self._update(rows, threads, on_batch)
                    given += [] if rows else map(each.document, range(len(each)))
                else:
                    given.append(each)
                if len(given) >= _AT_ONCE:
                    chunk, given = given, []
                    self._add_all(chunk, threads)
        finally:  # the documents before one that cannot be read are counted
            self._add_all(given, threads)

    def _of_stream(
        self, stream: DocumentStream, repeated: frozenset[int]
    ) -> Iterator[tuple[DocumentBatch, dict[int, DocumentMatches]]]:
        """The documents of a stream, which sees to its own doc_ids, and what is found in each."""
        known = self.ids if self.n_documents else ()
        for valid, rejected in stream.checked():
            found, reasons = self._inspected(valid, known=known, repeated=repeated)
            batch, kept = stream.accepted(valid, rejected, reasons)
            yield batch, {new: found[old] for new, old in enumerate(kept) if old in found}

    def _add_all(self, documents: Sequence[ScoredDocument], threads: int) -> None:
        """Add documents together, or one after another if one of them may be invalid."""
        batch = self._batch_of(documents)
        if batch is not None:
            try:
                matches, reasons = self._inspected(batch, known=self.ids)
            except (InputError, ParameterError):
                reasons = {0: ""}
            if not reasons:
                self._update([(batch, matches)], threads, None)
                return
        for document in documents:
            self.add(document)

    def _batch_of(self, documents: Sequence[ScoredDocument]) -> DocumentBatch | None:
        """A batch of documents that can be added together, or None."""
        if len(documents) < 2 or self._predicate is not None or self._recalibrated is None:
            return None
        if not all(isinstance(each, ScoredDocument) and each.date and each.tokens is not None for each in documents):
            return None
        batch = DocumentBatch.of(documents)
        is_outlying = self.tally.first_outlier(self.calendar.numbers(batch.dates)) is not None
        return None if is_outlying or len({*batch.doc_ids}) < len(batch) else batch

    def _update(
        self,
        inspected: Iterable[tuple[DocumentBatch, Mapping[int, DocumentMatches]]],
        n_threads: int,
        on_batch: Callable[[], None] | None,
    ) -> None:
        """Add batches; sampling runs in threads, some batches ahead of counting."""
        begun: deque[_BegunBatch] = deque()
        with Threads(n_threads) as threads:
            for batch, matches in inspected:
                tasks = {
                    row: threads.begin(partial(self._events, batch, row, each))
                    for row, each in matches.items()
                    if each.parses
                }
                begun.append(_BegunBatch(batch, self._add_documents(batch), matches, tasks))
                if len(begun) > _AHEAD:
                    self._finish(begun.popleft())
                if on_batch is not None:
                    on_batch()
            while begun:
                self._finish(begun.popleft())

    def _finish(self, begun: _BegunBatch) -> None:
        found = {row: task.result() for row, task in begun.tasks.items()}
        self._add_events(begun.batch, begun.periods, begun.matches, found)

    def _recalibration(self) -> CorpusRecalibration:
        if self._recalibrated is None:
            rule = "must have rules to add documents, got one that was loaded: count them apart, and merge"
            raise ParameterError(rule, parameter="counter")
        return self._recalibrated

    def _valid(self, batch: DocumentBatch) -> dict[int, DocumentMatches]:
        """What is found in the documents of a batch; raises InputError at the first that is rejected."""
        try:
            matches, reasons = self._inspected(batch, known=self.ids)
        except ParameterError as error:  # the scores are not of the kind that an uncertainty needs
            raise error.as_input_error(_place(batch, 0)) from None
        for row, reason in sorted(reasons.items()):
            message, hint = (reason, None) if isinstance(reason, str) else reason
            raise InputError(message, place=_place(batch, row), hint=hint)
        return matches

    def _inspected(
        self, batch: DocumentBatch, *, known: CountedIds | tuple[()], repeated: Collection[int] = ()
    ) -> tuple[dict[int, DocumentMatches], dict[int, str | Fault]]:
        """What is found in the documents of a batch, and the rows to reject."""
        recalibrated = self._recalibration()
        assert self._screen is not None  # that of a predicate is not called with batches
        matches, reasons = self._screen.match(batch)
        if len(batch):
            recalibrated.begin(batch.metadata(0))
        again = [row for row, doc_id in enumerate(batch.doc_ids) if doc_id in known] if known else []
        wrong = _of_other_scores(batch, recalibrated)
        if self._definitions is not None and self._definitions.language is not None:
            wrong |= _of_other_languages(batch, self._definitions.language)
        others: list[int] = []
        if repeated:  # with those of a later document that the partition has too
            self._repeated.update(batch.doc_ids[row] for row, n in enumerate(batch.places) if n in repeated)
            others = [row for row, doc_id in enumerate(batch.doc_ids) if doc_id in self._repeated]
        return matches, {**dict.fromkeys(others, DUPLICATE), **wrong, **reasons, **dict.fromkeys(again, DUPLICATE)}

    def _events(self, batch: DocumentBatch, row: int, matches: DocumentMatches) -> list[DocumentEvents]:
        """Events of one document, by rule."""
        try:
            recalibrated = self._recalibration().for_scores(batch.metadata(row))
            posterior = DocumentPosterior.of_row(batch, row, recalibrated)
            date: datetime.date = batch.dates[row].item()
            found = evaluate_document(posterior, matches.parses, date, n_samples=self.n_samples, seed=self.seed)
            assert self._definitions is not None  # there are matches
            return found + outcome_events(found, self._definitions.outcomes, self._definitions.lexicon.kinds)
        except Exception as error:
            error.add_note(f"while counting {_place(batch, row)}")
            raise

    def _add_documents(self, batch: DocumentBatch) -> list[Period]:
        """Count the documents of a batch, with or without events; return their periods."""
        numbers = self.calendar.numbers(batch.dates)
        outlier = self.tally.first_outlier(numbers)
        if outlier is not None:
            raise self._outlying(str(batch.dates[outlier]), _place(batch, outlier))
        for tally in self.tallies.values():
            tally.add_documents(numbers)
        self.ids.add(batch)
        self.n_several_parses += 0 if batch.parses is None else int((batch.parses.counts > 1).sum())
        self.scores_had, self.uncertainty = self._recalibration().first, self._recalibration().uncertainty
        if len(batch):
            rows = int(np.argmin(batch.dates)), int(np.argmax(batch.dates))
            self._add_extremes([(str(batch.dates[row]), _place(batch, row)) for row in rows])
        return self.calendar.periods(numbers)

    def _outlying(self, date: str, place: str) -> InputError:
        # We cannot tell whether this date or an earlier document's is wrong.
        rule = f"at most {MOST_PERIODS:,} periods ({self.calendar.period}) from first to last document"
        return InputError(f"date must leave {rule}, got {date}", place=place)

    def _add_extremes(self, extremes: Sequence[tuple[str, str]]) -> None:
        dated = [*self._extremes, *extremes]
        self._extremes = [choose(dated, key=lambda each: np.datetime64(each[0])) for choose in (min, max)]

    def _add_events(
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
                table.add(rows_batch(table.schema, rows, self._columns, self.roles))
            if self._folder is not None:
                self.rows.documents.add(batch.take(with_events).table)

    # --- parts of a corpus ---

    def merge(self, other: EventCounter, *, distinct: bool = False) -> None:
        """Add the documents of another counter of the same events.

        Parameters
        ----------
        other
            The counter; files in its folder are read when they are needed.
        distinct
            Whether the doc_ids are known to differ from those so far.

        Raises
        ------
        ParameterError
            If rules, period or number of samples differ.
        InputError
            If a doc_id is in both, both together have more than 100,000 periods, or the scores of one had a
            recalibration of known uncertainty and those of the other had not.
        """
        own, others = ((each._columns, each.calendar.freq, each.has_defaults, each._outcomes) for each in (self, other))
        if own != others:
            raise ParameterError(
                "must count the same events by the same period, got another counter", parameter="other"
            )
        again = [] if distinct else self.ids.repeated_in(other.ids)
        if again:
            raise InputError(DUPLICATE, place=f"document {other.ids.numbers[again[0][1]]} of the other counter")
        if self.n_documents and other.n_documents and self.uncertainty != other.uncertainty:
            raise unlike_scores(other.scores_had, self.scores_had).as_input_error(other._source)
        numbers = self.calendar.numbers([datetime.date.fromisoformat(date) for date, _ in other._extremes])
        outlier = self.tally.first_outlier(numbers)
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
        """File of the first document, or its name."""
        return self._extremes[0][1].partition(": ")[0]

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write everything into an existing folder, for `load`; the folder of the counter is one."""
        path = Path(folder)
        self.rows.save(path)
        self.ids.save(path)
        record = {
            "columns": self._columns,
            "codes": sorted(self._codes),
            "outcomes": self._outcomes,
            "period": self.calendar.period,
            "extremes": self._extremes,
            "merged_actors": self.merged_actors.to_json(),
            **{name: getattr(self, name) for name in _SAVED},
            "tallies": {event: tally.to_json() for event, tally in self.tallies.items()},
        }
        write_json(path / _RECORD, record, indent=None)

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> Self:
        """The counter that `save` wrote; it can be read and merged, but no document can be added to it."""
        path = Path(folder)
        record = json.loads((path / _RECORD).read_text(encoding="utf-8"))
        counter = cls.__new__(cls)
        counter._predicate = counter._definitions = counter._screen = counter._recalibrated = None
        columns = {event: tuple(names) for event, names in record["columns"].items()}
        counter._begin(columns, frozenset(record["codes"]), record["period"], path)
        for name in _SAVED:
            setattr(counter, name, record[name])
        counter.tallies = {event: CountTally.from_json(content) for event, content in record["tallies"].items()}
        counter.n_samples = counter.tally.n_samples
        counter._extremes = [(date, place) for date, place in record["extremes"]]
        counter._outcomes = record["outcomes"]
        counter.merged_actors = MergedActors.from_json(record["merged_actors"])
        counter.ids = CountedIds.load(path)
        counter.rows.load(path)
        return counter

    # --- results ---

    def counts(self, *, event: str | None = None, level: float = 0.95, interval: Interval = "quantile") -> EventCounts:
        """Posterior of the counts so far, with credible intervals: see `events.counting.EventCounts`.

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
            found = "none" if event is None else repr(event)
            raise ParameterError(f"must be one of {', '.join(self.tallies)}, got {found}", parameter="event")
        return EventCounts(
            self.tallies[event].copy(),
            self.calendar,
            level=level,
            interval=interval,
            known=frozenset(self._outcomes[event]) if event in self._outcomes else self._codes,
            event=event,
            columns=self._columns[event],
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
        """Tidy table, one row for each document and event with P > 0: see `events.counting.EvidenceRow`.

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


def required(document: ScoredDocument, counted: Collection[str] | CountedIds, *, tokens: bool = True) -> str:
    """Place of a document in messages; raises if it cannot be added to those that are counted.

    Raises
    ------
    ParameterError
        If it is no ScoredDocument.
    InputError
        If its doc_id is counted already, or it has no date or no tokens.
    """
    if not isinstance(document, ScoredDocument):
        raise ParameterError(f"must be a ScoredDocument, got {_checks.shown(document)}", parameter="document")
    place = f"doc_id {document.doc_id!r}"
    if document.doc_id in counted:
        raise InputError(DUPLICATE, place=place)
    if document.date is None:
        raise InputError("date is required for events", place=place)
    if tokens and document.tokens is None:
        raise InputError("tokens are required for events", place=place)
    return place


def _place(batch: DocumentBatch, row: int) -> str:
    doc_id = f"doc_id {batch.doc_ids[row]!r}"
    # Documents that were made in Python have no place but their name.
    return doc_id if batch.unit == "document" else f"{batch.source}: {batch.unit} {batch.places[row]}: {doc_id}"


def _of_other_languages(batch: DocumentBatch, language: str) -> dict[int, Fault]:
    """Documents that say another language than the rules and the lexicon."""
    faults: dict[int, Fault] = {}
    for row, text in enumerate(batch.table.column("metadata").to_pylist()):
        if text and '"lang' in text:
            found = declared_language(batch.metadata(row))
            if differ(language, found):
                hint = f"give rules and a lexicon of {found}: docs/languages.md says how to write them"
                rule = "language must be that of the rules and the lexicon"
                faults[row] = Fault(f"{rule} ({language}), got {found}", hint)
    return faults


def _of_other_scores(batch: DocumentBatch, recalibrated: CorpusRecalibration) -> dict[int, Fault]:
    """Documents whose scores had other recalibrations than those to which a given one was fitted.

    Raises
    ------
    InputError
        If the scores of all documents must be alike, and these are not: then no document is wrong, but the corpus.
    """
    faults: dict[int, Fault] = {}
    if recalibrated.takes_all:
        return faults
    right: set[str | None] = set()  # metadata of many documents are the same
    for row, text in enumerate(batch.table.column("metadata").to_pylist()):
        if text in right:
            continue
        try:
            recalibrated.for_scores(batch.metadata(row))
            right.add(text)
        except ParameterError as error:
            if recalibrated.takes_alike:
                raise error.as_input_error(_place(batch, row)) from None
            faults[row] = Fault(f"{error.parameter or ''} {error.message}".strip(), error.hint)
    return faults
