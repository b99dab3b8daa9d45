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
from events.counts._event_counts import EventCounts, Interval
from events.counts._intervals import count_pmf
from events.counts._run_tables import SAMPLES, run_table
from events.evidence._columns import ACTOR, Columns, EventKey


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CountDistribution(HtmlTable):
    """Posterior of the number of documents with an event, of one actor in one period.

    Attributes
    ----------
    actor, period
        Code of the actor, such as "YUG", or "IRQ>KWT" for two roles; label of the period, such as "1999Q2".
    n_docs
        Number of documents in the period.
    pmf
        float64 (n + 1,) in [0, 1], read-only: entry k is P(count = k), for n documents with evidence.
    mean, sd
        Posterior mean and standard deviation of the count, in documents.
    lower, upper
        Ends of the credible interval, in documents; a "normal" interval has ends that are not integers and may be
        negative.
    level, interval
        Probability of the credible interval, in (0, 1), and its kind: see `EventCounts`.
    one_best
        Number of documents with the event if every mention has its likeliest antecedent.
    event
        Name of the rule.
    columns
        Names of the columns that hold the codes of the rule's roles in tables.
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
        Posterior counts, as `events.EventCounter.counts` returns them.
    actor, period
        Code of the actor, such as "YUG", and label of the period, such as "1999Q2". An actor of the lexicon without
        evidence has a count of zero.
    level, interval
        Probability of the credible interval, in (0, 1), and its kind: see `EventCounts`. By default those of `counts`.

    Raises
    ------
    ParameterError
        If `counts` is not an `EventCounts`, the actor cannot be counted, the counts have no such period, `level` is not
        in (0, 1), or `interval` is not a kind of interval.
    """
    _checks.instance("counts", counts, EventCounts, "EventCounter.counts() makes them")
    options: dict[str, Any] = {"level": level, "interval": interval}
    counts = dataclasses.replace(counts, **{name: value for name, value in options.items() if value is not None})
    rows = counts.rows([counts.key(actor)], [counts.period(period)])
    return _distribution(rows, counts.pmf(actor, period), counts.columns)


def read_count_posterior(
    run: str | os.PathLike[str], actor: str | Sequence[str], period: str, *, event: str | None = None
) -> CountDistribution:
    """Posterior of one count from the folder of a finished run: its counts.parquet and evidence.parquet.

    If the documents share the uncertainty of a recalibration, the posterior is the distribution of the sampled counts
    in count_samples.parquet.

    Parameters
    ----------
    run
        Path of the folder that `corefsample events` wrote.
    actor, period
        Code of the actor and label of the period, as in a row of the run's table of counts.
    event
        Name of the rule; required if several rules of the run have counts of this actor and period.

    Raises
    ------
    InputError
        If one of the files is missing in the folder, or damaged.
    ParameterError
        If the table of counts has no row of the actor, the period and the event, or has rows of several events and
        `event` is None.
    """
    counts = run_table(run, "counts", same={"period": period})
    if event is not None:
        counts = counts[counts["event"] == event]
    columns, key = Columns.of_roles(counts.columns), EventKey.of(actor)
    cells = counts.reindex(columns=list(columns)).fillna("").itertuples(index=False, name=None)
    selected = counts[[_has_codes(key, codes) for codes in cells]]
    if selected.empty:
        raise ParameterError(
            f"must be in a row of the counts, got {actor!r} and {period!r}",
            parameter="actor and period",
            place=os.fspath(run),
        )
    if len(selected) > 1:
        names = ", ".join(selected["event"])
        raise ParameterError(f"must be one of {names}, got none", parameter="event", place=os.fspath(run))
    row = selected.to_dict("records")[0]
    roles = tuple(name for name in columns if row[name]) or columns[: len(key)]
    cell_values = {"period": period, **{name: row[name] for name in ("event", *columns)}}
    if row.get("uncertainty", "none") != "none":
        sampled = run_table(run, SAMPLES, same=cell_values)["counts"].tolist()
        return _distribution(selected, np.bincount(sampled[0]) / row["n_samples"] if sampled else np.ones(1), roles)
    evidence = run_table(run, "evidence", ["probability"], cell_values)
    return _distribution(selected, count_pmf(evidence["probability"].to_numpy(np.float64)), roles)


def _has_codes(key: tuple[str, ...], codes: tuple[str, ...]) -> bool:
    """Whether the codes in the columns of roles, some of which may be empty, are those of a key."""
    filled = tuple(code for code in codes if code)
    return filled == tuple(code for code in key if code)


def _distribution(rows: pd.DataFrame, pmf: Floats, columns: tuple[str, ...]) -> CountDistribution:
    """Posterior of a count, made from its distribution and the single row of a table of counts."""
    row: dict[Any, Any] = rows.to_dict("records")[0]
    values = {field.name: row[field.name] for field in dataclasses.fields(CountDistribution) if field.name in row}
    return CountDistribution(
        **{**values, "pmf": pmf, "actor": EventKey(row[name] for name in columns).name, "columns": columns}
    )
