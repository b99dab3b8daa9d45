"""Tables of counts in the folder of a finished run."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from corefsample.errors import InputError
from corefsample.files._paths import is_file, joined, parquet_source
from events.counting._counts import EventCounts
from events.counting._tables import (
    TABLE_METADATA,
    arrow_schema,
    count_columns,
    role_columns,
    role_values,
)

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

SAMPLES = "count_samples"


def checked_table(path: str, columns: Sequence[str], schema: pa.Schema, filters: Any = None) -> pd.DataFrame:
    """Read columns of a table of a run, in which every number is finite and no value is missing.

    Parameters
    ----------
    path
        File or URL.
    columns
        Names, in the order of the result.
    schema
        With the types of these columns.
    filters
        Of rows, as of `pyarrow.parquet.read_table`.

    Raises
    ------
    InputError
        If the file is damaged, a column is missing, or a value breaks the rule.
    """
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    hint = "repeat the run with this version"
    try:
        found = pq.read_schema(parquet_source(path))
        missing = [name for name in columns if name not in found.names]
        if missing:
            raise InputError(f"column {missing[0]} is missing", place=path, hint=hint)
        if any((found.metadata or {}).get(key, version) != version for key, version in TABLE_METADATA.items()):
            raise InputError("table must be of this version, got another", place=path, hint=hint)
        table = pq.read_table(parquet_source(path), columns=list(columns), filters=filters)
        table.validate(full=True)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise InputError(f"file must be Parquet, got: {' '.join(str(error).split())}", place=path) from None
    for name in columns:
        column, wanted = table.column(name), schema.field(name).type
        is_text = pa.types.is_large_string(column.type) and pa.types.is_string(wanted)  # pandas writes the former
        if column.type != wanted and not is_text:
            raise InputError(f"column {name} must be {wanted}, got {column.type}", place=path)
        if column.null_count:
            raise InputError(f"column {name} must have no missing value, got {column.null_count}", place=path)
        if pa.types.is_floating(wanted) and not pc.all(pc.is_finite(column)).as_py() and len(column):
            raise InputError(f"column {name} must be finite, got another number", place=path)
    # Metadata for pandas would be read from the file, and may be damaged.
    frame: pd.DataFrame = table.replace_schema_metadata(None).to_pandas()
    return frame


def table_path(run: str | os.PathLike[str], name: str) -> str:
    """Path of a table of a run, by the name of its Parquet file.

    Raises
    ------
    InputError
        If it is missing in the folder.
    """
    path = joined(run, f"{name}.parquet")
    if not is_file(path):
        hint = "only runs whose counts share the uncertainty of a recalibration have it" if name == SAMPLES else None
        raise InputError(f"{name}.parquet is missing in the run's folder", place=os.fspath(run), hint=hint)
    return path


def read_counts(run: str | os.PathLike[str], filters: Any = None) -> pd.DataFrame:
    """Read and check the table of counts of a run, or some of its rows."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = table_path(run, "counts")
    try:
        names = pq.read_schema(parquet_source(path)).names
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise InputError(f"file must be Parquet, got: {' '.join(str(error).split())}", place=path) from None
    columns = count_columns(role_columns(names), recalibrated="uncertainty" in names)
    return checked_table(path, tuple(columns), arrow_schema(columns), filters)


def read_samples(path: str, named: Sequence[str], n_samples: int, filters: Any = None) -> pd.DataFrame:
    """Read and check the table of counts by sample of a run, or some of its rows; `named` are event and roles."""
    import pyarrow as pa

    schema = pa.schema([*((name, pa.string()) for name in (*named, "period")), ("counts", pa.list_(pa.int32()))])
    table = checked_table(path, schema.names, schema, filters)
    _check_samples(table["counts"], n_samples, path)
    return table


def _check_samples(lists: Iterable[Any], n_samples: int, place: str) -> None:
    """Raise an InputError if a list is not of `n_samples` whole numbers, at least 0."""
    for drawn in lists:
        values = np.asarray(drawn)
        found = f"{values.dtype} {values.shape}"
        if values.shape == (n_samples,) and values.dtype.kind == "i":
            if values.min(initial=0) >= 0:
                continue
            found = str(values.min())
        raise InputError(f"counts must be lists of {n_samples:,} whole numbers, at least 0, got {found}", place=place)


def samples_table(several: Sequence[EventCounts], roles: Sequence[str]) -> pa.Table:
    """Sampled counts of several rules, of each actor and period with a document of P > 0.

    Parameters
    ----------
    several
        The counts, whose tallies keep counts by sample.
    roles
        Columns of the roles of all rules.

    Returns
    -------
    pyarrow.Table
        event; a column for each role; period; counts, a list of n_samples: entry s is the count in the s-th sampled
        clustering of every document, under the draw of the recalibration that they share in it.
    """
    import pyarrow as pa

    rows, sampled = [], [np.zeros(0, np.int32)]
    for counts in several:
        labels = {period.number: period.label for period in counts.periods()}
        for (key, number), cell in sorted(counts.tally.cells(), key=lambda item: item[0]):
            if cell.hits:
                values = dict.fromkeys(roles, "") | role_values(key, counts.columns)
                rows.append({"event": counts.event, **values, "period": labels[number]})
                sampled.append(cell.by_sample)
    names = ("event", *roles, "period")
    flat = np.concatenate(sampled)
    offsets = np.arange(len(rows) + 1) * (len(flat) // max(len(rows), 1))
    lists = pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pa.array(flat))
    texts = [pa.array([row[name] for row in rows], pa.string()) for name in names]
    return pa.table([*texts, lists], names=[*names, "counts"], metadata=TABLE_METADATA)
