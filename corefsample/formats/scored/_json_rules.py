"""What JSON, or a reader of it, would let pass and the format does not: numbers that are none, keys that repeat."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Mapping
from typing import Any

import msgspec

from corefsample.documents import shown
from corefsample.errors import ParameterError

__all__ = ["non_finite", "repeated_key", "require_json"]

_LONGEST = 80  # of a place in a message
_OPENING = re.compile(rb"\s*\{\s*")
_KEY = re.compile(rb'"((?:[^"\\]|\\.)*)"\s*:\s*')
_COMMA = re.compile(rb"\s*,\s*")
_END = re.compile(rb"\s*\}\s*")


def non_finite(content: Any, path: str = "") -> tuple[str, float] | None:
    """Place and value of the first number in JSON-like content that is NaN or infinite."""
    stack = [(path, content)]  # no recursion: content may be deeper than Python's stack
    while stack:
        place, value = stack.pop()
        if isinstance(value, float) and not math.isfinite(value):
            return (place if len(place) <= _LONGEST else f"{place[:_LONGEST]}..."), value
        if isinstance(value, Mapping):
            stack += [(f"{place}.{key}", each) for key, each in reversed(list(value.items()))]
        elif isinstance(value, (list, tuple)):
            stack += [(f"{place}[{i}]", each) for i, each in reversed(list(enumerate(value)))]
    return None


def require_json(name: str, content: Mapping[str, Any]) -> None:
    """Refuse what cannot be written as JSON, or would be written as null.

    Raises
    ------
    ParameterError
        Naming the place.
    """
    found = non_finite(content, name)
    if found is not None:
        raise ParameterError(f"{found[0]} must be finite, got {found[1]}")
    try:
        msgspec.json.encode(dict(content))
    except (TypeError, ValueError, RecursionError) as error:
        raise ParameterError(f"{name} must be what JSON can hold, got {shown(content)}: {error}") from None


def repeated_key(text: bytes, members: Mapping[str, msgspec.Raw], known: Collection[str]) -> str | None:
    """Return a key that appears twice in a JSON object, of which a reader keeps the last value alone, or None.

    Parameters
    ----------
    text
        The object, which is JSON.
    members
        What a reader keeps of it, each value as it stands in the text.
    known
        Keys whose values are lists or plain, or looked at elsewhere; the values of all others are looked into.
    """
    if not _spells(text, members):
        found = _first_repeated(text)
        if found is not None:
            return found
    inner = (bytes(value) for key, value in members.items() if key not in known)
    return next((found for value in inner if b"{" in value and (found := _first_repeated(value)) is not None), None)


def _spells(text: bytes, members: Mapping[str, msgspec.Raw]) -> bool:
    """Whether the members in their order, written down as they are, are the whole object: then none is lost."""
    opening = _OPENING.match(text)
    if opening is None:
        return False
    place = opening.end()
    for number, (key, value) in enumerate(members.items()):
        if number:
            comma = _COMMA.match(text, place)
            place = comma.end() if comma else place
        name = _KEY.match(text, place)
        if name is None or name.group(1) != key.encode("utf-8", "surrogatepass"):
            return False  # an escape in a key comes here as well, which is rare enough
        as_kept = bytes(value)
        place = name.end() + len(as_kept)
        if text[name.end() : place] != as_kept:
            return False
    return _END.fullmatch(text, place) is not None


class _RepeatedKeyError(Exception):
    """Carries the key."""


def _first_repeated(text: bytes) -> str | None:
    def pairs(items: list[tuple[str, Any]]) -> None:
        seen = set()
        for key, _ in items:
            if key in seen:
                raise _RepeatedKeyError(key)
            seen.add(key)

    try:
        json.loads(text, object_pairs_hook=pairs)
    except _RepeatedKeyError as found:
        return str(found)
    except (ValueError, RecursionError):  # too long a number, too deep a list: for others to refuse
        return None
    return None
