"""Posterior of counts: documents' events summed by period and country.

Given each document's P(event) the documents are independent, so a period's count is Poisson-binomial: mean sum(p),
variance sum(p (1 - p)), and exact quantiles. The per-sample counts are kept too, for the paper's normal interval.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample.errors import ParameterError
from events.counting._periods import Calendar
from events.counting._poisson_binomial import compare_counts, count_pmf, hdi_interval, quantile_interval
from events.counting._tally import Cell, CountTally

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["COMPARISON_COLUMNS", "COUNT_COLUMNS", "INTERVALS", "EventCounts", "Interval"]

Interval = Literal["quantile", "hdi", "normal"]
INTERVALS: tuple[Interval, ...] = ("quantile", "hdi", "normal")

COUNT_COLUMNS = (
    "country",
    "period",
    "period_start",
    "n_docs",
    "mean",
    "mean_mc_se",
    "sd",
    "lower",
    "upper",
    "level",
    "interval",
    "n_samples",
    "one_best",
)
_COUNT_TYPES = {
    "country": "str",
    "period": "str",
    **dict.fromkeys(("n_docs", "n_samples", "one_best"), "int64"),
    **dict.fromkeys(("mean", "mean_mc_se", "sd", "lower", "upper", "level"), "float64"),
    "interval": "str",
}
COMPARISON_COLUMNS = (
    "period",
    "period_start",
    "first",
    "second",
    "p_first_greater",
    "p_equal",
    "p_second_greater",
    "mean_difference",
    "lower",
    "upper",
    "level",
)


@dataclass(frozen=True, slots=True, eq=False)
class EventCounts:
    """Posterior of the number of documents with an event, by country and period.

    The uncertainty is coreference's alone: which mentions belong to one entity. Parses, lexicon, rule and the choice
    of documents are taken as given, and the intervals assume that the antecedent probabilities are calibrated.

    Attributes
    ----------
    tally
        The sums.
    calendar
        The length of periods.
    level
        Of the credible intervals, in (0, 1).
    interval
        "quantile" (central, integer ends), "hdi" (shortest, integer ends) or "normal": mean +- z times the standard
        deviation of the per-sample counts, as in Nguyen & O'Connor (2015, section 6.2); its ends can be negative.
    known
        Codes of countries; a question about others is refused. Empty where any may be asked for.

    Raises
    ------
    ParameterError
        On construction, if level or interval is none of these.
    """

    tally: CountTally
    calendar: Calendar
    level: float = 0.95
    interval: Interval = "quantile"
    known: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        _checks.probability("level", self.level, below_one=True, above_zero=True)
        _checks.choice("interval", self.interval, INTERVALS)

    def to_frame(self) -> pd.DataFrame:
        """Tidy table, one row a country and period, zero periods filled.

        Returns
        -------
        pandas.DataFrame
            country; period ("1999Q2"); period_start (date); n_docs (documents in the period); mean and sd of the
            count; mean_mc_se (Monte Carlo standard error of the mean: root of the documents' summed
            squares, those bounded in place of zero included); lower, upper, level and interval of the
            credible interval; n_samples; one_best (the count by the likeliest antecedents alone).
        """
        import pandas as pd

        numbers = self.tally.periods()
        keys = self.tally.keys()
        index = self.calendar.index(numbers)
        labels, starts = index.astype(str), index.start_time.date
        rows = []
        for key in keys:
            for number, label, start in zip(numbers.tolist(), labels, starts, strict=True):
                cell = self.tally.cell(key, number)
                lower, upper = self._ends(cell)
                rows.append(
                    (
                        key,
                        label,
                        start,
                        self.tally.documents(number),
                        float(cell.probabilities.sum()),
                        float(np.sqrt(cell.variance_of_mean)),
                        float(np.sqrt((cell.probabilities * (1.0 - cell.probabilities)).sum())),
                        lower,
                        upper,
                        self.level,
                        self.interval,
                        self.tally.n_samples,
                        cell.one_best,
                    )
                )
        return pd.DataFrame(rows, columns=list(COUNT_COLUMNS)).astype(_COUNT_TYPES)

    def _ends(self, cell: Cell) -> tuple[float, float]:
        if self.interval == "normal":
            from scipy.special import ndtri

            half = float(ndtri((1.0 + self.level) / 2.0)) * float(np.std(cell.by_sample))
            mean = float(np.mean(cell.by_sample))
            return mean - half, mean + half
        find = hdi_interval if self.interval == "hdi" else quantile_interval
        return find(count_pmf(cell.probabilities), self.level)

    def _require(self, country: str) -> None:
        """Refuse what is neither counted nor a known country, or pair of them, where it is told what is known."""
        if self.known and not self.tally.seen(country) and not self.known.issuperset(country.split(">")):
            names = ", ".join(self.tally.keys()) or "none"
            raise ParameterError(f"country must be one that is counted ({names}), got {country!r}")

    def pmf(self, country: str, period: str) -> npt.NDArray[np.float64]:
        """Law of one count: float64 (n + 1,), entry k is P(count = k).

        Raises
        ------
        ParameterError
            If the country is unknown, or the period is none between the first and the last.
        """
        self._require(country)
        numbers = self.tally.periods()
        labels = self.calendar.index(numbers).astype(str).tolist()
        if period not in labels:
            between = f"from {labels[0]} to {labels[-1]}" if labels else "of a corpus with documents"
            raise ParameterError(f"period must be one {between}, got {period!r}")
        number = int(numbers[labels.index(period)])
        return count_pmf(self.tally.cell(country, number).probabilities)

    def compare(self, first: str, second: str) -> pd.DataFrame:
        """Compare the counts of two countries period by period, by each document's joint law of the two events.

        A known country without any event counts zero.

        Returns
        -------
        pandas.DataFrame
            period; period_start; first; second; p_first_greater, p_equal, p_second_greater; mean_difference
            (first - second); lower, upper and level of its central credible interval.

        Raises
        ------
        ParameterError
            If both are the same country, or one is unknown.
        """
        import pandas as pd

        self._require(first)
        self._require(second)
        if first == second:
            raise ParameterError(f"compare must name two countries, got {first!r} twice")
        numbers = self.tally.periods()
        index = self.calendar.index(numbers)
        rows = []
        for number, label, start in zip(numbers.tolist(), index.astype(str), index.start_time.date, strict=True):
            result = compare_counts(*self.tally.exclusive(first, second, number), self.level)
            rows.append(
                (
                    label,
                    start,
                    first,
                    second,
                    result.greater,
                    result.equal,
                    result.less,
                    result.mean_difference,
                    result.lower,
                    result.upper,
                    self.level,
                )
            )
        return pd.DataFrame(rows, columns=list(COMPARISON_COLUMNS))
