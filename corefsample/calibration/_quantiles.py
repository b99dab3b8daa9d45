"""Calibration of numbers: the quantile of each true value in its distribution (PIT), and a test of uniformity.

The probability integral transform (PIT) of a number with ties, such as a count, is randomised: it is uniform between
P(value < true) and P(value <= true). Instead of one random number its distribution is used, so that ties need no seed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample._arrays import Floats, Result, pd
from corefsample.calibration._validation import coded, generator
from corefsample.errors import ParameterError


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class QuantileCalibration(Result):
    """Histogram of the quantiles of true values in their distributions, and a test of these distributions.

    Attributes
    ----------
    n
        Number of values.
    edges
        float64 (n_bins + 1,): edges of the bins, from 0 to 1.
    shares
        float64 (n_bins,): share of the values in each bin; about 1 / n_bins if the distributions are right, more at
        both ends if they are too narrow, more in the middle if they are too wide.
    lower, upper
        float64 (n_bins,): ends of the interval that contains 95% of the shares under the null hypothesis, bin by bin.
    p_value
        P-value of the null hypothesis that true values are drawn from the distributions, all values of a document at
        once; in (0, 1].
    """

    n: int
    edges: Floats
    shares: Floats
    lower: Floats
    upper: Floats
    p_value: float

    def to_frame(self) -> pd.DataFrame:
        """Tidy table, one row per bin: bin_lower, bin_upper, share, null_lower, null_upper."""
        columns = (self.edges[:-1], self.edges[1:], self.shares, self.lower, self.upper)
        names = ("bin_lower", "bin_upper", "share", "null_lower", "null_upper")
        return pd.DataFrame(dict(zip(names, columns, strict=True)))


def quantile_calibration(
    truths: npt.ArrayLike,
    samples: npt.ArrayLike,
    *,
    documents: npt.ArrayLike | None = None,
    n_bins: int = 10,
    n_resamples: int = 1000,
    seed: int = 0,
) -> QuantileCalibration:
    """Compare true numbers, such as counts, with samples of their posteriors.

    If the posteriors are right, a true value and its samples are exchangeable: its rank among them is uniform.

    Parameters
    ----------
    truths
        True values, finite, (n,).
    samples
        Draws from the posterior of each true value, finite, (n, n_samples).
    documents
        Document of each value, (n,); sample s of all values of a document must then come from one joint draw. By
        default the values are assumed to be independent.
    n_bins
        Number of bins of the histogram, at least 2.
    n_resamples
        Number of draws under the null hypothesis, at least 19.
    seed
        Seed of the random generator (Philox), in [0, 2^64).

    Raises
    ------
    ParameterError
        If a value is not finite, there is no value, the samples are not one row per true value, lengths differ, or an
        option is out of range.

    References
    ----------
    Czado, Gneiting & Held (2009), Predictive model assessment for count data, section 2: the histogram. Under the null
    a random sample of each document takes the place of the truth, which becomes a sample.

    Examples
    --------
    >>> quantile_calibration([1.0, 4.0], [[0.0, 2.0, 3.0], [1.0, 2.0, 3.0]], n_bins=2).shares
    array([0.5, 0.5])
    """
    truth = _checks.floats("truths", truths)
    if not truth.size:
        raise ParameterError("must have at least one value, got none", parameter="truths")
    rule = f"must be a row of samples for each of {len(truth)} values"
    try:
        array: npt.NDArray[Any] = np.asarray(samples)
    except ValueError:
        raise ParameterError(f"{rule}, got rows of different lengths", parameter="samples") from None
    if array.ndim != 2 or len(array) != len(truth) or not array.shape[1]:
        raise ParameterError(f"{rule}, got shape {array.shape}", parameter="samples")
    draws = _checks.floats("samples", array.ravel()).reshape(array.shape)
    for name, values in (("truths", truth), ("samples", draws)):
        _checks.require_all(name, values, np.isfinite(values), "be finite")
    _checks.whole("n_bins", n_bins, 2)
    _checks.whole("n_resamples", n_resamples, 19)
    codes = np.arange(len(truth)) if documents is None else coded("documents", documents, len(truth), "truths")[0]
    n = array.shape[1] + 1
    null_samples = generator(seed).integers(n, size=(n_resamples, int(codes.max()) + 1))
    edges = np.linspace(0.0, 1.0, n_bins + 1)
    total = np.zeros((1 + n_resamples, n_bins + 1))
    for value, row, document in zip(truth, draws, codes, strict=True):
        pool = np.append(value, row)
        ranked = np.sort(pool)
        lower, upper = (np.searchsorted(ranked, pool, side) / n for side in ("left", "right"))
        indices = np.append(0, null_samples[:, document])  # the truth, and the samples that take its place
        total += _uniform_cdfs(lower[indices], upper[indices], edges)
    functions = total / len(truth)
    shares = np.diff(functions, axis=1)
    null_lower, null_upper = np.quantile(shares[1:], [0.025, 0.975], axis=0)
    # The statistic is the mean squared distance of the mean distribution function from the diagonal.
    distances = np.mean((functions - edges) ** 2, axis=1)
    p_value = (1 + int(np.count_nonzero(distances[1:] >= distances[0]))) / len(distances)
    return QuantileCalibration(len(truth), edges, shares[0], null_lower, null_upper, p_value)


def _uniform_cdfs(lower: Floats, upper: Floats, edges: Floats) -> Floats:
    """Distribution function, (n, n_edges), of a uniform number between `lower` and `upper`, which may be equal."""
    width = (upper - lower)[:, None]
    inside = (edges - lower[:, None]) / np.where(width > 0.0, width, 1.0)
    function: Floats = np.where(width > 0.0, np.clip(inside, 0.0, 1.0), edges >= lower[:, None])
    function[:, 0], function[:, -1] = 0.0, 1.0  # values 0 and 1 belong to the first and the last bin
    return function
