"""How results are shown in notebooks."""

from __future__ import annotations

from html import escape
from importlib.util import find_spec
from typing import Any

_ROWS = 10


class HtmlTable:
    """Base of results: in a notebook their description, and the first rows of their table if they have one."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        made: Any = self
        description = f"<pre>{escape(repr(self))}</pre>"
        if not hasattr(made, "to_frame") or find_spec("pandas") is None:
            return description
        table = made.to_frame()
        rows = table.head(_ROWS).to_html(index=False, border=0, float_format="{:.4g}".format, na_rep="")
        n_more = len(table) - _ROWS
        more = f"<p>and {n_more:,} more rows of <code>to_frame()</code></p>" if n_more > 0 else ""
        return f"{description}{rows}{more}"
