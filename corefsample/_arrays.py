"""Names of array types, pandas at its first use, and base classes of results."""

from __future__ import annotations

import dataclasses
import textwrap
from collections.abc import Mapping, Sequence
from html import escape
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from corefsample._lazy import needed
from corefsample.errors import shown

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["pd"]  # for type checkers, which hide what a module imports

Bools = npt.NDArray[np.bool_]
Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]
Ints8 = npt.NDArray[np.int8]
Ints32 = npt.NDArray[np.int32]
Words = npt.NDArray[np.uint64]
Words32 = npt.NDArray[np.uint32]
Floats = npt.NDArray[np.float64]
Floats32 = npt.NDArray[np.float32]

_ROWS = 10


class _Pandas:
    """The module pandas, which loads when one of its names is used."""

    def __getattr__(self, attribute: str) -> Any:
        return getattr(needed("pandas"), attribute)


if not TYPE_CHECKING:
    pd = _Pandas()


class HtmlTable:
    """Base of results. The repr has numbers with four digits, and arrays by type and shape only.

    A notebook shows the repr, and the first rows of the table of results that have one.
    """

    __slots__ = ()

    def __repr__(self) -> str:
        texts = [f"{name}={_described(getattr(self, name))}" for name in self._names()]
        return textwrap.fill(f"{type(self).__name__}({', '.join(texts)})", 116, subsequent_indent="    ")

    def _names(self) -> list[str]:
        return [field.name for field in dataclasses.fields(self) if field.repr]  # type: ignore[arg-type]

    def _repr_html_(self) -> str:
        result: Any = self
        description = f"<pre>{escape(repr(self))}</pre>"
        if not hasattr(result, "to_frame") or find_spec("pandas") is None:
            return description
        table = result.to_frame()
        rows = table.head(_ROWS).to_html(index=False, border=0, float_format="{:.4g}".format, na_rep="")
        n_more = len(table) - _ROWS
        more = f"<p>and {n_more:,} more rows of <code>to_frame()</code></p>" if n_more > 0 else ""
        return f"{description}{rows}{more}"


class Result(HtmlTable):
    """Base of frozen dataclasses with a table, whose arrays are read-only."""

    __slots__ = ()

    def __post_init__(self) -> None:
        for name in self._names():
            value = getattr(self, name)
            if isinstance(value, np.ndarray):
                value.flags.writeable = False

    def _columns(self, *names: str) -> pd.DataFrame:
        """Table with one column per attribute or property."""
        return pd.DataFrame({name: getattr(self, name) for name in names})


def fields_of(value: object, *names: str) -> dict[str, Any]:
    """Attributes of a value by name, for a row of a table; None for attributes that the value does not have."""
    return {name: getattr(value, name, None) for name in names}


def _described(value: object) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{list(value.shape)}"
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, dict) or (isinstance(value, tuple) and len(value) > 3):
        return f"<{len(value)}>"
    if isinstance(value, tuple):
        return f"({', '.join(map(_described, value))})"
    return f"<{type(value).__name__}>" if isinstance(value, Result) else shown(value)


class ByValue:
    """Base of frozen dataclasses that are equal if they are of one class and all their fields are equal."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        names = [field.name for field in dataclasses.fields(self)]  # type: ignore[arg-type]
        return all(_same(getattr(self, name), getattr(other, name)) for name in names)

    def __hash__(self) -> int:
        # Only the length of arrays and lists enters the hash, because equal ones can differ in type.
        values = [getattr(self, field.name) for field in dataclasses.fields(self)]  # type: ignore[arg-type]
        return hash(tuple(len(value) if hasattr(value, "__len__") else None for value in values))


def _same(first: Any, second: Any) -> bool:
    if isinstance(first, np.ndarray) or isinstance(second, np.ndarray):
        return np.array_equal(first, second)
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        return first.keys() == second.keys() and all(_same(first[key], second[key]) for key in first)
    if isinstance(first, Sequence) and isinstance(second, Sequence) and not isinstance(first, str):
        return len(first) == len(second) and all(map(_same, first, second))
    return bool(first == second)
