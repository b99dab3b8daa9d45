"""Keys of events: the code of a country, or one code for each role; joined with ">" in tables and messages."""

from __future__ import annotations

from collections.abc import Sequence

EventKey = tuple[str, ...]


def event_key(event: str | Sequence[str]) -> EventKey:
    """Codes of an event: ("IRQ", "KWT") for "IRQ>KWT"; a sequence of codes is returned as a tuple."""
    return tuple(event.split(">")) if isinstance(event, str) else tuple(event)


def event_name(key: EventKey) -> str:
    """Codes joined with ">", as in the column `country` of tables."""
    return ">".join(key)
