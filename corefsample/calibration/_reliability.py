"""The reliability curve of probabilities, and its counterpart for numbers: quantiles in their distributions (PIT).

The probability integral transform (PIT) of a number with ties, such as a count, is randomised: it is uniform between
P(value < true) and P(value <= true). Instead of one random number its distribution is used, so that ties need no seed.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, Literal, Self, cast, get_args

import numpy as np

from corefsample import _checks
from corefsample._arrays import Bools, Floats, Ints, Result, pd
from corefsample.calibration._binning import BlockBins, ReliabilityBins, Strategy, bin_pairs, block_bin_pairs
from corefsample.calibration._draws import require_blocks
from corefsample.calibration._validation import checked_level, coded, generator

BinMethod = Literal["normal", "clopper-pearson"]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ReliabilityCurve(Result):
    """Share of positive labels against mean prediction, one point per bin.

    Attributes
    ----------
    bins
        Pairs summed by bin: `bins.mean_q` is the curve's x, `bins.mean_y` its y.
    lower, upper
        float64 (n_bins,) in [0, 1], read-only: confidence interval of each bin's share, separately for each bin.
    level
        Nominal share of the intervals that contain the true share, in (0, 1).
    method
        Method of the intervals: "normal" or "clopper-pearson".
    by_block
        True if the intervals allow for dependence between pairs of one block (a document).
    """

    bins: ReliabilityBins
    lower: Floats
    upper: Floats
    level: float
    method: BinMethod
    by_block: bool

    @classmethod
    def of_bins(
        cls, bins: ReliabilityBins | BlockBins, *, level: float = 0.95, method: BinMethod = "clopper-pearson"
    ) -> Self:
        """Reliability curve of sums by bin.

        Parameters
        ----------
        bins
            Pairs summed by bin, or by block and bin: the intervals then allow for dependence between pairs of one
            block.
        level
            Nominal share of the intervals that contain the true share, in (0, 1).
        method
            Method of the intervals: "normal" (the paper's) or "clopper-pearson" (the default); see `bin_intervals`.
        """
        lower, upper = bin_intervals(bins, level=level, method=method)
        by_block = isinstance(bins, BlockBins)
        return cls(bins.bins if isinstance(bins, BlockBins) else bins, lower, upper, level, method, by_block)

    def __repr__(self) -> str:
        n_over, n_under = int(self.overconfident.sum()), int(self.underconfident.sum())
        sizes = f"n_pairs={self.bins.n_pairs}, n_bins={self.bins.n_bins}"
        return f"ReliabilityCurve({sizes}, of which {n_over} overconfident and {n_under} underconfident)"

    @property
    def overconfident(self) -> Bools:
        """Bins whose whole interval lies below the mean prediction: bool (n_bins,)."""
        return self.upper < self.bins.mean_q

    @property
    def underconfident(self) -> Bools:
        """Bins whose whole interval lies above the mean prediction: bool (n_bins,)."""
        return self.lower > self.bins.mean_q

    def to_frame(self) -> pd.DataFrame:
        """Tidy table, one row per bin: the columns of `ReliabilityBins.to_frame`, and lower, upper, level, verdict.

        The verdict is "over", "under", or "" if the interval contains the mean prediction.
        """
        verdict = np.where(self.overconfident, "over", np.where(self.underconfident, "under", ""))
        return self.bins.to_frame().assign(lower=self.lower, upper=self.upper, level=self.level, verdict=verdict)


def reliability_curve(
    q: np.typing.ArrayLike,
    y: np.typing.ArrayLike,
    *,
    documents: np.typing.ArrayLike | None = None,
    bin_size: int | None = None,
    n_bins: int | None = None,
    strategy: Strategy = "adaptive",
    level: float = 0.95,
    method: BinMethod = "clopper-pearson",
) -> ReliabilityCurve:
    """Reliability curve of predictions q against labels y.

    Above the diagonal predictions are underconfident, below it overconfident. With adaptive bins the points also show
    the distribution of the predictions.

    Parameters
    ----------
    q, y
        Predictions in [0, 1] and labels 0 or 1, (n_pairs,).
    documents
        Document of each pair, (n_pairs,), at least 2 different ones: pairs of one document may depend on each other.
        By default pairs are assumed to be independent.
    bin_size, n_bins, strategy
        Size, number and kind of the bins: see `bin_pairs`.
    level
        Nominal share of the intervals that contain the true share, in (0, 1).
    method
        Method of the intervals: "normal" (the paper's) or "clopper-pearson" (the default); see `bin_intervals`.

    Raises
    ------
    ParameterError
        If a prediction is outside [0, 1], a label is neither 0 nor 1, lengths differ, there is no pair, there are fewer
        than 2 documents, or an option of the bins or intervals is invalid.

    References
    ----------
    Nguyen & O'Connor (2015), section 3.3.

    Examples
    --------
    >>> curve = reliability_curve([0.1, 0.1, 0.9, 0.9], [0, 0, 1, 0], n_bins=2)
    >>> curve.to_frame()[["mean_q", "mean_y"]].to_numpy().tolist()
    [[0.1, 0.0], [0.9, 0.5]]
    """
    options: dict[str, Any] = {"bin_size": bin_size, "n_bins": n_bins, "strategy": strategy}
    bins = bin_pairs(q, y, **options) if documents is None else block_bin_pairs(q, y, documents, **options)
    return ReliabilityCurve.of_bins(bins, level=level, method=method)


def bin_intervals(
    bins: ReliabilityBins | BlockBins, *, level: float = 0.95, method: BinMethod = "normal"
) -> tuple[Floats, Floats]:
    """Confidence interval of the share of positive labels in each bin, one bin at a time.

    Parameters
    ----------
    bins
        Pairs summed by bin, which are assumed to be independent, or summed by block and bin: pairs of one block may
        then depend on each other, and standard errors come from the variation between blocks.
    level
        Nominal share of the intervals that contain the true share, in (0, 1).
    method
        Method of the intervals. "normal" (the default): the share plus and minus z standard errors, cut at 0 and 1; the
        width is 0 if all labels agree. "clopper-pearson": exact binomial interval; with blocks, that for the number of
        independent pairs that would have the same standard error (Korn & Graubard), at most the number of pairs.

    Returns
    -------
    lower, upper
        float64 (n_bins,) in [0, 1]. With blocks, the spread of a bin whose pairs all come from one block is unknown,
        and its interval is [0, 1].

    Raises
    ------
    ParameterError
        If `bins` has blocks and fewer than 2 of them have pairs, the method is unknown, or the level is not in (0, 1).

    References
    ----------
    Nguyen & O'Connor (2015), Algorithm 2 and Figure 1; Clopper & Pearson (1934), Biometrika 26; Korn & Graubard (1998),
    Survey Methodology 24.
    """
    tail = (1.0 - checked_level(level)) / 2.0
    method = cast("BinMethod", _checks.choice("method", method, get_args(BinMethod)))
    blocks, sums = (bins, bins.bins) if isinstance(bins, BlockBins) else (None, bins)
    _checks.instance("bins", sums, ReliabilityBins)
    if blocks is not None:
        require_blocks(blocks)
    share, n = sums.mean_y, sums.n.astype(np.float64)
    variance = share * (1.0 - share) / n
    spread = np.ones(sums.n_bins, np.int64) if blocks is None else (blocks.n > 0).sum(axis=0)
    effect = np.ones(sums.n_bins) if blocks is None else _design_effects(blocks, share, variance, spread)
    if method == "normal":
        half = NormalDist().inv_cdf(1.0 - tail) * np.sqrt(variance * effect)
        lower, upper = np.maximum(share - half, 0.0), np.minimum(share + half, 1.0)
    else:
        from scipy.stats import beta

        pairs = n / np.maximum(effect, 1.0)
        hits, misses = share * pairs, (1.0 - share) * pairs
        with np.errstate(invalid="ignore"):  # the beta distribution needs positive parameters; these ends are set below
            low, high = beta.ppf(tail, hits, misses + 1.0), beta.isf(tail, hits + 1.0, misses)
        lower, upper = np.where(share == 0.0, 0.0, low), np.where(share == 1.0, 1.0, high)
    if blocks is not None:
        lower, upper = np.where(spread > 1, lower, 0.0), np.where(spread > 1, upper, 1.0)
    return lower, upper


def _design_effects(blocks: BlockBins, share: Floats, variance: Floats, spread: Ints) -> Floats:
    """Ratio of the variance of a bin's share to that of independent pairs: float64 (n_bins,).

    If all labels of a bin agree, its ratio is unknown, and the ratio over all bins is used.
    """
    n = blocks.bins.n
    squares = np.square(blocks.sum_y - share * blocks.n).sum(axis=0)
    between = squares / np.square(n) * spread / np.maximum(spread - 1, 1)
    is_estimable = (variance > 0.0) & (spread > 1)
    overall = (
        np.sum((n**2 * between)[is_estimable]) / np.sum((n**2 * variance)[is_estimable]) if is_estimable.any() else 1.0
    )
    return np.where(is_estimable, between / np.where(is_estimable, variance, 1.0), overall)


# --- quantiles of numbers -------------------------------------------------------------------------------------


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
    truths: np.typing.ArrayLike,
    samples: np.typing.ArrayLike,
    *,
    documents: np.typing.ArrayLike | None = None,
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
    _checks.require("truths", truth.size, "must have at least one value", "none")
    array = _checks.regular_array("samples", samples)
    good = array.ndim == 2 and len(array) == len(truth) and array.shape[1]
    _checks.require(
        "samples", good, f"must be a row of samples for each of {len(truth)} values", f"shape {array.shape}"
    )
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
        # Distribution function of a uniform number between the two, which may be equal.
        first, width = lower[indices, None], (upper - lower)[indices, None]
        inside = (edges - first) / np.where(width > 0.0, width, 1.0)
        function: Floats = np.where(width > 0.0, np.clip(inside, 0.0, 1.0), edges >= first)
        function[:, 0], function[:, -1] = 0.0, 1.0  # values 0 and 1 belong to the first and the last bin
        total += function
    functions = total / len(truth)
    shares = np.diff(functions, axis=1)
    null_lower, null_upper = np.quantile(shares[1:], [0.025, 0.975], axis=0)
    # The statistic is the mean squared distance of the mean distribution function from the diagonal.
    distances = np.mean((functions - edges) ** 2, axis=1)
    p_value = (1 + int(np.count_nonzero(distances[1:] >= distances[0]))) / len(distances)
    return QuantileCalibration(len(truth), edges, shares[0], null_lower, null_upper, p_value)
