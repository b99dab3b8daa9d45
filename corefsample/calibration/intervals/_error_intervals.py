"""How sure a calibration error is: confidence intervals, and a test against perfect calibration."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample.calibration.binning import BlockBins, ReliabilityBins
from corefsample.calibration.intervals import _draws
from corefsample.calibration.intervals._bin_intervals import BinMethod, bin_intervals
from corefsample.calibration.intervals._draws import Norm
from corefsample.calibration.intervals._interval import Interval, interval_of_draws
from corefsample.calibration.intervals._options import (
    error_of_sums,
    generator,
    require_bins,
    require_blocks,
    require_level,
    require_norm,
    rooted,
)
from corefsample.calibration.intervals._sign_flip_test import CalibrationTest, calibration_test
from corefsample.errors import ParameterError

__all__ = [
    "BinMethod",
    "BootstrapMethod",
    "CalibrationTest",
    "Interval",
    "SimulationMethod",
    "bin_intervals",
    "bootstrap_errors",
    "bootstrap_interval",
    "calibration_test",
    "simulated_errors",
    "simulated_interval",
]

FloatArray = npt.NDArray[np.float64]
SQUARED: tuple[Norm, ...] = ("rms", "mse")
SimulationMethod = Literal["normal", "inverted", "pivotal"]
BootstrapMethod = Literal["inverted", "pivotal", "basic", "percentile"]


# --- independent pairs -------------------------------------------------------------------------------------


def simulated_errors(bins: ReliabilityBins, *, norm: Norm = "rms", n_draws: int = 10_000, seed: int = 0) -> FloatArray:
    """Errors that Algorithm 2 draws: each bin's share of positives from a normal law around its estimate.

    The share of bin b is drawn from N(p, p (1 - p) / n), where p is the share found among the bin's n pairs, and
    clipped to [0, 1]. Pairs are taken to be independent.

    Parameters
    ----------
    bins
        Sums by bin.
    norm
        "rms", "mse", "l1" or "max".
    n_draws
        At least 2.
    seed
        Of the generator (Philox), in [0, 2^64); the first draws of many are the few.

    Returns
    -------
    array of shape (n_draws,), float64 in [0, 1]

    Raises
    ------
    ParameterError
        If an option breaks its rule.

    References
    ----------
    Nguyen & O'Connor (2015), Algorithm 2, step 2.
    """
    require_bins(bins)
    return rooted(simulated_draws(bins, require_norm(norm), n_draws, seed)[0], norm)


def simulated_interval(
    bins: ReliabilityBins,
    *,
    norm: Norm = "rms",
    level: float = 0.95,
    n_draws: int = 10_000,
    seed: int = 0,
    method: SimulationMethod = "normal",
) -> Interval:
    """Confidence interval from simulated labels; the pairs are taken to be independent.

    "normal" is Algorithm 2: the mean of the simulated errors, plus and minus z standard deviations. It is centred on
    that mean, which lies above the estimate, as the estimate lies above the truth. So it can exclude the estimate
    itself (perfect pairs, 4.3 million in 860 bins: estimate .0028, interval .0037 to .0044), never holds the truth
    where calibration is perfect, and holds it in 95% of cases only where the error is many times the noise of a bin.
    Take it to compare with published figures.

    "inverted" takes every error that the estimate does not contradict, given how far draws scatter about it and about
    no error. For independent pairs 95% intervals hold the truth in 93% to 98% of cases, perfect or not, in small bins
    and large. It speaks of the true error, and so need not hold the estimate, which noise inflates; it does hold the
    debiased one. "pivotal" reflects the draws about the estimate: wider where the error is small.

    None holds its level for pairs that come in documents: see `bootstrap_interval`. The figures are those of
    `coverage_study`, in docs/calibration-studies.md; `python benchmarks/studies.py coverage` makes them.

    Parameters
    ----------
    bins
        Sums by bin.
    norm
        "rms", "mse", "l1" or "max"; the last two have no inverted interval, and none that holds its level.
    level
        In (0, 1).
    n_draws
        At least 2.
    seed
        Of the generator, in [0, 2^64).
    method
        "normal", "inverted" or "pivotal".

    Raises
    ------
    ParameterError
        If an option breaks its rule.

    References
    ----------
    Nguyen & O'Connor (2015), Algorithm 2; Carpenter (1999), "Test inversion bootstrap confidence intervals", of the
    inverted one; Davison & Hinkley (1997), Bootstrap Methods and their Application, section 5.2, of the pivotal one.
    """
    require_bins(bins)
    level = require_level(level)
    kind = _method(method, get_args(SimulationMethod), require_norm(norm))
    errors, noise = simulated_draws(bins, norm, n_draws, seed)
    estimate = error_of_sums(bins.n, bins.sum_q - bins.sum_y, norm)
    return interval_of_draws(f"simulated {kind}", estimate, errors, noise, level, norm)


# --- pairs in blocks ---------------------------------------------------------------------------------------


def bootstrap_errors(blocks: BlockBins, *, norm: Norm = "rms", n_draws: int = 10_000, seed: int = 0) -> FloatArray:
    """Errors of whole blocks (documents) drawn with replacement, the bins staying as they are.

    A block without a single pair, which a group of pairs may leave, is not drawn.

    Parameters
    ----------
    blocks
        Sums by block and bin, of at least 2 blocks.
    norm
        "rms", "mse", "l1" or "max".
    n_draws
        At least 2.
    seed
        Of the generator (Philox), in [0, 2^64); the first draws of many are the few.

    Returns
    -------
    array of shape (n_draws,), float64 in [0, 1]

    Raises
    ------
    ParameterError
        If there are fewer than 2 blocks, or an option breaks its rule.
    """
    require_blocks(blocks)
    return rooted(bootstrap_draws(blocks, require_norm(norm), n_draws, seed)[0], norm)


def bootstrap_interval(
    blocks: BlockBins,
    *,
    norm: Norm = "rms",
    level: float = 0.95,
    n_draws: int = 10_000,
    seed: int = 0,
    method: BootstrapMethod | None = None,
) -> Interval:
    """Confidence interval by drawing whole blocks (documents): pairs of one block may depend on each other.

    Noise inflates the estimate, and the resamples once more. "inverted" takes every error that the estimate does not
    contradict, given how far resamples scatter about it and about no error. 95% intervals of 100 documents hold the
    truth in 93% to 99.8% of cases, perfect or not, in small bins and large, with dependence or without; those of 20
    documents in 91% to 96%, of 10 in 87% to 94%. It speaks of the true error, and so need not hold the estimate; it
    does hold the debiased one.

    "pivotal" reflects the resamples about the estimate (squared errors where the norm is one of squares): wider where
    the error is small. "basic" reflects the error itself, not its square; "percentile" takes the resamples' quantiles
    as they are. Both fail where noise is a good part of the error, and are here for comparison. The figures are those
    of `coverage_study`, in docs/calibration-studies.md; `python benchmarks/studies.py coverage` makes them.

    Parameters
    ----------
    blocks
        Sums by block and bin, of at least 2 blocks; from some 50 on the level can be relied on.
    norm
        "rms", "mse", "l1" or "max"; the last two have no inverted interval. The pivotal one holds its level for "l1" in
        large bins alone, for "max" not at all.
    level
        In (0, 1).
    n_draws
        At least 2.
    seed
        Of the generator, in [0, 2^64).
    method
        "inverted", "pivotal", "basic" or "percentile"; by default "inverted", for "l1" and "max" "pivotal".

    Raises
    ------
    ParameterError
        If there are fewer than 2 blocks, or an option breaks its rule.

    References
    ----------
    Carpenter (1999), "Test inversion bootstrap confidence intervals", Journal of the Royal Statistical Society B 61;
    Davison & Hinkley (1997), Bootstrap Methods and their Application, sections 2.4 and 5.2.
    """
    require_blocks(blocks)
    level = require_level(level)
    default = "inverted" if require_norm(norm) in SQUARED else "pivotal"
    kind = _method(default if method is None else method, get_args(BootstrapMethod), norm)
    errors, noise = bootstrap_draws(blocks, norm, n_draws, seed)
    estimate = error_of_sums(blocks.n.sum(axis=0), (blocks.sum_q - blocks.sum_y).sum(axis=0), norm)
    return interval_of_draws(f"bootstrap {kind}", estimate, errors, noise, level, norm)


# --- common to both ------------------------------------------------------------------------------------------


def _method(method: str, allowed: tuple[str, ...], norm: Norm) -> str:
    _checks.choice("method", method, allowed)
    if method == "inverted" and norm not in SQUARED:
        raise ParameterError(f"norm must be one of {', '.join(SQUARED)} for method='inverted', got {norm!r}")
    return method


def simulated_draws(bins: ReliabilityBins, norm: Norm, n_draws: int, seed: int) -> tuple[FloatArray, FloatArray]:
    """Errors and noise of Algorithm 2, float64 (n_draws,) each, on the additive scale."""
    draws, n = _checks.whole("n_draws", n_draws, 2), bins.n.astype(np.float64)
    return _draws.simulated(n, bins.mean_q, bins.mean_y, norm, draws, generator(seed))


def bootstrap_draws(blocks: BlockBins, norm: Norm, n_draws: int, seed: int) -> tuple[FloatArray, FloatArray]:
    """Errors and noise of resampled blocks, float64 (n_draws,) each, on the additive scale."""
    draws, filled = _checks.whole("n_draws", n_draws, 2), blocks.n.any(axis=1)
    residual = blocks.sum_q[filled] - blocks.sum_y[filled]
    return _draws.bootstrapped(blocks.n[filled], residual, norm, draws, generator(seed))
