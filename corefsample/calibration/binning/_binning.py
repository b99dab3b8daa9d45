"""Bins of prediction-label pairs: adaptive (equal mass) or uniform (equal width), from the pairs themselves."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from corefsample._arrays import Bytes, Floats, Ints, Ints32, Words
from corefsample.calibration.binning import _kernels
from corefsample.calibration.binning._bins import BlockBins, ReliabilityBins, Strategy
from corefsample.calibration.binning._cells import BinRule, bin_rule, bins_of_cells, filled_ends
from corefsample.calibration.binning._kernels import Labels
from corefsample.calibration.binning._validation import (
    LEVEL_TOLERANCE,
    checked_n_samples,
    coded,
    pair_arrays,
    require_levels,
    require_pairs,
)


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

    Pairs of equal prediction always share a bin, so the order of the rows cannot change the result, not even its last
    bit.

    - Adaptive bins, by size: going up the distinct predictions, a bin closes at the first one after which it has at
      least `bin_size` pairs. A last bin with fewer joins the one before it. Where no two predictions are equal, this
      is Algorithm 1; fewer pairs than `bin_size` make one bin.
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
        Target size of adaptive bins; if `n_bins` is not given either, 5,000, or for fewer than 100,000 pairs a
        twentieth of them, but at least 50.
    n_bins
        Number of bins, at most n_pairs; by default there are 15 uniform bins.
    strategy
        "adaptive" or "uniform".
    n_samples
        S if every prediction is k / S (to 1e-9), or is given as the whole number k: pairs are then counted by k instead
        of being sorted. The result is the same.

    Returns
    -------
    ReliabilityBins

    Raises
    ------
    ParameterError
        If a prediction or a label breaks its rule, lengths differ, there is no pair, or there are fewer pairs than
        requested bins.

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
        return _bins_of_levels(_level_counts(q, y, checked_n_samples(n_samples)), rule)[0]
    return _bins_of_words(_sorted_words(q, y), rule)


def block_bin_pairs(
    q: npt.ArrayLike,
    y: npt.ArrayLike,
    documents: npt.ArrayLike,
    *,
    bin_size: int | None = None,
    n_bins: int | None = None,
    strategy: Strategy = "adaptive",
    n_samples: int | None = None,
) -> BlockBins:
    """Sum prediction-label pairs by block (document) and bin, as a bootstrap by document needs them.

    The bins are those of `bin_pairs`.

    Parameters
    ----------
    q, y, bin_size, n_bins, strategy, n_samples
        As of `bin_pairs`.
    documents
        Id of each pair's document, (n_pairs,): numbers or text. Rows of the result are in the order of the ids.

    Returns
    -------
    BlockBins

    Raises
    ------
    ParameterError
        As `bin_pairs`; also if an id is missing, or ids are of several kinds.

    Examples
    --------
    >>> blocks = block_bin_pairs([0.1, 0.2, 0.8, 0.9], [0, 1, 1, 1], ["b", "a", "a", "a"], bin_size=2)
    >>> blocks.n
    array([[1., 2.],
           [1., 0.]])
    """
    rule = bin_rule(bin_size, n_bins, strategy)
    if n_samples is not None:
        return _block_bins_of_levels(q, y, documents, checked_n_samples(n_samples), rule)
    predictions, labels = pair_arrays(q, y)
    codes, names = coded("documents", documents, predictions.shape[0])
    words, digits = _packed(predictions, labels)
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
    """Return pairs as words, and the counts of their digits."""
    words = np.empty(q.shape[0], np.uint64)
    digits = np.zeros((_kernels.DIGITS, _kernels.DIGIT_VALUES), np.int64)
    if not _kernels.pack(q, y, words, digits):
        require_pairs(q, y)
    return words, digits


def _sorted_words(q: npt.ArrayLike, y: npt.ArrayLike) -> Words:
    words, digits = _packed(*pair_arrays(q, y))
    _kernels.radix_sort(words, np.empty_like(words), digits)
    return words


def sorted_pairs(q: npt.ArrayLike, y: npt.ArrayLike) -> tuple[Floats, Bytes]:
    """Return new arrays of predictions and labels, sorted by prediction, then by label; raise if a value is wrong."""
    words = _sorted_words(q, y)
    labels = (words & np.uint64(1)).astype(np.uint8)
    np.right_shift(words, np.uint64(1), out=words)
    return words.view(np.float64), labels


def _bins_of_words(words: Words, rule: BinRule) -> ReliabilityBins:
    rule = rule.of_pairs(words.shape[0])
    if rule.strategy == "uniform":
        ends = filled_ends(words, rule.inner_edges.view(np.uint64) << np.uint64(1))
    else:
        ends = np.empty(rule.n_ends(words.shape[0]), np.int64)
        ends = ends[: _kernels.adaptive_ends(words, rule.bin_size or 0, rule.n_bins or 0, ends)].copy()
    n = np.empty(ends.shape[0], np.int64)
    sum_q, sum_q2, sum_y, sum_qy = (np.empty(ends.shape[0]) for _ in range(4))
    _kernels.sorted_sums(words, ends, n, sum_q, sum_q2, sum_y, sum_qy)
    first, last = words[np.concatenate(([0], ends[:-1]))], words[ends - 1]
    q_min, q_max = ((each >> np.uint64(1)).view(np.float64) for each in (first, last))
    options = rule.strategy, rule.bin_size, rule.n_bins
    return ReliabilityBins(n, sum_q, sum_q2, sum_y, sum_qy, q_min, q_max, *options)


# --- counted pairs -----------------------------------------------------------------------------------------


def level_cells(q: npt.ArrayLike, y: npt.ArrayLike, n_samples: int) -> tuple[Ints32, Labels]:
    """Return the level k of each prediction k / n_samples, and the labels; raise if a value is wrong."""
    cells = np.empty(np.size(q), np.int32)
    return cells, _fill_levels(q, y, n_samples, _kernels.level_cells, cells)


def _level_counts(q: npt.ArrayLike, y: npt.ArrayLike, n_samples: int) -> Ints:
    """Count pairs by level and label: int64 (n_samples + 1, 2)."""
    counts = np.zeros(2 * (n_samples + 1), np.int64)
    _fill_levels(q, y, n_samples, _kernels.count_levels, counts)
    return counts.reshape(-1, 2)


def _fill_levels(
    q: npt.ArrayLike, y: npt.ArrayLike, n_samples: int, fill: Callable[..., bool], result: Ints | Ints32
) -> Labels:
    """Fill `result` by a kernel for shares of samples, given shares or whole numbers of samples; return the labels."""
    whole = np.asarray(q).dtype.kind in "iu"
    predictions, labels = pair_arrays(q, y, dtype=np.int64 if whole else np.float64)
    shares = predictions / n_samples if whole else predictions
    if not fill(shares, labels, float(n_samples), LEVEL_TOLERANCE, result):
        require_levels(predictions, labels, n_samples)
    return labels


def _bins_of_levels(counts: Ints, rule: BinRule) -> tuple[ReliabilityBins, Ints32]:
    """Bins of levels, and the bin of each level (arbitrary for levels without a pair)."""
    n_samples = counts.shape[0] - 1
    n_all = counts.sum(axis=1)
    levels = np.flatnonzero(n_all)
    q = levels / n_samples
    n, ones = n_all[levels], counts[levels, 1].astype(np.float64)
    bin_of = np.zeros(n_samples + 1, np.int32)
    bins, bin_of[levels] = bins_of_cells((n, q * n, q * q * n, ones, q * ones), q, q, q, rule)
    return bins, bin_of


def _block_bins_of_levels(
    q: npt.ArrayLike, y: npt.ArrayLike, documents: npt.ArrayLike, n_samples: int, rule: BinRule
) -> BlockBins:
    levels, labels = level_cells(q, y, n_samples)
    codes, names = coded("documents", documents, levels.shape[0])
    counts = np.bincount(2 * levels + (labels == 1), minlength=2 * (n_samples + 1)).reshape(-1, 2)
    bins, bin_of = _bins_of_levels(counts, rule)
    # Sums of whole numbers, so the order of the pairs cannot change them.
    n, sum_level, sum_y = (
        sums_by_block(codes, bin_of[levels], (len(names), bins.n_bins), values) for values in (None, levels, labels)
    )
    return BlockBins(bins, n, sum_level / n_samples, sum_y)


def sums_by_block(
    blocks: Ints32 | Ints, bins: Ints32 | Ints, shape: tuple[int, int], values: npt.ArrayLike | None = None
) -> Floats:
    """Sum values, or count rows, by block and bin: float64 of `shape` (n_blocks, n_bins)."""
    sums = np.bincount(blocks * np.int64(shape[1]) + bins, values, shape[0] * shape[1])
    return sums.astype(np.float64).reshape(shape)
