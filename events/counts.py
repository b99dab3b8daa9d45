"""Posterior of counts: documents' events summed by period and country.

Given each document's P(event) the documents are independent, so a period's count is Poisson-binomial: mean sum(p),
variance sum(p (1 - p)), and exact quantiles. The per-sample counts are kept too, for the paper's normal interval.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample.errors import ParameterError
from events.evaluation import DocumentEvents
from events.periods import Calendar
from events.poisson_binomial import compare_counts, count_pmf, hdi_interval, quantile_interval

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["INTERVALS", "CountTally", "EventCounts", "Interval"]

Interval = Literal["quantile", "hdi", "normal"]
INTERVALS: tuple[Interval, ...] = ("quantile", "hdi", "normal")

_MOST_PERIODS = 100_000

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


@dataclass(slots=True)
class _Cell:
    """One country in one period."""

    n_samples: int
    hits: dict[int, int] = field(default_factory=dict)  # by document's serial number: samples with the event
    variance_of_mean: float = 0.0
    one_best: int = 0
    counts: npt.NDArray[np.int32] | None = None  # by sample, once there is one to count

    def add_samples(self, counts: npt.NDArray[np.integer]) -> None:
        if self.counts is None:
            self.counts = np.zeros(self.n_samples, np.int32)
        self.counts += counts

    @property
    def by_sample(self) -> npt.NDArray[np.int32]:
        return np.zeros(self.n_samples, np.int32) if self.counts is None else self.counts

    @property
    def probabilities(self) -> npt.NDArray[np.float64]:
        return np.fromiter(self.hits.values(), np.float64, len(self.hits)) / self.n_samples


class CountTally:
    """Sums documents' events by period and country, one document at a time; tallies of parts of a corpus add up.

    Parameters
    ----------
    n_samples
        Samples a document.
    """

    def __init__(self, n_samples: int) -> None:
        self.n_samples = _checks.whole("n_samples", n_samples, 1)
        self._documents: dict[int, int] = {}
        self._cells: dict[tuple[str, int], _Cell] = {}
        # For each two events, in sorted order, by document's serial number: samples with both.
        self._both: dict[tuple[str, str], dict[int, int]] = {}
        self._n_with_events = 0

    def add_documents(self, periods: npt.NDArray[np.int64]) -> None:
        """Count documents, with or without events, as exposure of their periods."""
        for period, count in zip(*np.unique(periods, return_counts=True), strict=True):
            self._documents[int(period)] = self._documents.get(int(period), 0) + int(count)

    def add_events(self, events: DocumentEvents, period: int) -> None:
        """Add the events of one document, which `add_documents` counts besides."""
        if events.n_samples != self.n_samples:
            raise ParameterError(
                f"n_samples must be the same for all documents ({self.n_samples}), got {events.n_samples}"
            )
        serial, self._n_with_events = self._n_with_events, self._n_with_events + 1
        n_hits, errors = events.n_hits.tolist(), events.mc_errors.tolist()
        for e, key in enumerate(events.keys):
            cell = self._cells.setdefault((key, period), _Cell(self.n_samples))
            cell.variance_of_mean += errors[e] ** 2
            cell.one_best += int(events.one_best[e])
            if n_hits[e]:
                cell.hits[serial] = n_hits[e]
                cell.add_samples(events.hits[e])
        happened = [e for e in range(len(events.keys)) if n_hits[e]]
        for first, second in combinations(happened, 2):
            both = int(np.count_nonzero(events.hits[first] & events.hits[second]))
            if both:
                pair = events.keys[first], events.keys[second]
                self._both.setdefault((min(pair), max(pair)), {})[serial] = both

    def merge(self, other: CountTally) -> None:
        """Add the tally of other documents."""
        if other.n_samples != self.n_samples:
            raise ParameterError(
                f"n_samples must be the same in both tallies ({self.n_samples}), got {other.n_samples}"
            )
        for period, count in other._documents.items():
            self._documents[period] = self._documents.get(period, 0) + count
        shift = self._n_with_events
        for place, theirs in other._cells.items():
            cell = self._cells.setdefault(place, _Cell(self.n_samples))
            cell.hits |= {shift + serial: hits for serial, hits in theirs.hits.items()}
            cell.variance_of_mean += theirs.variance_of_mean
            cell.one_best += theirs.one_best
            if theirs.counts is not None:
                cell.add_samples(theirs.counts)
        for pair, documents in other._both.items():
            self._both.setdefault(pair, {}).update({shift + serial: both for serial, both in documents.items()})
        self._n_with_events += other._n_with_events

    def exclusive(
        self, first: str, second: str, period: int
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Each document's P(first and not second) and P(second and not first) in one period."""
        empty = _Cell(self.n_samples)
        ours = self._cells.get((first, period), empty).hits
        theirs = self._cells.get((second, period), empty).hits
        both = self._both.get((min(first, second), max(first, second)), {})
        serials = sorted({*ours, *theirs})
        shares = [
            np.array([hits.get(n, 0) - both.get(n, 0) for n in serials], np.float64) / self.n_samples
            for hits in (ours, theirs)
        ]
        return shares[0], shares[1]

    @property
    def n_documents(self) -> int:
        """Number of documents added."""
        return sum(self._documents.values())

    def keys(self) -> list[str]:
        """Events with any evidence: P > 0 in some document, or held by the one best clustering."""
        return sorted({key for (key, _), cell in self._cells.items() if cell.hits or cell.one_best})

    def periods(self) -> npt.NDArray[np.int64]:
        """Every period from the first with a document to the last.

        Raises
        ------
        ParameterError
            If they are more than 100,000: a stray date, or a period too short for the dates.
        """
        if not self._documents:
            return np.zeros(0, np.int64)
        n_periods = max(self._documents) - min(self._documents) + 1
        if n_periods > _MOST_PERIODS:
            raise ParameterError(f"period must divide the dates into at most {_MOST_PERIODS:,}, got {n_periods:,}")
        return np.arange(min(self._documents), max(self._documents) + 1)

    def counts(
        self,
        calendar: Calendar,
        *,
        level: float = 0.95,
        interval: Interval = "quantile",
        known: Collection[str] = (),
    ) -> EventCounts:
        """Posterior of every count so far: see `EventCounts`."""
        snapshot = CountTally(self.n_samples)
        snapshot.merge(self)
        return EventCounts(
            tally=snapshot,
            calendar=calendar,
            level=_checks.probability("level", level, below_one=True, above_zero=True),
            interval=_checks.choice("interval", interval, INTERVALS),
            known=frozenset(known),
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
    """

    tally: CountTally
    calendar: Calendar
    level: float
    interval: str
    known: frozenset[str] = frozenset()

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
        empty = _Cell(self.tally.n_samples)
        rows = []
        for key in keys:
            for number, label, start in zip(numbers.tolist(), labels, starts, strict=True):
                cell = self.tally._cells.get((key, number), empty)
                lower, upper = self._ends(cell)
                rows.append(
                    (
                        key,
                        label,
                        start,
                        self.tally._documents.get(number, 0),
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

    def _ends(self, cell: _Cell) -> tuple[float, float]:
        if self.interval == "normal":
            from scipy.special import ndtri

            half = float(ndtri((1.0 + self.level) / 2.0)) * float(np.std(cell.by_sample))
            mean = float(np.mean(cell.by_sample))
            return mean - half, mean + half
        find = hdi_interval if self.interval == "hdi" else quantile_interval
        return find(count_pmf(cell.probabilities), self.level)

    def _require(self, country: str) -> None:
        """Refuse what is neither counted nor a known country, or pair of them, where it is told what is known."""
        seen = {key for key, _ in self.tally._cells}
        if self.known and country not in seen and not self.known.issuperset(country.split(">")):
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
        cell = self.tally._cells.get((country, number))
        return count_pmf(_Cell(1).probabilities if cell is None else cell.probabilities)

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
