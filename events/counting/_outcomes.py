"""Outcomes in the samples of a document: each is true where one of its events is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from corefsample._arrays import Bools, Bytes
from events.counting._evaluation import DocumentEvents, ParseEvents, Part, hits_and_ways
from events.counting._tables import event_key
from events.rules._outcomes import Outcome


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
