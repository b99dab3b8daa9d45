"""Sums over documents: samples with an event, by period and country. Their posterior is `events.counting`."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample.errors import ParameterError
from events.counting._evaluation import DocumentEvents
from events.counting._periods import Calendar

if TYPE_CHECKING:
    from events.counting._counts import EventCounts, Interval

__all__ = ["MOST_PERIODS", "Cell", "CountTally"]

MOST_PERIODS = 100_000  # from the first document to the last: 273 years of days

Ints = npt.NDArray[np.int64]


@dataclass(slots=True)
class Cell:
    """One country in one period.

    Attributes
    ----------
    n_samples
        Samples a document.
    hits
        By document's serial number: samples with the event, where there are any.
    variance_of_mean
        Summed squares of the documents' Monte Carlo standard errors.
    one_best
        Documents whose likeliest-antecedent clustering holds the event.
    """

    n_samples: int
    hits: dict[int, int] = field(default_factory=dict)
    variance_of_mean: float = 0.0
    one_best: int = 0
    _counts: npt.NDArray[np.int32] | None = None  # by sample, once there is one to count

    def add_samples(self, counts: npt.NDArray[np.integer]) -> None:
        """Add a document's event, 0 or 1 a sample, or the counts of several."""
        if self._counts is None:
            self._counts = np.zeros(self.n_samples, np.int32)
        self._counts += counts

    def merge(self, other: Cell, shift: int) -> None:
        """Add the cell of other documents, whose serial numbers go up by `shift`."""
        self.hits |= {shift + serial: hits for serial, hits in other.hits.items()}
        self.variance_of_mean += other.variance_of_mean
        self.one_best += other.one_best
        if other._counts is not None:
            self.add_samples(other._counts)

    @property
    def by_sample(self) -> npt.NDArray[np.int32]:
        """int32 (n_samples,): documents with the event, in each sample."""
        return np.zeros(self.n_samples, np.int32) if self._counts is None else self._counts

    @property
    def probabilities(self) -> npt.NDArray[np.float64]:
        """float64 (n,): P(event) of each document where it is above 0."""
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
        self._documents: dict[int, int] = {}  # by period
        self._span: Ints = np.zeros(0, np.int64)  # first and last period with a document
        self._cells: dict[tuple[str, int], Cell] = {}
        # For each two events, in sorted order, by document's serial number: samples with both.
        self._both: dict[tuple[str, str], dict[int, int]] = {}
        self._n_with_events = 0

    def add_documents(self, periods: Ints) -> None:
        """Count documents, with or without events, as exposure of their periods.

        Raises
        ------
        ParameterError
            If the periods from the first to the last are more than 100,000; then none is counted.
        """
        self._extend(periods)
        for period, count in zip(*np.unique(periods, return_counts=True), strict=True):
            self._documents[int(period)] = self._documents.get(int(period), 0) + int(count)

    def first_stray(self, periods: Ints) -> int | None:
        """Index of the first document that would make the periods more than 100,000, by its date; None without any.

        A table of that many rows a country is a stray date, or a period too short for the dates.
        """
        every = np.concatenate((self._span, np.asarray(periods, np.int64)))
        extent = np.maximum.accumulate(every) - np.minimum.accumulate(every)
        found = np.flatnonzero(extent >= MOST_PERIODS)
        return int(found[0]) - len(self._span) if found.size else None

    def add_events(self, events: DocumentEvents, period: int) -> None:
        """Add the events of one document, which `add_documents` counts besides."""
        if events.n_samples != self.n_samples:
            raise ParameterError(
                f"n_samples must be the same for all documents ({self.n_samples}), got {events.n_samples}"
            )
        serial, self._n_with_events = self._n_with_events, self._n_with_events + 1
        n_hits, errors = events.n_hits.tolist(), events.mc_errors.tolist()
        for e, key in enumerate(events.keys):
            cell = self._cells.setdefault((key, period), Cell(self.n_samples))
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
        """Add the tally of other documents.

        Raises
        ------
        ParameterError
            If the numbers of samples differ, or both together have more than 100,000 periods.
        """
        if other.n_samples != self.n_samples:
            raise ParameterError(
                f"n_samples must be the same in both tallies ({self.n_samples}), got {other.n_samples}"
            )
        self._extend(other._span)
        for period, count in other._documents.items():
            self._documents[period] = self._documents.get(period, 0) + count
        shift = self._n_with_events
        for place, theirs in other._cells.items():
            self._cells.setdefault(place, Cell(self.n_samples)).merge(theirs, shift)
        for pair, documents in other._both.items():
            self._both.setdefault(pair, {}).update({shift + serial: both for serial, both in documents.items()})
        self._n_with_events += other._n_with_events

    def _extend(self, periods: Ints) -> None:
        """Let the first and the last period hold these too, or refuse them."""
        if self.first_stray(periods) is not None:
            extent = int(np.ptp(np.concatenate((self._span, periods)))) + 1
            raise ParameterError(f"period must divide the dates into at most {MOST_PERIODS:,}, got {extent:,}")
        every = np.concatenate((self._span, periods))
        self._span = np.array([every.min(), every.max()]) if every.size else every

    def cell(self, key: str, period: int) -> Cell:
        """What was added of one event in one period; not to be changed."""
        return self._cells.get((key, period)) or Cell(self.n_samples)

    def documents(self, period: int) -> int:
        """Number of documents added in one period."""
        return self._documents.get(period, 0)

    def exclusive(
        self, first: str, second: str, period: int
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Each document's P(first and not second) and P(second and not first) in one period."""
        ours, theirs = self.cell(first, period).hits, self.cell(second, period).hits
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

    def seen(self, key: str) -> bool:
        """Whether some document could hold an event, with evidence or without."""
        return any(key == known for known, _ in self._cells)

    def periods(self) -> Ints:
        """Every period from the first with a document to the last: int64, at most 100,000."""
        return np.arange(self._span[0], self._span[1] + 1) if self._span.size else self._span

    def counts(
        self,
        calendar: Calendar,
        *,
        level: float = 0.95,
        interval: Interval = "quantile",
        known: Collection[str] = (),
    ) -> EventCounts:
        """Posterior of every count so far: see `events.counting.EventCounts`."""
        from events.counting._counts import EventCounts  # which reads tallies

        snapshot = CountTally(self.n_samples)
        snapshot.merge(self)
        return EventCounts(tally=snapshot, calendar=calendar, level=level, interval=interval, known=frozenset(known))
