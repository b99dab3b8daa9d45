"""Calibration error: the distance of predictions from the frequencies of what they predict."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, Literal, get_args

import numpy as np

from corefsample import _checks
from corefsample._arrays import HtmlTable, Result, fields_of, pd
from corefsample.calibration import _binning as binning, _draws
from corefsample.calibration._validation import SQUARED, Norm, checked_level, checked_norm, generator
from corefsample.errors import ParameterError

_log = logging.getLogger("corefsample.calibration")

_ROUNDING = 1e-14  # draws that differ by less do not differ
IntervalKind = Literal["auto", "simulated", "bootstrap", "algorithm2"]
IntervalMethod = Literal["normal", "inverted", "pivotal", "basic", "percentile"]


def binned_error(
    bins: binning.ReliabilityBins | binning.BlockBins, *, norm: Norm = "rms", debiased: bool = False
) -> float:
    """Calibration error of binned pairs: distance between mean prediction and share of positive labels, over bins.

    With n_b pairs of n in bin b, and d_b the distance of both means there:

    - "rms": sqrt(sum of n_b / n * d_b^2), the paper's CalibErr
    - "mse": sum of n_b / n * d_b^2, the thesis's score, and the calibration part of the Brier score
    - "l1": sum of n_b / n * abs(d_b), known as expected calibration error
    - "max": the largest abs(d_b)

    The squared ones are too large by the sampling variance of the shares, especially with small bins: perfectly
    calibrated predictions do not give 0. The debiased error subtracts an unbiased estimate p (1 - p) / (n_b - 1) of
    each bin's variance, where p is its share of positive labels. It is exact if all predictions of a bin are equal,
    and subtracts slightly too much if they differ. A bin of one pair has no such estimate; nothing is subtracted.
    Sums by block have another estimate: the variance of a bin's mean residual q - y between the blocks.

    Parameters
    ----------
    bins
        Pairs summed by bin, or by block and bin if pairs of one block may depend on each other.
    norm
        Norm of the error: "rms", "mse", "l1" or "max".
    debiased
        Subtract the sampling variance; for "rms" and "mse" only. By default it is not subtracted.

    Returns
    -------
    float
        Calibration error, in [0, 1]. The debiased "mse" can be negative if there is no detectable miscalibration; the
        debiased "rms" is then 0.

    Raises
    ------
    ParameterError
        If the norm is unknown, or `debiased` is True and the norm is neither "rms" nor "mse".

    References
    ----------
    Nguyen & O'Connor (2015), Algorithm 1, step 5; Kumar, Liang & Ma (2019), "Verified uncertainty calibration",
    section 5 (the debiased estimate).

    Examples
    --------
    >>> from corefsample.calibration._binning import bin_pairs
    >>> bins = bin_pairs([0.2, 0.2, 0.6, 0.6], [0, 0, 1, 0], n_bins=2)
    >>> round(binned_error(bins, norm="l1"), 12)  # (|0.2 - 0| + |0.6 - 0.5|) / 2
    0.15
    """
    norm = checked_norm(norm, squared_for="to be debiased" if debiased else None)
    whole = bins.bins if isinstance(bins, binning.BlockBins) else bins
    p, gaps, noise = whole.mean_y, whole.mean_q - whole.mean_y, np.zeros(whole.n_bins)
    if debiased and isinstance(bins, binning.BlockBins):
        n_blocks = np.count_nonzero(bins.n.any(axis=1))
        moves = (bins.sum_q - bins.sum_y - bins.n * gaps) / whole.n
        noise = np.square(moves).sum(axis=0) * n_blocks / max(n_blocks - 1, 1)
    elif debiased:
        noise = p * (1.0 - p) / np.maximum(whole.n - 1, 1)
    weights = whole.n / whole.n.sum()
    error = float(_draws.errors_of_gaps(gaps[None], weights, norm)[0] - np.sum(weights * noise))
    return float(_draws.rooted(max(error, 0.0), norm)) if norm == "rms" else error


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CalibrationError(Result):
    """A calibration error with its interval and the bins it comes from.

    Attributes
    ----------
    estimate
        Calibration error, in [0, 1]; a debiased "mse" can be negative.
    lower, upper
        Ends of the confidence interval of the true error, in [0, 1]. They are None if no interval was requested, or if
        the draws do not vary, because all labels of each bin are equal: an interval of width 0 would be wrong. The
        inverted interval contains the debiased estimate; it may exclude one that is not debiased.
    level
        Nominal share of such intervals that contain the true error, in (0, 1): see `calibration_error`.
    interval
        Method by which the interval was computed, "simulated inverted" for example; None without an interval.
    norm
        Norm of the error: "rms", "mse", "l1" or "max".
    debiased
        True if the sampling variance was subtracted.
    bins
        Pairs summed by bin.
    """

    estimate: float
    lower: float | None
    upper: float | None
    level: float
    interval: str | None
    norm: Norm
    debiased: bool
    bins: binning.ReliabilityBins

    def to_frame(self) -> pd.DataFrame:
        """Table of one row: estimate, lower, upper, level, interval, norm, debiased, n_pairs, n_bins."""
        names = ("estimate", "lower", "upper", "level", "interval", "norm", "debiased")
        return pd.DataFrame([{**fields_of(self, *names), **fields_of(self.bins, "n_pairs", "n_bins")}])


def calibration_error(
    q: np.typing.ArrayLike,
    y: np.typing.ArrayLike,
    *,
    bin_size: int | None = None,
    n_bins: int | None = None,
    strategy: binning.Strategy = "adaptive",
    norm: Norm = "rms",
    debiased: bool | None = None,
    documents: np.typing.ArrayLike | None = None,
    interval: IntervalKind | None = "auto",
    level: float = 0.95,
    n_resamples: int = 10_000,
    seed: int = 0,
) -> CalibrationError:
    """Calibration error of predictions, with a confidence interval.

    The interval covers the true error of the binned curve: the distance (in the norm) of mean prediction and mean
    P(y = 1 | q) over the same bins. Miscalibration that cancels within a bin is no part of it. Without documents all
    pairs are assumed to be independent; with documents only pairs of different documents, of which there should be at
    least 50. For the norms "rms" and "mse", 95% intervals of independent pairs contain that error in 93% to 96% of
    simulated sets, calibrated or not (`python benchmarks/studies.py default`); those by document in 93% to 99.8%. The
    norm "l1" needs large bins for that, and no interval of "max" keeps its level.

    Parameters
    ----------
    q
        Predictions in [0, 1], (n_pairs,).
    y
        Labels 0 or 1 (bool, int or float), (n_pairs,).
    bin_size, n_bins, strategy
        Size, number and kind of the bins: see `bin_pairs`. By default bins are adaptive, with 5,000 pairs each; small
        data get about 20 bins. Fewer than 10 bins are logged as a warning, because errors of either sign cancel within
        a bin.
    norm, debiased
        Norm of the error, and whether sampling variance is subtracted: see `binned_error`. By default it is subtracted
        for "rms" and "mse", unless the interval is that of Algorithm 2.
    documents
        Id of each pair's document, (n_pairs,): numbers or text. Pairs of one document are not independent. By default
        pairs are assumed to be independent.
    interval
        Method of the confidence interval: "simulated" (for independent pairs), "bootstrap" (by document; needs
        `documents`), None for no interval, or "auto" (the default): the bootstrap if there are documents, otherwise
        simulated. "algorithm2" is the interval of the paper, for comparison: the spread of the estimate under the
        fitted bins, centred on the simulated mean. It does not keep its level: see `error_interval`.
    level
        Nominal share of such intervals that contain the true error, in (0, 1).
    n_resamples
        Number of draws for the interval, at least 2.
    seed
        Seed of the random draws, in [0, 2^64).

    Raises
    ------
    ParameterError
        If a prediction is outside [0, 1], a label is neither 0 nor 1, lengths differ, there is no pair, there are fewer
        pairs than requested adaptive bins, a bootstrap has fewer than 2 documents, or an option is out of range.

    References
    ----------
    Nguyen & O'Connor (2015), Algorithms 1 and 2.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> q = rng.random(100_000)
    >>> error = calibration_error(q, rng.random(100_000) < q**2, bin_size=1000)
    >>> error.bins.n_bins, round(error.estimate, 2)  # sqrt of the mean of (q - q^2)^2, or sqrt(1 / 30)
    (100, 0.18)
    """
    if interval is not None:
        _checks.choice("interval", interval, get_args(IntervalKind))
    if interval == "auto":
        interval = "simulated" if documents is None else "bootstrap"
    if interval == "bootstrap" and documents is None:
        raise ParameterError("must be given for interval='bootstrap', got None", parameter="documents")
    if debiased is None:
        debiased = norm in SQUARED and interval != "algorithm2"
    checked_level(level)
    bin_options: dict[str, Any] = {"bin_size": bin_size, "n_bins": n_bins, "strategy": strategy}
    blocks = None if documents is None else binning.block_bin_pairs(q, y, documents, **bin_options)
    bins = binning.bin_pairs(q, y, **bin_options) if blocks is None else blocks.bins
    sizes = bins.n_bins, bins.n_pairs
    if bins.n_bins < binning.FEWEST_BINS:
        _log.warning("calibration error from %d bins of %d pairs: errors can cancel within bins", *sizes)
    estimate = binned_error(blocks or bins, norm=norm, debiased=debiased)
    draw_options: dict[str, Any] = {"norm": norm, "level": level, "n_resamples": n_resamples, "seed": seed}
    ends: Interval | None = None
    if blocks is not None and blocks.n_blocks < 2 and interval == "bootstrap":
        raise ParameterError("must be at least 2 for a bootstrap, got 1", parameter="documents")
    if interval is not None:
        source = blocks if blocks is not None and interval == "bootstrap" else bins
        ends = error_interval(source, method="normal" if interval == "algorithm2" else None, **draw_options)
    if ends is not None and ends.sd <= _ROUNDING:
        _log.warning(
            "calibration error without an interval: the %d bins of %d pairs are too few or too much alike", *sizes
        )
        ends = None
    if ends is None:
        return CalibrationError(estimate, None, None, level, None, norm, debiased, bins)
    return CalibrationError(estimate, ends.lower, ends.upper, level, ends.method, norm, debiased, bins)


# --- intervals of binned pairs ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Interval:
    """Confidence interval of a binned calibration error.

    Attributes
    ----------
    lower, upper
        Ends of the interval, in [0, 1].
    method
        Kind of draws, "simulated" or "bootstrap", and name of the method: "bootstrap inverted", for example.
    sd
        Standard deviation of the drawn errors.
    """

    lower: float
    upper: float
    method: str
    sd: float


def interval_of_draws(draws: _draws.ErrorDraws, method: str, level: float, norm: Norm) -> Interval:
    """Confidence interval computed from draws by a method such as "bootstrap pivotal"."""
    tail, (source, kind) = (1.0 - checked_level(level)) / 2.0, method.split()
    checked_norm(norm, squared_for="for method='inverted'" if kind == "inverted" else None)
    errors = _draws.rooted(draws.errors, norm)
    mean, sd = float(errors.mean()), float(errors.std(ddof=1))
    if kind == "normal":
        half = NormalDist().inv_cdf(1.0 - tail) * sd
        lower, upper = mean - half, mean + half
    elif kind == "inverted":
        # Resamples of few documents understate the noise, so that their intervals need both tails everywhere.
        lower, upper = _draws.rooted(_inverted(draws, tail, 2.0 * tail if source == "simulated" else tail), norm)
    elif kind == "pivotal":
        low, high = np.quantile(draws.errors, (tail, 1.0 - tail))
        # The debiased estimate, `centre`, may be negative, which no error is: the upper end is then that of an estimate
        # of 0.
        centre, below = 2.0 * draws.estimate - draws.errors.mean(), max(0.0, draws.errors.mean() - low)
        ends = max(0.0, 2.0 * draws.estimate - high), max(0.0, centre) + below
        lower, upper = _draws.rooted(ends, norm)
    else:
        low, high = np.quantile(errors, (tail, 1.0 - tail))
        centre = float(_draws.rooted(draws.estimate, norm))
        lower, upper = (low, high) if kind == "percentile" else (2.0 * centre - high, 2.0 * centre - low)
    upper = min(max(float(upper), 0.0), 1.0)
    return Interval(min(max(float(lower), 0.0), upper), upper, method, sd)


def _inverted(draws: _draws.ErrorDraws, tail: float, tail_near_0: float) -> tuple[float, float]:
    """Least and greatest squared error that the estimate does not contradict.

    Estimates of a squared error e have mean e plus the mean of the noise. The squared distance of their quantiles from
    that mean is a linear function of e, known at the estimate (from the draws) and at 0 (from the noise).

    An estimate below the mean of the noise counts as that, so no estimate is too small for an error up to the upper end
    of such an estimate. Only large estimates contradict these errors, in a share `tail_near_0` of cases.
    """
    estimate, errors, noise = draws

    def end(centre: float, tail: float, sign: float) -> float:
        quantile = tail if sign > 0.0 else 1.0 - tail
        below = (max(0.0, sign * float(drawn.mean() - np.quantile(drawn, quantile))) for drawn in (noise, errors))
        at_zero, at_estimate = (distance**2 for distance in below)
        slope = max(0.0, at_estimate - at_zero) / estimate if estimate > 0.0 else 0.0
        # The end e solves (e - centre)^2 = at_zero + slope * e.
        return max(0.0, centre + slope / 2.0 + sign * float(np.sqrt(slope**2 / 4.0 + slope * centre + at_zero)))

    centre = max(0.0, estimate - float(noise.mean()))
    near_0 = min(end(centre, tail_near_0, -1.0), end(0.0, tail, 1.0))
    return max(end(centre, tail, -1.0), near_0), end(centre, tail, 1.0)


def error_interval(
    bins: binning.ReliabilityBins | binning.BlockBins,
    *,
    norm: Norm = "rms",
    level: float = 0.95,
    n_resamples: int = 10_000,
    seed: int = 0,
    method: IntervalMethod | None = None,
) -> Interval:
    """Confidence interval of the calibration error of binned pairs.

    It is computed from errors of simulated labels, which assumes independent pairs, or, for sums by block (document),
    from errors of blocks resampled with replacement: pairs of one block may depend on each other. Noise inflates the
    estimate, and the draws a second time.

    "inverted" contains every error that the estimate does not contradict, given how far draws scatter about it and
    about no error. It is an interval of the true error, so it may exclude the estimate, which noise inflates; it does
    contain the debiased one. For independent pairs 95% intervals contain the truth in 93% to 96% of cases, perfect or
    not, in small bins and large. By resampling, those of 100 documents contain it in 93% to 99.8% of cases, with
    dependence or without; those of 20 documents in 91% to 96%, of 10 in 87% to 94%.

    "normal" of simulated labels is Algorithm 2, the spread of the estimate under the fitted bins: the mean of the drawn
    errors, plus and minus z standard deviations. It is centred on that mean, which lies above the estimate, as the
    estimate lies above the truth. So it can exclude the estimate itself (perfect pairs, 4.3 million in 860 bins:
    estimate .0028, interval .0037 to .0044), never contains the truth if calibration is perfect, and contains it in 95%
    of cases only if the error is many times the noise of a bin. Use it to compare with published figures.

    "pivotal" reflects the draws about the estimate (squared errors for a squared norm): wider if the error is small.
    "basic" reflects the error itself, not its square; "percentile" uses the quantiles of the draws unchanged. Both fail
    if noise is a large part of the error, and are here for comparison. The figures are those of
    docs/calibration-studies.md; `python benchmarks/studies.py coverage` makes them.

    Parameters
    ----------
    bins
        Pairs summed by bin; or by block and bin, where at least 2 blocks have pairs, and the level is reliable from
        about 50 blocks on.
    norm
        Norm of the error: "rms", "mse", "l1" or "max". "l1" and "max" have no inverted interval. The pivotal interval
        of blocks keeps its level for "l1" in large bins; otherwise no method keeps its level for these two.
    n_resamples
        Number of errors that are drawn, at least 2.
    seed
        Seed of the random generator (Philox), in [0, 2^64).
    level
        Nominal share of intervals that contain the true error, in (0, 1).
    method
        Method of the interval: "normal", "inverted", "pivotal", "basic" or "percentile". By default "pivotal" for the
        norms "l1" and "max", otherwise "inverted".

    Raises
    ------
    ParameterError
        If fewer than 2 blocks have pairs, the norm or the method is unknown, the method is "inverted" and the norm is
        neither "rms" nor "mse", or another option is out of range.

    References
    ----------
    Nguyen & O'Connor (2015), Algorithm 2; Carpenter (1999), "Test inversion bootstrap confidence intervals", Journal of
    the Royal Statistical Society B 61; Davison & Hinkley (1997), Bootstrap Methods and their Application, sections 2.4
    and 5.2.
    """
    kind = method or ("pivotal" if norm in ("l1", "max") else "inverted")
    _checks.choice("method", kind, get_args(IntervalMethod))
    options: dict[str, Any] = {"norm": norm, "n_resamples": n_resamples, "seed": seed}
    if isinstance(bins, binning.BlockBins):
        return interval_of_draws(_draws.bootstrap_draws(bins, **options), f"bootstrap {kind}", level, norm)
    return interval_of_draws(_draws.simulated_draws(bins, **options), f"simulated {kind}", level, norm)


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
    bins: binning.ReliabilityBins | binning.BlockBins, *, norm: Norm = "rms", n_resamples: int = 10_000, seed: int = 0
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
    if isinstance(bins, binning.BlockBins):
        _draws.require_blocks(bins)
        residual = bins.sum_q - bins.sum_y
        estimate = _draws.error_of_sums(bins.n.sum(axis=0), residual.sum(axis=0), norm)
        errors, method = _draws.sign_flipped(bins.n, residual, norm, n_resamples, rng), "sign flips"
    else:
        _checks.instance("bins", bins, binning.ReliabilityBins)
        n = bins.n.astype(np.float64)
        estimate = _draws.error_of_sums(bins.n, bins.sum_q - bins.sum_y, norm)
        errors = _draws.calibrated(n, bins.sum_q, bins.sum_q2, norm, n_resamples, rng)
        method = "simulated labels"
    reached = int(np.sum(errors >= estimate * (1.0 - 1e-9)))  # sums in another order may round down
    p_value = (1 + reached) / (1 + n_resamples)
    statistic = float(_draws.rooted(estimate, norm))
    return CalibrationTest(statistic, p_value, float(_draws.rooted(errors, norm).mean()), method, norm, n_resamples)
