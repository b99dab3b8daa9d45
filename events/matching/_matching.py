"""Matches of a rule in one parse: mentions described as countries, and mentions that fill the roles of an event.

This is done once per document; each sampled clustering then needs only boolean operations (see `events.counting`).
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from corefsample._arrays import Ints32
from corefsample.documents import Tokens
from corefsample.errors import InputError, ParameterError, ParameterHint
from corefsample.syntax import SCHEMES, ParseView, document_schemes, follow, leading_to
from events.lexicon import Lexicon, LexiconMatches
from events.rules import Rule


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class MentionMatches:
    """Matches of a rule and a lexicon in one document.

    Attributes
    ----------
    countries
        Codes described by any mention, sorted.
    described_mentions, described_countries
        int32 (n_descriptions,): mention i is described as ``countries[c]``; a mention may appear several times.
    instances
        int32 (n_instances, n_roles): mentions that fill the event's roles at one trigger.
    triggers
        int32 (n_instances,): token of the trigger.
    n_ambiguous
        Names in the text that the lexicon declares ambiguous.
    described_words
        int32 (n_descriptions, 2): tokens, end exclusive, of the country's name that makes a description, the first of
        several; None if unknown.
    """

    countries: tuple[str, ...]
    described_mentions: Ints32
    described_countries: Ints32
    instances: Ints32
    triggers: Ints32
    n_ambiguous: int = 0
    described_words: Ints32 | None = None

    def __repr__(self) -> str:
        codes = ", ".join(self.countries) or "none"
        n_descriptions, n_instances = len(self.described_mentions), len(self.instances)
        return f"MentionMatches(countries: {codes}; {n_descriptions} descriptions, {n_instances} instances)"

    @property
    def possible(self) -> bool:
        """Whether an event is possible in some clustering."""
        return bool(len(self.countries) and len(self.instances))

    def _compared(self) -> tuple[object, ...]:
        pairs = zip(self.described_mentions.tolist(), self.described_countries.tolist(), strict=True)
        return self.countries, frozenset(pairs), frozenset(map(tuple, self.instances.tolist()))

    def agrees(self, other: MentionMatches) -> bool:
        """Whether both give the same events: they are equal, or no event is possible in either."""
        return not (self.possible or other.possible) or self._compared() == other._compared()


def readable_schemes(labels: Iterable[str], scheme: str | None) -> tuple[str, ...]:
    """Names of the schemes to read a document by: `corefsample.syntax.document_schemes`, for labels from a file.

    Raises
    ------
    InputError
        If the labels fit no scheme, or not the given one.
    """
    try:
        return document_schemes(labels, scheme)
    except ParameterError as error:
        raise InputError(error.message, hint=error.hint) from None


def ambiguous_labels(schemes: Sequence[str], things: str) -> InputError:
    """Error of labels that fit several schemes, which give different things."""
    rule = f"tokens.dep must fit one dependency scheme, got labels that fit {' and '.join(schemes)}"
    return InputError(f"{rule}, which give different {things}", hint=ParameterHint("scheme", "chooses"))


def match_document(
    tokens: Tokens,
    mentions: Ints32,
    rule: Rule,
    lexicon: Lexicon,
    date: datetime.date | None,
    scheme: str | None = None,
) -> MentionMatches:
    """Match a rule and a lexicon against a parse.

    Parameters
    ----------
    tokens, mentions
        Of one document; mentions int32 (n_mentions, 3): start, end, head.
    rule, lexicon
        What to look for.
    date
        Chooses between countries that share a name.
    scheme
        Name of the dependency scheme, or None to recognise it from the labels.

    Raises
    ------
    InputError
        If the labels fit no scheme, or several that give different events.
    """
    readable = readable_schemes(tokens.dep, scheme)
    served = [name for name in readable if rule.serves(name)]
    if not served:
        raise InputError(
            f"tokens.dep must fit a scheme that the rule {rule.name} has paths for, got {' or '.join(readable)}"
        )
    readings = [_Reading(tokens, mentions, rule, name) for name in served]
    if not any(reading.instances for reading in readings):
        return readings[0].matches(LexiconMatches({}, {}, 0))
    found = lexicon.match(tokens.text, readings[0].view.heads, date)
    matches = [reading.matches(found) for reading in readings]
    if not all(matches[0].agrees(other) for other in matches[1:]):
        raise ambiguous_labels([reading.scheme for reading in readings], "events")
    return matches[0]


class _Reading:
    """A parse in one scheme, with the instances of the rule's event."""

    def __init__(self, tokens: Tokens, mentions: Ints32, rule: Rule, scheme: str) -> None:
        self.scheme = scheme
        self.view = ParseView(tokens, SCHEMES[scheme])
        self._rule = rule
        self._by_head: dict[int, list[int]] = {}
        for mention, head in enumerate(mentions[:, 2].tolist()):
            self._by_head.setdefault(head, []).append(mention)
        self.instances, self._triggers = _instances(self.view, self._by_head, rule, scheme)

    def matches(self, found: LexiconMatches) -> MentionMatches:
        """Add the mentions that are described as a country, given the names of countries in the text."""
        words = _described(self.view, self._by_head, self._rule.described[self.scheme], found.codes)
        described = sorted(words)
        countries = tuple(sorted({code for _, code in described}))
        number = {code: c for c, code in enumerate(countries)}
        return MentionMatches(
            countries=countries,
            described_mentions=np.array([m for m, _ in described], np.int32),
            described_countries=np.array([number[code] for _, code in described], np.int32),
            instances=np.array(self.instances, np.int32).reshape(-1, len(self._rule.event)),
            triggers=np.array(self._triggers, np.int32),
            n_ambiguous=found.n_ambiguous,
            described_words=np.array([found.spans[words[pair]] for pair in described], np.int32).reshape(-1, 2),
        )


def _described(
    view: ParseView, by_head: Mapping[int, list[int]], paths: tuple[str, ...], codes: Mapping[int, str]
) -> dict[tuple[int, str], int]:
    """Mentions and the countries to which a description path of their head leads, with the first such token."""
    words: dict[tuple[int, str], int] = {}
    for token in sorted(codes, reverse=True):  # the first token of a country replaces later ones
        heads = {head for path in paths for head in leading_to(path, view, token) if head in by_head}
        words |= {(mention, codes[token]): token for head in heads for mention in by_head[head]}
    return words


def _instances(
    view: ParseView, by_head: Mapping[int, list[int]], rule: Rule, scheme: str
) -> tuple[list[tuple[int, ...]], list[int]]:
    """All ways to fill the roles of the event at each trigger, each once, in the order of the text."""
    instances, triggers = [], []
    lemmas = {lemma for lemma in set(view.lemma) if lemma.lower() in rule.lemmas}
    for token in [t for t, lemma in enumerate(view.lemma) if lemma in lemmas]:
        if view.upos[token] not in rule.upos:
            continue
        fillers = [
            sorted(
                {
                    mention
                    for path in rule.roles[role][scheme]
                    for head in follow(path, view, token)
                    for mention in by_head.get(head, ())
                }
            )
            for role in rule.event
        ]
        for instance in product(*fillers):
            instances.append(instance)
            triggers.append(token)
    return instances, triggers
