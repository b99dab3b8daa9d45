"""Checks that intervals and tests share, and the step from sums to an error."""

from __future__ import annotations

from typing import cast, get_args

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample.calibration.binning import BlockBins, ReliabilityBins
from corefsample.calibration.intervals import _draws
from corefsample.calibration.intervals._draws import FloatArray, Norm
from corefsample.errors import ParameterError


def error_of_sums(n: npt.ArrayLike, residual: FloatArray, norm: Norm) -> float:
    """Binned error, on its additive scale, from pairs and residuals (sum of q - y) by bin."""
    sums = np.array(n, np.float64)[None]
    return float(_draws.errors_of_sums(sums, np.array(residual)[None], norm)[0])


def rooted(errors: FloatArray, norm: Norm) -> FloatArray:
    """Bring errors from their additive scale to that of the norm."""
    return np.sqrt(errors) if norm == "rms" else errors


def generator(seed: int) -> np.random.Generator:
    """Return the generator of a seed, or refuse the seed."""
    return np.random.Generator(np.random.Philox(_checks.seed(seed)))


def require_level(level: float) -> float:
    """Return a level in (0, 1), or refuse it."""
    return _checks.probability("level", level, below_one=True, above_zero=True)


def require_norm(norm: Norm) -> Norm:
    """Return the norm, or refuse what is none."""
    return cast("Norm", _checks.choice("norm", norm, get_args(Norm)))


def require_bins(bins: object) -> ReliabilityBins:
    """Return sums by bin, or refuse what is none."""
    if not isinstance(bins, ReliabilityBins):
        raise ParameterError(f"bins must be ReliabilityBins, got {_checks.shown(bins)}")
    return bins


def require_blocks(blocks: object) -> BlockBins:
    """Return sums by block and bin, at least 2 blocks holding pairs, or refuse them."""
    if not isinstance(blocks, BlockBins):
        raise ParameterError(f"blocks must be BlockBins, got {_checks.shown(blocks)}")
    n_filled = int(blocks.n.any(axis=1).sum())
    if n_filled < 2:
        raise ParameterError(f"blocks must be at least 2 that hold pairs, got {n_filled}")
    return blocks
