"""The exact posterior of one count, one actor in one period, from memory or from the tables in a run's folder."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from corefsample import _checks
from corefsample._arrays import Floats, HtmlTable, pd
from corefsample.errors import ParameterError
from events.counts._event_counts import EventCounts, Interval
from events.counts._evidence import read_evidence
from events.counts._run_tables import verified_record
from events.evidence._columns import ACTOR, EventKey
from events.rules._format import ANYBODY


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
    row: dict[Any, Any] = rows.to_dict("records")[0]
    values = {field.name: row[field.name] for field in dataclasses.fields(CountDistribution) if field.name in row}
    name, pmf = counts.key(actor).name, counts.pmf(actor, period)
    return CountDistribution(**{**values, "pmf": pmf, "actor": name, "columns": counts.columns})


def read_count_posterior(
    run: str | os.PathLike[str], actor: str | Sequence[str], period: str, *, event: str | None = None
) -> CountDistribution:
    """Posterior of one count from the evidence of a finished run.

    If the documents share the uncertainty of a recalibration, the posterior is the distribution of the sampled counts.

    Parameters
    ----------
    run
        Path of the folder that `corefsample events` wrote.
    actor, period
        Code of the actor and label of the period, as in a row of the run's table of counts.
    event
        Name of the rule; required if several rules of the run have counts of this actor.

    Raises
    ------
    InputError
        If one of the files is missing in the folder, or damaged.
    ParameterError
        If no rule of the run has a count of the actor, the counts have no such period, or several rules have counts of
        the actor and `event` is None.
    """
    arguments = verified_record(_checks.path("run", run))["arguments"]
    of_rules = read_evidence(run).counts_of_all(level=arguments["level"], interval=arguments["interval"]).of_rules
    codes = tuple(filter(None, EventKey.of(actor)))
    matching = [
        (counts, key)
        for counts in of_rules
        for key in counts.events()
        if event in (None, counts.event) and (tuple(filter(None, key)) == codes or (not key and codes == (ANYBODY,)))
    ]
    if not matching:
        raise ParameterError(
            f"must be in a row of the counts, got {actor!r}", parameter="actor and period", place=os.fspath(run)
        )
    if len(matching) > 1:
        names = ", ".join(counts.event for counts, _ in matching)
        raise ParameterError(f"must be one of {names}, got none", parameter="event", place=os.fspath(run))
    return count_posterior(matching[0][0], matching[0][1].name, period)
