"""Conventions of the code published with Kranzlein, Liu & Schneider (2021), where they differ from the paper or ours.

This is an independent implementation, for comparison with the paper's figures.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from corefsample._arrays import Floats, Ints
from corefsample.calibration.binning._bins import ReliabilityBins


def frequency_groups(counts: Sequence[float], n_groups: int) -> Ints:
    """Group, from 1, of each tag, given counts by descending frequency.

    A group closes when its share of the mass is above 1 / n_groups, in floating point as shares are added one by one,
    and the sum starts again at 0.
    """
    total = sum(counts)
    group = np.empty(len(counts), np.int64)
    number, share = 1, 0.0
    for place, count in enumerate(counts):
        group[place] = number
        share += count / total
        if share > 1.0 / n_groups and number < n_groups:
            number += 1
            share = 0.0
    return group


def bins_by_value(q: Floats, y: Floats, n_bins: int) -> ReliabilityBins | None:
    """Bins [lo, hi) by value between edges sorted[0], sorted[int(n / n_bins)], sorted[int(2 n / n_bins)], ..., 1.

    Scores of 1 belong to no bin, and a short last bin does not join another. Bins that are empty because of ties are
    left out; None if all are empty.
    """
    order = np.argsort(q, kind="stable")
    ordered = q[order]
    n = q.shape[0]
    lower = ordered[[i * n // n_bins for i in range(n_bins)]]
    ends = np.searchsorted(ordered, np.append(lower[1:], 1.0))
    starts = np.append(0, ends[:-1])
    filled = ends > starts
    starts, ends = starts[filled], ends[filled]
    if starts.shape[0] == 0:
        return None
    q, y = ordered[: ends[-1]], y[order][: ends[-1]]
    n = (ends - starts).astype(np.int64)
    sum_q, sum_q2, sum_y, sum_qy = (np.add.reduceat(each, starts) for each in (q, q * q, y, q * y))
    return ReliabilityBins(n, sum_q, sum_q2, sum_y, sum_qy, q[starts], q[ends - 1], "adaptive", None, n_bins)


def root_mean_square(bins: ReliabilityBins, n: int) -> float:
    """RMS error of bins, over all n scores: those in no bin count as if their error were 0."""
    return math.sqrt(float(bins.n @ (bins.mean_q - bins.mean_y) ** 2) / n)
