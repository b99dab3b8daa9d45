"""Checks that intervals and tests share, and the step from sums to an error."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample._arrays import Floats
from corefsample.calibration.binning import BlockBins, Norm, ReliabilityBins
from corefsample.calibration.intervals import _draws
from corefsample.errors import ParameterError


def error_of_sums(n: npt.ArrayLike, residual: Floats, norm: Norm) -> float:
    """Binned error, on its additive scale, from pairs and residuals (sum of q - y) by bin."""
    sums = np.array(n, np.float64)[None]
    return float(_draws.errors_of_sums(sums, np.array(residual)[None], norm)[0])


def rooted(errors: npt.ArrayLike, norm: Norm) -> Floats:
    """Bring errors from their additive scale to that of the norm."""
    return np.sqrt(errors) if norm == "rms" else np.asarray(errors)


def checked_level(level: float) -> float:
    """Return a level in (0, 1), or raise."""
    return _checks.probability("level", level, below_one=True, above_zero=True)


def require_bins(bins: object) -> ReliabilityBins:
    """Return sums by bin, or raise."""
    if not isinstance(bins, ReliabilityBins):
        raise ParameterError(f"must be ReliabilityBins, got {_checks.shown(bins)}", parameter="bins")
    return bins


def require_blocks(blocks: object) -> BlockBins:
    """Return sums by block and bin, or raise if fewer than 2 blocks have pairs."""
    if not isinstance(blocks, BlockBins):
        raise ParameterError(f"must be BlockBins, got {_checks.shown(blocks)}", parameter="blocks")
    n_filled = int(blocks.n.any(axis=1).sum())
    if n_filled < 2:
        raise ParameterError(f"must be at least 2 with pairs, got {n_filled}", parameter="blocks")
    return blocks
