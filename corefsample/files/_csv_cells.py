"""CSV files of texts that others wrote, such that a spreadsheet runs none of their cells as a formula.

A text that begins with ``=``, ``+``, ``-``, ``@``, a tab or a line end gets an apostrophe before it, and so does one
with apostrophes before such a beginning. Reading takes one apostrophe away, so that every text is the same again.
"""

from __future__ import annotations

import csv
import re
from typing import TYPE_CHECKING

from corefsample._arrays import pd

if TYPE_CHECKING:
    import pyarrow as pa

_FORMULA = r"'*[=+\-@\t\r\n]"


def escaped(cell: object) -> object:
    """Value of a cell, in which a text that a spreadsheet would read as a formula is escaped by an apostrophe."""
    return f"'{cell}" if isinstance(cell, str) and re.match(_FORMULA, cell) else cell


def escaped_frame(table: pd.DataFrame) -> pd.DataFrame:
    """Table whose texts are escaped."""
    return table.assign(**table.select_dtypes(exclude=["number", "bool", "datetime"]).map(escaped))


def unescaped(text: str) -> str:
    """Original text of a cell that `escaped` returned."""
    return text[1:] if text.startswith("'") and re.match(_FORMULA, text) else text


def escaped_texts(table: pa.Table) -> pa.Table:
    """Arrow table whose texts are escaped."""
    import pyarrow as pa
    import pyarrow.compute as pc

    for number, field in enumerate(table.schema):
        if pa.types.is_string(field.type):
            texts = pc.replace_substring_regex(table.column(number), rf"\A({_FORMULA})", r"'\1")
            table = table.set_column(number, field, texts)
    return table


def write_csv(table: pd.DataFrame, path: str) -> None:
    """Write a table whose texts are escaped; they are in quotes, since a carriage return alone ends a row otherwise."""
    escaped_frame(table).to_csv(path, index=False, quoting=csv.QUOTE_NONNUMERIC)
