"""The event counter, which validates documents, finds their events and sums them; counters can be merged."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Generic, Literal, Self, TypeVar, get_args

from corefsample import _checks
from corefsample.documents._batch import DocumentBatch
from corefsample.documents._faults import Fault
from corefsample.documents._scored import ScoredDocument
from corefsample.errors import InputError, ParameterError
from corefsample.formats import DocumentStream
from corefsample.posterior._posterior import CorpusRecalibration
from corefsample.recalibration._uncertain import UNCERTAINTIES, UncertainRecalibration, Uncertainty
from corefsample.syntax._schemes import scheme_names
from events.counting._acceptance import Acceptance, batches_of, require_document, require_none
from events.counting._definitions import Definitions
from events.counting._document_events import DocumentEvents
from events.counting._evaluation import Matches, Predicate, PredicateFinder, RuleFinder
from events.counting._periods import Period
from events.counting._rows import CountedIds
from events.counting._sums import CountedEvents, CountSettings
from events.counting._tables import ACTOR, EventKey
from events.lexicon._lexicon import Lexicon
from events.matching._screening import Screen
from events.rules._rules import FILLED, Filled, Rule

Undated = Literal["reject", "keep"]
Coreference = Literal["scored", "none"]
MatchedBatch = tuple[DocumentBatch, Matches]
_AHEAD = 2  # batches that are being sampled while the next is read and matched


class EventCounter(CountedEvents):
    """Counts documents with an event, by actor and period, with posterior uncertainty.

    Parameters
    ----------
    rule
        Definition of the event, or a list of definitions with different names, which are counted in one pass; by
        default the shipped rule `attack`, preset `asserted`. A `Definitions` object, which was checked when it was
        made, stands for rules, lexicon and outcomes together.
    lexicon
        Names of the actors; by default the shipped lexicon of countries in the language of the rules.
    predicate
        Function of clusterings that decides which events a document has, in place of rule and lexicon: see
        `PredicateFinder`. If it returns integers, the counts are their sums over documents, and the probability in a
        row of evidence is that of a number above 0.
    scheme
        Name of the dependency scheme of all documents; by default each document's scheme is recognised from its labels.
    period
        Length of a period: year, quarter, month, week, day, or a pandas alias such as "W-SUN".
    n_samples
        Number of clusterings that are sampled per document, at least 1.
    seed
        Seed of the random draws, in [0, 2**64).
    recalibration
        Recalibration that is applied to the scores of each document: the result of
        `corefsample.recalibration.read_recalibration`, or a `CorpusRecalibration`. By default, scores are used
        unchanged. If a model of this package recalibrated them, as `corefsample score` does, the uncertainty of that
        recalibration is included.
    uncertainty
        Sources of uncertainty to draw from: "none", "fit" (the fitted parameters of the recalibration) or "domain" (the
        fit and the difference between domains). By default, every source that the recalibration records. A
        `CorpusRecalibration` states its uncertainty itself.
    undated
        Treatment of documents without a date: "reject" treats them as invalid documents; "keep" counts them apart
        from all periods, in rows whose period is "undated".
    coreference
        "scored" samples entities from the antecedent probabilities of the documents; "none" makes every mention a
        separate entity, as a baseline that shows the effect of coreference.
    compared
        Names of the events between which documents are compared later; by default any two events can be compared.
    filled
        Actors that rules with default actors count: "named" for actors in the text, "default" for default actors,
        "either" for both. An event without an actor counts in all three cases.
    outcomes
        Unions of events that are counted in addition to the rules' events, written as
        "police_action=arrest|kill:POLICE": see docs/rules.md.
    folder
        Path of an existing folder to which rows of evidence and documents are written, which bounds memory; by default
        they stay in memory.

    Raises
    ------
    ParameterError
        If a parameter has an invalid type or value, a predicate is combined with a rule, a lexicon or
        `coreference="none"`, or an outcome is not valid for the rules.
    InputError
        If an inline example of a rule fails, rules and lexicon are of different languages, or a class or a default
        actor of a rule is in no lexicon.

    Notes
    -----
    Several rules share the sampled clusterings of a document. Their counts equal those of one counter per rule.

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
        undated: Undated = "reject",
        coreference: Coreference = "scored",
        compared: Collection[str] | None = None,
        filled: Filled = "either",
        outcomes: Sequence[str] = (),
        folder: str | os.PathLike[str] | None = None,
    ) -> None:
        if scheme is not None:
            _checks.choice("scheme", scheme, scheme_names())
        if uncertainty is not None:
            _checks.choice("uncertainty", uncertainty, UNCERTAINTIES)
        _checks.choice("undated", undated, get_args(Undated))
        dated = ("date",) if undated == "reject" else ()
        has_coreference = _checks.choice("coreference", coreference, get_args(Coreference)) == "scored"
        if not has_coreference:
            recalibration = CorpusRecalibration(seed=seed, as_scored=True)
        sampling: dict[str, Any] = {"n_samples": _checks.n_samples(n_samples, 1), "seed": _checks.seed(seed)}
        if not isinstance(recalibration, CorpusRecalibration):
            recalibration = CorpusRecalibration(recalibration, uncertainty, seed)
        self._recalibration = recalibration
        self._finder: RuleFinder | PredicateFinder
        if predicate is not None:
            _require_predicate(predicate, rule, lexicon)
            if not has_coreference:
                raise ParameterError("cannot be left out for a predicate", parameter="coreference")
            self._finder = PredicateFinder(predicate, **sampling)
            self._acceptance = Acceptance(needs=dated)
            self._is_threaded, self._text = False, "a predicate"  # the predicate may not be fit for threads
            counted = CountSettings({"event": ACTOR}, period=period, **sampling)
        else:
            if not isinstance(rule, Definitions):
                rule = Definitions.of(rule, lexicon, outcomes).with_examples()
            _checks.choice("filled", filled, FILLED)
            definitions = rule.only(filled)
            screen = Screen(definitions.rules, definitions.lexicon, scheme)
            self._finder = RuleFinder(screen, definitions.outcomes, **sampling, has_coreference=has_coreference)
            self._acceptance = Acceptance(needs=(*dated, "tokens"), language=definitions.language)
            self._is_threaded, self._text = True, ", ".join(map(repr, definitions.rules))
            counted = CountSettings(
                definitions.columns,
                period=period,
                definitions=definitions.texts | ({} if has_coreference else {"coreference": "none"}),
                codes=definitions.lexicon.codes,
                outcomes=definitions.actors_of_outcomes,
                has_defaults=any(
                    rule.defaults or (rule.distinct_actors and rule.stands_for and definitions.lexicon.has_stand_ins)
                    for rule in definitions.rules
                ),
                **sampling,
            )
        keys = None if compared is None else {EventKey.of(name) for name in compared}
        super().__init__(counted, None if folder is None else Path(folder), keys)
        self.uncertainty = recalibration.uncertainty

    @property
    def _description(self) -> str:
        return self._text

    def add(self, document: ScoredDocument) -> DocumentEvents | None:
        """Add one document; return its events, or None if the document cannot have an event in any clustering.

        With several rules, the result is that of the first rule that can have an event; `add_to_each` returns the
        events of all rules.

        Raises
        ------
        ParameterError, InputError
            If the document is invalid for a reason that `add_to_each` lists.
        """
        return next(iter(self.add_to_each(document)), None)

    def add_to_each(self, document: ScoredDocument) -> tuple[DocumentEvents, ...]:
        """Add one document to the counts of each rule; return its events for each rule that can have one in it.

        Raises
        ------
        ParameterError
            If `document` is not a ScoredDocument.
        InputError
            If the document has no date (unless `undated` is "keep") or no tokens, its labels fit no scheme, its
            language is not that of the rules, its scores lack the recalibration of the corpus, its doc_id was added
            before, or its date would extend the periods to more than 100,000. The document is then not counted.
        """
        batches = self._valid_batches(DocumentBatch.of([require_document(document)]))
        return tuple(events for batch_events in self._add_batches(batches) for events in batch_events)

    def update(
        self,
        documents: Iterable[ScoredDocument] | Iterable[DocumentBatch] | DocumentStream,
        *,
        threads: int = 1,
        repeated: Collection[int] = (),
        on_batch: Callable[[], None] | None = None,
    ) -> None:
        """Add documents to the counts.

        Parameters
        ----------
        documents
            Documents, batches of documents with dates and tokens, or the `DocumentStream` of a file, which is fastest.
            A stream handles invalid documents itself: it raises, or sets them aside.
        threads
            Number of threads that sample batches while the next batches are read and matched, at least 1. Documents
            are added in their order for any number of threads.
        repeated
            Numbers of the lines or rows of a stream that are rejected because another file has their doc_id.
        on_batch
            Function without arguments that is called after each batch.

        Raises
        ------
        ParameterError
            If `documents` is not an iterable of documents; read a file with `corefsample.read_documents` first.
        InputError
            If a document is invalid for a reason that `add_to_each` lists. The documents before it are counted; if
            `documents` is a stream, some of them may not be.
        """
        if isinstance(documents, (str, os.PathLike)) or not isinstance(documents, Iterable):
            shown = _checks.shown(documents)
            raise ParameterError(
                f"must be ScoredDocuments, as read_documents yields them, got {shown}", parameter="documents"
            )
        if isinstance(documents, DocumentStream):
            batches = self._stream_batches(documents, frozenset(repeated))
        else:
            batches = (checked for batch in batches_of(documents) for checked in self._valid_batches(batch))
        for _ in self._add_batches(batches, threads):
            if on_batch is not None:
                on_batch()

    def _stream_batches(self, stream: DocumentStream, repeated: frozenset[int]) -> Iterator[MatchedBatch]:
        """Batches of valid documents of a stream, which checks that its doc_ids are unique, and their matches."""
        counted = self.ids if self.n_documents else ()
        repeated_ids = set[str]()  # doc_ids that another file has
        for valid, rejected in stream.checked():
            matches, faults = self._finder.match(valid)
            repeated_ids.update(valid.doc_ids[row] for row, number in enumerate(valid.places) if number in repeated)
            faults |= self._faults(valid, counted, repeated_ids, faults)
            batch, accepted_rows = stream.accepted(valid, rejected, faults)
            yield batch, {new: matches[old] for new, old in enumerate(accepted_rows) if old in matches}

    def _faults(
        self,
        batch: DocumentBatch,
        counted: CountedIds | tuple[()],
        repeated: Collection[str] = (),
        invalid: Collection[int] = (),
    ) -> dict[int, Fault]:
        """Faults of documents that cannot be counted, by row; the first document determines which scores are valid."""
        if len(batch):
            self._recalibration = self._recalibration.fixed_by(batch.metadata(0))
        return self._acceptance.faults(batch, self._recalibration, counted, repeated, invalid)

    def _valid_batches(self, batch: DocumentBatch) -> Iterator[MatchedBatch]:
        """Batches of valid documents and their matches: the batch as a whole, or single documents if one is invalid.

        Single documents let those before the invalid one be counted.
        """
        try:
            require_none(batch, self._faults(batch, self.ids))
            matches, faults = self._finder.match(batch)
            require_none(batch, faults)
            is_valid = not self.is_outlying(batch)
        except (InputError, ParameterError) as error:
            if len(batch.firsts) < 2:
                raise error if isinstance(error, InputError) else error.as_input_error(batch.place(0)) from None
            is_valid = False
        if is_valid or len(batch.firsts) < 2:
            yield batch, matches
            return
        for row in batch.firsts.tolist():
            yield from self._valid_batches(batch.take(batch.parses(row)))

    def _add_batches(self, batches: Iterator[MatchedBatch], n_threads: int = 1) -> Iterator[list[DocumentEvents]]:
        """Add batches, and yield the events of each; sampling runs in threads, some batches ahead of counting."""
        in_progress = deque[tuple[DocumentBatch, list[Period], Matches, dict[int, ThreadTask[list[DocumentEvents]]]]]()
        error: Exception | None = None

        def finished() -> list[DocumentEvents]:
            batch, periods, matches, tasks = in_progress.popleft()
            events_of = {row: task.result() for row, task in tasks.items()}
            self.add_events(batch, periods, matches, events_of)
            return [events for rule_events in events_of.values() for events in rule_events]

        with ThreadPool(n_threads if self._is_threaded else 1) as threads:
            while True:
                try:
                    batch, matches = next(batches)
                except StopIteration:
                    break
                except Exception as raised:
                    error = raised
                    break
                tasks = {
                    row: threads.begin(partial(self._finder.events, batch, row, document_matches, self._recalibration))
                    for row, document_matches in matches.items()
                    if self._finder.is_possible(document_matches)
                }
                in_progress.append((batch, self.add_documents(batch), matches, tasks))
                self.scores_had, self.uncertainty = self._recalibration.first or "", self._recalibration.uncertainty
                yield finished() if len(in_progress) > _AHEAD else []
            while in_progress:  # the documents before an error are counted
                yield finished()
        if error is not None:
            raise error


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ThreadTask(Generic[T]):
    """Work for a thread of the pool; if no thread has begun it, the thread that requests the result does it."""

    _work: Callable[[], T]
    _future: Future[T] | None

    def result(self) -> T:
        """Return the result; this thread computes it if no other thread has begun."""
        if self._future is None or self._future.cancel():
            return self._work()
        return self._future.result()


class ThreadPool:
    """A pool of threads that includes the calling thread, so that `n_threads` threads work in total.

    Use as a context manager. After an error, work that has not begun is cancelled.
    """

    def __init__(self, n_threads: int) -> None:
        self._pool = ThreadPoolExecutor(n_threads - 1) if n_threads > 1 else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, error: object, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=error is not None)

    def begin(self, work: Callable[[], T]) -> ThreadTask[T]:
        """Submit work to the pool; with one thread, the work is done when its result is requested."""
        return ThreadTask(work, None if self._pool is None else self._pool.submit(work))


def _require_predicate(predicate: object, rule: object, lexicon: object) -> None:
    if rule is not None or lexicon is not None:
        raise ParameterError("cannot be combined with a rule or a lexicon", parameter="predicate")
    if not callable(predicate):
        raise ParameterError(
            f"must be a function of a document and its labels, got {predicate!r}", parameter="predicate"
        )
