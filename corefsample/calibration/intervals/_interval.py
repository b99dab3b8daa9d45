"""From an estimate and draws of it to a confidence interval."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from corefsample.calibration.intervals._draws import FloatArray, Norm
from corefsample.calibration.intervals._options import rooted

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Interval", "interval_of_draws"]


@dataclass(frozen=True, slots=True)
class Interval:
    """Confidence interval of a binned calibration error.

    Attributes
    ----------
    lower, upper
        Its ends, in [0, 1].
    level
        The share of such intervals that ought to hold the true error, in (0, 1).
    method
        "simulated" or "bootstrap", and the method's name: "bootstrap inverted", for example.
    norm
        Of the error.
    mean, sd
        Mean and standard deviation of the errors drawn. The mean lies above the estimate, as the estimate above the
        truth: each draw adds noise to what noise has already inflated.
    n_draws
        Number of errors drawn.
    """

    lower: float
    upper: float
    level: float
    method: str
    norm: Norm
    mean: float
    sd: float
    n_draws: int

    def to_frame(self) -> pd.DataFrame:
        """Table of one row, a column an attribute."""
        import pandas as pd

        return pd.DataFrame({name: [getattr(self, name)] for name in self.__slots__})


def interval_of_draws(
    method: str, estimate: float, errors: FloatArray, noise: FloatArray, level: float, norm: Norm
) -> Interval:
    """Interval of a method such as "bootstrap pivotal" from an estimate, draws and noise, on the additive scale."""
    tail, kind = (1.0 - level) / 2.0, method.split()[1]
    on_scale = rooted(errors, norm)
    mean, sd = float(on_scale.mean()), float(on_scale.std(ddof=1))
    if kind == "normal":
        half = NormalDist().inv_cdf(1.0 - tail) * sd
        lower, upper = mean - half, mean + half
    elif kind == "inverted":
        lower, upper = rooted(np.array(_inverted(estimate, errors, noise, tail)), norm)
    elif kind == "pivotal":
        lower, upper = rooted(np.array(_pivotal(estimate, errors, tail)), norm)
    else:
        low, high = np.quantile(on_scale, (tail, 1.0 - tail))
        centre = float(rooted(np.array([estimate]), norm)[0])
        lower, upper = (low, high) if kind == "percentile" else (2.0 * centre - high, 2.0 * centre - low)
    upper = min(max(float(upper), 0.0), 1.0)
    return Interval(min(max(float(lower), 0.0), upper), upper, level, method, norm, mean, sd, errors.shape[0])


def _inverted(estimate: float, errors: FloatArray, noise: FloatArray, tail: float) -> tuple[float, float]:
    """Least and greatest squared error that the estimate does not contradict.

    Estimates of a squared error e lie at e plus the mean of the noise, and reach from there as far up and down as the
    root of a linear function of e says. Draws tell that reach at the estimate, noise at 0.
    """
    centre = max(0.0, estimate - float(noise.mean()))
    ends = []
    for quantile, way in ((1.0 - tail, -1.0), (tail, 1.0)):
        squares = [float(np.quantile(drawn, quantile) - drawn.mean()) ** 2 for drawn in (noise, errors)]
        slope = max(0.0, squares[1] - squares[0]) / estimate if estimate > 0.0 else 0.0
        # The end e solves (e - centre)^2 = squares[0] + slope * e.
        ends.append(centre + slope / 2.0 + way * float(np.sqrt(slope**2 / 4.0 + slope * centre + squares[0])))
    return max(0.0, ends[0]), ends[1]


def _pivotal(estimate: float, errors: FloatArray, tail: float) -> tuple[float, float]:
    """Quantiles of the draws, reflected about the estimate."""
    low, high = np.quantile(errors, (tail, 1.0 - tail))
    centre = float(errors.mean())
    # The debiased estimate, 2 estimate - centre, may fall below 0, where no error is: the upper end is then that of an
    # estimate of 0.
    return max(0.0, 2.0 * estimate - high), max(0.0, 2.0 * estimate - centre) + max(0.0, centre - low)
