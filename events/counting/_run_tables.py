"""Tables of counts in the folder of a finished run."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from corefsample.errors import InputError
from corefsample.files import is_file, joined, parquet_source
from events.counting._counts import EventCounts
from events.counting._tables import role_values

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

SAMPLES = "count_samples"


def read_table(run: str | os.PathLike[str], name: str, **options: Any) -> pd.DataFrame:
    """Read a table of a run, by the name of its Parquet file; `options` are those of `pandas.read_parquet`.

    Raises
    ------
    InputError
        If the file is missing in the folder, or damaged.
    """
    import pandas as pd
    import pyarrow as pa

    path = joined(run, f"{name}.parquet")
    if not is_file(path):
        hint = "only runs whose counts share the uncertainty of a recalibration have it" if name == SAMPLES else None
        raise InputError(f"{name}.parquet is missing in the run's folder", place=os.fspath(run), hint=hint)
    try:
        return pd.read_parquet(parquet_source(path), **options)
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"file must be Parquet, got: {' '.join(str(error).split())}", place=path) from None


def check_samples(lists: Iterable[Any], n_samples: int, place: str) -> None:
    """Check the lists of counts by sample that a file of a run has.

    Raises
    ------
    InputError
        If one is not of `n_samples` whole numbers, at least 0.
    """
    for drawn in lists:
        values = np.asarray(drawn)
        found = f"{values.dtype} {values.shape}"
        if values.shape == (n_samples,) and values.dtype.kind == "i":
            if values.min(initial=0) >= 0:
                continue
            found = str(values.min())
        raise InputError(f"counts must be lists of {n_samples:,} whole numbers, at least 0, got {found}", place=place)


def read_samples(run: str | os.PathLike[str], n_samples: int, columns: Sequence[str], **options: Any) -> pd.DataFrame:
    """Read and check columns of the table of counts by sample, those among them, as `read_table` does."""
    table = read_table(run, SAMPLES, columns=list(columns), **options)
    check_samples(table["counts"], n_samples, joined(run, f"{SAMPLES}.parquet"))
    return table


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
    return pa.table([*texts, lists], names=[*names, "counts"])
