"""True events: those that hold in the annotated entities, for comparison with their posterior."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from corefsample import _checks
from corefsample.documents import ScoredDocument
from corefsample.errors import InputError, ParameterError
from corefsample.links import gold_codes
from corefsample.syntax import scheme_names
from events.counting._evaluation import evaluate_clustering
from events.counting._periods import Calendar
from events.lexicon import Lexicon, load_lexicon
from events.matching import match_document
from events.rules import Rule, load_rules

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["TrueEvent", "TrueEvents", "true_events"]

_COUNT_COLUMNS = ("country", "period", "true_count")


@dataclass(frozen=True, slots=True)
class TrueEvent:
    """A document and country with an event by the annotated entities.

    Attributes
    ----------
    doc_id, date
        The document.
    country
        Code of the country; "AAA>BBB" for two roles.
    """

    doc_id: str
    date: datetime.date
    country: str


class TrueEvents:
    """Finds the events that hold in documents' annotated entities, as `events.EventCounter` finds those of samples.

    A mention without an annotated entity is an entity of its own.

    Parameters
    ----------
    rule, lexicon, scheme, period
        As of `events.EventCounter`; those of the counts to be compared.

    Raises
    ------
    ParameterError
        If a parameter breaks its rule.
    """

    def __init__(
        self,
        rule: Rule | None = None,
        lexicon: Lexicon | None = None,
        *,
        scheme: str | None = None,
        period: str = "quarter",
    ) -> None:
        if rule is not None and not isinstance(rule, Rule):
            raise ParameterError(f"rule must be a Rule, as load_rules returns, got {_checks.shown(rule)}")
        if lexicon is not None and not isinstance(lexicon, Lexicon):
            raise ParameterError(f"lexicon must be a Lexicon, as load_lexicon returns, got {_checks.shown(lexicon)}")
        if scheme is not None:
            _checks.choice("scheme", scheme, scheme_names())
        self.calendar = Calendar(period)
        self._rule = load_rules() if rule is None else rule
        self._lexicon = load_lexicon() if lexicon is None else lexicon
        self._scheme = scheme
        self._events: list[TrueEvent] = []
        self._seen: set[str] = set()

    def add(self, document: ScoredDocument) -> tuple[str, ...]:
        """Add one document; return the countries that have an event in it, sorted.

        Raises
        ------
        ParameterError
            If this is no ScoredDocument.
        InputError
            If the document lacks a date, tokens or gold, its labels fit no scheme, or its doc_id was added before.
        """
        if not isinstance(document, ScoredDocument):
            raise ParameterError(f"document must be a ScoredDocument, got {_checks.shown(document)}")
        named = f"doc_id {document.doc_id!r}: "
        if document.doc_id in self._seen:
            raise InputError(f"{named}doc_id must be unique in the corpus, got it again")
        if document.gold is None:
            raise InputError(f"{named}gold must be there for true events, got none")
        if document.date is None:
            raise InputError(f"{named}date must be there for events, got none")
        if document.tokens is None:
            raise InputError(f"{named}tokens must be there for events, got none")
        date = document.date
        try:
            matches = match_document(document.tokens, document.mentions, self._rule, self._lexicon, date, self._scheme)
        except InputError as error:
            raise InputError(f"{named}{error}") from None
        countries = evaluate_clustering(matches, gold_codes(document, "single")) if matches.possible else ()
        self._seen.add(document.doc_id)
        self._events += [TrueEvent(document.doc_id, date, country) for country in countries]
        return countries

    def update(self, documents: Iterable[ScoredDocument]) -> None:
        """Add documents, as `add` does; those before a bad one stay."""
        for document in documents:
            self.add(document)

    @property
    def events(self) -> tuple[TrueEvent, ...]:
        """Every document and country with an event, in the order they were added."""
        return tuple(self._events)

    def to_frame(self) -> pd.DataFrame:
        """Tidy table, one row a document and country with an event: doc_id, date, period, country."""
        import pandas as pd

        columns = {name: [getattr(event, name) for event in self._events] for name in ("doc_id", "date", "country")}
        table = pd.DataFrame(columns).astype({"doc_id": "str", "country": "str"})
        table.insert(2, "period", self._periods())
        return table

    def counts(self) -> pd.DataFrame:
        """Tidy table, one row a country and period with an event, sorted: country, period ("1999Q2"), true_count."""
        import pandas as pd

        rows = [(country, period, count) for (country, period), count in sorted(self._by_cell().items())]
        types = {"country": "str", "period": "str", "true_count": "int64"}
        return pd.DataFrame(rows, columns=list(_COUNT_COLUMNS)).astype(types)

    def beside(self, counts: pd.DataFrame) -> pd.DataFrame:
        """Put the truth beside posterior counts of the same documents.

        Parameters
        ----------
        counts
            As of `events.EventCounts.to_frame`, or a run's counts.parquet; any of its rows.

        Returns
        -------
        pandas.DataFrame
            The same rows with true_count (0 where there is no event) and covered: whether lower <= true_count <= upper.

        Raises
        ------
        ParameterError
            If the table lacks country, period, lower or upper, or its periods are of another length.
        """
        missing = [name for name in ("country", "period", "lower", "upper") if name not in counts]
        if missing:
            raise ParameterError(f"counts must have the column {missing[0]}, got {_checks.shown(list(counts))}")
        labels = {str(label) for label in counts["period"]}
        self._require_periods(labels)
        true = self._by_cell()
        found = [true[key] for key in zip(counts["country"], counts["period"], strict=True)]
        covered = counts["lower"].le(found) & counts["upper"].ge(found)
        return counts.assign(true_count=found, covered=covered).astype({"true_count": "int64", "covered": "bool"})

    def _require_periods(self, labels: Iterable[str]) -> None:
        """Refuse labels that are none of this calendar's, which would all have no event."""
        import pandas as pd

        for label in sorted(labels):
            try:
                same = str(pd.Period(label, freq=self.calendar.freq)) == label
            except ValueError:
                same = False
            if not same:
                raise ParameterError(f"counts must have periods of a {self.calendar.period}, got {label!r}")

    def _periods(self) -> list[str]:
        if not self._events:
            return []
        numbers = self.calendar.numbers([event.date for event in self._events])
        return [str(period) for period in self.calendar.index(numbers)]

    def _by_cell(self) -> Counter[tuple[str, str]]:
        return Counter(zip((event.country for event in self._events), self._periods(), strict=True))


def true_events(
    documents: Iterable[ScoredDocument],
    rule: Rule | None = None,
    lexicon: Lexicon | None = None,
    *,
    scheme: str | None = None,
    period: str = "quarter",
) -> TrueEvents:
    """Find the events that hold in the annotated entities of documents.

    Parameters
    ----------
    documents
        With gold, a date and tokens; doc_ids differ.
    rule, lexicon, scheme, period
        As of `events.EventCounter`.

    Returns
    -------
    TrueEvents
        Its `counts` are by country and period, its `to_frame` by document.

    Raises
    ------
    ParameterError, InputError
        As of `TrueEvents`, and for what is no ScoredDocument.

    Examples
    --------
    >>> from events import simulate_documents
    >>> truth = true_events(each.document for each in simulate_documents(20, event_share=1.0))
    >>> int(truth.counts()["true_count"].sum()) == len(truth.events)
    True
    """
    truth = TrueEvents(rule, lexicon, scheme=scheme, period=period)
    truth.update(documents)
    return truth
