"""The exact posterior of one count: one country in one period, from memory or from a run's folder."""

from __future__ import annotations

import dataclasses
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from corefsample.errors import InputError, ParameterError
from events.counting._counts import EventCounts, Interval
from events.counting._poisson_binomial import count_pmf

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["CountPosterior", "count_posterior", "read_count_posterior"]


@dataclass(frozen=True, slots=True, eq=False)
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
        Ends of the credible interval; those of "normal" are no whole numbers, and can be negative.
    level, interval
        Of the credible interval: see `events.counting.EventCounts`.
    one_best
        The count by the likeliest antecedents alone.
    """

    country: str
    period: str
    n_docs: int
    pmf: npt.NDArray[np.float64]
    mean: float
    sd: float
    lower: float
    upper: float
    level: float
    interval: str
    one_best: int

    def __post_init__(self) -> None:
        self.pmf.flags.writeable = False

    def to_frame(self) -> pd.DataFrame:
        """Tidy table, one row a count: country, period, count, probability."""
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
        Which count: "YUG", "1999Q2". A known country without evidence counts zero.
    level, interval
        Of the credible interval; by default as in `counts`.

    Raises
    ------
    ParameterError
        If country or period is unknown, or level or interval breaks its rule.
    """
    asked = dataclasses.replace(
        counts,
        level=counts.level if level is None else level,
        interval=counts.interval if interval is None else interval,
    )
    pmf = asked.pmf(country, period)
    numbers = asked.tally.periods()
    number = int(numbers[asked.calendar.index(numbers).astype(str).tolist().index(period)])
    cell = asked.tally.cell(country, number)
    lower, upper = asked._ends(cell)
    return CountPosterior(
        country=country,
        period=period,
        n_docs=asked.tally.documents(number),
        pmf=pmf,
        mean=float(cell.probabilities.sum()),
        sd=float(np.sqrt((cell.probabilities * (1.0 - cell.probabilities)).sum())),
        lower=float(lower),
        upper=float(upper),
        level=asked.level,
        interval=asked.interval,
        one_best=cell.one_best,
    )


def read_count_posterior(run: str | os.PathLike[str], country: str, period: str) -> CountPosterior:
    """Posterior of one count from the folder of a finished run: its counts.parquet and evidence.parquet.

    Parameters
    ----------
    run
        The folder that `corefsample events --out` wrote.
    country, period
        Which count: a row of its table of counts.

    Raises
    ------
    InputError
        If the folder lacks one of the files.
    ParameterError
        If the table of counts has no such row.
    """
    import pandas as pd

    rows = []
    for name, columns in (("counts.parquet", None), ("evidence.parquet", ["country", "period", "probability"])):
        path = Path(run) / name
        if not path.is_file():
            raise InputError(f"{run}: a run's folder must hold {name}, got none")
        chosen = [("country", "==", country), ("period", "==", period)]
        rows.append(pd.read_parquet(path, columns=columns, filters=chosen))
    counts, evidence = rows
    if counts.empty:
        raise ParameterError(f"country and period must be a row of {run}'s counts, got {country!r} and {period!r}")
    row = counts.iloc[0]
    return CountPosterior(
        country=country,
        period=period,
        n_docs=int(row["n_docs"]),
        pmf=count_pmf(evidence["probability"].to_numpy(np.float64)),
        mean=float(row["mean"]),
        sd=float(row["sd"]),
        lower=float(row["lower"]),
        upper=float(row["upper"]),
        level=float(row["level"]),
        interval=str(row["interval"]),
        one_best=int(row["one_best"]),
    )
