"""What the studies of sparse tagsets compare: histogram binning, scaling-binning, and recalibration by group."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol, Self

import numpy as np

from corefsample._arrays import Bools, Floats, Ints
from corefsample.calibration import IsotonicRecalibration


class Recalibrator(Protocol):
    """What the recalibrators below have in common with those of the library."""

    def fit(self, q: Floats, y: Floats, /) -> Self: ...

    def predict(self, q: Floats, /) -> Floats: ...


class HistogramBinning:
    """The share of positive labels in a prediction's bin; bins of equal mass (Zadrozny & Elkan 2001)."""

    def __init__(self, n_bins: int = 10) -> None:
        self.n_bins = n_bins

    def fit(self, q: Floats, y: Floats) -> Self:
        self._edges = inner_edges(q, self.n_bins)
        self._shares = bin_means(self._edges, q, y)
        return self

    def predict(self, q: Floats) -> Floats:
        return self._shares[np.searchsorted(self._edges, q, side="right")]


class ScalingBinning:
    """Isotonic regression of half of the pairs; bins of equal mass of the other half (Kumar, Liang & Ma 2019)."""

    def __init__(self, n_bins: int = 10) -> None:
        self.n_bins = n_bins

    def fit(self, q: Floats, y: Floats) -> Self:
        first = np.zeros(q.size, bool)
        first[np.random.Generator(np.random.Philox(0)).permutation(q.size)[: round(q.size / 2)]] = True
        self._scaling = IsotonicRecalibration().fit(q[first], y[first])
        scaled = self._scaling.predict(q[~first])
        self._edges = inner_edges(scaled, self.n_bins)
        self._means = bin_means(self._edges, scaled, scaled)
        return self

    def predict(self, q: Floats) -> Floats:
        return self._means[np.searchsorted(self._edges, self._scaling.predict(q), side="right")]


def inner_edges(values: Floats, n_bins: int) -> Floats:
    """First value of every bin of nearly equal mass but the first; equal values share a bin, so there may be fewer."""
    distinct, counts = np.unique(values, return_counts=True)
    below = np.cumsum(counts)
    starts = np.unique(np.searchsorted(below * n_bins, np.arange(1, n_bins) * below[-1]) + 1)
    return distinct[starts[starts < distinct.size]]


def bin_means(edges: Floats, values: Floats, measured: Floats) -> Floats:
    """Mean of what is measured in each bin of the values."""
    place = np.searchsorted(edges, values, side="right")
    return np.bincount(place, measured) / np.bincount(place)


def recalibrated_by_group(
    make: Callable[[], Recalibrator], fit: tuple[Floats, Floats, Ints], q: Floats, group: Ints, least: int = 1
) -> Floats:
    """Predictions recalibrated by the fit of their group; a group of fewer than `least` pairs has the fit of all.

    Parameters
    ----------
    make
        A new recalibrator.
    fit
        Predictions, labels and groups that recalibrators are fitted to.
    q, group
        Predictions, and their groups.
    """
    fit_q, fit_y, fit_group = fit
    result = make().fit(fit_q, fit_y).predict(q)
    for number in np.unique(group):
        rows: Bools = fit_group == number
        if rows.sum() >= least:
            result[group == number] = make().fit(fit_q[rows], fit_y[rows]).predict(q[group == number])
    return result


def frequency_groups(counts: Mapping[str, int], n_groups: int) -> dict[str, int]:
    """Group of each tag, 1 for the most frequent ones, as in the code of Kranzlein, Liu & Schneider (2021).

    A group closes when its share is above 1 / n_groups, and the sum starts again from 0, so there may be fewer groups.
    """
    total = sum(counts.values())
    groups, number, share = {}, 1, 0.0
    for tag in sorted(counts, key=lambda tag: -counts[tag]):
        groups[tag] = number
        share += counts[tag] / total
        if share > 1.0 / n_groups and number < n_groups:
            number, share = number + 1, 0.0
    return groups
