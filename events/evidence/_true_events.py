"""True events: those of the annotated entities, for comparison with their posterior."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from corefsample import _checks
from corefsample._arrays import HtmlTable, Ints32, pd
from corefsample.documents._batch import DocumentBatch
from corefsample.documents._scored import ScoredDocument, gold_codes
from corefsample.errors import InputError, ParameterError, shown
from corefsample.syntax._schemes import scheme_names
from events.evidence._acceptance import Acceptance, require_document, require_none
from events.evidence._columns import Calendar, EventKey
from events.evidence._evaluation import evaluate_clustering
from events.evidence._rule_set import RuleSet
from events.lexicon._lexicon import Lexicon
from events.matching._matches import MentionMatches
from events.matching._matching import match_document
from events.rules._rules import Rule


@dataclass(frozen=True, slots=True)
class TrueEvent:
    """A document and actor with an event by the annotated entities.

    Attributes
    ----------
    doc_id, date
        The document.
    actor
        Code of the actor; "AAA>BBB" for two roles.
    """

    doc_id: str
    date: datetime.date
    actor: str


class TrueEvents(HtmlTable):
    """Finds the events of documents' annotated entities, as `events.EventCounter` finds those of samples.

    A mention without an annotated entity is an entity of its own.

    Parameters
    ----------
    rule, lexicon, scheme, period
        Rule, lexicon, dependency scheme and length of a period: see `events.EventCounter`. They should be those of the
        counts with which the true events are compared, and these counts should have ``triggers="rules"``: every trigger
        of the rule is one of a true event.

    Raises
    ------
    ParameterError
        If a parameter has an invalid type or value, or `rule` is several rules.

    Examples
    --------
    >>> from events import TrueEvents, simulate_documents
    >>> truth = TrueEvents()
    >>> truth.update(each.document for each in simulate_documents(20, event_share=1.0))
    >>> len(truth.to_frame()) == len(truth.events)
    True
    """

    def __init__(
        self,
        rule: Rule | None = None,
        lexicon: Lexicon | None = None,
        *,
        scheme: str | None = None,
        period: str = "quarter",
    ) -> None:
        self.calendar = Calendar(period)
        if scheme is not None:
            _checks.choice("scheme", scheme, scheme_names())
        definitions = RuleSet.of(rule, lexicon)
        if len(definitions.rules) > 1:
            raise ParameterError(f"must be one rule, got {len(definitions.rules)}", parameter="rule")
        self._rule, self._lexicon, self._scheme = definitions.rules[0], definitions.lexicon, scheme
        self._language, self._columns = definitions.language, self._rule.columns
        self._events: list[TrueEvent] = []
        self._doc_ids: set[str] = set()

    def __repr__(self) -> str:
        return f"TrueEvents({self._rule!r})\n  {len(self._events):,} events in {len(self._doc_ids):,} documents"

    def add(self, document: ScoredDocument) -> tuple[str, ...]:
        """Add one document; return the actors that have an event in it, sorted.

        Raises
        ------
        ParameterError
            If `document` is not a ScoredDocument.
        InputError
            If the document has no date, tokens or gold, its labels fit no scheme, or its doc_id was added before.
        """
        self._require(document, "gold")
        date = document.date
        assert date is not None
        matches = self._matches(document)
        keys = evaluate_clustering(matches, gold_codes(document, "single")) if matches.possible else ()
        actors = tuple(key.name for key in keys)
        self._doc_ids.add(document.doc_id)
        self._events += [TrueEvent(document.doc_id, date, actor) for actor in actors]
        return actors

    def _require(self, document: ScoredDocument, *needs: str) -> None:
        """Raise unless a document can be added, or only matched if gold is not needed."""
        batch = DocumentBatch.of([require_document(document)])
        acceptance = Acceptance(needs=("date", "tokens", *needs), purpose="true events", language=self._language)
        require_none(batch, acceptance.faults(batch, counted=self._doc_ids if needs else ()))

    def _matches(self, document: ScoredDocument) -> MentionMatches:
        spans, tokens, date = document.mentions, document.tokens, document.date
        assert tokens is not None and date is not None  # noqa: PT018
        try:
            return match_document(tokens, spans, self._rule, self._lexicon, date, self._scheme)
        except InputError as error:
            raise error.at(f"doc_id {document.doc_id!r}") from None

    def apart(self, document: ScoredDocument) -> Ints32:
        """Pairs of mentions that the rule keeps in different entities: int32 (n_pairs, 2).

        There are no pairs if the preset allows an entity to be several actors, or if no event is possible. Pass this
        method to `events.simulate_documents` as `apart` to simulate documents for which counts of the rule are
        calibrated.

        Parameters
        ----------
        document
            Document with a date and tokens; it needs no gold, and is not added.

        Raises
        ------
        ParameterError
            If `document` is not a ScoredDocument.
        InputError
            If the document has no date or no tokens, or its labels fit no scheme.
        """
        self._require(document)
        matches = self._matches(document)
        return np.zeros((0, 2), np.int32) if matches.apart is None or not matches.possible else matches.apart

    def update(self, documents: Iterable[ScoredDocument]) -> None:
        """Add documents one by one; raises as `add` does at the first invalid one, and keeps those before it."""
        for document in documents:
            self.add(document)

    @property
    def events(self) -> tuple[TrueEvent, ...]:
        """Events of all documents, one for each document and actor, in the order in which documents were added."""
        return tuple(self._events)

    def to_frame(self) -> pd.DataFrame:
        """Tidy table, one row per document and event: doc_id, date, period, event, and one column per role (actor)."""
        columns = ["doc_id", "date", "period", "event", *self._columns]
        labels = self.calendar.periods(self.calendar.numbers([event.date for event in self._events]))
        rows = [
            {
                "doc_id": each.doc_id,
                "date": each.date,
                "period": period.label,
                "event": self._rule.name,
                **(EventKey.of(each.actor) if self._columns else EventKey()).values(self._columns),
            }
            for each, period in zip(self._events, labels, strict=True)
        ]
        return pd.DataFrame(rows, columns=columns).astype(dict.fromkeys(("doc_id", "event", *self._columns), "str"))

    def beside(self, counts: pd.DataFrame) -> pd.DataFrame:
        """Add the true counts to a table of posterior counts of the same documents.

        Parameters
        ----------
        counts
            Table that `EventCounts.to_frame` returns, or that a run wrote to counts.parquet, or some of its rows.

        Returns
        -------
        pandas.DataFrame
            The same rows with true_count (0 without an event) and covered: whether lower <= true_count <= upper.

        Raises
        ------
        ParameterError
            If `counts` lacks the column of a role (such as actor), period, lower or upper, or its periods have another
            length than the periods of the true events.
        """
        missing = [name for name in (*self._columns, "period", "lower", "upper") if name not in counts]
        if missing:
            raise ParameterError(f"must have the column {missing[0]}, got {shown(list(counts))}", parameter="counts")
        self._require_periods({str(label) for label in counts["period"]})
        cells = [*self._columns, "period"]
        by_cell = Counter(self.to_frame()[cells].itertuples(index=False, name=None))
        true_counts = [by_cell[cell] for cell in counts[cells].itertuples(index=False, name=None)]
        covered = counts["lower"].le(true_counts) & counts["upper"].ge(true_counts)
        return counts.assign(true_count=true_counts, covered=covered).astype({"true_count": "int64", "covered": "bool"})

    def _require_periods(self, labels: Iterable[str]) -> None:
        """Raise for labels of another calendar, which would all have no event."""
        for label in sorted(labels):
            try:
                is_label = str(pd.Period(label, freq=self.calendar.freq)) == label
            except ValueError:
                is_label = False
            if not is_label:
                raise ParameterError(
                    f"must have periods of a {self.calendar.period}, got {label!r}", parameter="counts"
                )
