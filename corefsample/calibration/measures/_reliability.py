"""The reliability curve: how often what was predicted comes true, bin by bin, with intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from corefsample.calibration.binning import BlockBins, ReliabilityBins, Strategy, bin_pairs, block_bin_pairs
from corefsample.calibration.intervals import BinMethod, bin_intervals

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ReliabilityCurve", "curve_of_bins", "reliability_curve"]

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class ReliabilityCurve:
    """Share of positive labels against mean prediction, one point a bin.

    Attributes
    ----------
    bins
        The pairs by bin: `bins.mean_q` is the curve's x, `bins.mean_y` its y.
    lower, upper
        float64 (n_bins,) in [0, 1], read-only: confidence interval of each bin's share, one bin at a time.
    level
        Of these intervals, in (0, 1).
    method
        How they were made: "normal" or "clopper-pearson".
    by_block
        Whether they allow for pairs of one block (a document) depending on each other.
    """

    bins: ReliabilityBins
    lower: FloatArray
    upper: FloatArray
    level: float
    method: BinMethod
    by_block: bool

    def __post_init__(self) -> None:
        self.lower.flags.writeable = False
        self.upper.flags.writeable = False

    @property
    def overconfident(self) -> npt.NDArray[np.bool_]:
        """Bins whose whole interval lies below the mean prediction: bool (n_bins,)."""
        return self.upper < self.bins.mean_q

    @property
    def underconfident(self) -> npt.NDArray[np.bool_]:
        """Bins whose whole interval lies above the mean prediction: bool (n_bins,)."""
        return self.lower > self.bins.mean_q

    def to_frame(self) -> pd.DataFrame:
        """Tidy table, one row a bin: as `ReliabilityBins.to_frame`, and lower, upper, level, verdict.

        The verdict is "over", "under" or "" where the interval holds the mean prediction.
        """
        verdict = np.where(self.overconfident, "over", np.where(self.underconfident, "under", ""))
        return self.bins.to_frame().assign(lower=self.lower, upper=self.upper, level=self.level, verdict=verdict)


def curve_of_bins(
    bins: ReliabilityBins | BlockBins, *, level: float = 0.95, method: BinMethod = "clopper-pearson"
) -> ReliabilityCurve:
    """Put intervals to sums by bin, from a table say.

    Parameters
    ----------
    bins
        Sums by bin, or by block and bin: then the intervals allow for pairs of one block depending on each other.
    level
        In (0, 1).
    method
        "normal" (the paper's) or "clopper-pearson".
    """
    lower, upper = bin_intervals(bins, level=level, method=method)
    blocks = isinstance(bins, BlockBins)
    return ReliabilityCurve(bins.bins if isinstance(bins, BlockBins) else bins, lower, upper, level, method, blocks)


def reliability_curve(
    q: npt.ArrayLike,
    y: npt.ArrayLike,
    *,
    documents: npt.ArrayLike | None = None,
    bin_size: int | None = None,
    n_bins: int | None = None,
    strategy: Strategy = "adaptive",
    n_samples: int | None = None,
    level: float = 0.95,
    method: BinMethod = "clopper-pearson",
) -> ReliabilityCurve:
    """Reliability curve of predictions q against labels y.

    Where the curve lies above the diagonal the predictions are underconfident, below it overconfident. With adaptive
    bins the points also show where the predictions lie.

    Parameters
    ----------
    q, y
        Predictions in [0, 1] and labels 0 or 1, (n_pairs,).
    documents
        Block of each pair, whose pairs may depend on each other, (n_pairs,); at least 2 different ones.
    bin_size, n_bins, strategy, n_samples
        See `bin_pairs`.
    level
        Of the intervals, in (0, 1).
    method
        "normal" (the paper's) or "clopper-pearson".

    Raises
    ------
    ParameterError
        As `bin_pairs` and `bin_intervals`.

    References
    ----------
    Nguyen & O'Connor (2015), section 3.3.

    Examples
    --------
    >>> curve = reliability_curve([0.1, 0.1, 0.9, 0.9], [0, 0, 1, 0], n_bins=2)
    >>> curve.to_frame()[["mean_q", "mean_y"]].to_numpy().tolist()
    [[0.1, 0.0], [0.9, 0.5]]
    """
    if documents is None:
        bins: ReliabilityBins | BlockBins = bin_pairs(
            q, y, bin_size=bin_size, n_bins=n_bins, strategy=strategy, n_samples=n_samples
        )
    else:
        bins = block_bin_pairs(
            q, y, documents, bin_size=bin_size, n_bins=n_bins, strategy=strategy, n_samples=n_samples
        )
    return curve_of_bins(bins, level=level, method=method)
