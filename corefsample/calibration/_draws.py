"""Random draws of a binned error.

Legend of dimensions and names
    s : draw     b : bin     k : block (a document)
    gap       : share of positive labels minus mean prediction, in a bin
    weight    : share of the pairs that lie in a bin
Errors are on their additive scale: for norm "rms" the mean square, whose root the caller takes.

Draws are made in chunks to bound memory; the size of the chunks cannot change the result.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from corefsample import _checks
from corefsample._arrays import Floats
from corefsample.calibration._binning import BlockBins, ReliabilityBins
from corefsample.calibration._validation import Norm, checked_norm, generator

# Numbers in one array of a chunk: half a MiB, which fits into the processor's caches.
CHUNK = 2**16
# Numbers in a chunk of a matrix product: the threads of a product wait for each other at its end, so on a busy machine
# many small products take several times as long as a few large ones.
PRODUCT_CHUNK = 2**20
# From this variance on, a bin's sum of labels is drawn from a normal distribution: its fourth cumulant is then within
# 2% of the square of its variance, and the distribution of the error, a sum over bins, is even closer to normal.
NORMAL_FROM = 50.0
# From this number of trials on, rounding it changes the variance of a matched binomial distribution by less than 1%.
WHOLE_FROM = 50.0


class ErrorDraws(NamedTuple):
    """A binned error and random draws of it, on the additive scale: mean squares for norm "rms".

    Attributes
    ----------
    estimate
        Binned error of the observed pairs.
    errors
        float64 (n_resamples,): errors drawn around the estimate.
    noise
        float64 (n_resamples,): errors that chance alone produces.
    """

    estimate: float
    errors: Floats
    noise: Floats


def _chunks(n_resamples: int, width: int, size: int) -> Iterator[slice]:
    step = max(1, size // max(width, 1))
    return (slice(first, min(first + step, n_resamples)) for first in range(0, n_resamples, step))


def errors_of_gaps(gaps: Floats, weights: Floats, norm: Norm) -> Floats:
    """Error of each row of gaps (n_resamples, n_bins), which it overwrites; weights (n_bins,)."""
    if norm in ("rms", "mse"):
        np.multiply(gaps, gaps, out=gaps)
    else:
        np.abs(gaps, out=gaps)
    return np.asarray(gaps.max(axis=1, initial=0.0) if norm == "max" else gaps @ weights)


def rooted(errors: np.typing.ArrayLike, norm: Norm) -> Floats:
    """Bring errors from their additive scale to that of the norm."""
    return np.sqrt(errors) if norm == "rms" else np.asarray(errors)


def error_of_sums(n: np.typing.ArrayLike, residual: Floats, norm: Norm) -> float:
    """Binned error, on its additive scale, from pairs and residuals (sum of q - y) by bin."""
    return float(errors_of_sums(np.array(n, np.float64)[None], np.array(residual)[None], norm)[0])


def _joined(first: Floats, second: Floats, norm: Norm) -> Floats:
    """Error of two sets of bins, from the errors of each."""
    return np.maximum(first, second) if norm == "max" else first + second


def simulated_draws(
    bins: ReliabilityBins, *, norm: Norm = "rms", n_resamples: int = 10_000, seed: int = 0
) -> ErrorDraws:
    """Draw errors by Algorithm 2: each bin's share of positives from a normal distribution around its estimate.

    The share of bin b is drawn from N(p, p (1 - p) / n), where p is the observed share of the bin's n pairs, and
    clipped to [0, 1]. Pairs are assumed to be independent. The noise of a draw is the error of the drawn shares minus
    the estimated ones: the effect of chance alone.

    Parameters
    ----------
    bins
        Pairs summed by bin.
    norm
        Norm of the error: "rms", "mse", "l1" or "max".
    n_resamples
        Number of errors drawn, at least 2.
    seed
        Seed of the random generator (Philox), in [0, 2^64); more draws extend the same sequence.

    Raises
    ------
    ParameterError
        If `bins` is no ReliabilityBins, the norm is unknown, or `n_resamples` or `seed` is out of range.

    References
    ----------
    Nguyen & O'Connor (2015), Algorithm 2, step 2.
    """
    n_resamples, norm, rng = _checks.whole("n_resamples", n_resamples, 2), checked_norm(norm), generator(seed)
    _checks.instance("bins", bins, ReliabilityBins)
    n = bins.n.astype(np.float64)
    mean_q, mean_y = bins.sum_q / n, bins.sum_y / n
    weights = n / n.sum()
    scale = np.sqrt(np.maximum(mean_y * (1.0 - mean_y), 0.0) / n)
    varies = scale > 0.0  # bins with one label only have no spread, so they need no draws
    constant = errors_of_gaps((mean_y - mean_q)[None, ~varies], weights[~varies], norm)
    share, prediction, spread, weight = (values[varies] for values in (mean_y, mean_q, scale, weights))
    errors, noise = np.empty(n_resamples), np.empty(n_resamples)
    for rows in _chunks(n_resamples, share.size, CHUNK):
        gaps = rng.standard_normal((rows.stop - rows.start, share.size))
        gaps *= spread
        drawn = gaps + share
        noise[rows] = errors_of_gaps(gaps, weight, norm)
        np.clip(drawn, 0.0, 1.0, out=drawn)
        drawn -= prediction
        errors[rows] = errors_of_gaps(drawn, weight, norm)
    return ErrorDraws(error_of_sums(n, bins.sum_q - bins.sum_y, norm), _joined(errors, constant, norm), noise)


def multiplicities(
    n_blocks: int, n_resamples: int, width: int, rng: np.random.Generator
) -> Iterator[tuple[slice, Floats]]:
    """Resamples of blocks with replacement, in chunks of rows of at most `width` numbers each.

    Yields the rows of each chunk, and how often each block is drawn: (n_rows, n_blocks).
    """
    for rows in _chunks(n_resamples, width, PRODUCT_CHUNK):
        count = rows.stop - rows.start
        picked = rng.integers(0, n_blocks, (count, n_blocks))
        picked += n_blocks * np.arange(count)[:, None]
        times = np.bincount(picked.ravel(), minlength=count * n_blocks).reshape(count, n_blocks)
        yield rows, times.astype(np.float64)


def bootstrap_draws(blocks: BlockBins, *, norm: Norm = "rms", n_resamples: int = 10_000, seed: int = 0) -> ErrorDraws:
    """Draw errors by resampling whole blocks (documents) with replacement; the bins stay the same.

    Blocks without a pair, which a group of pairs may have, are left out. The sums of a resample are its blocks'
    multiplicities times the sums by block: one matrix product. The noise of a draw is the error of its bins' mean
    residuals minus those of all blocks: the effect of chance alone.

    Parameters
    ----------
    blocks
        Pairs summed by block and bin; at least 2 blocks have pairs.
    norm
        Norm of the error: "rms", "mse", "l1" or "max".
    n_resamples
        Number of errors drawn, at least 2.
    seed
        Seed of the random generator (Philox), in [0, 2^64); more draws extend the same sequence.

    Raises
    ------
    ParameterError
        If fewer than 2 blocks have pairs, the norm is unknown, or `n_resamples` or `seed` is out of range.
    """
    n_resamples, norm, rng = _checks.whole("n_resamples", n_resamples, 2), checked_norm(norm), generator(seed)
    require_blocks(blocks)
    has_pairs = blocks.n.any(axis=1)
    n, residual = blocks.n[has_pairs], blocks.sum_q[has_pairs] - blocks.sum_y[has_pairs]
    n_blocks, n_bins = n.shape
    mean_residual = residual.sum(axis=0) / n.sum(axis=0)
    block_sums = np.hstack((n, residual))
    errors, noise = np.empty(n_resamples), np.empty(n_resamples)
    for rows, times in multiplicities(n_blocks, n_resamples, max(n_blocks, n_bins), rng):
        count = rows.stop - rows.start
        sums = times @ block_sums
        for chunk in _chunks(count, n_bins, CHUNK):
            drawn_n, drawn = sums[chunk, :n_bins], sums[chunk, n_bins:]
            noise[rows][chunk] = errors_of_sums(drawn_n, drawn - drawn_n * mean_residual, norm)
            errors[rows][chunk] = errors_of_sums(drawn_n, drawn, norm)
    estimate = error_of_sums(blocks.n.sum(axis=0), (blocks.sum_q - blocks.sum_y).sum(axis=0), norm)
    return ErrorDraws(estimate, errors, noise)


def errors_of_sums(n: Floats, residual: Floats, norm: Norm) -> Floats:
    """Error of each row of sums (n_resamples, n_bins), overwriting the residuals; a bin may be empty."""
    n_pairs, divisor = n.sum(axis=1), np.maximum(n, 1.0)  # an empty bin has a residual of 0
    if norm == "max":
        np.divide(residual, divisor, out=residual)
        return np.asarray(np.abs(residual, out=residual).max(axis=1))
    if norm == "l1":
        return np.asarray(np.abs(residual, out=residual).sum(axis=1) / n_pairs)
    np.multiply(residual, residual, out=residual)
    np.divide(residual, divisor, out=residual)
    return np.asarray(residual.sum(axis=1) / n_pairs)


def sign_flipped(n: Floats, residual: Floats, norm: Norm, n_resamples: int, rng: np.random.Generator) -> Floats:
    """Errors after the residuals (n_blocks, n_bins) of randomly chosen blocks change their sign, all bins together.

    A squared error is a quadratic form of the signs. Where there are fewer blocks than bins, its matrix of blocks takes
    less time than the sums of all bins.
    """
    n_blocks, n_bins = residual.shape
    total = n.sum(axis=0)
    weights, mean_residual = total / total.sum(), residual / total
    is_form = norm in ("rms", "mse") and n_blocks < n_bins
    form = (mean_residual * weights) @ mean_residual.T if is_form else mean_residual
    errors = np.empty(n_resamples)
    for rows in _chunks(n_resamples, max(n_blocks, n_bins), PRODUCT_CHUNK):
        signs = rng.integers(0, 2, (rows.stop - rows.start, n_blocks)).astype(np.float64)
        signs *= 2.0
        signs -= 1.0
        if is_form:
            errors[rows] = np.maximum(((signs @ form) * signs).sum(axis=1), 0.0)
        else:
            errors[rows] = errors_of_gaps(signs @ mean_residual, weights, norm)
    return errors


def calibrated(
    n: Floats, sum_q: Floats, sum_q2: Floats, norm: Norm, n_resamples: int, rng: np.random.Generator
) -> Floats:
    """Errors of labels that are Bernoulli(q): a bin's sum of labels has mean sum_q and variance sum_q - sum_q2."""
    weights = n / n.sum()
    variance = np.maximum(sum_q - sum_q2, 0.0)
    is_normal = variance >= NORMAL_FROM
    errors = np.empty(n_resamples)
    for rows in _chunks(n_resamples, int(is_normal.sum()), CHUNK):
        gaps = rng.standard_normal((rows.stop - rows.start, int(is_normal.sum())))
        gaps *= (np.sqrt(variance) / n)[is_normal]
        errors[rows] = errors_of_gaps(gaps, weights[is_normal], norm)
    # A bin near 1 is drawn as its mirror image near 0, which has the same error.
    flipped = sum_q > n / 2.0
    mean = np.where(flipped, n - sum_q, sum_q)
    few_label_bins = np.flatnonzero(~is_normal & (variance > 0.0) & (mean > 0.0))
    for bins_of_chunk in np.array_split(few_label_bins, max(1, -(-few_label_bins.size * n_resamples // (4 * CHUNK)))):
        sums = matched_sums(mean[bins_of_chunk], variance[bins_of_chunk], n_resamples, rng)
        sums -= mean[bins_of_chunk, None]
        sums /= n[bins_of_chunk, None]
        errors = _joined(errors, errors_of_gaps(sums.T, weights[bins_of_chunk], norm), norm)
    return errors


def matched_sums(mean: Floats, variance: Floats, n_resamples: int, rng: np.random.Generator) -> Floats:
    """Draw whole numbers, (n_bins, n_resamples), whose variance is below their mean, like sums of few labels.

    A binomial distribution of mean mu and variance v has t = mu^2 / (mu - v) trials. Where t is not a whole number, the
    distributions with the whole numbers on either side are mixed, which keeps the mean and makes the variance exact.
    There cannot be fewer trials than the mean; then the narrowest distribution of that mean, on the two whole numbers
    next to it, is used instead.
    """
    trials = np.floor(mean * mean / np.maximum(mean - variance, mean * mean / 2.0**53) + 1e-9)
    possible = trials >= mean
    base = np.where(possible, 0.0, np.floor(mean))
    lower_trials = np.where(possible, trials, 1.0)
    lower_prob = np.clip((mean - base) / lower_trials, 0.0, 1.0)
    upper_prob = np.minimum(mean / (trials + 1.0), 1.0)
    lower_variance = lower_trials * lower_prob * (1.0 - lower_prob)
    gain = mean * (1.0 - upper_prob) - lower_variance
    share = np.where(gain > 0.0, np.clip((variance - lower_variance) / np.where(gain > 0.0, gain, 1.0), 0.0, 1.0), 0.0)
    shape = (mean.size, n_resamples)
    sums = rng.binomial(lower_trials.astype(np.int64)[:, None], lower_prob[:, None], shape) + base[:, None]
    mixed = np.flatnonzero((share > 0.0) & (trials < WHOLE_FROM))
    upper = rng.binomial(
        (trials[mixed] + 1.0).astype(np.int64)[:, None], upper_prob[mixed, None], (mixed.size, n_resamples)
    )
    uses_upper = rng.random((mixed.size, n_resamples)) < share[mixed, None]
    sums[mixed] = np.where(uses_upper, upper, sums[mixed])
    return np.asarray(sums, np.float64)


def require_blocks(blocks: BlockBins) -> None:
    """Raise ParameterError unless at least 2 blocks have pairs."""
    n_filled = int(blocks.n.any(axis=1).sum())
    _checks.require("blocks", n_filled >= 2, "must be at least 2 with pairs", n_filled)
