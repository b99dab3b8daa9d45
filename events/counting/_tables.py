"""Columns of the tables, with their types; the types of pandas and Arrow follow from them.

Every table begins with the column `event`, the name of the rule, and a column for each role, which the rule names. A
row has the code of an actor in each of these, and an empty text where its rule has no such role or no actor fills it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from events.counting._keys import EventKey, event_name

if TYPE_CHECKING:
    import pandas as pd

COUNTRY = ("country",)  # the role column of rules about one country
_VALUES = {
    "period": "str",
    "period_start": "date",
    "n_docs": "int",
    "mean": "float",
    "mean_mc_se": "float",
    "sd": "float",
    "lower": "float",
    "upper": "float",
    "level": "float",
    "interval": "str",
    "n_samples": "int",
    "one_best": "int",
}


def count_columns(roles: Sequence[str]) -> dict[str, str]:
    """Columns of the table of counts with the given columns of roles, and their types."""
    return {"event": "str", **dict.fromkeys(roles, "str"), **_VALUES}


COUNT_COLUMNS = count_columns(COUNTRY)
COMPARISON_COLUMNS = [
    "event",
    "period",
    "period_start",
    "first",
    "second",
    "p_first_greater",
    "p_equal",
    "p_second_greater",
]
COMPARISON_COLUMNS += ["mean_difference", "lower", "upper", "level"]

_ARROW = {"str": pa.string(), "date": pa.date32(), "int": pa.int64(), "float": pa.float64(), "bool": pa.bool_()}
_PANDAS = {"str": "str", "int": "int64", "float": "float64", "bool": "bool"}


def arrow_schema(columns: Mapping[str, str]) -> pa.Schema:
    """Arrow schema of a table."""
    return pa.schema([(name, _ARROW[kind]) for name, kind in columns.items()])


def pandas_types(columns: Mapping[str, str]) -> dict[str, str]:
    """Types of pandas by column; dates stay Python objects."""
    return {name: _PANDAS[kind] for name, kind in columns.items() if kind != "date"}


def role_values(key: EventKey, columns: Sequence[str]) -> dict[str, str]:
    """Values of the columns of roles; the keys of a predicate can have more codes than its one column."""
    return dict(zip(columns, key if len(key) == len(columns) else (event_name(key),), strict=False))


def role_columns(columns: Iterable[str]) -> tuple[str, ...]:
    """Columns of roles among the columns of a table of counts: those before the period."""
    found = []
    for name in columns:
        if name == "period":
            break
        if name != "event":
            found.append(name)
    return tuple(found)


def row_names(table: pd.DataFrame, *, several: bool | None = None) -> pd.Series[str]:
    """Name of each row's count in a table of counts: its actors, and before them its event where there are several.

    Parameters
    ----------
    table
        From `events.counting.EventCounts.to_frame`, or counts.csv.
    several
        Whether to name the events; by default where the table has several.
    """
    import pandas as pd

    columns = role_columns(table.columns)
    if several is None:
        several = "event" in table and len(table["event"].unique()) > 1
    cells = [table[column].fillna("").astype(str) for column in columns]
    events = table["event"].astype(str) if "event" in table else pd.Series("event", table.index, dtype=str)
    names = [_row_name(event, codes, several=several) for event, *codes in zip(events, *cells, strict=True)]
    return pd.Series(names, table.index, dtype=object)


def _row_name(event: str, codes: Sequence[str], *, several: bool) -> str:
    filled = list(codes)
    while len(filled) > 1 and not filled[-1]:  # columns of other rules
        filled.pop()
    if not any(filled):
        return event if not filled or several else "-"
    return f"{event}: {event_name(tuple(filled))}" if several else event_name(tuple(filled))
