"""Calibration error: how far predictions lie from the frequencies of what they predict."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample.calibration.binning import (
    BlockBins,
    ReliabilityBins,
    Strategy,
    bin_pairs,
    bin_rule,
    block_bins_named,
    require_length,
)
from corefsample.errors import ParameterError

if TYPE_CHECKING:
    import pandas as pd

    from corefsample.calibration.intervals import Interval
    from corefsample.calibration.tables import CalibrationTable

__all__ = ["CalibrationError", "Norm", "binned_error", "calibration_error", "calibration_error_from_table"]

IntervalKind = Literal["auto", "simulated", "bootstrap"]
INTERVALS: tuple[IntervalKind, ...] = ("auto", "simulated", "bootstrap")
Norm = Literal["rms", "mse", "l1", "max"]
NORMS: tuple[Norm, ...] = ("rms", "mse", "l1", "max")
SQUARED: tuple[Norm, ...] = ("rms", "mse")
Floats = npt.NDArray[np.float64]


def binned_error(bins: ReliabilityBins, *, norm: Norm = "rms", debiased: bool = False) -> float:
    """Distance of the mean prediction from the share of positive labels, over bins.

    With n_b pairs of n in bin b, and d_b the distance of both means there:

    - "rms": sqrt(sum of n_b / n * d_b^2), the paper's CalibErr
    - "mse": sum of n_b / n * d_b^2, the thesis's score, and the calibration part of the Brier score
    - "l1": sum of n_b / n * |d_b|, known as expected calibration error
    - "max": the largest |d_b|

    The squared ones are too large by the sampling variance of the shares, the more so the smaller the bins: perfectly
    calibrated predictions do not give 0. Debiased, an unbiased estimate p (1 - p) / (n_b - 1) of each bin's variance
    is taken off, p being its share of positive labels. It is exact where a bin's predictions are all alike and takes
    off slightly too much where they differ. A bin of one pair has no such estimate, and nothing is taken off there.

    Parameters
    ----------
    bins
        Pairs summed by bin.
    norm
        "rms", "mse", "l1" or "max".
    debiased
        Take the sampling variance off; for "rms" and "mse" alone.

    Returns
    -------
    float
        In [0, 1]. The debiased "mse" can be negative, which says that no miscalibration shows; "rms" is then 0.

    Raises
    ------
    ParameterError
        If the norm is unknown, or is to be debiased and is not a squared one.

    References
    ----------
    Nguyen & O'Connor (2015), Algorithm 1, step 5; Kumar, Liang & Ma (2019), "Verified uncertainty calibration",
    section 5 (the debiased estimate).

    Examples
    --------
    >>> from corefsample.calibration import bin_pairs
    >>> bins = bin_pairs([0.2, 0.2, 0.6, 0.6], [0, 0, 1, 0], n_bins=2)
    >>> round(binned_error(bins, norm="l1"), 12)  # (|0.2 - 0| + |0.6 - 0.5|) / 2
    0.15
    """
    require_norm(norm, debiased)
    distance = bins.mean_q - bins.mean_y
    if norm == "max":
        return float(np.abs(distance).max())
    weights = bins.n / bins.n_pairs
    if norm == "l1":
        return float(weights @ np.abs(distance))
    squares = distance * distance
    if debiased:
        p = bins.mean_y
        squares = squares - p * (1.0 - p) / np.maximum(bins.n - 1, 1)
    error = float(weights @ squares)
    return error if norm == "mse" else math.sqrt(max(error, 0.0))


def require_norm(norm: str, debiased: bool) -> None:
    """Refuse a norm that is unknown, or that cannot be debiased where it is to be."""
    _checks.choice("norm", norm, NORMS)
    if debiased and norm not in SQUARED:
        raise ParameterError(f"norm must be one of {', '.join(SQUARED)} to be debiased, got {norm!r}")


@dataclass(frozen=True, slots=True, eq=False)
class CalibrationError:
    """A calibration error with its interval and the bins it comes from.

    Attributes
    ----------
    estimate
        In [0, 1]; a debiased "mse" can be negative.
    lower, upper
        Ends of the confidence interval, in [0, 1]; None where none was asked for. They speak of the true error and
        need not hold the estimate: see `simulated_interval` and `bootstrap_interval`.
    level
        Of the interval, in (0, 1).
    interval
        How the interval was made, "simulated normal" for example, or None.
    norm
        "rms", "mse", "l1" or "max".
    debiased
        Whether sampling variance was taken off.
    bins
        The pairs summed by bin, with the bins asked for and those there are.
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

    def to_frame(self) -> pd.DataFrame:
        """Table of one row: estimate, lower, upper, level, interval, norm, debiased, n_pairs, n_bins."""
        import pandas as pd

        names = ("estimate", "lower", "upper", "level", "interval", "norm", "debiased", "n_pairs", "n_bins")
        return pd.DataFrame({name: [getattr(self, name)] for name in names})


@dataclass(frozen=True, slots=True)
class _IntervalRule:
    """Which interval to make, and how."""

    kind: IntervalKind | None
    level: float
    n_draws: int
    seed: int

    def bootstraps(self, known: bool) -> bool:
        """Whether blocks are to be resampled, blocks being known or not."""
        return self.kind == "bootstrap" or (self.kind == "auto" and known)


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
        The bins, as of `bin_pairs`: adaptive ones of 5,000 pairs where nothing is said.
    norm, debiased
        The error, as of `binned_error`.
    documents
        Id of each pair's document, (n_pairs,): numbers or text. Pairs of one document are not independent.
    interval
        "simulated" (Algorithm 2, of independent pairs; its inverted kind where the error is debiased), "bootstrap" (by
        document), None, or "auto": the bootstrap where documents are given, else simulated.
    level
        Of the interval, in (0, 1).
    n_resamples
        Draws that the interval is made of, at least 2.
    seed
        Of the draws, in [0, 2^64).
    n_samples
        S where every prediction is an average of S samples, k / S: pairs are then counted and not sorted.

    Raises
    ------
    ParameterError
        If a value breaks its rule, lengths differ, there is no pair, or there are fewer pairs than bins asked for.

    References
    ----------
    Nguyen & O'Connor (2015), Algorithms 1 and 2.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> q = rng.random(100_000)
    >>> error = calibration_error(q, rng.random(100_000) < q**2, bin_size=1000)
    >>> error.n_bins, round(error.estimate, 2)  # sqrt of the mean of (q - q^2)^2, which is sqrt(1 / 30)
    (100, 0.18)
    """
    require_norm(norm, debiased)
    rule = _interval_rule(interval, level, n_resamples, seed)
    if documents is not None:
        require_length("documents", np.asarray(documents), np.asarray(q))
    if not rule.bootstraps(documents is not None):
        bins = bin_pairs(q, y, bin_size=bin_size, n_bins=n_bins, strategy=strategy, n_samples=n_samples)
        return _with_interval(bins, None, norm, debiased, rule)
    if documents is None:
        raise ParameterError("documents must be given for interval='bootstrap', got None")
    blocks = block_bins_named("documents", q, y, documents, bin_rule(bin_size, n_bins, strategy), n_samples)
    return _with_interval(blocks.bins, blocks, norm, debiased, rule)


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

    The table's blocks are the documents: "auto" resamples them where the table was made with blocks.

    Raises
    ------
    ParameterError
        If an option breaks its rule, or the table is empty.
    """
    require_norm(norm, debiased)
    rule = _interval_rule(interval, level, n_resamples, seed)
    options: dict[str, Any] = {"bin_size": bin_size, "n_bins": n_bins, "strategy": strategy}
    if not rule.bootstraps(table.blocks != ("",)):
        return _with_interval(table.bins(**options), None, norm, debiased, rule)
    blocks = table.block_bins(**options)
    return _with_interval(blocks.bins, blocks, norm, debiased, rule)


def _interval_rule(interval: IntervalKind | None, level: float, n_resamples: int, seed: int) -> _IntervalRule:
    if interval is not None:
        _checks.choice("interval", interval, INTERVALS)
    share = _checks.probability("level", level, below_one=True, above_zero=True)
    return _IntervalRule(interval, share, _checks.whole("n_resamples", n_resamples, 2), _checks.seed(seed))


def _with_interval(
    bins: ReliabilityBins, blocks: BlockBins | None, norm: Norm, debiased: bool, rule: _IntervalRule
) -> CalibrationError:
    estimate = binned_error(bins, norm=norm, debiased=debiased)
    if rule.kind is None:
        return CalibrationError(estimate, None, None, rule.level, None, norm, debiased, bins)
    ends = _interval(bins, blocks, norm, debiased, rule)
    return CalibrationError(estimate, ends.lower, ends.upper, rule.level, ends.method, norm, debiased, bins)


def _interval(
    bins: ReliabilityBins, blocks: BlockBins | None, norm: Norm, debiased: bool, rule: _IntervalRule
) -> Interval:
    from corefsample.calibration.intervals import bootstrap_interval, simulated_interval

    options: dict[str, Any] = {"norm": norm, "level": rule.level, "n_draws": rule.n_draws, "seed": rule.seed}
    if blocks is None:
        return simulated_interval(bins, method="inverted" if debiased else "normal", **options)
    if blocks.n_blocks < 2:
        raise ParameterError(f"documents must be at least 2 for a bootstrap, got {blocks.n_blocks}")
    return bootstrap_interval(blocks, **options)
