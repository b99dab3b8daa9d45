"""Events one by one: a row for each trigger and actor, as users of event data expect; counts are of documents."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from corefsample.documents._tokens import Tokens
from events.counting._evaluation import DocumentEvents, ParseEvents
from events.counting._tables import EventKey
from events.matching._matching import DEFAULT, NO_ACTOR


@dataclass(frozen=True, slots=True)
class EventRow:
    """One trigger with the actors of its event; a row of the table of events.

    Attributes
    ----------
    doc_id, date, period
        The document, and the label of its period.
    event, actors
        Name of the rule, and the code of each role.
    probability
        P(the trigger makes the event of these actors); of several mentions that fill a role, the highest.
    filled
        "named" if the text names the actors, "default" if a default actor fills a role, "both" if that differs between
        parses, empty if the event has no actor.
    sentence, trigger, token, frame
        Text of the sentence; word of the trigger, its number in the document, and the frame of the rule.
    """

    doc_id: str
    date: datetime.date
    period: str
    event: str
    actors: EventKey
    probability: float
    filled: str
    sentence: str
    trigger: str
    token: int
    frame: str


def event_rows(several: Sequence[DocumentEvents], period: str, tokens: Tokens | None) -> list[EventRow]:
    """Rows of one document; none of outcomes, and none without tokens, which a predicate does not need."""
    rows: list[EventRow] = []
    if tokens is None:
        return rows
    bounds = tokens.sentences()
    for events in several:
        if events.parts:
            continue
        found: dict[tuple[int, EventKey], list[_InParse]] = {}
        for each in events.parses:
            for place, in_parse in _in_parse(each).items():
                found.setdefault(place, []).append(in_parse)
        for (token, key), parses in sorted(found.items()):
            sentence = " ".join(tokens.text[slice(*bounds[int(tokens.sent[token])])])
            probability = sum(each.n_hits for each in parses) / events.n_samples
            filled = {each.filled for each in parses}
            text = filled.pop() if len(filled) == 1 else "both"
            rows.append(
                EventRow(
                    *(events.doc_id, events.date, period, events.event, key, probability, text),
                    *(sentence, tokens.text[token], token, parses[0].frame),
                )
            )
    return rows


class _InParse(NamedTuple):
    n_hits: int
    filled: str
    frame: str


def _in_parse(events: ParseEvents) -> dict[tuple[int, EventKey], _InParse]:
    """By trigger and event what one parse has: of several instances the one with the most samples."""
    found: dict[tuple[int, EventKey], _InParse] = {}
    matches, keys = events.matches, events.keys
    instances, triggers = matches.instances.tolist(), matches.triggers.tolist()
    by_default = matches.by_default
    for t, k in np.argwhere(events.instance_hits).tolist():
        key = keys[k]
        # Where a default actor has the event, the row of nobody would be the same event again.
        if any(m == DEFAULT and code == NO_ACTOR for m, code in zip(instances[t], key, strict=True)):
            continue
        filled = "" if not any(key) else "default" if by_default[t, k] else "named"
        own = _InParse(int(events.instance_hits[t, k]), filled, matches.frames[t] if matches.frames else "")
        place = triggers[t], key
        if place not in found or own.n_hits > found[place].n_hits:
            found[place] = own
    return found
