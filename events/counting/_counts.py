"""Posterior of counts: documents' events summed by period and actor.

Given each document's P(event) the documents are independent, so a period's count is Poisson-binomial: mean sum(p),
variance sum(p (1 - p)), and exact quantiles. The per-sample counts are kept too, for the paper's normal interval.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from corefsample import _checks
from corefsample._arrays import Floats
from corefsample._lazy import pd
from corefsample._results import ShortRepr
from corefsample.errors import ParameterError
from corefsample.posterior._posterior import N_DRAWS
from events.counting import _kernels
from events.counting._periods import NO_PERIOD, Calendar, Period
from events.counting._tables import ACTOR, COMPARISON_COLUMNS, TABLE_METADATA, TIMESTAMP, Columns, EventKey
from events.counting._tally import CountCell, CountTally

Interval = Literal["quantile", "hdi", "normal"]
_CELL_COLUMNS = ("mean", "mean_mc_se", "sd", "lower", "upper", "one_best", "mean_named")  # columns
_SHOWN_ROWS = 10
INTERVALS: tuple[Interval, ...] = ("quantile", "hdi", "normal")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class EventCounts:
    """Posterior of the number of documents with an event, by actor and period.

    The intervals cover the uncertainty of coreference (which mentions belong to one entity) and, depending on
    `uncertainty`, that of the recalibration of the scores. Parses, lexicon, rule and the choice of documents are
    assumed to be correct, and the antecedent probabilities to be calibrated.

    If the events come from a predicate that returns numbers, the count is the sum of the documents' numbers.

    Methods take the code of an actor; for two roles they take "AAA>BBB" or a tuple of two codes, with "-" in the text
    or "" in the tuple for no actor.

    Attributes
    ----------
    tally
        Sums over documents by period and actor.
    calendar
        Calendar that divides time into periods of one length.
    level
        Probability that each credible interval has, in (0, 1).
    interval
        "quantile" (central, integer ends), "hdi" (shortest, integer ends) or "normal": mean +- z times the standard
        deviation of the per-sample counts, as in Nguyen & O'Connor (2015, section 6.2); its ends can be negative.
    codes
        Codes of the actors that can be requested; if empty, any name can be requested.
    event
        Name of the rule.
    columns
        Names of the columns that hold the codes of the rule's roles in tables.
    uncertainty
        Uncertainty of the recalibration that the samples include: "none", "fit" or "domain"; None if scores were
        used without the uncertainty of a recalibration. With "fit" and "domain", all documents share the draws of the
        recalibration and are not independent, so distributions are those of the sampled counts.
    has_defaults
        Whether default actors can fill roles; the table then has the column `mean_named`.

    Raises
    ------
    ParameterError
        On construction, if `level` is not in (0, 1) or `interval` is not a kind of interval.
    """

    tally: CountTally
    calendar: Calendar
    level: float = 0.95
    interval: Interval = "quantile"
    codes: frozenset[str] = frozenset()
    event: str = "event"
    columns: tuple[str, ...] = ACTOR
    uncertainty: str | None = None
    has_defaults: bool = False

    def __post_init__(self) -> None:
        _checks.probability("level", self.level, below_one=True, above_zero=True)
        _checks.choice("interval", self.interval, INTERVALS)

    def __repr__(self) -> str:
        periods = self.periods()
        span = f"{periods[0].label} to {periods[-1].label}" if periods else "no period"
        names = [key.name for key in self.events()]
        return (
            f"EventCounts({self.tally.n_documents:,} documents, {span}, {len(names)} actors)\n"
            f"  actors: {_checks.shown(', '.join(names))}\n"
            f"  {100 * self.level:g}% {self.interval} intervals from {self.tally.n_samples:,} samples per document"
        )

    def __str__(self) -> str:
        return f"{self!r}\n\n{self._largest().to_string(index=False)}"

    def _repr_html_(self) -> str:
        """Table of the largest counts, for notebooks."""
        import html

        title = html.escape(repr(self).partition("\n")[0])
        return f"<p>{title}; the largest:</p>{self._largest().to_html(index=False, border=0)}"

    def _largest(self) -> pd.DataFrame:
        """Rows of `to_frame` with the largest means above 0, in its order, rounded to three decimals."""
        table = self.to_frame()
        rows = table[table["mean"] > 0.0].nlargest(_SHOWN_ROWS, "mean", keep="first").sort_index()
        shown = rows[[*self.columns, "period", "n_docs", "mean", "sd", "lower", "upper", "one_best"]].round(3)
        integer_columns = {} if self.interval == "normal" else dict.fromkeys(("lower", "upper"), "int64")
        return shown.astype(integer_columns)

    def to_frame(self) -> pd.DataFrame:
        """Tidy table, one row for each actor and period, including periods without documents.

        Returns
        -------
        pandas.DataFrame
            event (name of the rule); `actor`, and `target` of rules with two roles; period
            ("1999Q2", and "undated" of documents without a date, which are in no period); period_start (timestamp of
            its first day); n_docs (documents in the period); mean and sd of the
            count (sd of the Poisson-binomial distribution; among the samples if documents share draws of a
            recalibration); mean_mc_se (Monte Carlo standard error of the mean: root of the documents' summed
            squares, where a bound replaces an error of zero); lower, upper, level and interval of the
            credible interval; n_samples; one_best (the count by the likeliest antecedents alone); for rules with
            default actors mean_named (the mean count of documents in which the text names the actor, or in which the
            event has no actor).
        """
        return self.rows(self.tally.keys(), self.all_periods())

    def totals(self) -> pd.DataFrame:
        """Table of the totals over all periods and documents without a date, one row for each actor.

        Returns
        -------
        pandas.DataFrame
            event, the columns of roles, n_docs (documents of the corpus), mean, sd, lower, upper, level and one_best:
            see `to_frame`; sd and the interval are those of the sampled totals.
        """
        numbers = [period.number for period in self.all_periods()]
        rows = []
        for key in self.events():
            cells = [self.tally.cell(key, number) for number in numbers]
            sampled = np.sum([cell.by_sample for cell in cells], axis=0)
            ends = self._ends_of(sampled, partial(_sample_shares, sampled))
            rows.append(
                {
                    "event": self.event,
                    **key.values(self.columns),
                    "n_docs": self.tally.n_documents,
                    "mean": math.fsum(cell.mean for cell in cells),
                    "sd": float(np.std(sampled)),
                    **dict(zip(("lower", "upper"), ends, strict=True)),
                    "level": self.level,
                    "one_best": sum(cell.one_best for cell in cells),
                }
            )
        names = ["event", *self.columns, "n_docs", "mean", "sd", "lower", "upper", "level", "one_best"]
        return pd.DataFrame(rows, columns=names)

    def rows(self, keys: Sequence[EventKey], periods: Sequence[Period]) -> pd.DataFrame:
        """Rows of `to_frame` for the events with these keys, with or without evidence, in these periods."""
        roles = [key.values(self.columns) for key in keys]
        column = {period.number: t for t, period in enumerate(periods)}
        n_rows = len(keys) * len(periods)
        values = np.zeros((len(_CELL_COLUMNS), len(keys), len(periods)))  # most cells of a long table are zeros
        row_of_key = {key: k for k, key in enumerate(keys)}
        for (key, period), cell in self.tally.cells():
            if key in row_of_key and period in column:
                values[:, row_of_key[key], column[period]] = self._cell_values(cell)
        columns: dict[str, Any] = {
            "event": self.event,
            **{name: [each[name] for each in roles for _ in periods] for name in self.columns},
            "period": [period.label for period in periods] * len(keys),
            "period_start": np.array([period.start for period in periods] * len(keys), TIMESTAMP),
            "n_docs": [self.tally.documents(period.number) for period in periods] * len(keys),
            **dict(zip(_CELL_COLUMNS, values.reshape(len(_CELL_COLUMNS), n_rows), strict=True)),
            "level": self.level,
            "interval": self.interval,
            "n_samples": self.tally.n_samples,
            "uncertainty": self.uncertainty,
        }
        is_recalibrated = self.uncertainty is not None
        named = Columns.of_counts(self.columns, recalibrated=is_recalibrated, defaults=self.has_defaults)
        return pd.DataFrame(columns, index=range(n_rows), columns=list(named.types)).astype(named.pandas)

    def _cell_values(self, cell: CountCell) -> tuple[float, float, float, float, float, int, float]:
        """Values of the columns `_CELL_COLUMNS` for one actor and period."""
        lower, upper = self._ends(cell)
        sd = float(np.std(cell.by_sample)) if self._is_shared else math.sqrt(cell.variance)
        return cell.mean, self._mean_error(cell), sd, lower, upper, cell.one_best, cell.mean_named

    @property
    def _is_shared(self) -> bool:
        """Whether documents share draws of a recalibration."""
        return self.uncertainty in ("fit", "domain")

    def _mean_error(self, cell: CountCell) -> float:
        """Monte Carlo standard error of a mean; with shared draws, the means of the draws must be considered too."""
        error = math.sqrt(cell.variance_of_mean)
        n_draws = min(N_DRAWS, self.tally.n_samples)
        if not self._is_shared or n_draws < 2:
            return error
        means = [samples.mean() for samples in np.array_split(cell.by_sample, n_draws)]
        return max(error, float(np.std(means, ddof=1)) / math.sqrt(n_draws))

    def _pmf(self, cell: CountCell) -> Floats:
        if not self._is_shared:
            return cell.pmf
        return _sample_shares(cell.by_sample)

    def _ends(self, cell: CountCell) -> tuple[float, float]:
        if self.interval != "normal" and not cell.has_evidence:  # most cells of a long table: the count is 0
            return 0, 0
        return self._ends_of(cell.by_sample, lambda: self._pmf(cell))

    def _ends_of(self, by_sample: npt.NDArray[np.integer], pmf: Callable[[], Floats]) -> tuple[float, float]:
        """Ends of the credible interval of a count: "normal" uses its samples, other kinds its distribution."""
        if self.interval == "normal":
            from scipy.special import ndtri

            half = float(ndtri((1.0 + self.level) / 2.0)) * float(np.std(by_sample))
            mean = float(np.mean(by_sample))
            return mean - half, mean + half
        interval = hdi_interval if self.interval == "hdi" else quantile_interval
        return interval(pmf(), self.level)

    def events(self) -> list[EventKey]:
        """Events with any evidence, sorted by their names."""
        return self.tally.keys()

    def periods(self) -> list[Period]:
        """Every period from the first with a document to the last."""
        return self.calendar.periods(self.tally.periods())

    def all_periods(self) -> list[Period]:
        """Every period, followed by the period "undated" if there are documents without a date."""
        undated = self.calendar.periods([NO_PERIOD]) if self.tally.documents(NO_PERIOD) else []
        return [*self.periods(), *undated]

    def period(self, label: str) -> Period:
        """Return the period with a label ("1999Q2", "undated"), or raise ParameterError."""
        periods = {period.label: period for period in self.all_periods()}
        if not isinstance(label, str) or label not in periods:
            labels = list(periods)
            rule = f"from {labels[0]} to {labels[-1]}" if labels else "of a corpus with documents"
            raise ParameterError(f"must be one {rule}, got {label!r}", parameter="period")
        return periods[label]

    def key(self, actor: str | Sequence[str], *, parameter: str = "actor") -> EventKey:
        """Key of an actor that can be counted; raises a ParameterError that names `parameter` for any other actor."""
        key = EventKey.of(actor) if self.columns else EventKey()
        if key.name in self.codes:  # of an outcome
            return key
        if self.codes and not self.tally.contains(key) and not self.codes.issuperset(key):
            names = ", ".join(key.name for key in self.events()) or "none"
            raise ParameterError(f"must be one that is counted ({names}), got {key.name!r}", parameter=parameter)
        return key

    def has(self, actor: str) -> bool:
        """Whether an actor can be counted, with or without evidence."""
        key = EventKey.of(actor)
        if key.name in self.codes:
            return True
        return len(key) == len(self.columns) and (self.codes.issuperset(key) or self.tally.contains(key))

    def pmf(self, actor: str | Sequence[str], period: str) -> Floats:
        """Distribution of one count: float64 (n + 1,), entry k is P(count = k).

        Raises
        ------
        ParameterError
            If the actor cannot be counted, or the counts have no such period.
        """
        key = self.key(actor)
        return self._pmf(self.tally.cell(key, self.period(period).number))

    def compare(self, first: str | Sequence[str], second: str | Sequence[str]) -> pd.DataFrame:
        """Compare the counts of two actors in each period, by each document's joint distribution of both events.

        An actor that can be counted but has no event has a count of zero.

        Parameters
        ----------
        first, second
            Codes of the two actors, such as "YUG" and "IRQ".

        Returns
        -------
        pandas.DataFrame
            event; period; period_start (timestamp); first; second; p_first_greater, p_equal, p_second_greater;
            mean_difference (first - second); lower, upper and level of its central credible interval.

        Raises
        ------
        ParameterError
            If both actors are the same, or one of them cannot be counted.
        """
        keys = self.key(first, parameter="first"), self.key(second, parameter="second")
        names = tuple(key.name for key in keys)
        if keys[0] == keys[1]:
            raise ParameterError(f"must be another actor than first, got {names[1]!r} twice", parameter="second")
        rows = []
        for period in self.periods():
            cells = [self.tally.cell(key, period.number) for key in keys]
            if self._is_shared or any(cell.numbers for cell in cells):
                result = compare_samples(cells[0].by_sample - cells[1].by_sample, self.level)
            else:
                result = compare_counts(*self.tally.exclusive(*keys, period.number), self.level)
            rows.append((self.event, period.label, period.start, *names, *dataclasses.astuple(result), self.level))
        table = pd.DataFrame(rows, columns=COMPARISON_COLUMNS)
        return table.assign(period_start=np.array(table["period_start"].tolist(), TIMESTAMP))


@dataclass(frozen=True, slots=True, eq=False)
class CountsOfRules:
    """The counts of several rules, and the tables of all of them.

    Attributes
    ----------
    of_rules
        Posterior counts of each rule.
    roles
        Names of the columns that hold the codes of roles, for all rules together.
    """

    of_rules: tuple[EventCounts, ...]
    roles: tuple[str, ...]

    def _columns(self, *, rule_error: bool = False) -> Columns:
        counts = self.of_rules[0]
        is_recalibrated = counts.uncertainty is not None
        return Columns.of_counts(
            self.roles, recalibrated=is_recalibrated, defaults=counts.has_defaults, rule_error=rule_error
        )

    def schema(self, *, rule_error: bool = False) -> pa.Schema:
        """Schema of `to_frame` in files, with or without the columns of the error of rules."""
        return self._columns(rule_error=rule_error).arrow

    def to_frame(self) -> pd.DataFrame:
        """Table of the counts of all rules; the actor is `*` in the rows of a rule without roles."""
        return self._joined([counts.to_frame() for counts in self.of_rules], list(self._columns().types))

    def totals(self) -> pd.DataFrame:
        """Table of the totals of all rules: see `EventCounts.totals`."""
        tables = [counts.totals() for counts in self.of_rules]
        return self._joined(tables, ["event", *self.roles, *tables[0].columns[1 + len(self.of_rules[0].columns) :]])

    def _joined(self, tables: Sequence[pd.DataFrame], columns: list[str]) -> pd.DataFrame:
        """One table with the rows of all rules' tables, and the columns of the roles of all rules."""
        anybody = [{} if counts.columns else EventKey().cells((), self.roles) for counts in self.of_rules]
        filled = [table.assign(**roles) for table, roles in zip(tables, anybody, strict=True)]
        joined = pd.concat(filled, ignore_index=True).reindex(columns=columns)
        return joined.fillna(dict.fromkeys(self.roles, ""))

    def compare(self, actors: Sequence[str]) -> pd.DataFrame | None:
        """Comparisons of two actors, for each rule that can count both; None if `actors` is empty."""
        if not actors:
            return None
        comparable = [counts for counts in self.of_rules if counts.has(actors[0]) and counts.has(actors[1])]
        return pd.concat([counts.compare(*actors) for counts in comparable], ignore_index=True)

    def samples(self) -> pa.Table:
        """Sampled counts of each actor and period in which some document has an event with P > 0.

        Returns
        -------
        pyarrow.Table
            event; a column for each role; period; counts, a list of n_samples: entry s is the count in the s-th sampled
            clustering of every document, under the draw of the recalibration that they share in it.
        """
        rows, sampled = [], [np.zeros(0, np.int32)]
        for counts in self.of_rules:
            labels = {period.number: period.label for period in counts.all_periods()}
            for (key, number), cell in sorted(counts.tally.cells(), key=lambda item: item[0]):
                if cell.has_evidence:
                    values = key.cells(counts.columns, self.roles)
                    rows.append({"event": counts.event, **values, "period": labels[number]})
                    sampled.append(cell.by_sample)
        names = ("event", *self.roles, "period")
        flat = np.concatenate(sampled)
        offsets = np.arange(len(rows) + 1) * (len(flat) // max(len(rows), 1))
        lists = pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pa.array(flat))
        texts = [pa.array([row[name] for row in rows], pa.string()) for name in names]
        return pa.table([*texts, lists], names=[*names, "counts"], metadata=TABLE_METADATA)


def _sample_shares(counts: npt.NDArray[np.integer]) -> Floats:
    """Distribution of sampled counts: entry k is the share of samples with count k."""
    return np.asarray(np.bincount(counts) / len(counts))


# A cumulative sum within this distance of a level has reached it: the rounding error of some 10**4 additions.
_ROUNDING = 1e-12


def quantile_interval(pmf: npt.ArrayLike, level: float = 0.95) -> tuple[int, int]:
    """Central credible interval of a count: its (1 - level) / 2 and (1 + level) / 2 quantiles.

    The ends are counts, so the interval has a probability of at least `level`. It may exclude the mean: one document
    with probability .01 gives [0, 0].

    Parameters
    ----------
    pmf
        float (n + 1,): P(count = k), which must sum to 1.
    level
        Least probability of the interval, in (0, 1).
    """
    pmf, level = _checked(pmf, level)
    tail = (1.0 - level) / 2.0
    # Each end from its own side, because the sum of a small tail is more exact than its difference from 1.
    below, above = np.cumsum(pmf), np.cumsum(pmf[::-1])
    lower = int(np.searchsorted(below, tail - _rounding(tail)))
    n_above = int(np.searchsorted(above, tail + _rounding(tail), side="right"))
    last = pmf.shape[0] - 1
    lower = min(lower, last)
    return lower, max(last - n_above, lower)


def _rounding(tail: float) -> float:
    """Tolerance for comparing a cumulative sum with a tail's probability, far smaller than that probability."""
    return min(_ROUNDING, 1e-6 * tail)


def hdi_interval(pmf: npt.ArrayLike, level: float = 0.95) -> tuple[int, int]:
    """Shortest credible interval of a count: the fewest adjacent counts with a probability of at least `level`.

    If several intervals are shortest, the result is the one with the highest probability, then the lowest one.

    Parameters
    ----------
    pmf
        float (n + 1,): P(count = k), which must sum to 1.
    level
        Least probability of the interval, in (0, 1).
    """
    pmf, level = _checked(pmf, level)
    below = np.concatenate(([0.0], np.cumsum(pmf)))
    # For each lower end the smallest upper end: below[upper + 1] - below[lower] >= level.
    uppers = np.searchsorted(below, below[:-1] + level - _rounding(1.0 - level)) - 1
    lowers = np.flatnonzero(uppers < pmf.shape[0])
    if not lowers.size:  # the total is below the level by rounding
        return 0, pmf.shape[0] - 1
    widths = uppers[lowers] - lowers
    shortest = lowers[widths == widths.min()]
    contents = below[uppers[shortest] + 1] - below[shortest]
    lower = int(shortest[np.flatnonzero(contents >= np.max(contents) - _ROUNDING)[0]])
    return lower, int(max(uppers[lower], lower))


@dataclass(frozen=True, slots=True, repr=False)
class Comparison(ShortRepr):
    """Posterior comparison of two counts.

    Attributes
    ----------
    greater, equal, less
        P(n_a > n_b), P(n_a = n_b), P(n_a < n_b).
    mean_difference
        E[n_a - n_b].
    lower, upper
        Central credible interval of n_a - n_b.
    """

    greater: float
    equal: float
    less: float
    mean_difference: float
    lower: int
    upper: int


def compare_counts(first_only: npt.ArrayLike, second_only: npt.ArrayLike, level: float = 0.95) -> Comparison:
    """Compare the counts of two actors from each document's joint distribution.

    Only documents with one of the two events but not the other change the difference.

    Parameters
    ----------
    first_only, second_only
        float (n_documents,): P(the first event and not the second), P(the second and not the first).
    level
        Probability of the credible interval of the difference, in (0, 1).
    """
    first, second = np.asarray(first_only, np.float64), np.asarray(second_only, np.float64)
    n = first.shape[0]
    pmf = np.empty(2 * n + 1)
    _kernels.difference_pmf(first, second, pmf)
    return _comparison(pmf, -n, float(first.sum() - second.sum()), level)


def compare_samples(differences: npt.ArrayLike, level: float = 0.95) -> Comparison:
    """Compare two counts by their difference in each sample.

    Parameters
    ----------
    differences
        int (n_samples,): the first count minus the second.
    level
        Probability of the credible interval of the difference, in (0, 1).
    """
    values = _checks.integers("differences", differences)
    least = int(values.min())
    pmf = np.bincount(values - least) / values.shape[0]
    return _comparison(pmf, least, float(values.mean()), level)


def _comparison(pmf: Floats, least: int, mean_difference: float, level: float) -> Comparison:
    """Comparison of two counts from the distribution of their difference: entry k is P(difference = `least` + k)."""
    lower, upper = quantile_interval(pmf, level)
    signs = np.sign(np.arange(len(pmf)) + least)
    greater, equal, less = (min(float(pmf[signs == sign].sum()), 1.0) for sign in (1, 0, -1))
    return Comparison(greater, equal, less, mean_difference, lower + least, upper + least)


def _checked(pmf: npt.ArrayLike, level: float) -> tuple[Floats, float]:
    probs = _checks.floats("pmf", pmf)
    total = float(probs.sum())
    if probs.size == 0 or (probs < 0).any() or not abs(total - 1.0) < 1e-6:
        raise ParameterError(f"must be probabilities that sum to 1, got a sum of {total}", parameter="pmf")
    return probs, _checks.probability("level", level, below_one=True, above_zero=True)
