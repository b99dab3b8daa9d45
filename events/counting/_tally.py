"""Sums over documents: samples with an event by period and actor, and triggers by condition."""

from __future__ import annotations

import math
from collections import Counter, defaultdict, deque
from collections.abc import Collection, ItemsView, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample._arrays import Floats, Ints, Ints32
from corefsample._monte_carlo import agreement_bound, monte_carlo_errors
from corefsample.coreference._kernels import poisson_binomial
from corefsample.errors import ParameterError
from events.counting._document_events import DocumentEvents
from events.counting._periods import NO_PERIOD
from events.counting._tables import EventKey

MOST = 10_000  # largest number of one document: the distribution of a sum has an entry for each value up to the largest
_NUMBERS = ("n_without", "one_best", "n_named")  # fields of a cell that are added up
MOST_PERIODS = 100_000  # from the first document to the last: 273 years of days


Distribution = tuple[tuple[int, int], ...]  # values with their numbers of samples, by value


def distribution_of(values: Ints) -> Distribution:
    """Distribution of a document's number over its samples, int (n_samples,)."""
    distinct_values, counts = np.unique(values, return_counts=True)
    return tuple(zip(distinct_values.tolist(), counts.tolist(), strict=True))


def total(distribution: Distribution) -> int:
    """Sum of the values over all samples."""
    return sum(value * n for value, n in distribution)


def scaled_variance(distribution: Distribution, n_samples: int) -> int:
    """Variance over the samples, times n_samples squared, which is a whole number."""
    return n_samples * sum(value**2 * n for value, n in distribution) - total(distribution) ** 2


def variance_of_mean(distribution: Distribution, n_samples: int) -> float:
    """Squared Monte Carlo standard error of the mean; if all samples have the same value, a bound of it for a share."""
    if len(distribution) == 1:
        return agreement_bound(n_samples) ** 2
    return scaled_variance(distribution, n_samples) / n_samples**3


def sum_pmf(documents: Mapping[Distribution, int], n_samples: int) -> Floats:
    """Distribution of the sum over independent documents.

    Parameters
    ----------
    documents
        Number of documents with each distribution.
    n_samples
        Number of samples of each document.

    Returns
    -------
    array of shape (sum of the largest values + 1,), float64 in [0, 1]
        Entry k is P(sum = k).
    """
    pmfs: deque[Floats] = deque([np.ones(1)])
    for distribution, n_documents in sorted(documents.items()):
        pmf = np.zeros(distribution[-1][0] + 1)
        for value, n in distribution:
            pmf[value] = n / n_samples
        pmfs.extend([pmf] * n_documents)
    while len(pmfs) > 1:  # in pairs of similar lengths: fewer operations, and smaller rounding errors
        pmfs.append(np.convolve(pmfs.popleft(), pmfs.popleft()))
    return pmfs[0]


def count_pmf(probs: npt.ArrayLike) -> Floats:
    """Distribution of the number of documents with an event, given the probability of each.

    Given these probabilities the documents are independent, so the count is Poisson-binomial.

    Parameters
    ----------
    probs
        float (n_documents,) in [0, 1]: probability that each document has the event.

    Returns
    -------
    array of shape (n_documents + 1,), float64 in [0, 1]
        Entry k is P(count = k). No entry is negative, and small entries are accurate, unlike those of a Fourier
        transform.

    Raises
    ------
    ParameterError
        If `probs` is not a sequence of numbers in [0, 1].
    """
    trials = _checks.floats("probs", probs)
    _checks.require_all("probs", trials, (trials >= 0.0) & (trials <= 1.0), "lie in [0, 1]")
    pmf = np.empty(trials.shape[0] + 1)
    poisson_binomial(trials, pmf)
    return pmf


@dataclass(slots=True)
class CountCell:
    """Sums over the documents of one period for one actor. They are integers, so the order of documents is irrelevant.

    Attributes
    ----------
    n_samples
        Number of samples per document.
    hits
        Number of documents by their number of samples with the event, without documents that have none.
    numbers
        Number of documents by the distribution of the number that a predicate returned, without documents in which it
        is always 0.
    n_without
        Number of documents in which the event is possible but true in no sample.
    one_best
        Number of documents with the event in their likeliest-antecedent clustering.
    chained
        Number of documents whose samples were drawn by Markov chains, by their number of samples with the event and the
        number of samples that are worth one independent sample, rounded up.
    n_named
        Number of samples, summed over documents, in which the event is true with named actors or without an actor; for
        a predicate that returns numbers, the sum of the numbers.
    """

    n_samples: int
    hits: Counter[int] = field(default_factory=Counter)
    n_without: int = 0
    one_best: int = 0
    n_named: int = 0
    numbers: Counter[Distribution] = field(default_factory=Counter)
    chained: Counter[tuple[int, int]] = field(default_factory=Counter)
    _counts: Ints32 | None = None  # documents with the event by sample; None stands for zeros

    def add_document(self, n_hits: int, one_best: int, n_named: int, inefficiency: float = 1.0) -> None:
        """Add a document by its number of samples with the event."""
        if inefficiency > 1.0:
            self.chained[n_hits, math.ceil(inefficiency)] += 1
        self.one_best += one_best
        self.n_named += n_named
        if n_hits:
            self.hits[n_hits] += 1
        else:
            self.n_without += 1

    def add_number(self, values: Ints, one_best: int) -> None:
        """Add a document by its number in each sample."""
        if not values.any():
            self.add_document(0, one_best, 0)
            return
        self.one_best += one_best
        self.n_named += int(values.sum())  # by nobody
        self.numbers[distribution_of(values)] += 1

    def add_samples(self, counts: npt.NDArray[np.integer]) -> None:
        """Add the event of a document (0 or 1 for each sample), or the counts of several documents."""
        if self._counts is None:
            self._counts = np.zeros(self.n_samples, np.int32)
        self._counts += counts

    def merge(self, cell: CountCell) -> None:
        """Add the cell of other documents."""
        self.hits.update(cell.hits)
        self.numbers.update(cell.numbers)
        self.chained.update(cell.chained)
        for name in _NUMBERS:
            setattr(self, name, getattr(self, name) + getattr(cell, name))
        if cell._counts is not None:
            self.add_samples(cell._counts)

    def to_json(self) -> dict[str, Any]:
        """The sums as JSON values."""
        return {
            "hits": sorted(self.hits.items()),
            **{name: getattr(self, name) for name in _NUMBERS},
            "by_sample": None if self._counts is None else self._counts.tolist(),
            **({"numbers": sorted(self.numbers.items())} if self.numbers else {}),
            **({"chained": sorted(self.chained.items())} if self.chained else {}),
        }

    @classmethod
    def from_json(cls, n_samples: int, sums: Mapping[str, Any]) -> CountCell:
        """Make the cell from the result of `to_json`."""
        by_sample = sums["by_sample"]
        counts = None if by_sample is None else np.array(by_sample, np.int32)
        hits = Counter(dict(sums["hits"]))
        numbers = Counter({tuple(map(tuple, distribution)): n for distribution, n in sums.get("numbers", ())})
        chained = Counter({tuple(key): n for key, n in sums.get("chained", ())})
        integers: dict[str, Any] = {name: sums[name] for name in _NUMBERS}
        return cls(n_samples, hits, numbers=numbers, chained=chained, _counts=counts, **integers)

    @property
    def has_evidence(self) -> bool:
        """Whether some sample of a document has the event."""
        return bool(self.hits or self.numbers)

    @property
    def by_sample(self) -> Ints32:
        """int32 (n_samples,): documents with the event, in each sample."""
        return np.zeros(self.n_samples, np.int32) if self._counts is None else self._counts

    @property
    def probabilities(self) -> Floats:
        """float64 (n,): P(event) of each document where it is above 0, sorted."""
        hits = np.array(sorted(self.hits), np.int64)
        return np.repeat(hits, [self.hits[n_hits] for n_hits in hits.tolist()]) / self.n_samples

    @property
    def pmf(self) -> Floats:
        """float64 (n + 1,): distribution of the count, documents being independent."""
        pmf = count_pmf(self.probabilities)
        return np.convolve(pmf, sum_pmf(self.numbers, self.n_samples)) if self.numbers else pmf

    @property
    def mean(self) -> float:
        """Sum of the documents' probabilities, or of the means of their numbers."""
        from_numbers = sum(total(each) * n_documents for each, n_documents in self.numbers.items())
        return (from_numbers + sum(n_hits * n_documents for n_hits, n_documents in self.hits.items())) / self.n_samples

    @property
    def mean_named(self) -> float:
        """Sum of the documents' probabilities that the event is true with named actors or without an actor."""
        return self.n_named / self.n_samples

    @property
    def variance(self) -> float:
        """Sum of p (1 - p) over the documents, or of the variances of their numbers."""
        n = self.n_samples
        from_numbers = sum(scaled_variance(each, n) * n_documents for each, n_documents in self.numbers.items())
        return (from_numbers + sum(k * (n - k) * n_documents for k, n_documents in self.hits.items())) / n**2

    @property
    def variance_of_mean(self) -> float:
        """Summed squares of the documents' Monte Carlo standard errors."""
        if not self.has_evidence and not self.n_without:
            return 0.0
        from_numbers = [variance_of_mean(each, self.n_samples) * n for each, n in self.numbers.items()]
        hits = np.array([0, *self.hits], np.int64)
        counts = np.array([self.n_without, *self.hits.values()], np.float64)
        from_hits = (counts * monte_carlo_errors(hits, self.n_samples) ** 2).tolist()
        from_chains = [
            n * float(monte_carlo_errors(k, self.n_samples, time) ** 2 - monte_carlo_errors(k, self.n_samples) ** 2)
            for (k, time), n in self.chained.items()
        ]
        return math.fsum([*from_numbers, *from_hits, *from_chains])


class CountTally:
    """Sums the events of documents by period and actor; tallies of parts of a corpus can be merged.

    Parameters
    ----------
    n_samples
        Number of samples per document.
    compared
        Keys of the events with which `exclusive` is called later, because other pairs are not summed. By default all
        pairs are summed.

    Attributes
    ----------
    triggers
        Number of triggers by the sorted conditions that exclude them; the key () is for triggers that are not excluded.
    """

    def __init__(self, n_samples: int, *, compared: Collection[EventKey] | None = None) -> None:
        self.n_samples = _checks.n_samples(n_samples, 1)
        self._documents: Counter[int] = Counter()  # by period
        self._span: Ints = np.zeros(0, np.int64)  # first and last period with a document
        self._cells: dict[tuple[EventKey, int], CountCell] = {}
        # By pair of events, sorted, and period: documents that have both, by samples with the first, the second, both.
        self._pairs: defaultdict[tuple[EventKey, EventKey, int], Counter[tuple[int, int, int]]] = defaultdict(Counter)
        self.triggers: Counter[tuple[str, ...]] = Counter()
        self._compared = None if compared is None else frozenset(compared)

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
        self._documents.update(np.asarray(periods).tolist())

    def first_outlier(self, periods: Ints) -> int | None:
        """Index of the first document that would make the periods more than 100,000, or None.

        Such a number of periods indicates a wrong date, or a period that is too short for the corpus.
        """
        dated = np.flatnonzero(np.asarray(periods) != NO_PERIOD)
        periods_so_far = np.concatenate((self._span, np.asarray(periods, np.int64)[dated]))
        extent = np.maximum.accumulate(periods_so_far) - np.minimum.accumulate(periods_so_far)
        outliers = np.flatnonzero(extent >= MOST_PERIODS)
        return int(dated[outliers[0] - len(self._span)]) if outliers.size else None

    def add_events(self, events: DocumentEvents, period: int) -> None:
        """Add the events of one document; `add_documents` counts the document itself."""
        if events.n_samples != self.n_samples:
            rule = f"must be the same for all documents ({self.n_samples})"
            raise ParameterError(f"{rule}, got {events.n_samples}", parameter="n_samples")
        n_hits, one_best, n_named = (each.tolist() for each in (events.n_hits, events.one_best, events.n_named))
        for e, key in enumerate(events.keys):
            cell = self._cells.get((key, period))
            if cell is None:
                cell = self._cells[key, period] = CountCell(self.n_samples)
            if events.numbers is not None:
                cell.add_number(events.numbers[e], int(one_best[e]))
                cell.add_samples(events.numbers[e])
                continue
            cell.add_document(n_hits[e], int(one_best[e]), n_named[e], events.inefficiency)
            if n_hits[e]:
                cell.add_samples(events.hits[e])
        if events.numbers is not None:  # those of two events are compared by their samples
            return
        happened = sorted((key, e) for e, key in enumerate(events.keys) if n_hits[e] and self._compares(key))
        for (first, a), (second, b) in combinations(happened, 2):
            both = int(np.count_nonzero(events.hits[a] & events.hits[b]))
            self._pairs[first, second, period][n_hits[a], n_hits[b], both] += 1

    def add_triggers(self, triggers: Iterable[Iterable[str]]) -> None:
        """Count triggers of a document, with or without events, each given by the conditions that exclude it."""
        self.triggers.update(tuple(sorted(conditions)) for conditions in triggers)

    def _compares(self, key: EventKey) -> bool:
        return self._compared is None or key in self._compared

    def merge(self, tally: CountTally) -> None:
        """Add the tally of other documents.

        Raises
        ------
        ParameterError
            If the numbers of samples differ, or both together have more than 100,000 periods.
        """
        if tally.n_samples != self.n_samples:
            rule = f"must be the same in both tallies ({self.n_samples})"
            raise ParameterError(f"{rule}, got {tally.n_samples}", parameter="n_samples")
        self._extend(tally._span)
        self._documents.update(tally._documents)
        self.triggers.update(tally.triggers)
        for key_and_period, cell in tally._cells.items():
            self._cells.setdefault(key_and_period, CountCell(self.n_samples)).merge(cell)
        for pair, documents in tally._pairs.items():
            self._pairs[pair].update(documents)

    def _extend(self, periods: Ints) -> None:
        """Extend the span of periods to include these; raise if it becomes too long."""
        periods_so_far = np.concatenate((self._span, periods[periods != NO_PERIOD]))
        if self.first_outlier(periods) is not None:
            extent = int(np.ptp(periods_so_far)) + 1
            raise ParameterError(
                f"must divide the dates into at most {MOST_PERIODS:,}, got {extent:,}", parameter="period"
            )
        self._span = np.array([periods_so_far.min(), periods_so_far.max()]) if periods_so_far.size else periods_so_far

    def cell(self, key: EventKey, period: int) -> CountCell:
        """Sums of one event in one period; do not change them."""
        return self._cells.get((key, period)) or CountCell(self.n_samples)

    def cells(self) -> ItemsView[tuple[EventKey, int], CountCell]:
        """Event, period and sums wherever the event was possible in a document; do not change them."""
        return self._cells.items()

    def documents(self, period: int) -> int:
        """Number of documents added in one period."""
        return self._documents[period]

    def exclusive(self, first: EventKey, second: EventKey, period: int) -> tuple[Floats, Floats]:
        """Each document's P(first and not second) and P(second and not first) in one period."""
        alone = self.cell(first, period).hits.copy(), self.cell(second, period).hits.copy()
        in_order = first <= second
        pairs = self._pairs.get((first, second, period) if in_order else (second, first, period), Counter())
        documents: Counter[tuple[int, int]] = Counter()  # by samples with the first only, and with the second only
        for (a, b, both), count in pairs.items():
            hits = (a, b) if in_order else (b, a)
            for hits_of_one, n_hits in zip(alone, hits, strict=True):
                hits_of_one[n_hits] -= count
            documents[hits[0] - both, hits[1] - both] += count
        for n_hits, count in alone[0].items():
            documents[n_hits, 0] += count
        for n_hits, count in alone[1].items():
            documents[0, n_hits] += count
        rows = sorted(documents)
        shares = np.repeat(np.array(rows, np.float64).reshape(-1, 2), [documents[row] for row in rows], axis=0)
        return shares[:, 0] / self.n_samples, shares[:, 1] / self.n_samples

    @property
    def n_documents(self) -> int:
        """Number of documents added."""
        return self._documents.total()

    def keys(self) -> list[EventKey]:
        """Events with any evidence: P > 0 in some document, or in the likeliest-antecedent clustering of one."""
        keys = {key for (key, _), cell in self._cells.items() if cell.has_evidence or cell.one_best}
        return sorted(keys, key=lambda key: key.name)

    def contains(self, key: EventKey) -> bool:
        """Whether the event was possible in some document, with or without evidence."""
        return any(key == counted_key for counted_key, _ in self._cells)

    def periods(self) -> Ints:
        """Every period from the first with a document to the last: int64, at most 100,000."""
        return np.arange(self._span[0], self._span[1] + 1) if self._span.size else self._span

    def copy(self) -> CountTally:
        """Return a tally that later additions to this one do not change."""
        copied = CountTally(self.n_samples, compared=self._compared)
        copied.merge(self)
        return copied

    def to_json(self) -> dict[str, Any]:
        """The sums as JSON values."""
        return {
            "n_samples": self.n_samples,
            "documents": sorted(self._documents.items()),
            "triggers": sorted(self.triggers.items()),
            "cells": [[key, period, cell.to_json()] for (key, period), cell in sorted(self._cells.items())],
            "pairs": [
                [first, second, period, [[*shares, count] for shares, count in sorted(documents.items())]]
                for (first, second, period), documents in sorted(self._pairs.items())
            ],
        }

    def excluded_triggers(self, preset: str) -> dict[str, Any]:
        """Numbers of excluded triggers for the record of a run: see docs/file-formats.md."""
        by_condition: Counter[str] = Counter()
        for conditions, n in self.triggers.items():
            by_condition.update(dict.fromkeys(conditions, n))
        return {
            "preset": preset,
            "n_triggers": self.triggers.total(),
            "n_excluded": self.triggers.total() - self.triggers[()],
            "conditions": dict(sorted(by_condition.items(), key=lambda item: (-item[1], item[0]))),
        }

    @classmethod
    def from_json(cls, sums: Mapping[str, Any]) -> CountTally:
        """Make the tally from the result of `to_json`."""
        tally = cls(sums["n_samples"])
        tally._documents = Counter(dict(sums["documents"]))
        tally._extend(np.array(list(tally._documents), np.int64))
        tally.triggers = Counter({tuple(conditions): n for conditions, n in sums["triggers"]})
        for key, period, cell in sums["cells"]:
            tally._cells[EventKey(key), period] = CountCell.from_json(tally.n_samples, cell)
        for first, second, period, documents in sums["pairs"]:
            pair = EventKey(first), EventKey(second), period
            tally._pairs[pair] = Counter({(a, b, both): count for a, b, both, count in documents})
        return tally
