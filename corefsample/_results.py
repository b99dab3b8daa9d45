"""What results share: read-only arrays, and a short repr."""

from __future__ import annotations

import dataclasses
import textwrap
from typing import Any

import numpy as np

from corefsample import _checks
from corefsample._html import HtmlTable
from corefsample._lazy import pd


class Result(HtmlTable):
    """Base of frozen dataclasses: its arrays are read-only, and its repr gives their type and shape only."""

    __slots__ = ()

    def __post_init__(self) -> None:
        for name in self._names():
            value = getattr(self, name)
            if isinstance(value, np.ndarray):
                value.flags.writeable = False

    def __repr__(self) -> str:
        texts = [f"{name}={_described(getattr(self, name))}" for name in self._names()]
        return textwrap.fill(f"{type(self).__name__}({', '.join(texts)})", 116, subsequent_indent="    ")

    def _columns(self, *names: str) -> pd.DataFrame:
        """Table with one column per attribute or property."""
        return pd.DataFrame({name: getattr(self, name) for name in names})

    def _names(self) -> list[str]:
        return [field.name for field in dataclasses.fields(self)]  # type: ignore[arg-type]


def fields_of(value: object, *names: str) -> dict[str, Any]:
    """Attributes of a value by their names, for a row of a table; None for those that it does not have."""
    return {name: getattr(value, name, None) for name in names}


def _described(value: object) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{list(value.shape)}"
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, tuple):
        return f"<{len(value)}>" if len(value) > 3 else f"({', '.join(map(_described, value))})"
    return f"<{type(value).__name__}>" if isinstance(value, Result) else _checks.shown(value)
