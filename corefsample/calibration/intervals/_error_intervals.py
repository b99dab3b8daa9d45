"""Confidence intervals of a calibration error: simulated for independent pairs, or by bootstrap of blocks."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal, get_args

import numpy as np

from corefsample import _checks
from corefsample.calibration.binning import BlockBins, Norm, ReliabilityBins, checked_level, checked_norm, generator
from corefsample.calibration.intervals._draws import (
    ErrorDraws,
    bootstrapped,
    require_bins,
    require_blocks,
    rooted,
    simulated,
)

SimulationMethod = Literal["normal", "inverted", "pivotal"]
BootstrapMethod = Literal["inverted", "pivotal", "basic", "percentile"]


@dataclass(frozen=True, slots=True)
class Interval:
    """Confidence interval of a binned calibration error.

    Attributes
    ----------
    lower, upper
        Its ends, in [0, 1].
    level
        The nominal share of intervals that contain the true error, in (0, 1).
    method
        "simulated" or "bootstrap", and the method's name: "bootstrap inverted", for example.
    norm
        Of the error.
    mean, sd
        Mean and standard deviation of the errors drawn. The mean lies above the estimate, as the estimate lies above
        the truth: each draw adds noise to an error that noise has already inflated.
    n_resamples
        Number of errors drawn.
    """

    lower: float
    upper: float
    level: float
    method: str
    norm: Norm
    mean: float
    sd: float
    n_resamples: int


# --- independent pairs -------------------------------------------------------------------------------------


def simulated_draws(
    bins: ReliabilityBins, *, norm: Norm = "rms", n_resamples: int = 10_000, seed: int = 0
) -> ErrorDraws:
    """Draw errors by Algorithm 2: each bin's share of positives from a normal distribution around its estimate.

    The share of bin b is drawn from N(p, p (1 - p) / n), where p is the share found among the bin's n pairs, and
    clipped to [0, 1]. Pairs are assumed to be independent.

    Parameters
    ----------
    bins
        Sums by bin.
    norm
        "rms", "mse", "l1" or "max".
    n_resamples
        At least 2.
    seed
        Of the generator (Philox), in [0, 2^64); more draws extend the same sequence.

    Raises
    ------
    ParameterError
        If an option breaks its rule.

    References
    ----------
    Nguyen & O'Connor (2015), Algorithm 2, step 2.
    """
    draws = _checks.whole("n_resamples", n_resamples, 2)
    return simulated(require_bins(bins), checked_norm(norm), draws, generator(seed))


def simulated_interval(
    bins: ReliabilityBins,
    *,
    norm: Norm = "rms",
    level: float = 0.95,
    n_resamples: int = 10_000,
    seed: int = 0,
    method: SimulationMethod = "normal",
) -> Interval:
    """Confidence interval from simulated labels; the pairs are assumed to be independent.

    "normal" is Algorithm 2: the mean of the simulated errors, plus and minus z standard deviations. It is centred on
    that mean, which lies above the estimate, as the estimate lies above the truth. So it can exclude the estimate
    itself (perfect pairs, 4.3 million in 860 bins: estimate .0028, interval .0037 to .0044), never contains the truth
    if calibration is perfect, and contains it in 95% of cases only if the error is many times the noise of a bin.
    Use it to compare with published figures.

    "inverted" contains every error that the estimate does not contradict, given how far draws scatter about it and
    about no error. For independent pairs 95% intervals contain the truth in 93% to 98% of cases, perfect or not, in
    small bins and large. It is an interval of the true error, so it may exclude the estimate, which noise inflates; it
    does contain the debiased one. "pivotal" reflects the draws about the estimate: wider if the error is small.

    No method keeps its level for pairs of the same documents: see `bootstrap_interval`. The figures are those of
    `coverage_study`, in docs/calibration-studies.md; `python benchmarks/studies.py coverage` makes them.

    Parameters
    ----------
    bins, norm, n_resamples, seed
        As of `simulated_draws`; "l1" and "max" have no inverted interval, and none that keeps its level.
    level
        In (0, 1).
    method
        "normal", "inverted" or "pivotal".

    Raises
    ------
    ParameterError
        If an option breaks its rule.

    References
    ----------
    Nguyen & O'Connor (2015), Algorithm 2; Carpenter (1999), "Test inversion bootstrap confidence intervals", for the
    inverted one; Davison & Hinkley (1997), Bootstrap Methods and their Application, section 5.2, for the pivotal one.
    """
    level = checked_level(level)
    _require_method(method, get_args(SimulationMethod), norm)
    draws = simulated_draws(bins, norm=norm, n_resamples=n_resamples, seed=seed)
    return interval_of_draws(draws, f"simulated {method}", level, norm)


# --- pairs in blocks ---------------------------------------------------------------------------------------


def bootstrap_draws(blocks: BlockBins, *, norm: Norm = "rms", n_resamples: int = 10_000, seed: int = 0) -> ErrorDraws:
    """Draw errors by resampling whole blocks (documents) with replacement; the bins stay the same.

    Blocks without a pair, which a group of pairs may have, are left out.

    Parameters
    ----------
    blocks
        Sums by block and bin, of at least 2 blocks.
    norm, n_resamples, seed
        As of `simulated_draws`.

    Raises
    ------
    ParameterError
        If there are fewer than 2 blocks, or an option breaks its rule.
    """
    draws = _checks.whole("n_resamples", n_resamples, 2)
    return bootstrapped(require_blocks(blocks), checked_norm(norm), draws, generator(seed))


def bootstrap_interval(
    blocks: BlockBins,
    *,
    norm: Norm = "rms",
    level: float = 0.95,
    n_resamples: int = 10_000,
    seed: int = 0,
    method: BootstrapMethod | None = None,
) -> Interval:
    """Confidence interval by resampling whole blocks (documents): pairs of one block may depend on each other.

    Noise inflates the estimate, and the resamples a second time. "inverted" contains every error that the estimate
    does not contradict, given how far resamples scatter about it and about no error. 95% intervals of 100 documents
    contain the truth in 93% to 99.8% of cases, perfect or not, in small bins and large, with dependence or without;
    those of 20 documents in 91% to 96%, of 10 in 87% to 94%. It is an interval of the true error, so it may exclude
    the estimate; it does contain the debiased one.

    "pivotal" reflects the resamples about the estimate (squared errors for a squared norm): wider if the error is
    small. "basic" reflects the error itself, not its square; "percentile" uses the resamples' quantiles unchanged.
    Both fail if noise is a large part of the error, and are here for comparison. The figures are those of
    `coverage_study`, in docs/calibration-studies.md; `python benchmarks/studies.py coverage` makes them.

    Parameters
    ----------
    blocks
        Sums by block and bin, of at least 2 blocks; the level is reliable from about 50 blocks on.
    norm, n_resamples, seed
        As of `simulated_draws`; "l1" and "max" have no inverted interval. The pivotal one keeps its level for "l1" in
        large bins only, for "max" not at all.
    level
        In (0, 1).
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
    level = checked_level(level)
    chosen = method or ("pivotal" if norm in ("l1", "max") else "inverted")
    _require_method(chosen, get_args(BootstrapMethod), norm)
    draws = bootstrap_draws(blocks, norm=norm, n_resamples=n_resamples, seed=seed)
    return interval_of_draws(draws, f"bootstrap {chosen}", level, norm)


def _require_method(method: str, allowed: tuple[str, ...], norm: Norm) -> None:
    _checks.choice("method", method, allowed)
    checked_norm(norm, squared_for="for method='inverted'" if method == "inverted" else None)


# --- from draws to intervals -------------------------------------------------------------------------------


def interval_of_draws(draws: ErrorDraws, method: str, level: float, norm: Norm) -> Interval:
    """Interval of a method such as "bootstrap pivotal" from draws."""
    tail, kind = (1.0 - level) / 2.0, method.split()[1]
    errors = rooted(draws.errors, norm)
    mean, sd = float(errors.mean()), float(errors.std(ddof=1))
    if kind == "normal":
        half = NormalDist().inv_cdf(1.0 - tail) * sd
        lower, upper = mean - half, mean + half
    elif kind == "inverted":
        lower, upper = rooted(_inverted(draws, tail), norm)
    elif kind == "pivotal":
        lower, upper = rooted(_pivotal(draws, tail), norm)
    else:
        low, high = np.quantile(errors, (tail, 1.0 - tail))
        centre = float(rooted(draws.estimate, norm))
        lower, upper = (low, high) if kind == "percentile" else (2.0 * centre - high, 2.0 * centre - low)
    upper = min(max(float(upper), 0.0), 1.0)
    return Interval(min(max(float(lower), 0.0), upper), upper, level, method, norm, mean, sd, errors.shape[0])


def _inverted(draws: ErrorDraws, tail: float) -> tuple[float, float]:
    """Least and greatest squared error that the estimate does not contradict.

    Estimates of a squared error e have mean e plus the mean of the noise. The squared distance of their quantiles from
    that mean is a linear function of e, known at the estimate (from the draws) and at 0 (from the noise).
    """
    estimate, errors, noise = draws
    centre = max(0.0, estimate - float(noise.mean()))
    ends = []
    for quantile, sign in ((1.0 - tail, -1.0), (tail, 1.0)):
        squares = [float(np.quantile(drawn, quantile) - drawn.mean()) ** 2 for drawn in (noise, errors)]
        slope = max(0.0, squares[1] - squares[0]) / estimate if estimate > 0.0 else 0.0
        # The end e solves (e - centre)^2 = squares[0] + slope * e.
        ends.append(centre + slope / 2.0 + sign * float(np.sqrt(slope**2 / 4.0 + slope * centre + squares[0])))
    return max(0.0, ends[0]), ends[1]


def _pivotal(draws: ErrorDraws, tail: float) -> tuple[float, float]:
    """Quantiles of the draws, reflected about the estimate."""
    low, high = np.quantile(draws.errors, (tail, 1.0 - tail))
    centre = float(draws.errors.mean())
    # The debiased estimate, 2 estimate - centre, may be negative, which no error is: the upper end is then that of an
    # estimate of 0.
    return max(0.0, 2.0 * draws.estimate - high), max(0.0, 2.0 * draws.estimate - centre) + max(0.0, centre - low)
