"""From an estimate and draws of it to a confidence interval."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from corefsample._arrays import Floats
from corefsample.calibration.binning import Norm
from corefsample.calibration.intervals._options import rooted


class ErrorDraws(NamedTuple):
    """A binned error and random draws of it, on the additive scale: mean squares for norm "rms".

    Attributes
    ----------
    estimate
        The error itself.
    errors
        float64 (n_resamples,): errors drawn around it.
    noise
        float64 (n_resamples,): errors that chance alone produces.
    """

    estimate: float
    errors: Floats
    noise: Floats


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
