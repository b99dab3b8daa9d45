"""The Python way in: add documents, read posterior counts."""

from __future__ import annotations

import datetime
import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from corefsample import _checks
from corefsample.documents import ScoredDocument
from corefsample.errors import InputError, ParameterError
from corefsample.syntax import scheme_names
from events.counting._counts import EventCounts, Interval
from events.counting._evaluation import DocumentEvents, Predicate, evaluate_matches, evaluate_predicate
from events.counting._evidence import EVIDENCE_SCHEMA, EvidenceRow, evidence_rows
from events.counting._periods import Calendar
from events.counting._rule_examples import check_examples
from events.counting._tally import MOST_PERIODS, CountTally
from events.lexicon import Lexicon, load_lexicon
from events.matching import match_document
from events.rules import Rule, load_rules

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["EventCounter"]


class EventCounter:
    """Counts documents with an event, by country and period, with posterior uncertainty.

    Parameters
    ----------
    rule
        What makes an event; the shipped rule `attack`, preset `paper`, by default.
    lexicon
        Which words name a country; the shipped one by default.
    predicate
        A predicate of the user's own on clusterings, instead of rule and lexicon: see
        `events.counting.evaluate_predicate`.
    scheme
        Dependency scheme of the documents, or None to tell each document's from its labels.
    period
        year, quarter, month, week, day, or a pandas alias.
    n_samples
        Clusterings drawn a document, at least 1.
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
            raise ParameterError("predicate must stand alone, got a rule or a lexicon besides")
        if predicate is not None and not callable(predicate):
            raise ParameterError(f"predicate must be a function of a document and its labels, got {predicate!r}")
        if rule is not None and not isinstance(rule, Rule):
            raise ParameterError(f"rule must be a Rule, as load_rules returns, got {_checks.shown(rule)}")
        if lexicon is not None and not isinstance(lexicon, Lexicon):
            raise ParameterError(f"lexicon must be a Lexicon, as load_lexicon returns, got {_checks.shown(lexicon)}")
        if scheme is not None:
            _checks.choice("scheme", scheme, scheme_names())
        self.seed = _checks.seed(seed)
        self.n_samples = _checks.whole("n_samples", n_samples, 1)
        self.calendar = Calendar(period)
        self.tally = CountTally(self.n_samples)
        self._scheme = scheme
        self._predicate = predicate
        self._rows: list[EvidenceRow] = []
        self._seen: set[str] = set()
        self._known: tuple[str, ...] = ()
        if predicate is None:
            self._rule = load_rules() if rule is None else rule
            self._lexicon = load_lexicon() if lexicon is None else lexicon
            self._known = tuple(self._lexicon.codes)
            check_examples(self._rule)

    def add(self, document: ScoredDocument) -> DocumentEvents | None:
        """Add one document; return its events, or None where no clustering of it could hold one.

        Raises
        ------
        ParameterError
            If this is no ScoredDocument.
        InputError
            If the document lacks a date or tokens, its labels fit no scheme, its doc_id was added before, or its date
            makes the periods more than 100,000.
        """
        if not isinstance(document, ScoredDocument):
            raise ParameterError(f"document must be a ScoredDocument, got {_checks.shown(document)}")
        if document.doc_id in self._seen:
            raise InputError(f"doc_id {document.doc_id!r}: doc_id must be unique in the corpus, got it again")
        if document.date is None:
            raise InputError(f"doc_id {document.doc_id!r}: date must be there for events, got none")
        number = self.calendar.numbers([document.date])
        if self.tally.first_stray(number) is not None:
            raise InputError(f"doc_id {document.doc_id!r}: {self.calendar.stray(document.date, MOST_PERIODS)}")
        events = self._evaluated(document, document.date)
        self._seen.add(document.doc_id)
        self.tally.add_documents(number)
        if events is not None:
            self.tally.add_events(events, int(number[0]))
            label = str(self.calendar.index(number)[0])
            self._rows += evidence_rows(events, label, document.tokens, document.mentions)
        return events

    def _evaluated(self, document: ScoredDocument, date: datetime.date) -> DocumentEvents | None:
        if self._predicate is not None:
            return evaluate_predicate(document, self._predicate, n_samples=self.n_samples, seed=self.seed)
        if document.tokens is None:
            raise InputError(f"doc_id {document.doc_id!r}: tokens must be there for events, got none")
        try:
            matches = match_document(document.tokens, document.mentions, self._rule, self._lexicon, date, self._scheme)
        except InputError as error:
            raise InputError(f"doc_id {document.doc_id!r}: {error}") from None
        if not matches.possible:
            return None
        return evaluate_matches(
            document.antecedents,
            matches,
            document.doc_id,
            date,
            n_samples=self.n_samples,
            seed=self.seed,
        )

    def update(self, documents: Iterable[ScoredDocument]) -> None:
        """Add documents, as `add` does.

        Raises
        ------
        ParameterError
            If this is no iterable of documents: a file's name needs `corefsample.read_documents` first.
        InputError
            As `add` does; the documents before the bad one are counted.
        """
        if isinstance(documents, (str, os.PathLike)) or not isinstance(documents, Iterable):
            raise ParameterError(
                f"documents must be ScoredDocuments, as read_documents yields them, got {_checks.shown(documents)}"
            )
        for document in documents:
            self.add(document)

    def counts(self, *, level: float = 0.95, interval: Interval = "quantile") -> EventCounts:
        """Posterior of the counts so far, with credible intervals: see `events.counting.EventCounts`."""
        return self.tally.counts(self.calendar, level=level, interval=interval, known=self._known)

    def evidence(self) -> pd.DataFrame:
        """Tidy table, one row a document and country with P > 0: see `events.counting.EvidenceRow`."""
        import pandas as pd

        rows = [[getattr(row, name) for name in EVIDENCE_SCHEMA.names] for row in self._rows]
        return pd.DataFrame(rows, columns=EVIDENCE_SCHEMA.names)

    def near_half(self, n: int = 50) -> pd.DataFrame:
        """Rows of `evidence` whose probability is nearest one half: there the errors are easiest to find."""
        table = self.evidence()
        return table.iloc[np.argsort(np.abs(table["probability"] - 0.5), kind="stable")[:n]].reset_index(drop=True)
