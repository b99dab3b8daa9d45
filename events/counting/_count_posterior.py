"""The exact posterior of one count, one actor in one period, from memory or from the tables in a run's folder."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from corefsample import _checks
from corefsample._arrays import Floats
from corefsample._lazy import pd
from corefsample._results import HtmlTable
from corefsample.errors import ParameterError
from events.counting._counts import EventCounts, Interval
from events.counting._run_tables import SAMPLES, run_table
from events.counting._tables import ACTOR, Columns, EventKey
from events.counting._tally import count_pmf


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CountDistribution(HtmlTable):
    """Posterior of the number of documents with an event, of one actor in one period.

    Attributes
    ----------
    actor, period
        Which count: "YUG", "1999Q2"; "IRQ>KWT" for two roles.
    n_docs
        Documents of the period.
    pmf
        float64 (n + 1,) in [0, 1], read-only: entry k is P(count = k), for n documents with evidence.
    mean, sd
        Of the count.
    lower, upper
        Ends of the credible interval; those of "normal" are not whole numbers, and can be negative.
    level, interval
        Of the credible interval: see `EventCounts`.
    one_best
        The count by the likeliest antecedents alone.
    event
        Name of the rule.
    columns
        Columns of its roles in tables.
    """

    actor: str
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
    event: str = "event"
    columns: tuple[str, ...] = ACTOR

    def __post_init__(self) -> None:
        self.pmf.flags.writeable = False

    def __repr__(self) -> str:
        return (
            f"CountDistribution({self.actor}, {self.period}: {self.n_docs:,} documents)\n"
            f"  mean {self.mean:.4g}, sd {self.sd:.4g}, one best {self.one_best}\n"
            f"  {100 * self.level:g}% {self.interval} interval: {self.lower:.4g} to {self.upper:.4g}"
        )

    def to_frame(self) -> pd.DataFrame:
        """Tidy table, one row for each possible count: event, columns of roles, period, count, probability."""
        return pd.DataFrame(
            {
                "event": self.event,
                **EventKey.of(self.actor).values(self.columns),
                "period": self.period,
                "count": np.arange(self.pmf.size),
                "probability": self.pmf,
            }
        )


def count_posterior(
    counts: EventCounts, actor: str, period: str, *, level: float | None = None, interval: Interval | None = None
) -> CountDistribution:
    """Posterior of one count, exact given each document's P(event).

    Parameters
    ----------
    counts
        From `events.EventCounter.counts`.
    actor, period
        Which count: "YUG", "1999Q2". A known actor without evidence has a count of zero.
    level, interval
        Of the credible interval; by default as in `counts`.

    Raises
    ------
    ParameterError
        If actor or period is unknown, or level or interval breaks its rule.
    """
    _checks.instance("counts", counts, EventCounts, "EventCounter.counts() makes them")
    options: dict[str, Any] = {"level": level, "interval": interval}
    counts = dataclasses.replace(counts, **{name: value for name, value in options.items() if value is not None})
    rows = counts.rows([counts.key(actor)], [counts.period(period)])
    return _of_rows(rows, counts.pmf(actor, period), counts.columns)


def read_count_posterior(
    run: str | os.PathLike[str], actor: str | Sequence[str], period: str, *, event: str | None = None
) -> CountDistribution:
    """Posterior of one count from the folder of a finished run: its counts.parquet and evidence.parquet.

    If documents share the uncertainty of a recalibration, it is that of the counts by sample, count_samples.parquet.

    Parameters
    ----------
    run
        The folder that `corefsample events` wrote.
    actor, period
        Which count: a row of its table of counts.
    event
        Name of the rule; needed if the run has several.

    Raises
    ------
    InputError
        If one of the files is missing in the folder, or damaged.
    ParameterError
        If the table of counts has no such row.
    """
    counts = run_table(run, "counts", same={"period": period})
    if event is not None:
        counts = counts[counts["event"] == event]
    columns, key = Columns.of_roles(counts.columns), EventKey.of(actor)
    cells = counts.reindex(columns=list(columns)).fillna("").itertuples(index=False, name=None)
    chosen = counts[[_is_of(key, codes) for codes in cells]]
    if chosen.empty:
        raise ParameterError(
            f"must be in a row of the counts, got {actor!r} and {period!r}",
            parameter="actor and period",
            place=os.fspath(run),
        )
    if len(chosen) > 1:
        names = ", ".join(chosen["event"])
        raise ParameterError(f"must be one of {names}, got none", parameter="event", place=os.fspath(run))
    row = chosen.to_dict("records")[0]
    of_key = tuple(name for name in columns if row[name]) or columns[: len(key)]
    same = {"period": period, **{name: row[name] for name in ("event", *columns)}}
    if row.get("uncertainty", "none") != "none":
        sampled = run_table(run, SAMPLES, same=same)["counts"].tolist()
        return _of_rows(chosen, np.bincount(sampled[0]) / row["n_samples"] if sampled else np.ones(1), of_key)
    evidence = run_table(run, "evidence", ["probability"], same)
    return _of_rows(chosen, count_pmf(evidence["probability"].to_numpy(np.float64)), of_key)


def _is_of(key: tuple[str, ...], codes: tuple[str, ...]) -> bool:
    """Whether the columns of roles, of which a rule may leave some empty, have the codes of a key."""
    filled = tuple(code for code in codes if code)
    return filled == tuple(code for code in key if code)


def _of_rows(rows: pd.DataFrame, pmf: Floats, columns: tuple[str, ...]) -> CountDistribution:
    """Posterior with the values of the one row of a table of counts."""
    row: dict[Any, Any] = rows.to_dict("records")[0]
    values = {field.name: row[field.name] for field in dataclasses.fields(CountDistribution) if field.name in row}
    return CountDistribution(
        **{**values, "pmf": pmf, "actor": EventKey(row[name] for name in columns).name, "columns": columns}
    )
