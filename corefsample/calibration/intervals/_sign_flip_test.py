"""A test against perfect calibration."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from corefsample import _checks
from corefsample.calibration.binning._bins import BlockBins, ReliabilityBins
from corefsample.calibration.binning._validation import Norm, checked_norm, generator
from corefsample.calibration.intervals import _draws
from corefsample.calibration.intervals._draws import error_of_sums, require_bins, require_blocks, rooted


@dataclass(frozen=True, slots=True)
class CalibrationTest:
    """Outcome of a test against perfect calibration, P(y = 1 | q) = q.

    Attributes
    ----------
    statistic
        The binned error, of norm `norm`.
    p_value
        In (0, 1]: probability of an error at least as large under perfect calibration.
    null_mean
        Mean error under perfect calibration, from noise alone.
    method
        "simulated labels" (independent pairs) or "sign flips" (blocks).
    norm, n_resamples
        Of the error; number of errors drawn.
    """

    statistic: float
    p_value: float
    null_mean: float
    method: str
    norm: Norm
    n_resamples: int


def calibration_test(
    bins: ReliabilityBins | BlockBins, *, norm: Norm = "rms", n_resamples: int = 10_000, seed: int = 0
) -> CalibrationTest:
    """Test against perfect calibration, P(y = 1 | q) = q, by the binned error.

    Given sums by bin, labels are redrawn as independent Bernoulli(q). The sum of a bin's labels has mean sum q and
    variance sum q - sum q^2 exactly; its distribution is approximated by a normal one if that variance is at least 50,
    otherwise by a mixture of two binomials of that mean and variance. If pairs of one document depend on each other,
    this test rejects perfect calibration far too often: in 14% to 47% of cases at .05 (`rejection_study`,
    docs/calibration-studies.md).

    Given sums by block and bin, pairs of one block may depend on each other. Under perfect calibration the residuals
    q - y of a block sum to 0 on average in each bin, so the signs of whole blocks are flipped at random. Few blocks,
    or a few with most of the pairs, allow few different flips: the least p-value of K blocks is 2^(1 - K).

    Parameters
    ----------
    bins
        Sums by bin, or by block and bin (of at least 2 blocks).
    norm
        "rms", "mse", "l1" or "max". "rms" and "mse" give the same p-value.
    n_resamples
        At least 2. The p-value is (1 + number of errors drawn that are at least as large) / (1 + n_resamples).
    seed
        Of the generator (Philox), in [0, 2^64).

    Raises
    ------
    ParameterError
        If there are fewer than 2 blocks, or an option breaks its rule.

    References
    ----------
    Davison & Hinkley (1997), section 4.2, for the p-value; Liu (1988), Annals of Statistics 16, for the sign flips.
    """
    norm, rng = checked_norm(norm), generator(seed)
    n_resamples = _checks.whole("n_resamples", n_resamples, 2)
    if isinstance(bins, BlockBins):
        residual = require_blocks(bins).sum_q - bins.sum_y
        estimate = error_of_sums(bins.n.sum(axis=0), residual.sum(axis=0), norm)
        errors, method = _draws.sign_flipped(bins.n, residual, norm, n_resamples, rng), "sign flips"
    else:
        n = require_bins(bins).n.astype(np.float64)
        estimate = error_of_sums(bins.n, bins.sum_q - bins.sum_y, norm)
        errors = _draws.calibrated(n, bins.sum_q, bins.sum_q2, norm, n_resamples, rng)
        method = "simulated labels"
    reached = int(np.sum(errors >= estimate * (1.0 - 1e-9)))  # sums in another order may round down
    p_value = (1 + reached) / (1 + n_resamples)
    statistic = float(rooted(estimate, norm))
    return CalibrationTest(statistic, p_value, float(rooted(errors, norm).mean()), method, norm, n_resamples)
