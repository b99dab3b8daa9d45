"""Prediction-label pairs summed by bin, and by block and bin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from corefsample._arrays import Floats, Ints
from corefsample._lazy import pd
from corefsample._results import Result

Strategy = Literal["adaptive", "uniform"]
STRATEGIES: tuple[Strategy, ...] = ("adaptive", "uniform")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ReliabilityBins(Result):
    """Prediction-label pairs summed by bin of the prediction, bins ascending; arrays read-only, no bin empty.

    Attributes
    ----------
    n
        int64 (n_bins,): pairs, at least 1.
    sum_q, sum_q2, sum_y, sum_qy
        float64 (n_bins,): sums of prediction, squared prediction, label (0 or 1), and their product.
    q_min, q_max
        float64 (n_bins,) in [0, 1]: the least and the largest prediction of the bin; from a table, the ends of its
        outermost fine bins.

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
        The sums over all blocks.
    n, sum_q, sum_y
        float64 (n_blocks, n_bins): pairs, sum of predictions, sum of labels; zero where a block has no pair.
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
        block, place = np.nonzero(self.n)
        n = self.n[block, place]
        means = {"mean_q": self.sum_q[block, place] / n, "mean_y": self.sum_y[block, place] / n}
        return pd.DataFrame({"block": block, "bin": place, "n": n.astype(np.int64), **means})
