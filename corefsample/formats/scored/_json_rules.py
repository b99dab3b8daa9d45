"""Rules that JSON, or a reader of it, does not enforce: numbers are finite, and no key repeats."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Mapping
from typing import Any

import msgspec

from corefsample._checks import shown
from corefsample.errors import ParameterError

_LONGEST = 80  # characters of a path in a message


def non_finite(content: Any, path: str = "") -> tuple[str, float] | None:
    """Path and value of the first number in JSON-like content that is NaN or infinite."""
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


def require_json(name: str, content: Mapping[str, Any], place: str) -> None:
    """Raise if content cannot be written as JSON, or would be written as null.

    Raises
    ------
    ParameterError
        With the path of the value.
    """
    found = non_finite(content, name)
    if found is not None:
        raise ParameterError(f"{found[0]} must be finite, got {found[1]}", place=place)
    try:
        msgspec.json.encode(dict(content))
    except (TypeError, ValueError, RecursionError) as error:
        rule = f"{name} must be what JSON can represent"
        raise ParameterError(f"{rule}, got {shown(content)}: {error}", place=place) from None


def repeated_key(text: bytes, members: Mapping[str, msgspec.Raw], known: Collection[str]) -> str | None:
    """Return a key that appears twice in a JSON object, of which a reader keeps only the last value, or None.

    Parameters
    ----------
    text
        The object, which is valid JSON.
    members
        The members that a reader keeps, each value as it stands in the text.
    known
        Keys whose values are lists or plain, or are checked elsewhere; the values of all others are searched as well.
    """
    values = [bytes(value) for value in members.values()]
    # A lost member would have left two or more quotation marks in the text: those around its key.
    n_quotes = 2 * len(values) + sum(value.count(b'"') for value in values)
    if text.count(b'"') != n_quotes or any('"' in key for key in members):
        found = _first_repeated(text)
        if found is not None:
            return found
    inner = (value for key, value in zip(members, values, strict=True) if key not in known and b"{" in value)
    return next((found for value in inner if (found := _first_repeated(value)) is not None), None)


class _RepeatedKeyError(Exception):
    """Carries the key."""


def _first_repeated(text: bytes) -> str | None:
    def pairs(items: list[tuple[str, Any]]) -> None:
        keys = [key for key, _ in items]
        if len(set(keys)) < len(keys):
            raise _RepeatedKeyError(next(key for i, key in enumerate(keys) if key in keys[:i]))

    try:
        json.loads(text, object_pairs_hook=pairs)
    except _RepeatedKeyError as found:
        return str(found)
    except (ValueError, RecursionError):  # too long a number, too deep a list: other checks report it
        return None
    return None
