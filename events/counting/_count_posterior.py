"""The exact posterior of one count: one country in one period, from memory or from a run's folder."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from corefsample._arrays import Floats
from corefsample.errors import InputError, ParameterError
from corefsample.files import is_file, joined, parquet_source
from events.counting._counts import EventCounts, Interval
from events.counting._poisson_binomial import count_pmf
from events.counting._tables import COUNT_COLUMNS

if TYPE_CHECKING:
    import pandas as pd

_TYPES: dict[str, type] = {"str": str, "int": int, "float": float}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CountPosterior:
    """Posterior of the number of documents with an event, of one country in one period.

    Attributes
    ----------
    country, period
        Which count: "YUG", "1999Q2".
    n_docs
        Documents of the period.
    pmf
        float64 (n + 1,) in [0, 1], read-only: entry k is P(count = k), for n documents with evidence.
    mean, sd
        Of the count.
    lower, upper
        Ends of the credible interval; those of "normal" are not whole numbers, and can be negative.
    level, interval
        Of the credible interval: see `events.counting.EventCounts`.
    one_best
        The count by the likeliest antecedents alone.
    """

    country: str
    period: str
    n_docs: int
    pmf: Floats
    mean: float
    sd: float
    lower: float
    upper: float
    level: float
    interval: str
    one_best: int

    def __post_init__(self) -> None:
        self.pmf.flags.writeable = False

    def __repr__(self) -> str:
        return (
            f"CountPosterior({self.country}, {self.period}: {self.n_docs:,} documents)\n"
            f"  mean {self.mean:.4g}, sd {self.sd:.4g}, one best {self.one_best}\n"
            f"  {100 * self.level:g}% {self.interval} interval: {self.lower:.4g} to {self.upper:.4g}"
        )

    def to_frame(self) -> pd.DataFrame:
        """Tidy table, one row for each possible count: country, period, count, probability."""
        import pandas as pd

        return pd.DataFrame(
            {
                "country": self.country,
                "period": self.period,
                "count": np.arange(self.pmf.size),
                "probability": self.pmf,
            }
        )


def count_posterior(
    counts: EventCounts, country: str, period: str, *, level: float | None = None, interval: Interval | None = None
) -> CountPosterior:
    """Posterior of one count, exact given each document's P(event).

    Parameters
    ----------
    counts
        From `events.EventCounter.counts`.
    country, period
        Which count: "YUG", "1999Q2". A known country without evidence has a count of zero.
    level, interval
        Of the credible interval; by default as in `counts`.

    Raises
    ------
    ParameterError
        If country or period is unknown, or level or interval breaks its rule.
    """
    options: dict[str, Any] = {"level": level, "interval": interval}
    counts = dataclasses.replace(counts, **{name: value for name, value in options.items() if value is not None})
    return _of_row(counts.row(counts.key(country), counts.period(period)), counts.pmf(country, period))


def read_count_posterior(run: str | os.PathLike[str], country: str, period: str) -> CountPosterior:
    """Posterior of one count from the folder of a finished run: its counts.parquet and evidence.parquet.

    Parameters
    ----------
    run
        The folder that `corefsample events` wrote.
    country, period
        Which count: a row of its table of counts.

    Raises
    ------
    InputError
        If one of the files is missing in the folder.
    ParameterError
        If the table of counts has no such row.
    """
    import pandas as pd

    tables = []
    for name, columns in (("counts.parquet", None), ("evidence.parquet", ["country", "period", "probability"])):
        path = joined(run, name)
        if not is_file(path):
            raise InputError(f"{name} is missing in the run's folder", place=os.fspath(run))
        rows = [("country", "==", country), ("period", "==", period)]
        tables.append(pd.read_parquet(parquet_source(path), columns=columns, filters=rows))
    counts, evidence = tables
    if counts.empty:
        raise ParameterError(
            f"must be in a row of the counts, got {country!r} and {period!r}",
            parameter="country and period",
            place=os.fspath(run),
        )
    (row,) = counts.to_dict("records")
    return _of_row(row, count_pmf(evidence["probability"].to_numpy(np.float64)))


def _of_row(row: Mapping[Any, Any], pmf: Floats) -> CountPosterior:
    """Posterior with the values of a row of the table of counts."""
    names = [field.name for field in dataclasses.fields(CountPosterior) if field.name in COUNT_COLUMNS]
    return CountPosterior(pmf=pmf, **{name: _TYPES[COUNT_COLUMNS[name]](row[name]) for name in names})
