"""Keys of events: the code of an actor, or one code for each role; joined with ">" in messages and comparisons."""

from __future__ import annotations

from collections.abc import Sequence

EventKey = tuple[str, ...]

_NO_ACTOR = "-"  # in names, in place of the empty code


def event_key(event: str | Sequence[str]) -> EventKey:
    """Codes of an event: ("IRQ", "KWT") for "IRQ>KWT", ("IRQ", "") for "IRQ>-"; a sequence is returned as a tuple."""
    if not isinstance(event, str):
        return tuple(event)
    return tuple("" if code == _NO_ACTOR else code for code in event.split(">"))


def event_name(key: EventKey) -> str:
    """Codes joined with ">"; "-" stands for no actor, and "event" for the event of a rule without roles."""
    return ">".join(code or _NO_ACTOR for code in key) if key else "event"
