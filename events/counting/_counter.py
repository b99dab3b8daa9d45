"""Counting events in Python: add documents, read posterior counts."""

from __future__ import annotations

import datetime
import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from corefsample import _checks
from corefsample._arrays import Bytes, Ints32
from corefsample.documents import ScoredDocument, Tokens
from corefsample.errors import InputError, ParameterError
from corefsample.recalibration import UNCERTAINTIES, UncertainRecalibration, Uncertainty, document_kinds
from events.counting._adding import DocumentMatcher, checked_date, count_documents
from events.counting._counts import EventCounts, Interval
from events.counting._evaluation import DocumentEvents, Predicate, evaluate_predicate, evaluate_rules
from events.counting._evidence import EvidenceRow, evidence_rows, evidence_schema
from events.counting._mixture_evidence import ParsedMentions, mixture_evidence_rows
from events.counting._mixtures import MatchedParse, evaluate_mixture
from events.counting._periods import Calendar
from events.counting._recalibrated import CorpusRecalibration, CountedRecalibration
from events.counting._rule_examples import check_examples
from events.counting._tables import COUNTRY, count_columns
from events.counting._tally import CountTally
from events.lexicon import Lexicon
from events.rules import Rule

if TYPE_CHECKING:
    import pandas as pd


class EventCounter:
    """Counts documents with an event, by actor and period, with posterior uncertainty.

    Parameters
    ----------
    rule
        Definition of the event, or of several events with different names, which are then counted in one pass; by
        default the shipped rule `attack`, preset `paper`.
    lexicon
        Names of actors; by default the shipped lexicon of countries.
    predicate
        The user's own predicate on clusterings, instead of rule and lexicon: see
        `events.counting.evaluate_predicate`.
    scheme
        Dependency scheme of the documents, or None to recognise each document's from its labels.
    period
        year, quarter, month, week, day, or a pandas alias.
    n_samples
        Sampled clusterings per document, at least 1.
    seed
        In [0, 2**64).
    recalibration
        Applied to the scores of each document, from `corefsample.recalibration.read_recalibration`. None: the scores as
        they are, with the uncertainty of the recalibration of the English model if it is the one that they had, as
        those of `corefsample score` and `corefsample.recalibration.score_english`.
    uncertainty
        "none", "fit" or "domain": of the recalibration, which all documents share; None: all that it has.

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
        rule: Rule | Sequence[Rule] | None = None,
        lexicon: Lexicon | None = None,
        *,
        predicate: Predicate | None = None,
        scheme: str | None = None,
        period: str = "quarter",
        n_samples: int = 1000,
        seed: int = 0,
        recalibration: UncertainRecalibration | None = None,
        uncertainty: Uncertainty | None = None,
    ) -> None:
        if predicate is not None and (rule is not None or lexicon is not None):
            raise ParameterError("cannot be combined with a rule or a lexicon", parameter="predicate")
        if predicate is not None and not callable(predicate):
            raise ParameterError(
                f"must be a function of a document and its labels, got {predicate!r}", parameter="predicate"
            )
        self.seed = _checks.seed(seed)
        if uncertainty is not None:
            _checks.choice("uncertainty", uncertainty, UNCERTAINTIES)
        self._recalibrated = CorpusRecalibration(recalibration, uncertainty, self.seed)
        self.calendar = Calendar(period)
        self.n_samples = _checks.n_samples(n_samples, 1)
        self._predicate = predicate
        self._codes: frozenset[str] = frozenset()
        self._columns: dict[str, tuple[str, ...]] = {"event": COUNTRY}  # of the roles of each event
        if predicate is None:
            self._matcher = DocumentMatcher(rule, lexicon, scheme)
            self._codes = frozenset(self._matcher.lexicon.codes)
            self._columns = {each.name: each.columns for each in self._matcher.rules}
            for each in self._matcher.rules:
                check_examples(each, self._matcher.lexicon)
        self.tallies = {event: CountTally(n_samples) for event in self._columns}
        self._rows: list[EvidenceRow] = []
        self._doc_ids: set[str] = set()

    def __repr__(self) -> str:
        counted = ["a predicate"] if self._predicate is not None else [repr(each) for each in self._matcher.rules]
        tallies = "".join(f"\n  {tally!r}" for tally in self.tallies.values())
        return f"EventCounter({', '.join(counted)}, seed {self.seed}){tallies}"

    @property
    def tally(self) -> CountTally:
        """Sums over the documents so far, of the first rule; `tallies` has them by event."""
        return next(iter(self.tallies.values()))

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
        date = checked_date(document, self._doc_ids)
        found = self._evaluated(document, date)
        place = f"doc_id {document.doc_id!r}"
        several = [count_documents(tally, self.calendar, [date], lambda _: place) for tally in self.tallies.values()]
        (period,) = several[0]
        self._doc_ids.add(document.doc_id)
        for events in found:
            event = "event" if events.matches is None else events.matches.event
            self.tallies[event].add_events(events, period.number)
            self._rows += self._evidence_of(events, period.label, document)
        return tuple(found)

    @staticmethod
    def _evidence_of(events: DocumentEvents, period: str, document: ScoredDocument) -> list[EvidenceRow]:
        if events.alternatives:
            parses = [ParsedMentions(parse.tokens, parse.mentions) for parse in document.parses]
            return mixture_evidence_rows(events, period, parses)
        return evidence_rows(events, period, document.tokens, document.mentions)

    def _evaluated(self, document: ScoredDocument, date: datetime.date) -> list[DocumentEvents]:
        if document.parses:
            return self._evaluated_parses(document, date)
        recalibrated = self._recalibrated_for(document)
        sampling: dict[str, Any] = {"n_samples": self.n_samples, "seed": self.seed, "recalibrated": recalibrated}
        if self._predicate is not None:
            kinds = None if recalibrated is None or not recalibrated.needs_kinds else document_kinds(document)
            return [evaluate_predicate(document, self._predicate, kinds=kinds, **sampling)]
        matches = [each for each in self._matcher.match(document, date) if each.possible]
        if not matches:
            return []
        return evaluate_rules(
            document.antecedents,
            matches,
            document.doc_id,
            date,
            kinds=_kinds(recalibrated, document.tokens, document.mentions),
            **sampling,
        )

    def _evaluated_parses(self, document: ScoredDocument, date: datetime.date) -> list[DocumentEvents]:
        if self._predicate is not None:
            rule = "parses must be one for a predicate, which is called with one clustering of the mentions"
            raise InputError(f"{rule}, got {len(document.parses)}", place=f"doc_id {document.doc_id!r}")
        recalibrated = self._recalibrated_for(document)
        parses = []
        for k, parse in enumerate(document.parses):
            matched = self._matcher.match(document.with_parse(k), date)
            matches = tuple(each for each in matched if each.possible)
            kinds = _kinds(recalibrated, parse.tokens, parse.mentions) if matches else None
            parses.append(MatchedParse(parse.weight, parse.antecedents, matches, kinds))
        return evaluate_mixture(
            parses,
            document.doc_id,
            date,
            n_samples=self.n_samples,
            seed=self.seed,
            recalibrated=recalibrated,
        )

    def _recalibrated_for(self, document: ScoredDocument) -> CountedRecalibration | None:
        try:
            return self._recalibrated.for_scores(document.metadata)
        except ParameterError as error:
            raise error.as_input_error(f"doc_id {document.doc_id!r}") from None

    def update(self, documents: Iterable[ScoredDocument]) -> None:
        """Add documents, as `add` does.

        Raises
        ------
        ParameterError
            If `documents` is not an iterable of documents; read a file with `corefsample.read_documents` first.
        InputError
            As `add` does; the documents before the invalid one are counted.
        """
        if isinstance(documents, (str, os.PathLike)) or not isinstance(documents, Iterable):
            found = _checks.shown(documents)
            raise ParameterError(
                f"must be ScoredDocuments, as read_documents yields them, got {found}", parameter="documents"
            )
        for document in documents:
            self.add(document)

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
            known=self._codes,
            event=event,
            columns=self._columns[event],
            uncertainty=self._recalibrated.uncertainty,
        )

    def to_frame(self, *, level: float = 0.95, interval: Interval = "quantile") -> pd.DataFrame:
        """The counts of all rules in one table, as counts.csv of the command `events`.

        It has the columns of `EventCounts.to_frame`, with the columns of the roles of all rules; those of other rules
        are empty.
        """
        import pandas as pd

        tables = [self.counts(event=event, level=level, interval=interval).to_frame() for event in self.tallies]
        table = tables[0] if len(tables) == 1 else pd.concat(tables, ignore_index=True)
        return table.reindex(columns=list(count_columns(self._roles))).fillna(dict.fromkeys(self._roles, ""))

    @property
    def _roles(self) -> tuple[str, ...]:
        """Columns of the roles of all rules."""
        return tuple(dict.fromkeys(column for columns in self._columns.values() for column in columns))

    def evidence(self) -> pd.DataFrame:
        """Tidy table, one row for each document and event with P > 0: see `events.counting.EvidenceRow`.

        Instead of `actors` it has the columns of the rules' roles, and if a document has alternative parses the columns
        of `events.counting.ParseEvidence` instead of `parse`.
        """
        import pandas as pd

        has_parses = any(row.parse is not None for row in self._rows)
        rows = [row.values(self._columns[row.event], self._roles, parses=has_parses) for row in self._rows]
        return pd.DataFrame(rows, columns=evidence_schema(self._roles, parses=has_parses).names)

    def near_half(self, n: int = 50) -> pd.DataFrame:
        """Rows of `evidence` whose probability is closest to one half, where errors are easiest to find."""
        table = self.evidence()
        return table.iloc[np.argsort(np.abs(table["probability"] - 0.5), kind="stable")[:n]].reset_index(drop=True)


def _kinds(recalibrated: CountedRecalibration | None, tokens: Tokens | None, mentions: Ints32) -> Bytes | None:
    """Kinds of mentions, if a recalibration needs them."""
    return None if recalibrated is None or tokens is None else recalibrated.kinds(tokens, mentions)
