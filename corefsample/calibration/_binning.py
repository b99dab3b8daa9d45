"""Bins of prediction-label pairs: adaptive (equal mass) or uniform (equal width), from the pairs themselves."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise as neighbours
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample._arrays import Bytes, Floats, Ints, Ints32, Words
from corefsample.calibration import _kernels, _validation
from corefsample.calibration._bins import STRATEGIES, BlockBins, ReliabilityBins, Strategy
from corefsample.errors import ParameterError

DEFAULT_BIN_SIZE = 5000
SMALLEST_BIN, _BINS_OF_SMALL = 50, 20  # least size and number of bins by default for small data
FEWEST_BINS = 10  # with fewer bins, errors of opposite sign cancel within bins
DEFAULT_N_BINS = 15  # of equal width
MAX_BINS = 10_000_000

Sums = tuple[Ints, Floats, Floats, Floats, Floats]  # n, sum_q, sum_q2, sum_y, sum_qy


@dataclass(frozen=True, slots=True)
class BinRule:
    """Rule by which pairs are binned; `bin_size` or `n_bins` is None, or both until the pairs are counted."""

    strategy: Strategy
    bin_size: int | None
    n_bins: int | None

    def of_pairs(self, n_pairs: int) -> BinRule:
        """The rule with the default size of bins for this number of pairs; raise if adaptive bins outnumber them."""
        if self.n_bins is not None and self.n_bins > n_pairs and self.strategy == "adaptive":
            raise ParameterError(
                f"must be at most the number of pairs ({n_pairs}), got {self.n_bins}", parameter="n_bins"
            )
        if self.bin_size is None and self.n_bins is None:
            return replace(self, bin_size=default_bin_size(n_pairs))
        return self

    def ends(self, values: Words, counts: Ints, positions: npt.NDArray[Any], edges: npt.NDArray[Any] | None) -> Ints:
        """End of each bin, without empty bins: adaptive bins of rows (see `_kernels.adaptive_ends`), or `edges`."""
        if edges is not None:
            ends = np.append(np.searchsorted(positions, edges), positions.shape[0])
            return ends[np.diff(ends, prepend=0) > 0]
        n_pairs = int(counts.sum()) or values.shape[0]
        most = self.n_bins if self.bin_size is None else n_pairs // self.bin_size + 1
        ends = np.empty(min(cast("int", most), values.shape[0]), np.int64)
        return ends[: _kernels.adaptive_ends(values, counts, self.bin_size or 0, self.n_bins or 0, ends)].copy()

    @property
    def inner_edges(self) -> Floats:
        """Edges between bins of equal width."""
        n_bins = cast("int", self.n_bins)
        return np.arange(1, n_bins) / n_bins


def bin_rule(bin_size: object, n_bins: object, strategy: str) -> BinRule:
    """Return the rule for these options; raise ParameterError if an option is invalid or contradicts another."""
    kind = cast("Strategy", _checks.choice("strategy", strategy, STRATEGIES))
    if bin_size is not None and (n_bins is not None or kind == "uniform"):
        conflict = "n_bins" if n_bins is not None else "strategy='uniform'"
        raise ParameterError(
            f"must be left out where {conflict} is given, got {_checks.shown(bin_size)}", parameter="bin_size"
        )
    if n_bins is not None:
        number = _checks.whole("n_bins", n_bins, 1)
        _checks.at_most("n_bins", number, MAX_BINS)
        return BinRule(kind, None, number)
    if kind == "uniform":
        return BinRule(kind, None, DEFAULT_N_BINS)
    return BinRule(kind, None if bin_size is None else _checks.whole("bin_size", bin_size, 1), None)


def default_bin_size(n_pairs: int) -> int:
    """Default size of adaptive bins: 5,000 pairs, or fewer for small data, which then get about 20 bins.

    Fewer than 100,000 pairs get smaller bins, but none below 50 pairs, where chance dominates a bin's share.
    """
    return min(DEFAULT_BIN_SIZE, max(SMALLEST_BIN, n_pairs // _BINS_OF_SMALL))


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
        Target size of adaptive bins, in pairs, at least 1; excludes `n_bins`. By default (without `n_bins`) 5,000, or
        for fewer than 100,000 pairs a twentieth of them, but at least 50.
    n_bins
        Number of bins, at least 1; at most n_pairs for adaptive bins. By default 15 if the bins are uniform; adaptive
        bins follow `bin_size`.
    strategy
        Kind of bins: "adaptive" (equal mass, the default) or "uniform" (equal width).
    n_samples
        Number S of samples behind each prediction, if every prediction is k / S (to 1e-9) or is the whole number k:
        pairs are then counted by k instead of being sorted. The result is the same. By default pairs are sorted.

    Returns
    -------
    ReliabilityBins

    Raises
    ------
    ParameterError
        If a prediction is outside [0, 1], a label is neither 0 nor 1, lengths differ, there is no pair, there are fewer
        pairs than requested adaptive bins, or options contradict each other.

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
        number = _validation.checked_n_samples(n_samples)
        return _bins_of_levels(_level_counts(q, y, number, np.empty(0, np.int32)), rule)[0]
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
        See `bin_pairs`.
    documents
        Id of each pair's document, (n_pairs,): numbers or text. Rows of the result are in the order of the ids.

    Returns
    -------
    BlockBins

    Raises
    ------
    ParameterError
        On the conditions of `bin_pairs`; also if a document id is missing, or ids are of different kinds (numbers and
        text).

    Examples
    --------
    >>> blocks = block_bin_pairs([0.1, 0.2, 0.8, 0.9], [0, 1, 1, 1], ["b", "a", "a", "a"], bin_size=2)
    >>> blocks.n
    array([[1., 2.],
           [1., 0.]])
    """
    rule = bin_rule(bin_size, n_bins, strategy)
    if n_samples is not None:
        return _block_bins_of_levels(q, y, documents, _validation.checked_n_samples(n_samples), rule)
    words = _packed(q, y)
    codes, names = _validation.coded("documents", documents, words.shape[0])
    indptr = np.concatenate(([0], np.cumsum(np.bincount(codes, minlength=len(names)))))
    grouped = np.empty_like(words)
    _kernels.words_by_block(words, codes, indptr, grouped)
    # Sorted within each block, so that the order of the rows cannot change a sum.
    for begin, end in neighbours(indptr.tolist()):
        grouped[begin:end].sort()
    words.sort()
    bins = _bins_of_words(words, rule)
    last = (bins.q_max.view(np.uint64) << np.uint64(1)) | np.uint64(1)
    sums = [np.zeros((len(names), bins.n_bins)) for _ in range(3)]
    _kernels.block_sums(grouped, indptr, last, *sums)
    return BlockBins(bins, *sums)


# --- sorted pairs ------------------------------------------------------------------------------------------


def _packed(q: npt.ArrayLike, y: npt.ArrayLike) -> Words:
    """Return checked pairs as words; NumPy sorts them faster than pairs."""
    predictions, labels = _validation.pair_arrays(q, y)
    words = np.empty(predictions.shape[0], np.uint64)
    if not _kernels.pack(predictions, labels, words):
        _validation.require_pairs(predictions, labels)
    return words


def _sorted_words(q: npt.ArrayLike, y: npt.ArrayLike) -> Words:
    words = _packed(q, y)
    words.sort()
    return words


def sorted_pairs(q: npt.ArrayLike, y: npt.ArrayLike) -> tuple[Floats, Bytes]:
    """Return new arrays of predictions and labels, sorted by prediction, then by label; raise if a value is invalid."""
    words = _sorted_words(q, y)
    return (words >> np.uint64(1)).view(np.float64), (words & np.uint64(1)).astype(np.uint8)


def _bins_of_words(words: Words, rule: BinRule) -> ReliabilityBins:
    rule = rule.of_pairs(words.shape[0])
    edges = None if rule.strategy == "adaptive" else rule.inner_edges.view(np.uint64) << np.uint64(1)
    ends = rule.ends(words, np.empty(0, np.int64), words, edges)
    n = np.empty(ends.shape[0], np.int64)
    sum_q, sum_q2, sum_y, sum_qy = (np.empty(ends.shape[0]) for _ in range(4))
    _kernels.sorted_sums(words, ends, n, sum_q, sum_q2, sum_y, sum_qy)
    first, last = words[np.concatenate(([0], ends[:-1]))], words[ends - 1]
    q_min, q_max = ((each >> np.uint64(1)).view(np.float64) for each in (first, last))
    return ReliabilityBins(n, sum_q, sum_q2, sum_y, sum_qy, q_min, q_max)


# --- cells: fine bins of which only sums are known ---------------------------------------------------------


def bins_of_cells(
    sums: Sums, low: Floats, high: Floats, centre: Floats, rule: BinRule
) -> tuple[ReliabilityBins, Ints32]:
    """Bins of non-empty cells in ascending order, and the bin of each cell.

    `low` and `high` are the least and the largest prediction of each cell; a bin of equal width takes cells by their
    `centre`.
    """
    rule = rule.of_pairs(int(sums[0].sum()))
    edges = None if rule.strategy == "adaptive" else rule.inner_edges
    ends = rule.ends(np.arange(sums[0].shape[0], dtype=np.uint64), sums[0], centre, edges)
    begins = np.concatenate(([0], ends[:-1]))
    n, sum_q, sum_q2, sum_y, sum_qy = (np.add.reduceat(each, begins) for each in sums)
    bins = ReliabilityBins(n, sum_q, sum_q2, sum_y, sum_qy, low[begins], high[ends - 1])
    return bins, np.repeat(np.arange(ends.shape[0], dtype=np.int32), ends - begins)


def _level_counts(q: npt.ArrayLike, y: npt.ArrayLike, n_samples: int, cells: Ints32) -> Ints:
    """Count pairs by level and label: int64 (n_samples + 1, 2); predictions are shares or whole numbers of samples."""
    is_count = np.asarray(q).dtype.kind in "iu"
    predictions, labels = _validation.pair_arrays(q, y, dtype=np.int64 if is_count else np.float64)
    shares = predictions / n_samples if is_count else predictions
    counts = np.zeros(2 * (n_samples + 1), np.int64)
    if not _kernels.count_levels(shares, labels, float(n_samples), _validation.LEVEL_TOLERANCE, counts, cells):
        _validation.require_levels(predictions, labels, n_samples)
    return counts.reshape(-1, 2)


def _bins_of_levels(counts: Ints, rule: BinRule) -> tuple[ReliabilityBins, Ints32]:
    """Bins of levels, and the bin of each level (arbitrary for levels without a pair)."""
    n_samples = counts.shape[0] - 1
    n_all = counts.sum(axis=1)
    levels = np.flatnonzero(n_all)
    q = levels / n_samples
    n, n_positive = n_all[levels], counts[levels, 1].astype(np.float64)
    bin_of = np.zeros(n_samples + 1, np.int32)
    bins, bin_of[levels] = bins_of_cells((n, q * n, q * q * n, n_positive, q * n_positive), q, q, q, rule)
    return bins, bin_of


def _block_bins_of_levels(
    q: npt.ArrayLike, y: npt.ArrayLike, documents: npt.ArrayLike, n_samples: int, rule: BinRule
) -> BlockBins:
    cells = np.empty(np.size(q), np.int32)
    bins, bin_of = _bins_of_levels(_level_counts(q, y, n_samples, cells), rule)
    codes, names = _validation.coded("documents", documents, cells.shape[0])
    levels, labels = cells >> 1, cells & 1
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


def brier_score(q: npt.ArrayLike, y: npt.ArrayLike) -> float:
    """Mean squared distance of predictions from labels.

    Parameters
    ----------
    q
        Predictions in [0, 1], (n_pairs,).
    y
        Labels 0 or 1, (n_pairs,).

    Returns
    -------
    float
        Brier score, in [0, 1]; lower is better. The order of the rows cannot change the result, not even its last bit.

    Raises
    ------
    ParameterError
        If a prediction is outside [0, 1], a label is neither 0 nor 1, lengths differ, or there is no pair.

    References
    ----------
    Brier (1950); Nguyen & O'Connor (2015), section 2.1.

    Examples
    --------
    >>> brier_score([0.5, 1.0], [0, 1])
    0.125
    """
    predictions, labels = sorted_pairs(q, y)
    predictions -= labels
    return float(np.mean(np.square(predictions, out=predictions)))
