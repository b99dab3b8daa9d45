"""Sums over documents: numbers of samples with an event, by period and country."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample._arrays import Floats, Ints, Ints32
from corefsample.errors import ParameterError
from events.counting._evaluation import DocumentEvents
from events.counting._keys import EventKey, event_name

MOST_PERIODS = 100_000  # from the first document to the last: 273 years of days


@dataclass(slots=True)
class Cell:
    """One country in one period.

    Attributes
    ----------
    n_samples
        Samples per document.
    hits
        Samples with the event by the document's serial number, if there are any.
    variance_of_mean
        Summed squares of the documents' Monte Carlo standard errors.
    one_best
        Documents with the event in their likeliest-antecedent clustering.
    """

    n_samples: int
    hits: dict[int, int] = field(default_factory=dict)
    variance_of_mean: float = 0.0
    one_best: int = 0
    _counts: Ints32 | None = None  # documents with the event by sample; None stands for zeros

    def add_samples(self, counts: npt.NDArray[np.integer]) -> None:
        """Add the event of a document (0 or 1 for each sample), or the counts of several documents."""
        if self._counts is None:
            self._counts = np.zeros(self.n_samples, np.int32)
        self._counts += counts

    def merge(self, other: Cell, shift: int) -> None:
        """Add the cell of other documents; `shift` is added to their serial numbers."""
        self.hits |= {shift + serial: hits for serial, hits in other.hits.items()}
        self.variance_of_mean += other.variance_of_mean
        self.one_best += other.one_best
        if other._counts is not None:
            self.add_samples(other._counts)

    @property
    def by_sample(self) -> Ints32:
        """int32 (n_samples,): documents with the event, in each sample."""
        return np.zeros(self.n_samples, np.int32) if self._counts is None else self._counts

    @property
    def probabilities(self) -> Floats:
        """float64 (n,): P(event) of each document where it is above 0."""
        return np.fromiter(self.hits.values(), np.float64, len(self.hits)) / self.n_samples


class CountTally:
    """Sums the events of documents by period and country; tallies of parts of a corpus can be merged.

    Parameters
    ----------
    n_samples
        Samples per document.
    """

    def __init__(self, n_samples: int) -> None:
        self.n_samples = _checks.n_samples(n_samples, 1)
        self._documents: dict[int, int] = {}  # by period
        self._span: Ints = np.zeros(0, np.int64)  # first and last period with a document
        self._cells: dict[tuple[EventKey, int], Cell] = {}
        # By pair of events, sorted, and document's serial number: samples with both.
        self._both: dict[tuple[EventKey, EventKey], dict[int, int]] = {}
        self._n_with_events = 0

    def __repr__(self) -> str:
        return f"CountTally({self.n_documents:,} documents, {self.n_samples:,} samples each, {len(self.keys())} events)"

    def add_documents(self, periods: Ints) -> None:
        """Count documents by the numbers of their periods, with or without events.

        Raises
        ------
        ParameterError
            If the periods from the first to the last are more than 100,000; then no document is counted.
        """
        self._extend(periods)
        for period, count in zip(*np.unique(periods, return_counts=True), strict=True):
            self._documents[int(period)] = self._documents.get(int(period), 0) + int(count)

    def first_outlier(self, periods: Ints) -> int | None:
        """Index of the first document that would make the periods more than 100,000, or None.

        Such a number of periods indicates a wrong date, or a period that is too short for the corpus.
        """
        every = np.concatenate((self._span, np.asarray(periods, np.int64)))
        extent = np.maximum.accumulate(every) - np.minimum.accumulate(every)
        found = np.flatnonzero(extent >= MOST_PERIODS)
        return int(found[0]) - len(self._span) if found.size else None

    def add_events(self, events: DocumentEvents, period: int) -> None:
        """Add the events of one document; `add_documents` counts the document itself."""
        if events.n_samples != self.n_samples:
            rule = f"must be the same for all documents ({self.n_samples})"
            raise ParameterError(f"{rule}, got {events.n_samples}", parameter="n_samples")
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
            rule = f"must be the same in both tallies ({self.n_samples})"
            raise ParameterError(f"{rule}, got {other.n_samples}", parameter="n_samples")
        self._extend(other._span)
        for period, count in other._documents.items():
            self._documents[period] = self._documents.get(period, 0) + count
        shift = self._n_with_events
        for place, cell in other._cells.items():
            self._cells.setdefault(place, Cell(self.n_samples)).merge(cell, shift)
        for pair, documents in other._both.items():
            self._both.setdefault(pair, {}).update({shift + serial: both for serial, both in documents.items()})
        self._n_with_events += other._n_with_events

    def _extend(self, periods: Ints) -> None:
        """Extend the span of periods to include these; raise if it becomes too long."""
        if self.first_outlier(periods) is not None:
            extent = int(np.ptp(np.concatenate((self._span, periods)))) + 1
            raise ParameterError(
                f"must divide the dates into at most {MOST_PERIODS:,}, got {extent:,}", parameter="period"
            )
        every = np.concatenate((self._span, periods))
        self._span = np.array([every.min(), every.max()]) if every.size else every

    def cell(self, key: EventKey, period: int) -> Cell:
        """Sums of one event in one period; do not change them."""
        return self._cells.get((key, period)) or Cell(self.n_samples)

    def documents(self, period: int) -> int:
        """Number of documents added in one period."""
        return self._documents.get(period, 0)

    def exclusive(self, first: EventKey, second: EventKey, period: int) -> tuple[Floats, Floats]:
        """Each document's P(first and not second) and P(second and not first) in one period."""
        of_first, of_second = self.cell(first, period).hits, self.cell(second, period).hits
        both = self._both.get((min(first, second), max(first, second)), {})
        serials = sorted({*of_first, *of_second})
        shares = [
            np.array([hits.get(n, 0) - both.get(n, 0) for n in serials], np.float64) / self.n_samples
            for hits in (of_first, of_second)
        ]
        return shares[0], shares[1]

    @property
    def n_documents(self) -> int:
        """Number of documents added."""
        return sum(self._documents.values())

    def keys(self) -> list[EventKey]:
        """Events with any evidence: P > 0 in some document, or in the likeliest-antecedent clustering of one."""
        return sorted({key for (key, _), cell in self._cells.items() if cell.hits or cell.one_best}, key=event_name)

    def contains(self, key: EventKey) -> bool:
        """Whether the event was possible in some document, with or without evidence."""
        return any(key == other for other, _ in self._cells)

    def periods(self) -> Ints:
        """Every period from the first with a document to the last: int64, at most 100,000."""
        return np.arange(self._span[0], self._span[1] + 1) if self._span.size else self._span

    def copy(self) -> CountTally:
        """Return a tally that later additions to this one do not change."""
        copied = CountTally(self.n_samples)
        copied.merge(self)
        return copied
