"""A test against perfect calibration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from corefsample import _checks
from corefsample.calibration.binning import BlockBins, ReliabilityBins
from corefsample.calibration.intervals import _draws
from corefsample.calibration.intervals._draws import Norm
from corefsample.calibration.intervals._options import (
    error_of_sums,
    generator,
    require_bins,
    require_blocks,
    require_norm,
    rooted,
)

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["CalibrationTest", "calibration_test"]


@dataclass(frozen=True, slots=True)
class CalibrationTest:
    """Outcome of a test against perfect calibration, P(y = 1 | q) = q.

    Attributes
    ----------
    statistic
        The binned error, of norm `norm`.
    p_value
        In (0, 1]: chance of an error at least as large where calibration is perfect.
    null_mean
        Mean error where calibration is perfect: what noise alone would show.
    method
        "simulated labels" (independent pairs) or "sign flips" (blocks).
    norm, n_draws
        Of the error; number of errors drawn.
    """

    statistic: float
    p_value: float
    null_mean: float
    method: str
    norm: Norm
    n_draws: int

    def to_frame(self) -> pd.DataFrame:
        """Table of one row, a column an attribute."""
        import pandas as pd

        return pd.DataFrame({name: [getattr(self, name)] for name in self.__slots__})


def calibration_test(
    bins: ReliabilityBins | BlockBins, *, norm: Norm = "rms", n_draws: int = 10_000, seed: int = 0
) -> CalibrationTest:
    """Test against perfect calibration, P(y = 1 | q) = q, by the binned error.

    Of sums by bin: labels are drawn anew as Bernoulli(q), independent. The sum of a bin's labels has mean sum q and
    variance sum q - sum q^2 exactly; its law is taken as normal where that variance is at least 50, below as a mixture
    of two binomials of that mean and variance. Pairs that come in documents make it reject perfect calibration far too
    often: in 14% to 47% of cases at .05 (`rejection_study`, docs/calibration-studies.md).

    Of sums by block and bin: pairs of one block may depend on each other. Where calibration is perfect the residuals
    q - y of a block sum to 0 on average in each bin, so the signs of whole blocks are flipped at random. Few blocks,
    or a few that hold most pairs, give few different flips: the least p-value of K blocks is 2^(1 - K).

    Parameters
    ----------
    bins
        Sums by bin, or by block and bin (of at least 2 blocks).
    norm
        "rms", "mse", "l1" or "max". "rms" and "mse" give the same p-value.
    n_draws
        At least 2. The p-value is (1 + errors drawn that are no less) / (1 + n_draws).
    seed
        Of the generator (Philox), in [0, 2^64).

    Raises
    ------
    ParameterError
        If there are fewer than 2 blocks, or an option breaks its rule.

    References
    ----------
    Davison & Hinkley (1997), section 4.2, of the p-value; Liu (1988), Annals of Statistics 16, of the sign flips.
    """
    norm, rng = require_norm(norm), generator(seed)
    n_draws = _checks.whole("n_draws", n_draws, 2)
    if isinstance(bins, BlockBins):
        residual = require_blocks(bins).sum_q - bins.sum_y
        estimate = error_of_sums(bins.n.sum(axis=0), residual.sum(axis=0), norm)
        errors, method = _draws.sign_flipped(bins.n, residual, norm, n_draws, rng), "sign flips"
    else:
        n = require_bins(bins).n.astype(np.float64)
        estimate = error_of_sums(bins.n, bins.sum_q - bins.sum_y, norm)
        errors = _draws.calibrated(n, bins.sum_q, bins.sum_q2, norm, n_draws, rng)
        method = "simulated labels"
    reached = int(np.sum(errors >= estimate * (1.0 - 1e-9)))  # sums in another order may round below
    p_value = (1 + reached) / (1 + n_draws)
    statistic = float(rooted(np.array([estimate]), norm)[0])
    return CalibrationTest(statistic, p_value, float(rooted(errors, norm).mean()), method, norm, n_draws)
