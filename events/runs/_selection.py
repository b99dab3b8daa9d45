"""Which documents of a corpus are used, by their metadata."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from corefsample.errors import ParameterError


def parsed_conditions(where: Sequence[str]) -> list[tuple[str, str]]:
    """Fields and patterns of conditions such as "section=Foreign*"; raise ParameterError if one has no "="."""
    conditions = []
    for condition in where:
        name, equals, pattern = condition.partition("=")
        if not name or not equals:
            raise ParameterError(f"must be FIELD=PATTERN, got {condition!r}", parameter="where")
        conditions.append((name, pattern))
    return conditions


class Selection:
    """Documents whose metadata fulfil all conditions; call it with the metadata of each.

    A pattern is compared with the whole value as text, with its case; `*` stands for any text, `?` for a character,
    `[ab]` for one of several. Of a list some value must match. A document without the field is not selected.

    Attributes
    ----------
    n_not_selected
        Documents so far that are left out.
    """

    def __init__(self, where: Sequence[str]) -> None:
        self._conditions = parsed_conditions(where)
        self.n_not_selected = 0

    def __call__(self, metadata: Mapping[str, Any]) -> bool:
        is_selected = all(_matches(metadata.get(name), pattern) for name, pattern in self._conditions)
        self.n_not_selected += not is_selected
        return is_selected


def _matches(value: object, pattern: str) -> bool:
    values = value if isinstance(value, (list, tuple)) else [] if value is None else [value]
    return any(fnmatchcase(str(each), pattern) for each in values)
