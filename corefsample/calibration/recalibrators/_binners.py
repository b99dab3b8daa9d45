"""Recalibrators that give a few values: histogram binning and scaling-binning."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample.calibration.binning import STRATEGIES, FloatArray, Pairs, Strategy, pooled
from corefsample.calibration.recalibrators._base import Recalibrator, fixed, require_curve
from corefsample.calibration.recalibrators._scalers import IsotonicRecalibration, PlattScaling
from corefsample.errors import ParameterError

__all__ = ["HistogramBinning", "ScalingBinning"]

Scaler = Literal["isotonic", "platt"]
SCALERS: tuple[Scaler, ...] = ("isotonic", "platt")


def equal_mass_edges(values: FloatArray, weights: FloatArray, n_bins: int) -> FloatArray:
    """Edges 0 <= ... <= 1 of bins [lo, hi), the last closed, of nearly equal weight.

    Parameters
    ----------
    values, weights
        float64 (n_values,): distinct values ascending, and the weight of each.
    n_bins
        Bins asked for. Bin b closes with the first value at or below which (b + 1) / n_bins of the weight lies; one
        value that fills several bins closes them all, so that there may be fewer.
    """
    below = np.cumsum(weights)
    closing = np.searchsorted(below * n_bins, np.arange(1, n_bins) * below[-1])
    starts = np.unique(closing + 1)
    return np.concatenate([[0.0], values[starts[starts < values.shape[0]]], [1.0]])


def bin_index(edges: FloatArray, values: FloatArray) -> npt.NDArray[np.int64]:
    """Bin of each value in [0, 1] among bins [lo, hi), the last closed."""
    return np.asarray(np.searchsorted(edges[1:-1], values, side="right"), np.int64)


def checked_n_bins(n_bins: object, n: int) -> int:
    """Return the number of bins, or refuse what is none or more than there are pairs."""
    bins = _checks.whole("n_bins", n_bins, 1)
    if bins > n:
        raise ParameterError(f"n_bins must be at most the number of pairs ({n}), got {bins}")
    return bins


class HistogramBinning(Recalibrator):
    """The share of positive labels among the fitted pairs of the bin that a prediction falls into.

    Parameters
    ----------
    n_bins
        Bins asked for, at most one a pair.
    strategy
        "adaptive": bins of nearly equal weight, pairs of equal prediction never parted, so that there may be fewer.
        "uniform": bins of equal width; one without a pair joins the one below it (the lowest: the one above).

    Attributes
    ----------
    edges_
        float64 (n_bins + 1,), from 0 to 1: bin b takes [edges_[b], edges_[b + 1]), the last one 1 too.
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

    _fitted: ClassVar[tuple[str, ...]] = ("edges_", "values_")

    edges_: FloatArray
    values_: FloatArray

    def __init__(self, *, n_bins: int = 10, strategy: Strategy = "adaptive") -> None:
        self.n_bins = n_bins
        self.strategy = strategy

    def _fit(self, pairs: Pairs) -> None:
        n_bins = checked_n_bins(self.n_bins, pairs.n)
        _checks.choice("strategy", self.strategy, STRATEGIES)
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

    def _predict(self, q: FloatArray) -> FloatArray:
        return self.values_[bin_index(self.edges_, q)]

    def _check_fit(self) -> None:
        require_curve("HistogramBinning", self.edges_, self.values_, extra=1)


class ScalingBinning(Recalibrator):
    """A scaling function fitted to one part of the pairs, averaged within equal-mass bins of the other part.

    The scaling function is fitted with the labels of the first part. The predictions of the second part are scaled and
    binned by what comes out; a bin's value is the mean of the scaled values that fell into it, so that the labels of
    the second part are not used, and neither are the predictions to be recalibrated: what is predicted for one pair
    depends on the fit alone. (The code of Kranzlein, Liu & Schneider averages over the pairs it recalibrates, and
    parts the others by position.)

    Parameters
    ----------
    scaler
        "isotonic" or "platt".
    n_bins
        Bins asked for; where scaled values tie there may be fewer.
    share
        Part, between 0 and 1, of the documents (without documents: of the pairs) that fits the scaling function.
    seed
        The split: documents, or pairs where none are named in `fit`, are drawn at random, never taken by position.

    Attributes
    ----------
    scaler_
        The fitted scaling function.
    edges_
        float64 (n_bins + 1,), from 0 to 1, of scaled values: [lo, hi), the last one closed.
    values_
        float64 (n_bins,) in [0, 1], rising: mean scaled value.
    n_scaled_, n_binned_
        int: pairs of positive weight that went into each part.

    References
    ----------
    Kumar, Liang & Ma (2019), "Verified uncertainty calibration", with the second part both binning and averaging.
    """

    _fitted: ClassVar[tuple[str, ...]] = ("scaler_", "edges_", "values_", "n_scaled_", "n_binned_")

    scaler_: Recalibrator
    edges_: FloatArray
    values_: FloatArray
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
        chosen = _split(pairs, share, _checks.seed(self.seed))
        first, second = pairs.taken(chosen), pairs.taken(~chosen)
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

    def _predict(self, q: FloatArray) -> FloatArray:
        return self.values_[bin_index(self.edges_, self.scaler_._predict(q))]

    def _check_fit(self) -> None:
        require_curve("ScalingBinning", self.edges_, self.values_, extra=1)
        if not isinstance(self.scaler_, Recalibrator):
            raise ParameterError(f"fitted of ScalingBinning must hold its scaler, got {_checks.shown(self.scaler_)}")


def _split(pairs: Pairs, share: float, seed: int) -> npt.NDArray[np.bool_]:
    """Choose about a share of the documents, or of the pairs where there are none; at least one on each side."""
    if pairs.documents is None:
        place, n, what = np.arange(pairs.n), pairs.n, "q must hold at least two pairs to be split"
    else:
        # Numbers that a weight of 0 has emptied are no documents.
        ids, place = np.unique(pairs.documents, return_inverse=True)
        n, what = ids.shape[0], "documents must be at least two to be split"
    if n < 2:
        raise ParameterError(f"{what}, got {n}")
    n_first = min(max(round(share * n), 1), n - 1)
    chosen = np.zeros(n, np.bool_)
    chosen[np.random.Generator(np.random.Philox(seed)).permutation(n)[:n_first]] = True
    return chosen[place]
