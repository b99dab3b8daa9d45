"""The event counter, which validates documents and collects the evidence of their events; counters can be merged."""

import dataclasses
import os
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import pyarrow as pa

from corefsample import ScoredDocument, _checks
from corefsample.documents._batch import DocumentBatch
from corefsample.documents._faults import Fault
from corefsample.errors import InputError, ParameterError, shown
from corefsample.formats import DocumentStream
from corefsample.posterior._posterior import CorpusRecalibration
from corefsample.recalibration._uncertain import UNCERTAINTIES, UncertainRecalibration, Uncertainty
from corefsample.syntax._schemes import scheme_names
from events.counts._evidence import Evidence, extreme_dates, require_near
from events.evidence._acceptance import Acceptance, batches_of, require_document, require_none
from events.evidence._columns import ACTOR, EvidenceSettings
from events.evidence._document_events import DocumentEvents
from events.evidence._document_evidence import cooccurrence_rows, evidence_rows
from events.evidence._documents_table import document_rows
from events.evidence._evaluation import Matches, Predicate, PredicateFinder, RuleFinder
from events.evidence._rule_set import RuleSet
from events.lexicon._lexicon import Lexicon
from events.matching._screening import RuleMatcher
from events.matching._trigger_model import WORDS
from events.rules._rules import Filled, Rule

Undated = Literal["reject", "keep"]
Coreference = Literal["scored", "none"]
MatchedBatch = tuple[DocumentBatch, Matches]
_AHEAD = 2  # batches that are being sampled while the next is read and matched
_LONG = 250_000  # labels of mentions in samples of a document, for fewer of which a thread costs more than it gains


class EventCounter(Evidence):
    """Counts documents with an event, by actor and period, with posterior uncertainty.

    Parameters
    ----------
    rule
        Definition of the event, or a list of definitions with different names, which are counted in one pass; by
        default the shipped rule `attack`, preset `asserted`. A `RuleSet` object, which was checked when it was
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
    filled
        Actors that rules with default actors count: "named" for actors in the text, "default" for default actors,
        "either" for both. An event without an actor counts in all three cases.
    triggers
        What decides whether a sentence reports an event, for preset "asserted" of a shipped rule: "words", the trigger
        model of the package, "rules", the words and conditions of the rule alone, or the path of a trigger model. A
        `RuleSet` states it itself.
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
        rule: Rule | Sequence[Rule] | RuleSet | None = None,
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
        filled: Filled = "either",
        triggers: str = WORDS,
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
        self._recalibration = self._initial = recalibration
        self._finder: RuleFinder | PredicateFinder
        if predicate is not None:
            if rule is not None or lexicon is not None:
                raise ParameterError("cannot be combined with a rule or a lexicon", parameter="predicate")
            if not callable(predicate):
                message = f"must be a function of a document and its labels, got {predicate!r}"
                raise ParameterError(message, parameter="predicate")
            if not has_coreference:
                raise ParameterError("cannot be left out for a predicate", parameter="coreference")
            self._finder = PredicateFinder(predicate, **sampling)
            self._acceptance = Acceptance(needs=dated)
            self._is_threaded, self._text = False, "a predicate"  # the predicate may not be fit for threads
            settings = EvidenceSettings({"event": ACTOR}, period=period, is_predicate=True, **sampling)
        else:
            if not isinstance(rule, RuleSet):
                rule = RuleSet.of(rule, lexicon, outcomes, triggers=triggers).with_examples()
            _checks.choice("filled", filled, get_args(Filled))
            rules = rule.only(filled)
            matcher = RuleMatcher(rules.rules, rules.lexicon, scheme)
            self._finder = RuleFinder(matcher, rules.outcomes, **sampling, has_coreference=has_coreference)
            self._acceptance = Acceptance(needs=(*dated, "tokens"), language=rules.language)
            self._is_threaded, self._text = True, ", ".join(map(repr, rules.rules))
            has_stand_ins = bool(rules.lexicon.members or rules.lexicon.state_nouns)
            settings = EvidenceSettings(
                rules.columns,
                period=period,
                definitions=rules.texts | ({} if has_coreference else {"coreference": "none"}),
                kinds=rules.lexicon.kinds,
                outcomes=rules.actors_of_outcomes,
                has_defaults=any(
                    rule.defaults or (rule.distinct_actors and rule.stands_for and has_stand_ins)
                    for rule in rules.rules
                ),
                **sampling,
            )
        settings = dataclasses.replace(settings, uncertainty=recalibration.uncertainty)
        super().__init__(settings, None if folder is None else Path(folder))
        self._counted: set[str] | None = set()  # doc_ids so far; None if they have to be read from the documents
        self._dates = extreme_dates([])  # the first and the last date so far

    def __repr__(self) -> str:
        return f"{super().__repr__()[:-1]}, {self._text}, seed {self.settings.seed})"

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
        repeated: Collection[str] = (),
        on_batch: Callable[[], None] | None = None,
    ) -> None:
        """Add documents to the counts.

        Parameters
        ----------
        documents
            Documents, batches of documents with dates and tokens, or the `DocumentStream` of a file, which is fastest.
            A stream handles invalid documents itself: it raises, or sets them aside.
        threads
            Number of threads that sample long documents while the next batches are read and matched, at least 1.
            Documents are added in their order for any number of threads.
        repeated
            The doc_ids of a stream's documents that are rejected because another file has them.
        on_batch
            Function without arguments that is called after each batch.

        Raises
        ------
        ParameterError
            If `documents` is not an iterable of documents; read a file with `corefsample.read_documents` first.
        InputError
            If a document is invalid for a reason that `add_to_each` lists. The documents before it are counted; if
            `documents` is a stream, some of them may not be.

        Notes
        -----
        If a predicate or a rule raises an error, no document of its batch is counted, and none after it.
        """
        if isinstance(documents, (str, os.PathLike)) or not isinstance(documents, Iterable):
            rule = f"must be ScoredDocuments, as read_documents yields them, got {shown(documents)}"
            raise ParameterError(rule, parameter="documents")
        if isinstance(documents, DocumentStream):
            batches = self._stream_batches(documents, frozenset(repeated))
        else:
            batches = (checked for batch in batches_of(documents) for checked in self._valid_batches(batch))
        for _ in self._add_batches(batches, threads):
            if on_batch is not None:
                on_batch()

    def _stream_batches(self, stream: DocumentStream, repeated: frozenset[str]) -> Iterator[MatchedBatch]:
        """Batches of valid documents of a stream, which checks that its doc_ids are unique, and their matches."""
        counted = self._doc_ids() if self.n_documents else frozenset()
        self._counted = None  # those of the stream are not collected

        def inspect(batch: DocumentBatch) -> tuple[Matches, dict[int, Fault]]:
            matches, faults = self._finder.match(batch)
            return matches, faults | self._faults(batch, counted, repeated, faults)

        for batch, matches in stream.batches(inspect):
            require_near(self.calendar, self._dates, batch.dates, batch.place)
            yield batch, matches

    def _doc_ids(self) -> set[str]:
        """The doc_ids of the documents so far."""
        if self._counted is None:
            self._counted = {doc_id for batch in self.documents.batches("doc_id") for doc_id in batch[0].to_pylist()}
        return self._counted

    def _faults(
        self,
        batch: DocumentBatch,
        counted: Collection[str],
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
            require_none(batch, self._faults(batch, self._doc_ids()))
            matches, faults = self._finder.match(batch)
            require_none(batch, faults)
            require_near(self.calendar, self._dates, batch.dates, batch.place)
        except (InputError, ParameterError) as error:
            if len(batch.firsts) < 2:
                raise error if isinstance(error, InputError) else error.as_input_error(batch.place(0)) from None
            for row in batch.firsts.tolist():
                yield from self._valid_batches(batch.take(batch.parses(row)))
            return
        yield batch, matches

    def _add_batches(self, batches: Iterator[MatchedBatch], n_threads: int = 1) -> Iterator[list[DocumentEvents]]:
        """Add batches, and yield the events of each; sampling runs in threads, some batches ahead of counting."""
        in_progress = deque[tuple[DocumentBatch, Matches, dict[int, Callable[[], list[DocumentEvents]]]]]()
        error: Exception | None = None
        pool = ThreadPoolExecutor(n_threads) if n_threads > 1 and self._is_threaded else None

        def finished() -> list[DocumentEvents]:
            batch, matches, results = in_progress.popleft()
            events_of = {row: result() for row, result in results.items()}
            self._add_events(batch, matches, events_of)
            return [events for rule_events in events_of.values() for events in rule_events]

        try:
            while True:
                try:
                    batch, matches = next(batches)
                except StopIteration:
                    break
                except Exception as raised:
                    error = raised
                    break
                results: dict[int, Callable[[], list[DocumentEvents]]] = {}
                for row, document_matches in matches.items():
                    if self._finder.is_possible(document_matches):
                        sample = partial(self._finder.events, batch, row, document_matches, self._recalibration)
                        n_labels = np.diff(batch.mentions[0][row : row + 2])[0] * self.settings.n_samples
                        results[row] = pool.submit(sample).result if pool and n_labels >= _LONG else sample
                in_progress.append((batch, matches, results))
                self._note(batch)
                yield finished() if len(in_progress) > _AHEAD else []
            while in_progress:  # the documents before an error are counted
                yield finished()
        except BaseException:
            self._reset()  # documents whose sampling had begun are not counted, and may be added again
            raise
        finally:
            if pool is not None:
                pool.shutdown(cancel_futures=True)
        if error is not None:
            raise error

    def _note(self, batch: DocumentBatch) -> None:
        """Note the doc_ids, the dates and the recalibration of documents that are being sampled."""
        if self._counted is not None:
            self._counted.update(batch.doc_ids)
        self._dates = extreme_dates([self._dates, batch.dates])
        scores, uncertainty = self._recalibration.first or "", self._recalibration.uncertainty
        if (scores, uncertainty) != (self.settings.scores, self.settings.uncertainty):
            self.settings = dataclasses.replace(self.settings, scores=scores, uncertainty=uncertainty)

    def _reset(self) -> None:
        """Note what the counted documents say, after documents were left out or added."""
        self._counted = None
        self._dates = extreme_dates([self.document_dates()])
        if not self.n_documents:
            self._recalibration = self._initial
            self.settings = dataclasses.replace(self.settings, scores="", uncertainty=self._initial.uncertainty)

    def _add_events(
        self, batch: DocumentBatch, matches: Matches, events_of: Mapping[int, Sequence[DocumentEvents]]
    ) -> None:
        """Add the rows of a batch, and the events of its documents, one result per rule, by row."""
        if not len(batch):
            return
        periods = self.calendar.periods(self.calendar.numbers(batch.dates))
        columns, roles, is_predicate = self.settings.columns, self.settings.roles, self.settings.is_predicate
        rows, rows_with_events = [], []
        for row, document in matches.items():
            rule_events, cooccurrences = events_of.get(row, []), document.cooccurrences
            if not rule_events and not cooccurrences:
                continue
            parses = [(batch.tokens(each), batch.spans(each)) for each in batch.parses(row)]
            rows += evidence_rows(
                rule_events, parses, periods[row].label, columns, roles, None if is_predicate else cooccurrences
            )
            cells = {"doc_id": batch.doc_ids[row], "date": batch.dates[row].item(), "period": periods[row].label}
            rows += cooccurrence_rows(cells, rule_events, parses, columns, roles, cooccurrences)
            if any(events.n_hits.any() for events in rule_events):
                rows_with_events.append(row)
        documents = document_rows(batch, periods, matches, events_of)
        evidence = pa.RecordBatch.from_pylist(rows, self.schema)
        of_documents = np.searchsorted(batch.firsts, rows_with_events)
        scored = batch.usual_parses().take(of_documents).table if self.is_in_files and rows_with_events else None
        for table, added in zip(self.tables, (evidence, documents, scored), strict=True):
            if added is not None:
                table.add(added)
            if table.is_full:
                table.flush(self.settings.in_metadata)

    def merge(self, other: Evidence) -> None:
        """Add the documents of other evidence of the same events: see `Evidence.merge`."""
        super().merge(other)
        self._reset()
