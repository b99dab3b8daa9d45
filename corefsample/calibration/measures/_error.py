"""Calibration error: the distance of predictions from the frequencies of what they predict."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample._log import logger
from corefsample.calibration.binning import (
    FEWEST_BINS,
    BlockBins,
    Norm,
    ReliabilityBins,
    Result,
    Strategy,
    bin_pairs,
    block_bin_pairs,
    checked_norm,
    error_of_gaps,
    require_length,
)
from corefsample.calibration.intervals import bootstrap_interval, checked_level, simulated_interval
from corefsample.calibration.tables import CalibrationTable
from corefsample.errors import ParameterError

_log = logger("calibration")

IntervalKind = Literal["auto", "simulated", "bootstrap"]


def binned_error(bins: ReliabilityBins, *, norm: Norm = "rms", debiased: bool = False) -> float:
    """Distance of the mean prediction from the share of positive labels, over bins.

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
        "rms", "mse", "l1" or "max".
    debiased
        Subtract the sampling variance; for "rms" and "mse" only.

    Returns
    -------
    float
        In [0, 1]. The debiased "mse" can be negative if there is no detectable miscalibration; "rms" is then 0.

    Raises
    ------
    ParameterError
        If the norm is unknown, or `debiased` is set and it is not a squared one.

    References
    ----------
    Nguyen & O'Connor (2015), Algorithm 1, step 5; Kumar, Liang & Ma (2019), "Verified uncertainty calibration",
    section 5 (the debiased estimate).

    Examples
    --------
    >>> from corefsample.calibration.binning import bin_pairs
    >>> bins = bin_pairs([0.2, 0.2, 0.6, 0.6], [0, 0, 1, 0], n_bins=2)
    >>> round(binned_error(bins, norm="l1"), 12)  # (|0.2 - 0| + |0.6 - 0.5|) / 2
    0.15
    """
    checked_norm(norm, squared_for="to be debiased" if debiased else None)
    p = bins.mean_y
    noise = p * (1.0 - p) / np.maximum(bins.n - 1, 1) if debiased else 0.0
    return error_of_gaps(bins.mean_q - p, bins.n, norm, noise)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CalibrationError(Result):
    """A calibration error with its interval and the bins it comes from.

    Attributes
    ----------
    estimate
        In [0, 1]; a debiased "mse" can be negative.
    lower, upper
        Ends of the confidence interval of the true error, in [0, 1]; None without an interval. It may exclude the
        estimate: see `simulated_interval` and `bootstrap_interval`.
    level
        Of the interval, in (0, 1).
    interval
        How the interval was computed, "simulated normal" for example, or None.
    norm
        "rms", "mse", "l1" or "max".
    debiased
        Whether sampling variance was subtracted.
    bins
        The pairs summed by bin.
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
        """Number of pairs."""
        return self.bins.n_pairs

    @property
    def n_bins(self) -> int:
        """Number of bins."""
        return self.bins.n_bins


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
        The bins, as of `bin_pairs`: by default adaptive ones of 5,000 pairs, of small data about 20. Fewer than 10
        bins are logged as a warning, because errors of either sign cancel within a bin.
    norm, debiased
        The error, as of `binned_error`.
    documents
        Id of each pair's document, (n_pairs,): numbers or text. Pairs of one document are not independent.
    interval
        "simulated" (Algorithm 2, for independent pairs; its inverted kind if the error is debiased), "bootstrap" (by
        document), None, or "auto": the bootstrap if documents are given, otherwise simulated.
    level
        Of the interval, in (0, 1).
    n_resamples
        Number of draws for the interval, at least 2.
    seed
        Of the draws, in [0, 2^64).
    n_samples
        S if every prediction is an average of S samples, k / S: pairs are then counted instead of being sorted.

    Raises
    ------
    ParameterError
        If a value breaks its rule, lengths differ, there is no pair, or there are fewer pairs than requested bins.

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
    kind = resolved_interval(interval, documents is not None)
    draws = _draws(level, n_resamples, seed)
    options: dict[str, Any] = {"bin_size": bin_size, "n_bins": n_bins, "strategy": strategy, "n_samples": n_samples}
    if documents is not None:
        require_length("documents", documents, np.shape(q)[0] if np.ndim(q) else 0)
    if kind != "bootstrap":
        return _measured(bin_pairs(q, y, **options), norm, debiased, kind, draws)
    if documents is None:
        raise ParameterError("must be given for interval='bootstrap', got None", parameter="documents")
    return _measured(block_bin_pairs(q, y, documents, **options), norm, debiased, kind, draws)


def calibration_error_from_table(
    table: CalibrationTable,
    *,
    bin_size: int | None = None,
    n_bins: int | None = None,
    strategy: Strategy = "adaptive",
    norm: Norm = "rms",
    debiased: bool = False,
    interval: IntervalKind | None = "auto",
    level: float = 0.95,
    n_resamples: int = 10_000,
    seed: int = 0,
) -> CalibrationError:
    """Calibration error from a table of sufficient statistics, over all its groups; options as `calibration_error`.

    The table's blocks are the documents: "auto" resamples them if the table was made with blocks.

    Raises
    ------
    ParameterError
        If an option breaks its rule, or the table is empty.
    """
    checked_norm(norm, squared_for="to be debiased" if debiased else None)
    kind = resolved_interval(interval, table.blocks != ("",))
    draws = _draws(level, n_resamples, seed)
    make_bins = table.block_bins if kind == "bootstrap" else table.bins
    return _measured(make_bins(bin_size=bin_size, n_bins=n_bins, strategy=strategy), norm, debiased, kind, draws)


def resolved_interval(interval: IntervalKind | None, has_documents: bool) -> IntervalKind | None:
    """Return the kind of interval, with "auto" resolved, or raise."""
    if interval is not None:
        _checks.choice("interval", interval, get_args(IntervalKind))
    if interval == "auto":
        return "bootstrap" if has_documents else "simulated"
    return interval


def _sizes(bins: ReliabilityBins) -> tuple[int, int]:
    return bins.n_bins, bins.n_pairs


def _draws(level: float, n_resamples: int, seed: int) -> dict[str, Any]:
    n_resamples = _checks.whole("n_resamples", n_resamples, 2)
    return {"level": checked_level(level), "n_resamples": n_resamples, "seed": _checks.seed(seed)}


def _measured(
    sums: ReliabilityBins | BlockBins, norm: Norm, debiased: bool, kind: IntervalKind | None, draws: dict[str, Any]
) -> CalibrationError:
    bins = sums.bins if isinstance(sums, BlockBins) else sums
    if bins.n_bins < FEWEST_BINS:
        _log.warning("calibration error from %d bins of %d pairs: errors can cancel within bins", *_sizes(bins))
    estimate = binned_error(bins, norm=norm, debiased=debiased)
    if kind is None:
        return CalibrationError(estimate, None, None, draws["level"], None, norm, debiased, bins)
    if isinstance(sums, BlockBins):
        if sums.n_blocks < 2:
            raise ParameterError(f"must be at least 2 for a bootstrap, got {sums.n_blocks}", parameter="documents")
        ends = bootstrap_interval(sums, norm=norm, **draws)
    else:
        ends = simulated_interval(sums, norm=norm, method="inverted" if debiased else "normal", **draws)
    return CalibrationError(estimate, ends.lower, ends.upper, ends.level, ends.method, norm, debiased, bins)
