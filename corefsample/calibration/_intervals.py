"""Confidence intervals of a calibration error, simulated or by bootstrap of blocks, and a test against calibration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from corefsample import _checks
from corefsample._arrays import HtmlTable
from corefsample.calibration import _draws
from corefsample.calibration._binning import BlockBins, ReliabilityBins
from corefsample.calibration._draws import Interval
from corefsample.calibration._validation import Norm, checked_level, checked_norm, generator

SimulationMethod = Literal["normal", "inverted", "pivotal"]
BootstrapMethod = Literal["inverted", "pivotal", "basic", "percentile"]

# --- independent pairs -------------------------------------------------------------------------------------


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
    docs/calibration-studies.md; `python benchmarks/studies.py coverage` makes them.

    Parameters
    ----------
    bins
        Pairs summed by bin.
    norm
        Norm of the error: "rms", "mse", "l1" or "max". "l1" and "max" have no inverted interval, and no method keeps
        its level for them.
    n_resamples
        Number of simulated errors, at least 2.
    seed
        Seed of the random generator (Philox), in [0, 2^64).
    level
        Nominal share of intervals that contain the true error, in (0, 1).
    method
        Method of the interval: "normal" (Algorithm 2, the default), "inverted" or "pivotal".

    Raises
    ------
    ParameterError
        If the norm or the method is unknown, the method is "inverted" and the norm is neither "rms" nor "mse", or
        another option is out of range.

    References
    ----------
    Nguyen & O'Connor (2015), Algorithm 2; Carpenter (1999), "Test inversion bootstrap confidence intervals", for the
    inverted one; Davison & Hinkley (1997), Bootstrap Methods and their Application, section 5.2, for the pivotal one.
    """
    level = checked_level(level)
    _require_method(method, get_args(SimulationMethod), norm)
    draws = _draws.simulated_draws(bins, norm=norm, n_resamples=n_resamples, seed=seed)
    return _draws.interval_of_draws(draws, f"simulated {method}", level, norm)


# --- pairs in blocks ---------------------------------------------------------------------------------------


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
    docs/calibration-studies.md; `python benchmarks/studies.py coverage` makes them.

    Parameters
    ----------
    blocks
        Pairs summed by block and bin; at least 2 blocks have pairs. The level is reliable from about 50 blocks on.
    norm
        Norm of the error: "rms", "mse", "l1" or "max". "l1" and "max" have no inverted interval. The pivotal interval
        keeps its level for "l1" in large bins only, and for "max" not at all.
    n_resamples
        Number of resamples, at least 2.
    seed
        Seed of the random generator (Philox), in [0, 2^64).
    level
        Nominal share of intervals that contain the true error, in (0, 1).
    method
        Method of the interval: "inverted", "pivotal", "basic" or "percentile". By default "pivotal" for the norms "l1"
        and "max", otherwise "inverted".

    Raises
    ------
    ParameterError
        If fewer than 2 blocks have pairs, the norm or the method is unknown, the method is "inverted" and the norm is
        neither "rms" nor "mse", or another option is out of range.

    References
    ----------
    Carpenter (1999), "Test inversion bootstrap confidence intervals", Journal of the Royal Statistical Society B 61;
    Davison & Hinkley (1997), Bootstrap Methods and their Application, sections 2.4 and 5.2.
    """
    level = checked_level(level)
    kind = method or ("pivotal" if norm in ("l1", "max") else "inverted")
    _require_method(kind, get_args(BootstrapMethod), norm)
    draws = _draws.bootstrap_draws(blocks, norm=norm, n_resamples=n_resamples, seed=seed)
    return _draws.interval_of_draws(draws, f"bootstrap {kind}", level, norm)


def _require_method(method: str, allowed: tuple[str, ...], norm: Norm) -> None:
    _checks.choice("method", method, allowed)
    checked_norm(norm, squared_for="for method='inverted'" if method == "inverted" else None)


@dataclass(frozen=True, slots=True, repr=False)
class CalibrationTest(HtmlTable):
    """Outcome of a test against perfect calibration, P(y = 1 | q) = q.

    Attributes
    ----------
    statistic
        Binned calibration error, of norm `norm`.
    p_value
        Probability of an error at least as large under perfect calibration, in (0, 1].
    null_mean
        Mean error under perfect calibration, from noise alone.
    method
        Source of the errors under perfect calibration: "simulated labels" (independent pairs) or "sign flips" (blocks).
    norm
        Norm of the error: "rms", "mse", "l1" or "max".
    n_resamples
        Number of errors drawn under perfect calibration.
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
    this test rejects perfect calibration far too often: in 14% to 47% of cases at .05
    (docs/calibration-studies.md).

    Given sums by block and bin, pairs of one block may depend on each other. Under perfect calibration the residuals
    q - y of a block sum to 0 on average in each bin, so the signs of whole blocks are flipped at random. Few blocks,
    or a few with most of the pairs, allow few different flips: the least p-value of K blocks is 2^(1 - K).

    Parameters
    ----------
    bins
        Pairs summed by bin, or by block and bin (at least 2 blocks have pairs).
    norm
        Norm of the error: "rms" (the default), "mse", "l1" or "max". "rms" and "mse" give the same p-value.
    n_resamples
        Number of errors drawn under perfect calibration, at least 2. The p-value is (1 + number of drawn errors that
        are at least as large as the observed one) / (1 + n_resamples).
    seed
        Seed of the random generator (Philox), in [0, 2^64).

    Raises
    ------
    ParameterError
        If `bins` has blocks and fewer than 2 of them have pairs, the norm is unknown, or another option is out of
        range.

    References
    ----------
    Davison & Hinkley (1997), section 4.2, for the p-value; Liu (1988), Annals of Statistics 16, for the sign flips.
    """
    norm, rng = checked_norm(norm), generator(seed)
    n_resamples = _checks.whole("n_resamples", n_resamples, 2)
    if isinstance(bins, BlockBins):
        residual = _draws.require_blocks(bins).sum_q - bins.sum_y
        estimate = _draws.error_of_sums(bins.n.sum(axis=0), residual.sum(axis=0), norm)
        errors, method = _draws.sign_flipped(bins.n, residual, norm, n_resamples, rng), "sign flips"
    else:
        n = _draws.require_bins(bins).n.astype(np.float64)
        estimate = _draws.error_of_sums(bins.n, bins.sum_q - bins.sum_y, norm)
        errors = _draws.calibrated(n, bins.sum_q, bins.sum_q2, norm, n_resamples, rng)
        method = "simulated labels"
    reached = int(np.sum(errors >= estimate * (1.0 - 1e-9)))  # sums in another order may round down
    p_value = (1 + reached) / (1 + n_resamples)
    statistic = float(_draws.rooted(estimate, norm))
    return CalibrationTest(statistic, p_value, float(_draws.rooted(errors, norm).mean()), method, norm, n_resamples)
