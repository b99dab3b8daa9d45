"""Prediction-label pairs summed by bin, and by block and bin; the parts of their Brier score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from corefsample._arrays import Floats, Ints
from corefsample._lazy import pd
from corefsample._results import HtmlTable, Result

Strategy = Literal["adaptive", "uniform"]
STRATEGIES: tuple[Strategy, ...] = ("adaptive", "uniform")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ReliabilityBins(Result):
    """Prediction-label pairs summed by bin of the prediction, bins ascending; arrays read-only, no bin empty.

    Attributes
    ----------
    n
        int64 (n_bins,): number of pairs in each bin, at least 1.
    sum_q, sum_q2, sum_y, sum_qy
        float64 (n_bins,): sums of prediction, squared prediction, label (0 or 1), and their product.
    q_min, q_max
        float64 (n_bins,) in [0, 1]: least and largest prediction of each bin; if the bins come from a table, the ends
        of the outermost fine bins in each.

    References
    ----------
    Nguyen & O'Connor (2015), Algorithm 1.
    """

    n: Ints
    sum_q: Floats
    sum_q2: Floats
    sum_y: Floats
    sum_qy: Floats
    q_min: Floats
    q_max: Floats

    @property
    def n_bins(self) -> int:
        """Number of bins, which may be fewer than requested because of ties or too few pairs."""
        return int(self.n.shape[0])

    @property
    def n_pairs(self) -> int:
        """Number of pairs of all bins together."""
        return int(self.n.sum())

    @property
    def mean_q(self) -> Floats:
        """Mean prediction of each bin: float64 (n_bins,) in [0, 1]."""
        return self.sum_q / self.n

    @property
    def mean_y(self) -> Floats:
        """Share of positive labels in each bin: float64 (n_bins,) in [0, 1]."""
        return self.sum_y / self.n

    @property
    def share_above(self) -> Floats:
        """Share of all pairs that are in each bin or in a higher one: float64 (n_bins,), decreasing from 1."""
        return np.asarray(np.cumsum(self.n[::-1])[::-1] / self.n_pairs)

    def to_frame(self) -> pd.DataFrame:
        """Tidy table, one row per bin: bin, n, q_min, q_max, mean_q, mean_y."""
        frame = self._columns("n", "q_min", "q_max", "mean_q", "mean_y")
        frame.insert(0, "bin", np.arange(self.n_bins))
        return frame


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class BlockBins(Result):
    """Sums by block (a document, whose pairs are not independent) and bin.

    Attributes
    ----------
    bins
        Sums by bin over all blocks.
    n, sum_q, sum_y
        float64 (n_blocks, n_bins): number of pairs, sum of predictions and sum of labels of each block in each bin;
        zero where a block has no pair.
    """

    bins: ReliabilityBins
    n: Floats
    sum_q: Floats
    sum_y: Floats

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return int(self.n.shape[0])

    def to_frame(self) -> pd.DataFrame:
        """Tidy table, one row per block and bin that has pairs: block, bin, n, mean_q, mean_y."""
        block, bin_index = np.nonzero(self.n)
        n = self.n[block, bin_index]
        means = {"mean_q": self.sum_q[block, bin_index] / n, "mean_y": self.sum_y[block, bin_index] / n}
        return pd.DataFrame({"block": block, "bin": bin_index, "n": n.astype(np.int64), **means})


@dataclass(frozen=True, slots=True, repr=False)
class BrierDecomposition(HtmlTable):
    """The Brier score as a sum of parts: brier = calibration + refinement + within_bins.

    Attributes
    ----------
    brier
        Mean squared distance of predictions from labels.
    calibration
        Mean squared distance of a bin's mean prediction from its share p of positive labels: the "mse" error.
    refinement
        Mean of p (1 - p), which calibration cannot reduce. Together with `calibration` it is the Brier score of the
        forecast that predicts each bin's mean prediction throughout the bin.
    within_bins
        Remainder of the score: the spread of predictions within bins, minus twice their covariance with the labels.
        It is negative if predictions discriminate between labels within bins.
    uncertainty
        p (1 - p), where p is the share of positive labels among all pairs: the Brier score of a forecast that always
        predicts this base rate.
    """

    brier: float
    calibration: float
    refinement: float
    within_bins: float
    uncertainty: float


def brier_decomposition(bins: ReliabilityBins) -> BrierDecomposition:
    """Parts of the Brier score of binned pairs; the identity holds to rounding.

    Parameters
    ----------
    bins
        Pairs summed by bin, from `bin_pairs` or a table.

    References
    ----------
    Nguyen & O'Connor (2015), Eq. 1; DeGroot & Fienberg (1983); Stephenson, Coelho & Jolliffe (2008), "Two extra
    components in the Brier score decomposition", for the part within bins.

    Examples
    --------
    >>> from corefsample.calibration._binning import bin_pairs
    >>> parts = brier_decomposition(bin_pairs([0.2, 0.4, 0.8, 0.8], [0, 0, 1, 0], n_bins=2))
    >>> [round(part, 6) for part in (parts.brier, parts.calibration, parts.refinement, parts.within_bins)]
    [0.22, 0.09, 0.125, 0.005]
    """
    total = bins.n_pairs
    p = bins.mean_y
    spread = bins.sum_q2 - bins.sum_q * bins.mean_q
    covariance = bins.sum_qy - bins.sum_q * p
    base_rate = float(bins.sum_y.sum()) / total
    return BrierDecomposition(
        brier=float((bins.sum_q2 - 2.0 * bins.sum_qy + bins.sum_y).sum()) / total,
        calibration=float(bins.n @ (bins.mean_q - p) ** 2) / total,
        refinement=float(bins.n @ (p * (1.0 - p))) / total,
        within_bins=float((spread - 2.0 * covariance).sum()) / total,
        uncertainty=base_rate * (1.0 - base_rate),
    )
