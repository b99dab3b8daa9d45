"""The posterior of one count, exactly, and draws of several counts, from memory or from the tables of a run."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from corefsample import _checks
from corefsample._arrays import Floats, Ints, Ints32, Result, pd
from corefsample.errors import ParameterError, shown
from events.counts._event_counts import EventCounts, Interval
from events.counts._evidence import read_evidence
from events.counts._occurrences import indices
from events.counts._run_tables import verified_record
from events.evidence._columns import ACTOR, TIMESTAMP, EventKey


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CountDistribution(Result):
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
        Name of the rule; required if the run has counts of several rules.

    Raises
    ------
    InputError
        If one of the files is missing in the folder, or damaged.
    ParameterError
        If the actor cannot be counted, the counts have no such period, `event` has no counts, or `event` is None and
        several events have counts.
    """
    arguments = verified_record(_checks.path("run", run))["arguments"]
    settings = {name: arguments[name] for name in ("level", "interval")}
    return count_posterior(_counts_of_event(run, event, **settings), EventKey.of(actor).name, period)


def _counts_of_event(run: str | os.PathLike[str], event: str | None, **settings: Any) -> EventCounts:
    """Counts of a rule of a run, by default of the only one that has counts."""
    of_rules = read_evidence(run).counts_of_all(**settings).of_rules
    with_evidence = [counts for counts in of_rules if counts.events()]
    named = [counts for counts in with_evidence if event in (None, counts.event)]
    if len(named) != 1 and (event is not None or named):
        shown = "none" if event is None else repr(event)
        names = ", ".join(sorted(counts.event for counts in with_evidence))
        raise ParameterError(f"must be one of {names}, got {shown}", parameter="event")
    return named[0] if named else of_rules[0]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CountSamples(Result):
    """Draws of the counts of documents with an event; arrays read-only.

    Draw s uses the s-th sampled clustering of every document, so it is a joint draw of all actors and periods. The
    draws are independent, unless documents share the uncertainty of a recalibration: several draws then have the same
    recalibration.

    Attributes
    ----------
    counts
        int32 (n_samples, n_actors, n_periods): number of documents with the event in each draw.
    actors
        Codes of the actors, or pairs such as "IRQ>KWT" for two roles, in the order of the second axis.
    periods
        Labels of the periods, such as "1999Q2", in the order of the third axis.
    period_starts
        datetime64[D] (n_periods,): first day of each period.
    n_docs
        int64 (n_periods,): number of documents in each period.
    one_best
        int64 (n_actors, n_periods): number of documents with the event if every mention has its likeliest antecedent.
    event
        Name of the rule.
    columns
        Names of the columns that hold the codes of the rule's roles in tables.
    """

    counts: Ints32
    actors: tuple[str, ...]
    periods: tuple[str, ...]
    period_starts: np.typing.NDArray[np.datetime64]
    n_docs: Ints
    one_best: Ints
    event: str = "event"
    columns: tuple[str, ...] = ACTOR

    def __repr__(self) -> str:
        actors = shown(", ".join(self.actors))
        span = f" ({self.periods[0]} to {self.periods[-1]})" if self.periods else ""
        return f"CountSamples({self.n_samples:,} draws of {actors} in {len(self.periods)} periods{span})"

    @property
    def n_samples(self) -> int:
        """Number of draws."""
        return int(self.counts.shape[0])

    def to_frame(self) -> pd.DataFrame:
        """Tidy table of draws: sample, event, columns of roles (actor), period, period_start (timestamp), count."""
        n_samples, n_actors, n_periods = self.counts.shape
        keys = [EventKey.of(name).values(self.columns) for name in self.actors]
        roles = {
            column: np.tile(np.repeat(np.array([key[column] for key in keys], object), n_periods), n_samples)
            for column in self.columns
        }
        return pd.DataFrame(
            {
                "sample": np.repeat(np.arange(n_samples), n_actors * n_periods),
                "event": self.event,
                **roles,
                "period": np.tile(np.array(self.periods, object), n_samples * n_actors),
                "period_start": np.tile(self.period_starts.astype(TIMESTAMP), n_samples * n_actors),
                "count": self.counts.ravel(),
            }
        ).astype(dict.fromkeys(("event", *self.columns, "period"), "str"))


def count_samples(counts: EventCounts, actors: Sequence[str] | None = None) -> CountSamples:
    """Collect the sampled counts behind a posterior, including periods without documents.

    Their spread includes Monte Carlo noise, which the exact distributions of `EventCounts` do not have. Prefer those
    where they answer the question, and the samples for other questions (sums over periods, ratios, trends).

    Parameters
    ----------
    counts
        Posterior counts, as `events.EventCounter.counts` returns them. The result takes 4 bytes for each draw, actor
        and period.
    actors
        Codes of the actors, in the order of the result; by default all actors with evidence, sorted.

    Raises
    ------
    ParameterError
        If `counts` is not an `EventCounts`, `actors` is a single text, or an actor cannot be counted or is listed
        twice.
    """
    _checks.instance("counts", counts, EventCounts, "EventCounter.counts() makes them")
    if isinstance(actors, str):
        raise ParameterError(f"must be a list of codes, got {actors!r}", parameter="actors")
    requested = counts.events() if actors is None else actors
    keys = [counts.key(actor, parameter="actors") for actor in requested]
    if len(set(keys)) != len(keys):
        names = shown([key.name for key in keys])
        raise ParameterError(f"must be different actors, got {names}", parameter="actors")
    periods, cells = counts.periods(), counts.cells
    rows, columns = indices(cells.keys, keys)[cells.key], indices(cells.period.tolist(), counts.occurrences.span)
    positions = np.where((rows >= 0) & (columns >= 0), rows * len(periods) + columns, -1)
    sampled = cells.sampled(positions, len(keys) * len(periods)).reshape(len(keys), len(periods), counts.n_samples)
    one_best = np.zeros((len(keys), len(periods)), np.int64)
    np.add.at(one_best.reshape(-1), positions[positions >= 0], cells.one_best[positions >= 0])
    span, numbers = counts.occurrences.span, counts.occurrences.periods
    return CountSamples(
        counts=np.ascontiguousarray(np.moveaxis(sampled, 2, 0)),
        actors=tuple(key.name for key in keys),
        periods=tuple(period.label for period in periods),
        period_starts=np.array([period.start for period in periods], "datetime64[D]"),
        n_docs=np.array([(numbers == number).sum() for number in span], np.int64),
        one_best=one_best,
        event=counts.event,
        columns=counts.columns,
    )


def read_count_samples(
    run: str | os.PathLike[str], actors: Sequence[str] | None = None, *, event: str | None = None
) -> CountSamples:
    """Read the sampled counts of a finished run.

    They are joint draws, so they answer questions about several counts at once: whether there were more attacks in one
    period than in another, or how a sum over periods is distributed.

    Parameters
    ----------
    run
        Path of the folder that `corefsample events` wrote, with its evidence.
    actors
        Codes of the actors, in the order of the result; by default all actors in the table of counts, sorted.
    event
        Name of the rule; required if the run has counts of several rules.

    Raises
    ------
    InputError
        If one of the files is missing in the folder, or damaged.
    ParameterError
        If `actors` is a single text, an actor cannot be counted or is listed twice, `event` has no counts, or `event`
        is None and several events have counts.

    Examples
    --------
    >>> from events.counts import read_count_samples
    >>> samples = read_count_samples("run", ["YUG"])  # doctest: +SKIP
    >>> before, after = (samples.periods.index(period) for period in ("1999Q1", "1999Q2"))  # doctest: +SKIP
    >>> (samples.counts[:, 0, after] > samples.counts[:, 0, before]).mean()  # doctest: +SKIP
    """
    return count_samples(_counts_of_event(run, event), actors)
