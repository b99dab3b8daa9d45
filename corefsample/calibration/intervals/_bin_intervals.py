"""Confidence intervals of the share of positive labels in single bins."""

from __future__ import annotations

from statistics import NormalDist
from typing import Literal, cast, get_args

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample.calibration.binning import BlockBins, ReliabilityBins
from corefsample.calibration.intervals._options import require_bins, require_blocks, require_level

__all__ = ["BinMethod", "bin_intervals"]

FloatArray = npt.NDArray[np.float64]
BinMethod = Literal["normal", "clopper-pearson"]


def bin_intervals(
    bins: ReliabilityBins | BlockBins, *, level: float = 0.95, method: BinMethod = "normal"
) -> tuple[FloatArray, FloatArray]:
    """Confidence interval of the share of positive labels in each bin, one bin at a time.

    Parameters
    ----------
    bins
        Sums by bin: the pairs are taken to be independent. Sums by block and bin: they may depend on each other
        within a block, and the spread is that between blocks.
    level
        In (0, 1).
    method
        "normal": the share plus and minus z standard errors, cut at 0 and 1; of no width where all labels agree.
        "clopper-pearson": exact binomial; with blocks, of as many independent pairs as would have the same standard
        error (Korn & Graubard), at most those there are.

    Returns
    -------
    lower, upper
        float64 (n_bins,) in [0, 1]. With blocks, a bin whose pairs all come from one block gives no measure of their
        spread: its interval is [0, 1].

    Raises
    ------
    ParameterError
        If there are fewer than 2 blocks, or an option breaks its rule.

    References
    ----------
    Nguyen & O'Connor (2015), Algorithm 2 and Figure 1; Clopper & Pearson (1934), Biometrika 26; Korn & Graubard (1998),
    Survey Methodology 24.
    """
    tail = (1.0 - require_level(level)) / 2.0
    method = cast("BinMethod", _checks.choice("method", method, get_args(BinMethod)))
    blocks = bins if isinstance(bins, BlockBins) else None
    sums = require_bins(bins) if blocks is None else require_blocks(blocks).bins
    share, n = sums.mean_y, sums.n.astype(np.float64)
    variance = share * (1.0 - share) / n
    spread = np.ones(sums.n_bins, np.int64) if blocks is None else (blocks.n > 0).sum(axis=0)
    effect = np.ones(sums.n_bins) if blocks is None else _design_effects(blocks, share, variance, spread)
    if method == "normal":
        half = NormalDist().inv_cdf(1.0 - tail) * np.sqrt(variance * effect)
        lower, upper = np.maximum(share - half, 0.0), np.minimum(share + half, 1.0)
    else:
        from scipy.stats import beta

        pairs = n / np.maximum(effect, 1.0)
        hits, misses = share * pairs, (1.0 - share) * pairs
        with np.errstate(invalid="ignore"):  # beta's law wants positive parameters: the ends are set below
            low, high = beta.ppf(tail, hits, misses + 1.0), beta.isf(tail, hits + 1.0, misses)
        lower, upper = np.where(share == 0.0, 0.0, low), np.where(share == 1.0, 1.0, high)
    if blocks is not None:
        lower, upper = np.where(spread > 1, lower, 0.0), np.where(spread > 1, upper, 1.0)
    return lower, upper


def _design_effects(
    blocks: BlockBins, share: FloatArray, variance: FloatArray, spread: npt.NDArray[np.int64]
) -> FloatArray:
    """How many times the variance of a bin's share is that of independent pairs: float64 (n_bins,).

    Where all labels agree the bin itself does not say, and the effect over all bins stands in.
    """
    n = blocks.bins.n
    squares = np.square(blocks.sum_y - share * blocks.n).sum(axis=0)
    between = squares / np.square(n) * spread / np.maximum(spread - 1, 1)
    known = (variance > 0.0) & (spread > 1)
    overall = np.sum((n**2 * between)[known]) / np.sum((n**2 * variance)[known]) if known.any() else 1.0
    return np.where(known, between / np.where(known, variance, 1.0), overall)
