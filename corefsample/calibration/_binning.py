"""Bins of prediction-label pairs, adaptive (equal mass) or uniform (equal width), and their Brier score."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample._arrays import Floats, HtmlTable, Ints, Ints32, Result, Words, pd
from corefsample.calibration import _kernels, _validation
from corefsample.errors import ParameterError, shown

Strategy = Literal["adaptive", "uniform"]
STRATEGIES: tuple[Strategy, ...] = ("adaptive", "uniform")

DEFAULT_BIN_SIZE = 5000
SMALLEST_BIN, _BINS_OF_SMALL = 50, 20  # least size and number of bins by default for small data
FEWEST_BINS = 10  # with fewer bins, errors of opposite sign cancel within bins
DEFAULT_N_BINS = 15  # of equal width
MAX_BINS = 10_000_000
_ONE_BIT = np.uint64(1)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ReliabilityBins(Result):
    """Prediction-label pairs summed by bin of the prediction, bins ascending; arrays read-only, no bin empty.

    Attributes
    ----------
    n
        int64 (n_bins,): number of pairs in each bin, at least 1.
    sum_q, sum_q2, sum_y, sum_qy
        float64 (n_bins,): sums of prediction, squared prediction, label (0 or 1), and their product.
    q_min, q_max
        float64 (n_bins,) in [0, 1]: least and largest prediction of each bin.

    References
    ----------
    Nguyen & O'Connor (2015), Algorithm 1.
    """

    n: Ints
    sum_q: Floats
    sum_q2: Floats
    sum_y: Floats
    sum_qy: Floats
    q_min: Floats
    q_max: Floats

    @property
    def n_bins(self) -> int:
        """Number of bins, which may be fewer than requested because of ties or too few pairs."""
        return int(self.n.shape[0])

    @property
    def n_pairs(self) -> int:
        """Number of pairs of all bins together."""
        return int(self.n.sum())

    @property
    def mean_q(self) -> Floats:
        """Mean prediction of each bin: float64 (n_bins,) in [0, 1]."""
        return self.sum_q / self.n

    @property
    def mean_y(self) -> Floats:
        """Share of positive labels in each bin: float64 (n_bins,) in [0, 1]."""
        return self.sum_y / self.n

    @property
    def share_above(self) -> Floats:
        """Share of all pairs that are in each bin or in a higher one: float64 (n_bins,), decreasing from 1."""
        return np.asarray(np.cumsum(self.n[::-1])[::-1] / self.n_pairs)

    def to_frame(self) -> pd.DataFrame:
        """Tidy table, one row per bin: bin, n, q_min, q_max, mean_q, mean_y."""
        frame = self._columns("n", "q_min", "q_max", "mean_q", "mean_y")
        frame.insert(0, "bin", np.arange(self.n_bins))
        return frame


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class BlockBins(Result):
    """Sums by block (a document, whose pairs are not independent) and bin.

    Attributes
    ----------
    bins
        Sums by bin over all blocks.
    n, sum_q, sum_y
        float64 (n_blocks, n_bins): number of pairs, sum of predictions and sum of labels of each block in each bin;
        zero where a block has no pair.
    """

    bins: ReliabilityBins
    n: Floats
    sum_q: Floats
    sum_y: Floats

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return int(self.n.shape[0])

    def to_frame(self) -> pd.DataFrame:
        """Tidy table, one row per block and bin that has pairs: block, bin, n, mean_q, mean_y."""
        block, bin_index = np.nonzero(self.n)
        n = self.n[block, bin_index]
        means = {"mean_q": self.sum_q[block, bin_index] / n, "mean_y": self.sum_y[block, bin_index] / n}
        return pd.DataFrame({"block": block, "bin": bin_index, "n": n.astype(np.int64), **means})


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
    options = _checked_options(bin_size, n_bins, strategy)
    if n_samples is None:
        words = _packed(q, y)
        words.sort()
        return _bins_of_words(words, *options)
    counts = _level_counts(q, y, _validation.checked_n_samples(n_samples), np.empty(0, np.int32))
    return _bins_of_levels(counts, *options)


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
    options = _checked_options(bin_size, n_bins, strategy)
    if n_samples is None:
        words = _packed(q, y)
        codes, names = _validation.coded("documents", documents, words.shape[0])
        indptr = np.concatenate(([0], np.cumsum(np.bincount(codes, minlength=len(names)))))
        grouped = np.empty_like(words)
        _kernels.words_by_block(words, codes, indptr, grouped)
        for begin, end in pairwise(indptr.tolist()):
            grouped[begin:end].sort()  # so that the order of the rows cannot change a sum
        words.sort()
        bins = _bins_of_words(words, *options)
        last = (bins.q_max.view(np.uint64) << _ONE_BIT) | _ONE_BIT
        sums = [np.zeros((len(names), bins.n_bins)) for _ in range(3)]
        _kernels.block_sums(grouped, indptr, last, *sums)
        return BlockBins(bins, *sums)
    number, cells = _validation.checked_n_samples(n_samples), np.empty(np.size(q), np.int32)
    bins = _bins_of_levels(_level_counts(q, y, number, cells), *options)
    codes, names = _validation.coded("documents", documents, cells.shape[0])
    levels, labels = cells >> 1, cells & 1  # sums of whole numbers do not depend on the order of the rows
    rows = codes * bins.n_bins + np.searchsorted(bins.q_max, np.arange(number + 1) / number)[levels]
    n, sum_level, sum_y = (
        np.bincount(rows, values, len(names) * bins.n_bins).astype(np.float64).reshape(len(names), bins.n_bins)
        for values in (None, levels, labels)
    )
    return BlockBins(bins, n, sum_level / number, sum_y)


def _checked_options(bin_size: object, n_bins: object, strategy: str) -> tuple[int | None, int | None, Strategy]:
    """Return size, number and kind of the bins, the size or the number None; raise if an option is invalid.

    Both are None for adaptive bins of the default size, which depends on the number of pairs.
    """
    is_uniform = _checks.choice("strategy", strategy, STRATEGIES) == "uniform"
    if bin_size is not None and (n_bins is not None or is_uniform):
        conflict = "n_bins" if n_bins is not None else "strategy='uniform'"
        raise ParameterError(f"must be left out where {conflict} is given, got {shown(bin_size)}", parameter="bin_size")
    if n_bins is None and is_uniform:
        n_bins = DEFAULT_N_BINS
    number = None if n_bins is None else _checks.whole("n_bins", n_bins, 1)
    if number is not None:
        _checks.at_most("n_bins", number, MAX_BINS)
    size = None if bin_size is None else _checks.whole("bin_size", bin_size, 1)
    return size, number, "uniform" if is_uniform else "adaptive"


def _bin_ends(words: Words, counts: Ints, bin_size: int | None, n_bins: int | None, strategy: Strategy) -> Ints:
    """End of each bin among ascending words, without empty bins; `counts` as in `_kernels.adaptive_ends`."""
    if strategy == "uniform" and n_bins is not None:
        edges = (np.arange(1, n_bins) / n_bins).view(np.uint64) << _ONE_BIT
        ends = np.append(np.searchsorted(words, edges), words.shape[0])
        return ends[np.diff(ends, prepend=0) > 0]
    n_pairs = int(counts.sum()) or words.shape[0]
    if n_bins is not None and n_bins > n_pairs:
        raise ParameterError(f"must be at most the number of pairs ({n_pairs}), got {n_bins}", parameter="n_bins")
    size = bin_size or default_bin_size(n_pairs)
    ends = np.empty(min(n_bins or n_pairs // size + 1, words.shape[0]), np.int64)
    return ends[: _kernels.adaptive_ends(words, counts, size, n_bins or 0, ends)].copy()


# --- sorted pairs ------------------------------------------------------------------------------------------


def _packed(q: npt.ArrayLike, y: npt.ArrayLike) -> Words:
    """Return checked pairs as words; NumPy sorts them faster than pairs."""
    predictions, labels = _validation.pair_arrays(q, y)
    words = np.empty(predictions.shape[0], np.uint64)
    if not _kernels.pack(predictions, labels, words):
        _validation.require_pairs(predictions, labels)
    return words


def _predictions(words: Words) -> Floats:
    return (words >> _ONE_BIT).view(np.float64)


def _bins_of_words(words: Words, bin_size: int | None, n_bins: int | None, strategy: Strategy) -> ReliabilityBins:
    ends = _bin_ends(words, np.empty(0, np.int64), bin_size, n_bins, strategy)
    n = np.empty(ends.shape[0], np.int64)
    sum_q, sum_q2, sum_y, sum_qy = (np.empty(ends.shape[0]) for _ in range(4))
    _kernels.sorted_sums(words, ends, n, sum_q, sum_q2, sum_y, sum_qy)
    q_min, q_max = _predictions(words[ends - n]), _predictions(words[ends - 1])
    return ReliabilityBins(n, sum_q, sum_q2, sum_y, sum_qy, q_min, q_max)


# --- levels: predictions that are shares of samples --------------------------------------------------------


def _level_counts(q: npt.ArrayLike, y: npt.ArrayLike, n_samples: int, cells: Ints32) -> Ints:
    """Count pairs by level and label: int64 (n_samples + 1, 2); predictions are shares or whole numbers of samples."""
    is_count = np.asarray(q).dtype.kind in "iu"
    predictions, labels = _validation.pair_arrays(q, y, dtype=np.int64 if is_count else np.float64)
    shares = predictions / n_samples if is_count else predictions
    counts = np.zeros(2 * (n_samples + 1), np.int64)
    if not _kernels.count_levels(shares, labels, float(n_samples), _validation.LEVEL_TOLERANCE, counts, cells):
        _validation.require_levels(predictions, labels, n_samples)
    return counts.reshape(-1, 2)


def _bins_of_levels(counts: Ints, bin_size: int | None, n_bins: int | None, strategy: Strategy) -> ReliabilityBins:
    n_all = counts.sum(axis=1)
    levels = np.flatnonzero(n_all)
    n, n_positive = n_all[levels], counts[levels, 1].astype(np.float64)
    q = levels / (counts.shape[0] - 1)
    ends = _bin_ends(q.view(np.uint64) << _ONE_BIT, n, bin_size, n_bins, strategy)
    begins = np.concatenate(([0], ends[:-1]))
    sum_q, sum_q2, sum_y, sum_qy = (
        np.add.reduceat(values, begins) for values in (q * n, q * q * n, n_positive, q * n_positive)
    )
    return ReliabilityBins(np.add.reduceat(n, begins), sum_q, sum_q2, sum_y, sum_qy, q[begins], q[ends - 1])


# --- Brier score -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, repr=False)
class BrierDecomposition(HtmlTable):
    """The Brier score as a sum of parts: brier = calibration + refinement + within_bins.

    Attributes
    ----------
    brier
        Mean squared distance of predictions from labels.
    calibration
        Mean squared distance of a bin's mean prediction from its share p of positive labels: the "mse" error.
    refinement
        Mean of p (1 - p), which calibration cannot reduce. Together with `calibration` it is the Brier score of the
        forecast that predicts each bin's mean prediction throughout the bin.
    within_bins
        Remainder of the score: the spread of predictions within bins, minus twice their covariance with the labels.
        It is negative if predictions discriminate between labels within bins.
    uncertainty
        p (1 - p), where p is the share of positive labels among all pairs: the Brier score of a forecast that always
        predicts this base rate.
    """

    brier: float
    calibration: float
    refinement: float
    within_bins: float
    uncertainty: float


def brier_decomposition(bins: ReliabilityBins) -> BrierDecomposition:
    """Parts of the Brier score of binned pairs; the identity holds to rounding.

    Parameters
    ----------
    bins
        Pairs summed by bin, from `bin_pairs`.

    References
    ----------
    Nguyen & O'Connor (2015), Eq. 1; DeGroot & Fienberg (1983); Stephenson, Coelho & Jolliffe (2008), "Two extra
    components in the Brier score decomposition", for the part within bins.

    Examples
    --------
    >>> parts = brier_decomposition(bin_pairs([0.2, 0.4, 0.8, 0.8], [0, 0, 1, 0], n_bins=2))
    >>> [round(part, 6) for part in (parts.brier, parts.calibration, parts.refinement, parts.within_bins)]
    [0.22, 0.09, 0.125, 0.005]
    """
    total = bins.n_pairs
    p = bins.mean_y
    spread = bins.sum_q2 - bins.sum_q * bins.mean_q
    covariance = bins.sum_qy - bins.sum_q * p
    base_rate = float(bins.sum_y.sum()) / total
    return BrierDecomposition(
        brier=float((bins.sum_q2 - 2.0 * bins.sum_qy + bins.sum_y).sum()) / total,
        calibration=float(bins.n @ (bins.mean_q - p) ** 2) / total,
        refinement=float(bins.n @ (p * (1.0 - p))) / total,
        within_bins=float((spread - 2.0 * covariance).sum()) / total,
        uncertainty=base_rate * (1.0 - base_rate),
    )
