"""Adding documents to a corpus: the checks, the matching and the counting that all ways of doing it share."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Callable, Collection, Sequence

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample.documents import ScoredDocument
from corefsample.errors import InputError, ParameterError
from corefsample.syntax import scheme_names
from events.counting._periods import Calendar, Period
from events.counting._tally import MOST_PERIODS, CountTally
from events.lexicon import Lexicon, load_lexicon
from events.matching import MentionMatches, check_classes, match_rules
from events.rules import Rule, load_rules


def checked_date(document: ScoredDocument, doc_ids: Collection[str]) -> datetime.date:
    """Return the date of a document, or raise if it cannot be added to documents with the given doc_ids."""
    if not isinstance(document, ScoredDocument):
        raise ParameterError(f"must be a ScoredDocument, got {_checks.shown(document)}", parameter="document")
    place = f"doc_id {document.doc_id!r}"
    if document.doc_id in doc_ids:
        raise InputError("doc_id must be unique in the corpus, got it again", place=place)
    if document.date is None:
        raise InputError("date is required for events", place=place)
    return document.date


class DocumentMatcher:
    """Matches rules and a lexicon with one document after another; None stands for the shipped ones."""

    def __init__(self, rule: Rule | Sequence[Rule] | None, lexicon: Lexicon | None, scheme: str | None) -> None:
        self.rules = _rules(rule)
        if lexicon is not None and not isinstance(lexicon, Lexicon):
            found = _checks.shown(lexicon)
            raise ParameterError(f"must be a Lexicon, as load_lexicon returns, got {found}", parameter="lexicon")
        if scheme is not None:
            _checks.choice("scheme", scheme, scheme_names())
        self.lexicon = load_lexicon() if lexicon is None else lexicon
        self._scheme = scheme
        for each in self.rules:
            check_classes(each, self.lexicon)

    def match(self, document: ScoredDocument, date: datetime.date) -> tuple[MentionMatches, ...]:
        """Match a document; the matches of each rule.

        Raises
        ------
        InputError
            If the document has no tokens, or its labels fit no scheme.
        """
        place = f"doc_id {document.doc_id!r}"
        if document.tokens is None:
            raise InputError("tokens are required for events", place=place)
        try:
            return match_rules(document.tokens, document.mentions, self.rules, self.lexicon, date, self._scheme)
        except InputError as error:
            raise error.at(place) from None


def _rules(rule: Rule | Sequence[Rule] | None) -> tuple[Rule, ...]:
    """One rule or several with different names."""
    if rule is None:
        return (load_rules(),)
    rules = (rule,) if not isinstance(rule, (list, tuple)) else tuple(rule)
    for each in rules:
        if not isinstance(each, Rule):
            raise ParameterError(f"must be a Rule, as load_rules returns, got {_checks.shown(each)}", parameter="rule")
    names = [each.name for each in rules]
    if not names:
        raise ParameterError("must have at least one rule, got none", parameter="rule")
    repeated = next((name for name, count in Counter(names).items() if count > 1), None)
    if repeated is not None:
        raise ParameterError(f"must have different names, got {repeated!r} twice", parameter="rule")
    return rules


def count_documents(
    tally: CountTally,
    calendar: Calendar,
    dates: npt.NDArray[np.datetime64] | Sequence[datetime.date],
    place_of: Callable[[int], str],
) -> list[Period]:
    """Add documents to a tally by their dates, with or without events; return their periods.

    Parameters
    ----------
    tally, calendar
        The sums, and the length of their periods.
    dates
        Dates of n documents.
    place_of
        Place of the i-th of these documents, for an error.

    Raises
    ------
    InputError
        If a date makes the number of periods too large; then no document is added. We cannot tell whether this date or
        an earlier document's is wrong.
    """
    numbers = calendar.numbers(dates)
    outlier = tally.first_outlier(numbers)
    if outlier is not None:
        rule = f"at most {MOST_PERIODS:,} periods ({calendar.period}) from first to last document"
        date = np.asarray(dates, "datetime64[D]")[outlier]
        raise InputError(f"date must leave {rule}, got {date}", place=place_of(outlier))
    tally.add_documents(numbers)
    return calendar.periods(numbers)
