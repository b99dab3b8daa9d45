"""Recalibrators of no given form: histogram binning, scaling-binning and isotonic regression."""

from __future__ import annotations

from typing import Literal

import numpy as np

from corefsample import _checks
from corefsample._arrays import Bools, Floats, Ints
from corefsample.calibration._bins import STRATEGIES, Strategy
from corefsample.calibration._logistic import PlattScaling
from corefsample.calibration._recalibrator import Recalibrator, fixed
from corefsample.calibration._validation import Pairs, generator, isotonic_blocks, pooled
from corefsample.errors import ParameterError

Scaler = Literal["isotonic", "platt"]

SCALERS: tuple[Scaler, ...] = ("isotonic", "platt")


def equal_mass_edges(values: Floats, weights: Floats, n_bins: int) -> Floats:
    """Edges 0 <= ... <= 1 of bins [lo, hi), the last closed, of nearly equal weight.

    Parameters
    ----------
    values, weights
        float64 (n_values,): distinct values ascending, and the weight of each.
    n_bins
        Requested number of bins. Bin b closes with the first value at or below which (b + 1) / n_bins of the weight
        lies; one value that fills several bins closes them all, so there may be fewer.
    """
    below = np.cumsum(weights)
    closing = np.searchsorted(below * n_bins, np.arange(1, n_bins) * below[-1])
    starts = np.unique(closing + 1)
    return np.concatenate([[0.0], values[starts[starts < values.shape[0]]], [1.0]])


def bin_index(edges: Floats, values: Floats) -> Ints:
    """Bin of each value in [0, 1] among bins [lo, hi), the last closed."""
    return np.asarray(np.searchsorted(edges[1:-1], values, side="right"), np.int64)


def checked_n_bins(n_bins: object, n: int, strategy: Strategy = "adaptive") -> int:
    """Return the number of bins, or raise if adaptive ones are more than the number of pairs."""
    bins = _checks.whole("n_bins", n_bins, 1)
    if bins > n and strategy == "adaptive":
        raise ParameterError(f"must be at most the number of pairs ({n}), got {bins}", parameter="n_bins")
    return bins


class HistogramBinning(Recalibrator):
    """The share of positive labels among the fitted pairs of a prediction's bin.

    Parameters
    ----------
    n_bins
        Requested number of bins, of adaptive ones at most the number of pairs.
    strategy
        "adaptive": bins of nearly equal weight; pairs of equal prediction share a bin, so there may be fewer.
        "uniform": bins of equal width; an empty bin joins the one below it (the lowest: the one above).

    Attributes
    ----------
    edges_
        float64 (n_bins + 1,), from 0 to 1: bin b is [edges_[b], edges_[b + 1]), and the last one includes 1.
    values_
        float64 (n_bins,) in [0, 1]: weighted share of positive labels.

    References
    ----------
    Zadrozny & Elkan (2001); Nguyen & O'Connor (2015) for equal mass.

    Examples
    --------
    >>> model = HistogramBinning(n_bins=2).fit([0.1, 0.2, 0.7, 0.9], [0, 1, 1, 1])
    >>> model.edges_, model.predict([0.0, 0.69, 0.7, 1.0])
    (array([0. , 0.7, 1. ]), array([0.5, 0.5, 1. , 1. ]))
    """

    edges_: Floats
    values_: Floats

    def __init__(self, *, n_bins: int = 10, strategy: Strategy = "adaptive") -> None:
        self.n_bins = n_bins
        self.strategy = strategy

    def _fit(self, pairs: Pairs) -> None:
        _checks.choice("strategy", self.strategy, STRATEGIES)
        n_bins = checked_n_bins(self.n_bins, pairs.n, self.strategy)
        ties = pooled(pairs.q, pairs.y, pairs.weights)
        if self.strategy == "adaptive":
            edges = equal_mass_edges(ties.q, ties.weights, n_bins)
        else:
            edges = np.linspace(0.0, 1.0, n_bins + 1)
            filled = np.unique(bin_index(edges, ties.q))
            edges = np.concatenate([[0.0], edges[filled[1:]], [1.0]])
        place = bin_index(edges, ties.q)
        self.edges_ = fixed(edges)
        self.values_ = fixed(np.minimum(np.bincount(place, ties.positives) / np.bincount(place, ties.weights), 1.0))

    def _predict(self, q: Floats) -> Floats:
        return self.values_[bin_index(self.edges_, q)]


class ScalingBinning(Recalibrator):
    """A scaling function fitted to one part of the pairs, averaged within equal-mass bins of the other part.

    The scaling function is fitted with the labels of the first part. The predictions of the second part are scaled and
    binned by their scaled values; the value of a bin is the mean of its scaled values. So the labels of the second part
    are not used, and the prediction for one pair depends only on the fit. (The code of Kranzlein, Liu & Schneider
    averages over the pairs that it recalibrates, and splits the others by position.)

    Parameters
    ----------
    scaler
        "isotonic" or "platt".
    n_bins
        Requested number of bins; if scaled values tie there may be fewer.
    share
        Share, between 0 and 1, of the documents (without documents: of the pairs) for fitting the scaling function.
    seed
        Of the split: documents, or pairs if `fit` gets no documents, are drawn at random, never by position.

    Attributes
    ----------
    scaler_
        The fitted scaling function.
    edges_
        float64 (n_bins + 1,), from 0 to 1, of scaled values: [lo, hi), the last one closed.
    values_
        float64 (n_bins,) in [0, 1], increasing: mean scaled value.
    n_scaled_, n_binned_
        int: number of pairs of positive weight in each part.

    References
    ----------
    Kumar, Liang & Ma (2019), "Verified uncertainty calibration", here with the second part for binning and averaging.
    """

    scaler_: Recalibrator
    edges_: Floats
    values_: Floats
    n_scaled_: int
    n_binned_: int

    def __init__(self, *, scaler: Scaler = "isotonic", n_bins: int = 10, share: float = 0.5, seed: int = 0) -> None:
        self.scaler = scaler
        self.n_bins = n_bins
        self.share = share
        self.seed = seed

    def _fit(self, pairs: Pairs) -> None:
        _checks.choice("scaler", self.scaler, SCALERS)
        share = _checks.probability("share", self.share, below_one=True, above_zero=True)
        chosen = _split(pairs, share, self.seed)
        first, second = pairs.subset(chosen), pairs.subset(~chosen)
        n_bins = checked_n_bins(self.n_bins, second.n)
        self.scaler_ = IsotonicRecalibration() if self.scaler == "isotonic" else PlattScaling()
        self.scaler_._fit(first)
        self.n_scaled_, self.n_binned_ = first.n, second.n
        scaled = pooled(self.scaler_._predict(second.q), second.y, second.weights)
        edges = equal_mass_edges(scaled.q, scaled.weights, n_bins)
        place = bin_index(edges, scaled.q)
        means = np.bincount(place, scaled.q * scaled.weights) / np.bincount(place, scaled.weights)
        self.edges_ = fixed(edges)
        self.values_ = fixed(np.clip(means, 0.0, 1.0))

    def _predict(self, q: Floats) -> Floats:
        return self.values_[bin_index(self.edges_, self.scaler_._predict(q))]


def _split(pairs: Pairs, share: float, seed: int) -> Bools:
    """Choose a share of the documents, or of the pairs without documents; at least one on each side."""
    if pairs.documents is None:
        place, n, name = np.arange(pairs.n), pairs.n, "q"
    else:
        # Numbers that only pairs of weight 0 had are not counted.
        ids, place = np.unique(pairs.documents, return_inverse=True)
        n, name = ids.shape[0], "documents"
    if n < 2:
        raise ParameterError(f"must contain at least two to be split, got {n}", parameter=name)
    n_first = min(max(round(share * n), 1), n - 1)
    chosen = np.zeros(n, np.bool_)
    chosen[generator(seed).permutation(n)[:n_first]] = True
    return chosen[place]


class IsotonicRecalibration(Recalibrator):
    """The non-decreasing function of the prediction with the least squared error, interpolated linearly.

    Pairs of equal prediction are pooled, so the order of rows cannot change the result. Between two fitted predictions
    the value is interpolated linearly (as by Kranzlein, Liu & Schneider; CORP's own curve is a step function); outside
    them it is that of the nearest one, never NaN.

    Attributes
    ----------
    q_
        float64 (n_knots,), ascending: the first and the last fitted prediction of each block of constant value.
    values_
        float64 (n_knots,) in [0, 1], non-decreasing: the values there.

    References
    ----------
    Zadrozny & Elkan (2002); Kranzlein, Liu & Schneider (2021), section 2.2.

    Examples
    --------
    >>> IsotonicRecalibration().fit([0.2, 0.4, 0.6, 0.8], [0, 1, 0, 1]).predict([0.0, 0.3, 0.5, 1.0])
    array([0.  , 0.25, 0.5 , 1.  ])
    """

    q_: Floats
    values_: Floats

    def _fit(self, pairs: Pairs) -> None:
        ties = pooled(pairs.q, pairs.y, pairs.weights)
        starts, means = isotonic_blocks(ties)
        ends = np.append(starts[1:], ties.q.shape[0]) - 1
        knots, first = np.unique(np.stack([starts, ends], axis=1).ravel(), return_index=True)
        self.q_ = fixed(ties.q[knots])
        self.values_ = fixed(np.repeat(means, 2)[first])

    def _predict(self, q: Floats) -> Floats:
        return np.asarray(np.interp(q, self.q_, self.values_))
