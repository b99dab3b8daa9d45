"""Calibration error: the distance of predictions from the frequencies of what they predict."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample._arrays import Result, fields_of, pd
from corefsample.calibration._binning import (
    FEWEST_BINS,
    ReliabilityBins,
    Strategy,
    bin_pairs,
    block_bin_pairs,
)
from corefsample.calibration._draws import bootstrap_draws, error_of_gaps, interval_of_draws, simulated_draws
from corefsample.calibration._validation import Norm, checked_level, checked_norm
from corefsample.errors import ParameterError

_log = logging.getLogger("corefsample.calibration")

_ROUNDING = 1e-14  # draws that differ by less do not differ
IntervalKind = Literal["auto", "simulated", "bootstrap"]


def binned_error(bins: ReliabilityBins, *, norm: Norm = "rms", debiased: bool = False) -> float:
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

    Parameters
    ----------
    bins
        Pairs summed by bin.
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
    return _error_of(bins, checked_norm(norm, squared_for="to be debiased" if debiased else None), debiased)


def _error_of(bins: ReliabilityBins, norm: Norm, debiased: bool) -> float:
    p = bins.mean_y
    noise = p * (1.0 - p) / np.maximum(bins.n - 1, 1) if debiased else 0.0
    return error_of_gaps(bins.mean_q - p, bins.n, norm, noise)


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
        interval may exclude the estimate: see `simulated_interval` and `bootstrap_interval`.
    level
        Nominal share of such intervals that contain the true error, in (0, 1).
    interval
        Method by which the interval was computed, "simulated normal" for example; None without an interval.
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
    bins: ReliabilityBins

    @property
    def n_pairs(self) -> int:
        """Number of prediction-label pairs."""
        return self.bins.n_pairs

    @property
    def n_bins(self) -> int:
        """Number of bins."""
        return self.bins.n_bins

    def to_frame(self) -> pd.DataFrame:
        """Table of one row: estimate, lower, upper, level, interval, norm, debiased, n_pairs, n_bins."""
        names = ("estimate", "lower", "upper", "level", "interval", "norm", "debiased", "n_pairs", "n_bins")
        return pd.DataFrame([fields_of(self, *names)])


def calibration_error(
    q: npt.ArrayLike,
    y: npt.ArrayLike,
    *,
    bin_size: int | None = None,
    n_bins: int | None = None,
    strategy: Strategy = "adaptive",
    norm: Norm = "rms",
    debiased: bool = False,
    documents: npt.ArrayLike | None = None,
    interval: IntervalKind | None = "auto",
    level: float = 0.95,
    n_resamples: int = 10_000,
    seed: int = 0,
    n_samples: int | None = None,
) -> CalibrationError:
    """Calibration error of predictions, with a confidence interval.

    Parameters
    ----------
    q
        Predictions in [0, 1], (n_pairs,); with `n_samples` also whole numbers k of samples.
    y
        Labels 0 or 1 (bool, int or float), (n_pairs,).
    bin_size, n_bins, strategy
        Size, number and kind of the bins: see `bin_pairs`. By default bins are adaptive, with 5,000 pairs each; small
        data get about 20 bins. Fewer than 10 bins are logged as a warning, because errors of either sign cancel within
        a bin.
    norm, debiased
        Norm of the error, and whether sampling variance is subtracted: see `binned_error`.
    documents
        Id of each pair's document, (n_pairs,): numbers or text. Pairs of one document are not independent. By default
        pairs are assumed to be independent.
    interval
        Method of the confidence interval: "simulated" (Algorithm 2, for independent pairs; its inverted kind if the
        error is debiased), "bootstrap" (by document; needs `documents`), None for no interval, or "auto" (the default):
        the bootstrap if there are documents, otherwise simulated.
    level
        Nominal share of such intervals that contain the true error, in (0, 1).
    n_resamples
        Number of draws for the interval, at least 2.
    seed
        Seed of the random draws, in [0, 2^64).
    n_samples
        Number S of samples, if every prediction is an average k / S of samples: pairs are then counted instead of being
        sorted. By default pairs are sorted.

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
    >>> error.n_bins, round(error.estimate, 2)  # sqrt of the mean of (q - q^2)^2, or sqrt(1 / 30)
    (100, 0.18)
    """
    checked_norm(norm, squared_for="to be debiased" if debiased else None)
    kind = _resolved_interval(interval, documents is not None)
    _checks.whole("n_resamples", n_resamples, 2)
    checked_level(level)
    _checks.seed(seed)
    if documents is None and kind == "bootstrap":
        raise ParameterError("must be given for interval='bootstrap', got None", parameter="documents")
    options: dict[str, Any] = {"bin_size": bin_size, "n_bins": n_bins, "strategy": strategy, "n_samples": n_samples}
    blocks = None if documents is None else block_bin_pairs(q, y, documents, **options)
    bins = bin_pairs(q, y, **options) if blocks is None else blocks.bins
    if bins.n_bins < FEWEST_BINS:
        sizes = bins.n_bins, bins.n_pairs
        _log.warning("calibration error from %d bins of %d pairs: errors can cancel within bins", *sizes)
    estimate = _error_of(bins, norm, debiased)
    without_interval = CalibrationError(estimate, None, None, level, None, norm, debiased, bins)
    if kind is None:
        return without_interval
    if blocks is None or kind == "simulated":
        draws = simulated_draws(bins, norm=norm, n_resamples=n_resamples, seed=seed)
        method = "simulated inverted" if debiased else "simulated normal"
    elif blocks.n_blocks < 2:
        raise ParameterError("must be at least 2 for a bootstrap, got 1", parameter="documents")
    else:
        draws = bootstrap_draws(blocks, norm=norm, n_resamples=n_resamples, seed=seed)
        method = "bootstrap pivotal" if norm in ("l1", "max") else "bootstrap inverted"
    if float(np.ptp(draws.errors)) <= _ROUNDING:
        sizes = bins.n_pairs, bins.n_bins
        _log.warning(
            "calibration error without an interval: the %d pairs in %d bins are too few or too much alike", *sizes
        )
        return without_interval
    ends = interval_of_draws(draws, method, level, norm)
    return CalibrationError(estimate, ends.lower, ends.upper, level, method, norm, debiased, bins)


def _resolved_interval(interval: IntervalKind | None, has_documents: bool) -> IntervalKind | None:
    """Return the kind of interval, with "auto" resolved; raise ParameterError if the kind is unknown."""
    if interval is not None:
        _checks.choice("interval", interval, get_args(IntervalKind))
    if interval == "auto":
        return "bootstrap" if has_documents else "simulated"
    return interval
