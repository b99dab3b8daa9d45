"""Counting events in Python: add documents, read posterior counts."""

from __future__ import annotations

import datetime
import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from corefsample import _checks
from corefsample.documents import ScoredDocument
from corefsample.errors import InputError, ParameterError
from events.counting._adding import DocumentMatcher, checked_date, count_documents
from events.counting._counts import EventCounts, Interval
from events.counting._evaluation import DocumentEvents, Predicate, evaluate_matches, evaluate_predicate
from events.counting._evidence import EvidenceRow, evidence_rows, evidence_schema
from events.counting._mixture_evidence import ParsedMentions, mixture_evidence_rows
from events.counting._mixtures import MatchedParse, evaluate_mixture
from events.counting._periods import Calendar
from events.counting._rule_examples import check_examples
from events.counting._tables import COUNTRY
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
        Definition of the event; by default the shipped rule `attack`, preset `paper`.
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

    Raises
    ------
    ParameterError
        If a parameter breaks its rule.
    InputError
        If an inline example of the rule fails.

    Examples
    --------
    >>> from corefsample import read_documents
    >>> from events import EventCounter
    >>> counter = EventCounter(n_samples=1000, seed=0)
    >>> counter.update(read_documents("scored.jsonl.gz"))  # doctest: +SKIP
    >>> counter.counts().to_frame()  # doctest: +SKIP
    """

    def __init__(
        self,
        rule: Rule | None = None,
        lexicon: Lexicon | None = None,
        *,
        predicate: Predicate | None = None,
        scheme: str | None = None,
        period: str = "quarter",
        n_samples: int = 1000,
        seed: int = 0,
    ) -> None:
        if predicate is not None and (rule is not None or lexicon is not None):
            raise ParameterError("cannot be combined with a rule or a lexicon", parameter="predicate")
        if predicate is not None and not callable(predicate):
            raise ParameterError(
                f"must be a function of a document and its labels, got {predicate!r}", parameter="predicate"
            )
        self.seed = _checks.seed(seed)
        self.calendar = Calendar(period)
        self.tally = CountTally(n_samples)
        self._predicate = predicate
        self._codes: frozenset[str] = frozenset()
        self._event = "event"
        self._columns: tuple[str, ...] = COUNTRY
        if predicate is None:
            self._matcher = DocumentMatcher(rule, lexicon, scheme)
            self._codes = frozenset(self._matcher.lexicon.codes)
            self._event, self._columns = self._matcher.rule.name, self._matcher.rule.columns
            check_examples(self._matcher.rule, self._matcher.lexicon)
        self._rows: list[EvidenceRow] = []
        self._doc_ids: set[str] = set()

    def __repr__(self) -> str:
        counted = "a predicate" if self._predicate is not None else repr(self._matcher.rule)
        return f"EventCounter({counted}, seed {self.seed})\n  {self.tally!r}"

    def add(self, document: ScoredDocument) -> DocumentEvents | None:
        """Add one document; return its events, or None if no clustering of it can have one.

        Raises
        ------
        ParameterError
            If `document` is not a ScoredDocument.
        InputError
            If the document has no date or no tokens, its labels fit no scheme, its doc_id was added before, or its
            date makes the periods more than 100,000. Then the document is not counted.
        """
        date = checked_date(document, self._doc_ids)
        events = self._evaluated(document, date)
        (period,) = count_documents(self.tally, self.calendar, [date], lambda _: f"doc_id {document.doc_id!r}")
        self._doc_ids.add(document.doc_id)
        if events is not None:
            self.tally.add_events(events, period.number)
            self._rows += self._evidence_of(events, period.label, document)
        return events

    @staticmethod
    def _evidence_of(events: DocumentEvents, period: str, document: ScoredDocument) -> list[EvidenceRow]:
        if events.alternatives:
            parses = [ParsedMentions(parse.tokens, parse.mentions) for parse in document.parses]
            return mixture_evidence_rows(events, period, parses)
        return evidence_rows(events, period, document.tokens, document.mentions)

    def _evaluated(self, document: ScoredDocument, date: datetime.date) -> DocumentEvents | None:
        sampling = {"n_samples": self.tally.n_samples, "seed": self.seed}
        if document.parses:
            return self._evaluated_parses(document, date)
        if self._predicate is not None:
            return evaluate_predicate(document, self._predicate, **sampling)
        matches = self._matcher.match(document, date)
        if not matches.possible:
            return None
        return evaluate_matches(document.antecedents, matches, document.doc_id, date, **sampling)

    def _evaluated_parses(self, document: ScoredDocument, date: datetime.date) -> DocumentEvents | None:
        if self._predicate is not None:
            rule = "parses must be one for a predicate, which is called with one clustering of the mentions"
            raise InputError(f"{rule}, got {len(document.parses)}", place=f"doc_id {document.doc_id!r}")
        matched = [self._matcher.match(document.with_parse(k), date) for k in range(document.n_parses)]
        parses = [
            MatchedParse(parse.weight, parse.antecedents, (matches,) if matches.possible else ())
            for parse, matches in zip(document.parses, matched, strict=True)
        ]
        found = evaluate_mixture(parses, document.doc_id, date, n_samples=self.tally.n_samples, seed=self.seed)
        return found[0] if found else None

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

    def counts(self, *, level: float = 0.95, interval: Interval = "quantile") -> EventCounts:
        """Posterior of the counts so far, with credible intervals: see `events.counting.EventCounts`."""
        return EventCounts(
            self.tally.copy(),
            self.calendar,
            level=level,
            interval=interval,
            known=self._codes,
            event=self._event,
            columns=self._columns,
        )

    def evidence(self) -> pd.DataFrame:
        """Tidy table, one row for each document and event with P > 0: see `events.counting.EvidenceRow`.

        Instead of `actors` it has the columns of the rule's roles, and if a document has alternative parses the columns
        of `events.counting.ParseEvidence` instead of `parse`.
        """
        import pandas as pd

        has_parses = any(row.parse is not None for row in self._rows)
        rows = [row.values(self._columns, self._columns, parses=has_parses) for row in self._rows]
        return pd.DataFrame(rows, columns=evidence_schema(self._columns, parses=has_parses).names)

    def near_half(self, n: int = 50) -> pd.DataFrame:
        """Rows of `evidence` whose probability is closest to one half, where errors are easiest to find."""
        table = self.evidence()
        return table.iloc[np.argsort(np.abs(table["probability"] - 0.5), kind="stable")[:n]].reset_index(drop=True)
