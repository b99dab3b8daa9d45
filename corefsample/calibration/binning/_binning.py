"""Bins of prediction-label pairs: adaptive (equal mass) or uniform (equal width), from the pairs themselves."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from corefsample.calibration.binning import _kernels
from corefsample.calibration.binning._bins import BlockBins, ReliabilityBins, Strategy
from corefsample.calibration.binning._cells import BinRule, bin_rule, bins_of_cells, cell_ends, inner_edges
from corefsample.calibration.binning._rows import (
    LEVEL_TOLERANCE,
    Codes,
    Floats,
    Ints,
    Labels,
    coded,
    n_levels,
    refuse_levels,
    refuse_pairs,
    require_levels,
    require_pairs,
    whole_numbers,
)

__all__ = ["bin_pairs", "block_bin_pairs"]

Words = npt.NDArray[np.uint64]


def bin_pairs(
    q: npt.ArrayLike,
    y: npt.ArrayLike,
    *,
    bin_size: int | None = None,
    n_bins: int | None = None,
    strategy: Strategy = "adaptive",
    n_samples: int | None = None,
) -> ReliabilityBins:
    """Sum prediction-label pairs by bin of the prediction.

    Pairs of equal prediction always share a bin, so the order of the rows changes nothing, not even in the last bit.

    - Adaptive bins, by size: walking up the distinct predictions, a bin closes at the first one after which it holds
      at least `bin_size` pairs. A last bin short of that joins the one before it. Where no two predictions are
      equal, this is Algorithm 1; fewer pairs than `bin_size` make one bin.
    - Adaptive bins, by number: a bin closes at the first prediction at or below which there lie at least 1, 2, ... of
      `n_bins` equal shares of the pairs. A tie that spans several shares closes one bin, so there may be fewer bins.
    - Uniform bins: [lo, hi) of equal width, the last one closed, so that q = 1 belongs to it; empty ones are left out.

    Parameters
    ----------
    q
        Predictions in [0, 1], (n_pairs,); with `n_samples` also whole numbers k of samples.
    y
        Labels 0 or 1 (bool, int or float), (n_pairs,).
    bin_size
        Target size of adaptive bins; 5,000 where `n_bins` is not given either.
    n_bins
        Number of bins, at most n_pairs; 15 uniform bins where it is not given.
    strategy
        "adaptive" or "uniform".
    n_samples
        S where every prediction is k / S (to 1e-9), or is given as the whole number k: pairs are then counted by k and
        nothing is sorted. The result is the same.

    Returns
    -------
    ReliabilityBins
        With what was asked for; `n_bins` of it says how many bins there are.

    Raises
    ------
    ParameterError
        If a prediction or a label breaks its rule, both are not of one length, there is no pair, or fewer pairs than
        bins asked for.

    References
    ----------
    Nguyen & O'Connor (2015), Algorithm 1.

    Examples
    --------
    >>> bins = bin_pairs([0.1, 0.2, 0.2, 0.2, 0.9, 1.0], [0, 0, 1, 0, 1, 1], bin_size=2)
    >>> bins.n
    array([4, 2])
    >>> bins.mean_y
    array([0.25, 1.  ])
    """
    rule = bin_rule(bin_size, n_bins, strategy)
    if n_samples is not None:
        return _bins_of_levels(_level_counts(q, y, n_levels(n_samples)), rule)[0]
    return _bins_of_words(_sorted_words(*require_pairs(q, y)), rule)


def block_bin_pairs(
    q: npt.ArrayLike,
    y: npt.ArrayLike,
    blocks: npt.ArrayLike,
    *,
    bin_size: int | None = None,
    n_bins: int | None = None,
    strategy: Strategy = "adaptive",
    n_samples: int | None = None,
) -> BlockBins:
    """Sum prediction-label pairs by block and bin: what a bootstrap by block needs.

    The bins are those of `bin_pairs`; the sums are then taken once more within each block.

    Parameters
    ----------
    q, y, bin_size, n_bins, strategy, n_samples
        As of `bin_pairs`.
    blocks
        Id of each pair's block, (n_pairs,): numbers or text. Rows of the result are in the order of the ids.

    Returns
    -------
    BlockBins

    Raises
    ------
    ParameterError
        As `bin_pairs`; also if an id is missing, or ids are of several kinds.

    Examples
    --------
    >>> by_block = block_bin_pairs([0.1, 0.2, 0.8, 0.9], [0, 1, 1, 1], ["b", "a", "a", "a"], bin_size=2)
    >>> by_block.n
    array([[1., 2.],
           [1., 0.]])
    """
    return block_bins_named("blocks", q, y, blocks, bin_rule(bin_size, n_bins, strategy), n_samples)


def block_bins_named(
    name: str, q: npt.ArrayLike, y: npt.ArrayLike, blocks: npt.ArrayLike, rule: BinRule, n_samples: int | None
) -> BlockBins:
    """Do as `block_bin_pairs` with blocks that errors call by another name."""
    if n_samples is not None:
        return _block_bins_of_levels(name, q, y, blocks, n_levels(n_samples), rule)
    predictions, answers = require_pairs(q, y)
    codes, names = coded(name, blocks, predictions)
    words, digits = _packed(predictions, answers)
    indptr = np.concatenate(([0], np.cumsum(np.bincount(codes, minlength=len(names)))))
    grouped, spare = np.empty_like(words), np.empty_like(words)
    _kernels.words_by_block(words, codes, indptr, grouped)
    _kernels.sort_stretches(grouped, indptr, spare)
    _kernels.radix_sort(words, spare, digits)
    bins = _bins_of_words(words, rule)
    last = (bins.q_max.view(np.uint64) << np.uint64(1)) | np.uint64(1)
    sums = [np.zeros((len(names), bins.n_bins)) for _ in range(3)]
    _kernels.block_sums(grouped, indptr, last, *sums)
    return BlockBins(bins, *sums)


# --- sorted pairs ------------------------------------------------------------------------------------------


def _packed(q: Floats, y: Labels) -> tuple[Words, Ints]:
    """Pairs as words, and the counts of their digits."""
    words = np.empty(q.shape[0], np.uint64)
    digits = np.zeros((_kernels.DIGITS, _kernels.DIGIT_VALUES), np.int64)
    if not _kernels.pack(q, y, words, digits):
        refuse_pairs(q, y)
    return words, digits


def _sorted_words(q: Floats, y: Labels) -> Words:
    words, digits = _packed(q, y)
    _kernels.radix_sort(words, np.empty_like(words), digits)
    return words


def sorted_pairs(q: npt.ArrayLike, y: npt.ArrayLike) -> tuple[Floats, npt.NDArray[np.uint8]]:
    """Return new arrays of predictions and labels, sorted by prediction, then by label; or refuse them."""
    words = _sorted_words(*require_pairs(q, y))
    labels = (words & np.uint64(1)).astype(np.uint8)
    np.right_shift(words, np.uint64(1), out=words)
    return words.view(np.float64), labels


def _bins_of_words(words: Words, rule: BinRule) -> ReliabilityBins:
    rule.require(words.shape[0])
    if rule.strategy == "uniform":
        edges = inner_edges(rule).view(np.uint64) << np.uint64(1)
        ends = np.append(np.searchsorted(words, edges), words.shape[0])
        ends = ends[np.diff(ends, prepend=0) > 0]
    else:
        ends = np.empty(rule.n_ends(words.shape[0]), np.int64)
        ends = ends[: _kernels.adaptive_ends(words, rule.bin_size or 0, rule.n_bins or 0, ends)].copy()
    n = np.empty(ends.shape[0], np.int64)
    sum_q, sum_q2, sum_y, sum_qy = (np.empty(ends.shape[0]) for _ in range(4))
    _kernels.sorted_sums(words, ends, n, sum_q, sum_q2, sum_y, sum_qy)
    first, last = words[np.concatenate(([0], ends[:-1]))], words[ends - 1]
    q_min, q_max = ((each >> np.uint64(1)).view(np.float64) for each in (first, last))
    asked = rule.strategy, rule.bin_size, rule.n_bins
    return ReliabilityBins(n, sum_q, sum_q2, sum_y, sum_qy, q_min, q_max, *asked)


# --- counted pairs -----------------------------------------------------------------------------------------


def _level_counts(q: npt.ArrayLike, y: npt.ArrayLike, n_samples: int) -> Ints:
    """Pairs by level and label, int64 (n_samples + 1, 2)."""
    counts = np.zeros(2 * (n_samples + 1), np.int64)
    if whole_numbers(q):
        levels, answers = require_levels(q, y)
        if not _kernels.count_whole_levels(levels, answers, n_samples, counts):
            refuse_levels(levels, answers, n_samples)
    else:
        predictions, answers = require_pairs(q, y)
        if not _kernels.count_levels(predictions, answers, float(n_samples), LEVEL_TOLERANCE, counts):
            refuse_levels(predictions, answers, n_samples)
    return counts.reshape(-1, 2)


def _bins_of_levels(counts: Ints, rule: BinRule) -> tuple[ReliabilityBins, Codes]:
    """Bins of levels, and the bin of each level (of those without a pair: any)."""
    n_samples = counts.shape[0] - 1
    n_all = counts.sum(axis=1)
    levels = np.flatnonzero(n_all)
    q = levels / n_samples
    n, ones = n_all[levels], counts[levels, 1].astype(np.float64)
    ends = cell_ends(n, rule, q)
    bins = bins_of_cells((n, q * n, q * q * n, ones, q * ones), q, q, ends, rule)
    bin_of = np.zeros(n_samples + 1, np.int32)
    bin_of[levels] = np.repeat(np.arange(ends.shape[0], dtype=np.int32), np.diff(ends, prepend=0))
    return bins, bin_of


def _block_bins_of_levels(
    name: str, q: npt.ArrayLike, y: npt.ArrayLike, blocks: npt.ArrayLike, n_samples: int, rule: BinRule
) -> BlockBins:
    bins, bin_of = _bins_of_levels(_level_counts(q, y, n_samples), rule)
    if whole_numbers(q):
        levels, answers = require_levels(q, y)
    else:
        predictions, answers = require_pairs(q, y)
        levels = np.rint(predictions * n_samples).astype(np.int64)
    codes, names = coded(name, blocks, levels)
    n, sum_level, sum_y = (np.zeros((len(names), bins.n_bins)) for _ in range(3))
    _kernels.block_level_sums(levels, answers, codes, bin_of, n, sum_level, sum_y)
    return BlockBins(bins, n, sum_level / n_samples, sum_y)
