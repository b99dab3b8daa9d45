"""Names of counts for people."""

from __future__ import annotations

from collections.abc import Mapping


def shown_name(code: str, names: Mapping[str, str]) -> str:
    """Names of the actors of an event, after its own name where a run has several rules.

    Examples
    --------
    >>> shown_name("attack: IRQ>KWT", {"IRQ": "Iraq", "KWT": "Kuwait"})
    'attack: Iraq > Kuwait'
    """
    event, colon, actors = code.rpartition(": ")
    known = {**names, "-": "no actor named"}
    return event + colon + " > ".join(str(known.get(part, part)) for part in actors.split(">"))
