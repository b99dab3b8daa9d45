"""The reliability curve: the share of positive labels in each bin of predictions, with intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from corefsample._arrays import Bools, Floats
from corefsample.calibration.binning._binning import bin_pairs, block_bin_pairs
from corefsample.calibration.binning._bins import BlockBins, ReliabilityBins, Strategy
from corefsample.calibration.binning._results import Result
from corefsample.calibration.intervals._bin_intervals import BinMethod, bin_intervals

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ReliabilityCurve(Result):
    """Share of positive labels against mean prediction, one point per bin.

    Attributes
    ----------
    bins
        The pairs by bin: `bins.mean_q` is the curve's x, `bins.mean_y` its y.
    lower, upper
        float64 (n_bins,) in [0, 1], read-only: confidence interval of each bin's share, separately for each bin.
    level
        Of these intervals, in (0, 1).
    method
        How they were computed: "normal" or "clopper-pearson".
    by_block
        Whether they allow for dependence between pairs of one block (a document).
    """

    bins: ReliabilityBins
    lower: Floats
    upper: Floats
    level: float
    method: BinMethod
    by_block: bool

    @property
    def overconfident(self) -> Bools:
        """Bins whose whole interval lies below the mean prediction: bool (n_bins,)."""
        return self.upper < self.bins.mean_q

    @property
    def underconfident(self) -> Bools:
        """Bins whose whole interval lies above the mean prediction: bool (n_bins,)."""
        return self.lower > self.bins.mean_q

    def to_frame(self) -> pd.DataFrame:
        """Tidy table, one row per bin: as `ReliabilityBins.to_frame`, and lower, upper, level, verdict.

        The verdict is "over", "under", or "" if the interval contains the mean prediction.
        """
        verdict = np.where(self.overconfident, "over", np.where(self.underconfident, "under", ""))
        return self.bins.to_frame().assign(lower=self.lower, upper=self.upper, level=self.level, verdict=verdict)


def curve_of_bins(
    bins: ReliabilityBins | BlockBins, *, level: float = 0.95, method: BinMethod = "clopper-pearson"
) -> ReliabilityCurve:
    """Reliability curve of sums by bin, from a table for example.

    Parameters
    ----------
    bins
        Sums by bin, or by block and bin: the intervals then allow for dependence between pairs of one block.
    level
        In (0, 1).
    method
        "normal" (the paper's) or "clopper-pearson".
    """
    lower, upper = bin_intervals(bins, level=level, method=method)
    by_block = isinstance(bins, BlockBins)
    return ReliabilityCurve(bins.bins if isinstance(bins, BlockBins) else bins, lower, upper, level, method, by_block)


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

    Above the diagonal predictions are underconfident, below it overconfident. With adaptive bins the points also show
    the distribution of the predictions.

    Parameters
    ----------
    q, y
        Predictions in [0, 1] and labels 0 or 1, (n_pairs,).
    documents
        Document of each pair, (n_pairs,), at least 2 different ones: pairs of one document may depend on each other.
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
    options: dict[str, Any] = {"bin_size": bin_size, "n_bins": n_bins, "strategy": strategy, "n_samples": n_samples}
    bins = bin_pairs(q, y, **options) if documents is None else block_bin_pairs(q, y, documents, **options)
    return curve_of_bins(bins, level=level, method=method)
