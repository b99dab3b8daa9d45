"""Outcomes in the samples of a document: each is true where one of its events is.

Also here: the check of outcomes against the rules and the lexicon.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from corefsample._arrays import Bools, Bytes
from corefsample.errors import CorefsampleError, InputError, ParameterError
from events.counting._evaluation import DocumentEvents, ParseEvents, Part, hits_and_ways
from events.counting._tables import event_key
from events.lexicon._lexicon import Lexicon
from events.rules._outcomes import ANYBODY, CLASS, NOBODY, Outcome
from events.rules._rules import Rule


def outcome_events(
    several: Sequence[DocumentEvents], outcomes: Sequence[Outcome], kinds: Mapping[str, str]
) -> list[DocumentEvents]:
    """Outcomes of one document as events, by name; a row for each of the actors with which one can be true.

    Parameters
    ----------
    several
        Events of the document by rule, in the same samples. A rule that is not there has no event.
    outcomes
        What is counted.
    kinds
        Class of each actor of the lexicon.
    """
    by_rule = {events.event: events for events in several}
    found = []
    for name in dict.fromkeys(outcome.name for outcome in outcomes):
        rows: list[tuple[str, list[Part]]] = []
        for outcome in outcomes:
            if outcome.name == name:
                own = [by_rule[event] for event in dict.fromkeys(outcome.events) if event in by_rule]
                parts = [(events, outcome.chosen(events.keys, kinds)) for events in own]
                if any(chosen for _, chosen in parts):
                    rows.append((outcome.actors, [part for part in parts if part[1]]))
        if rows:
            found.append(_union(name, rows, several[0]))
    return found


def _union(name: str, rows: Sequence[tuple[str, list[Part]]], document: DocumentEvents) -> DocumentEvents:
    """Events of one name: the codes of their keys are the texts of the actors."""
    ways: Bytes = np.zeros((len(rows), document.n_samples), np.uint8)
    one_best: Bools = np.zeros(len(rows), np.bool_)
    parses: dict[int, ParseEvents] = {}
    for e, (_, parts) in enumerate(rows):
        for events, chosen in parts:
            in_ways = events.hits if events.ways is None else events.ways
            ways[e] |= np.bitwise_or.reduce(in_ways[chosen], axis=0)
            one_best[e] |= events.one_best[chosen].any()
            parses |= {each.parse: each for each in events.parses if each.parse not in parses}
    hits, several_ways = hits_and_ways(ways)
    return DocumentEvents(
        *(document.doc_id, document.date, tuple(event_key(actors) for actors, _ in rows), hits, one_best, name),
        parses=tuple(each for _, each in sorted(parses.items())),
        parse_counts=document.parse_counts,
        ways=several_ways,
        parts=tuple(tuple(parts) for _, parts in rows),
    )


def check_outcomes(outcomes: Sequence[Outcome], rules: Sequence[Rule], lexicon: Lexicon) -> None:
    """Raise ParameterError unless outcomes are of these rules and actors, and of rules with the same samples."""
    by_name = {rule.name: rule for rule in rules}
    for n, outcome in enumerate(outcomes):
        try:
            _check(outcome, by_name, lexicon)
            if outcome in outcomes[:n] or any(
                (each.name, each.actors) == (outcome.name, outcome.actors) for each in outcomes[:n]
            ):
                raise ParameterError("must have different names or actors, got the same twice")
        except CorefsampleError as error:
            raise ParameterError(f"{outcome}: {error.message}", parameter="outcome", hint=error.hint) from None


def _check(outcome: Outcome, rules: Mapping[str, Rule], lexicon: Lexicon) -> None:
    if outcome.name in rules:
        raise InputError(f"name must be that of no rule, got {outcome.name!r}")
    unknown = [name for name in outcome.events if name not in rules]
    if unknown:
        raise InputError(f"events must be of the rules {', '.join(rules)}, got {unknown[0]!r}")
    chosen = [rules[name] for name in outcome.events]
    if len({rule.distinct_actors for rule in chosen}) > 1:
        names = ", ".join(rule.name for rule in chosen if rule.distinct_actors)
        raise InputError(f"rules must all have distinct_actors or none, got it for {names} only")
    for pattern in outcome.actors.split("|"):
        codes = pattern.split(">")
        short = [rule for rule in chosen if len(rule.event) < len(codes) and pattern != ANYBODY]
        if short:
            raise InputError(f"actors must be at most as many as roles of {short[0].name}, got {pattern!r}")
        for code in codes:
            of_class = CLASS.fullmatch(code)
            if of_class is None and code not in (ANYBODY, NOBODY):
                lexicon.require(code)
            elif of_class is not None and of_class[1] not in lexicon.kinds.values():
                known = ", ".join(sorted(set(lexicon.kinds.values())))
                raise InputError(f"classes must be of the lexicon {lexicon.source} ({known}), got {of_class[1]!r}")
