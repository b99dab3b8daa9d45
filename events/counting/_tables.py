"""Columns of the tables, with their types; the types of pandas and Arrow follow from them."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

COUNT_COLUMNS = {
    "country": "str",
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
COMPARISON_COLUMNS = ["period", "period_start", "first", "second", "p_first_greater", "p_equal", "p_second_greater"]
COMPARISON_COLUMNS += ["mean_difference", "lower", "upper", "level"]

_ARROW = {"str": pa.string(), "date": pa.date32(), "int": pa.int64(), "float": pa.float64(), "bool": pa.bool_()}
_PANDAS = {"str": "str", "int": "int64", "float": "float64", "bool": "bool"}


def arrow_schema(columns: Mapping[str, str]) -> pa.Schema:
    """Arrow schema of a table."""
    return pa.schema([(name, _ARROW[kind]) for name, kind in columns.items()])


def pandas_types(columns: Mapping[str, str]) -> dict[str, str]:
    """Types of pandas by column; dates stay Python objects."""
    return {name: _PANDAS[kind] for name, kind in columns.items() if kind != "date"}
