"""Confidence intervals of the share of positive labels in single bins."""

from __future__ import annotations

from statistics import NormalDist
from typing import Literal, cast, get_args

import numpy as np

from corefsample import _checks
from corefsample._arrays import Floats, Ints
from corefsample.calibration.binning._bins import BlockBins, ReliabilityBins
from corefsample.calibration.binning._validation import checked_level
from corefsample.calibration.intervals._draws import require_bins, require_blocks

BinMethod = Literal["normal", "clopper-pearson"]


def bin_intervals(
    bins: ReliabilityBins | BlockBins, *, level: float = 0.95, method: BinMethod = "normal"
) -> tuple[Floats, Floats]:
    """Confidence interval of the share of positive labels in each bin, one bin at a time.

    Parameters
    ----------
    bins
        Sums by bin, which assumes independent pairs, or sums by block and bin: pairs of one block may then depend on
        each other, and the spread is that between blocks.
    level
        In (0, 1).
    method
        "normal": the share plus and minus z standard errors, cut at 0 and 1; of width 0 if all labels agree.
        "clopper-pearson": exact binomial; with blocks, for the number of independent pairs that would have the same
        standard error (Korn & Graubard), at most the number of pairs.

    Returns
    -------
    lower, upper
        float64 (n_bins,) in [0, 1]. With blocks, the spread of a bin whose pairs all come from one block is unknown,
        and its interval is [0, 1].

    Raises
    ------
    ParameterError
        If there are fewer than 2 blocks, or an option breaks its rule.

    References
    ----------
    Nguyen & O'Connor (2015), Algorithm 2 and Figure 1; Clopper & Pearson (1934), Biometrika 26; Korn & Graubard (1998),
    Survey Methodology 24.
    """
    tail = (1.0 - checked_level(level)) / 2.0
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
        with np.errstate(invalid="ignore"):  # the beta distribution needs positive parameters; these ends are set below
            low, high = beta.ppf(tail, hits, misses + 1.0), beta.isf(tail, hits + 1.0, misses)
        lower, upper = np.where(share == 0.0, 0.0, low), np.where(share == 1.0, 1.0, high)
    if blocks is not None:
        lower, upper = np.where(spread > 1, lower, 0.0), np.where(spread > 1, upper, 1.0)
    return lower, upper


def _design_effects(blocks: BlockBins, share: Floats, variance: Floats, spread: Ints) -> Floats:
    """Ratio of the variance of a bin's share to that of independent pairs: float64 (n_bins,).

    If all labels of a bin agree, its own ratio is unknown, and that over all bins is used.
    """
    n = blocks.bins.n
    squares = np.square(blocks.sum_y - share * blocks.n).sum(axis=0)
    between = squares / np.square(n) * spread / np.maximum(spread - 1, 1)
    known = (variance > 0.0) & (spread > 1)
    overall = np.sum((n**2 * between)[known]) / np.sum((n**2 * variance)[known]) if known.any() else 1.0
    return np.where(known, between / np.where(known, variance, 1.0), overall)
