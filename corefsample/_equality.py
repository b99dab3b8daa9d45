"""Equality by value of frozen dataclasses with arrays."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np


class ByValue:
    """Base of frozen dataclasses that are equal if they are of one class and all their fields are equal."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        names = [field.name for field in dataclasses.fields(self)]  # type: ignore[arg-type]
        return all(_same(getattr(self, name), getattr(other, name)) for name in names)

    def __hash__(self) -> int:
        # Of arrays and lists the length alone, because equal ones can differ in type.
        values = [getattr(self, field.name) for field in dataclasses.fields(self)]  # type: ignore[arg-type]
        return hash(tuple(len(each) if hasattr(each, "__len__") else None for each in values))


def _same(first: Any, second: Any) -> bool:
    if isinstance(first, np.ndarray) or isinstance(second, np.ndarray):
        return np.array_equal(first, second)
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        return first.keys() == second.keys() and all(_same(first[key], second[key]) for key in first)
    if isinstance(first, Sequence) and isinstance(second, Sequence) and not isinstance(first, str):
        return len(first) == len(second) and all(map(_same, first, second))
    return bool(first == second)
