"""What a binning leaves of prediction-label pairs: sums by bin, and by block and bin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["BlockBins", "ReliabilityBins", "Strategy"]

Strategy = Literal["adaptive", "uniform"]
STRATEGIES: tuple[Strategy, ...] = ("adaptive", "uniform")
FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class ReliabilityBins:
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
    strategy
        "adaptive" (equal mass) or "uniform" (equal width).
    asked_bin_size, asked_n_bins
        What was asked for; one of them is None.

    References
    ----------
    Nguyen & O'Connor (2015), Algorithm 1.
    """

    n: npt.NDArray[np.int64]
    sum_q: FloatArray
    sum_q2: FloatArray
    sum_y: FloatArray
    sum_qy: FloatArray
    q_min: FloatArray
    q_max: FloatArray
    strategy: Strategy
    asked_bin_size: int | None
    asked_n_bins: int | None

    def __post_init__(self) -> None:
        for name in ("n", "sum_q", "sum_q2", "sum_y", "sum_qy", "q_min", "q_max"):
            getattr(self, name).flags.writeable = False

    @property
    def n_bins(self) -> int:
        """Number of bins there are, which ties and short data can make fewer than asked for."""
        return int(self.n.shape[0])

    @property
    def n_pairs(self) -> int:
        """Number of pairs of all bins together."""
        return int(self.n.sum())

    @property
    def mean_q(self) -> FloatArray:
        """Mean prediction of each bin: float64 (n_bins,) in [0, 1]."""
        return self.sum_q / self.n

    @property
    def mean_y(self) -> FloatArray:
        """Share of positive labels in each bin: float64 (n_bins,) in [0, 1]."""
        return self.sum_y / self.n

    @property
    def share_above(self) -> FloatArray:
        """Share of all pairs that are in each bin or in a higher one: float64 (n_bins,), falling from 1."""
        return np.asarray(np.cumsum(self.n[::-1])[::-1] / self.n_pairs)

    def to_frame(self) -> pd.DataFrame:
        """Tidy table, one row a bin: bin, n, q_min, q_max, mean_q, mean_y."""
        import pandas as pd

        return pd.DataFrame(
            {
                "bin": np.arange(self.n_bins),
                "n": self.n,
                "q_min": self.q_min,
                "q_max": self.q_max,
                "mean_q": self.mean_q,
                "mean_y": self.mean_y,
            }
        )


@dataclass(frozen=True, slots=True, eq=False)
class BlockBins:
    """The same sums once more by block (a document, whose pairs are not independent), bins as in `bins`.

    Attributes
    ----------
    bins
        The sums over all blocks.
    n, sum_q, sum_y
        float64 (n_blocks, n_bins): pairs, sum of predictions, sum of labels; zero where a block has no pair.
    """

    bins: ReliabilityBins
    n: FloatArray
    sum_q: FloatArray
    sum_y: FloatArray

    def __post_init__(self) -> None:
        for array in (self.n, self.sum_q, self.sum_y):
            array.flags.writeable = False

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return int(self.n.shape[0])

    def to_frame(self) -> pd.DataFrame:
        """Tidy table, one row a block and bin that has pairs: block, bin, n, mean_q, mean_y."""
        import pandas as pd

        block, place = np.nonzero(self.n)
        n = self.n[block, place]
        means = {"mean_q": self.sum_q[block, place] / n, "mean_y": self.sum_y[block, place] / n}
        return pd.DataFrame({"block": block, "bin": place, "n": n.astype(np.int64), **means})
