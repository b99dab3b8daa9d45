"""Bins of prediction-label pairs, adaptive (equal mass) or uniform (equal width), and their Brier score.

Legend of dimensions and names
    i    : pair                              n : number of pairs
    b    : bin, ascending in q               ends[b] : first row after bin b
    t    : block (a document)

A pair is packed into one word: the bits of q, whose sign and top exponent bit are zero for q in [0, 1], shifted
left by one, and y in the lowest bit. Packing loses nothing, and words sort by q, then by y; so the order of the rows
cannot change even the last bit of a sum over sorted words. The shift drops the sign of -0.0.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from corefsample import _checks
from corefsample._arrays import Floats, HtmlTable, Ints, Ints32, Result, Words, pd
from corefsample._jit import inlined, kernel
from corefsample.calibration import _validation
from corefsample.errors import ParameterError, shown

Strategy = Literal["adaptive", "uniform"]
STRATEGIES: tuple[Strategy, ...] = ("adaptive", "uniform")

DEFAULT_BIN_SIZE = 5000
SMALLEST_BIN, _BINS_OF_SMALL = 50, 20  # least size and number of bins by default for small data
FEWEST_BINS = 10  # with fewer bins, errors of opposite sign cancel within bins
DEFAULT_N_BINS = 15  # of equal width
MAX_BINS = 10_000_000
U1 = np.uint64(1)


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


def default_bin_size(n_pairs: int) -> int:
    """Default size of adaptive bins: 5,000 pairs, or fewer for small data, which then get about 20 bins.

    Fewer than 100,000 pairs get smaller bins, but none below 50 pairs, where chance dominates a bin's share.
    """
    return min(DEFAULT_BIN_SIZE, max(SMALLEST_BIN, n_pairs // _BINS_OF_SMALL))


def bin_pairs(
    q: np.typing.ArrayLike,
    y: np.typing.ArrayLike,
    *,
    bin_size: int | None = None,
    n_bins: int | None = None,
    strategy: Strategy = "adaptive",
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
        Predictions in [0, 1], (n_pairs,).
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
    words = _packed(q, y)
    words.sort()
    return _bins_of_words(words, bin_size, n_bins, strategy)


def block_bin_pairs(
    q: np.typing.ArrayLike,
    y: np.typing.ArrayLike,
    documents: np.typing.ArrayLike,
    *,
    bin_size: int | None = None,
    n_bins: int | None = None,
    strategy: Strategy = "adaptive",
) -> BlockBins:
    """Sum prediction-label pairs by block (document) and bin, as a bootstrap by document needs them.

    The bins are those of `bin_pairs`.

    Parameters
    ----------
    q, y, bin_size, n_bins, strategy
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
    predictions, labels = _validation.pair_arrays(q, y)
    codes, names = _validation.coded("documents", documents, predictions.shape[0])
    indptr = np.concatenate(([0], np.cumsum(np.bincount(codes, minlength=len(names)))))
    words = _packed(predictions, labels)
    words.sort()
    bins = _bins_of_words(words, bin_size, n_bins, strategy)
    pack_by_block(predictions, labels, codes, indptr, words)  # in place, because there may be millions of pairs
    for begin, end in pairwise(indptr.tolist()):
        words[begin:end].sort()  # so that the order of the rows cannot change a sum
    last = (bins.q_max.view(np.uint64) << U1) | U1
    n, sum_q, sum_y = np.zeros((3, len(names), bins.n_bins))
    block_sums(words, indptr, last, n, sum_q, sum_y)
    return BlockBins(bins, n, sum_q, sum_y)


def _packed(q: np.typing.ArrayLike, y: np.typing.ArrayLike) -> Words:
    """Return checked pairs as words; NumPy sorts them faster than pairs."""
    predictions, labels = _validation.pair_arrays(q, y)
    words = np.empty(predictions.shape[0], np.uint64)
    if not pack(predictions, labels, words):
        _validation.require_pairs(predictions, labels)
    return words


def _bins_of_words(words: Words, bin_size: int | None, n_bins: int | None, strategy: str) -> ReliabilityBins:
    """Sums over the bins of ascending words."""
    ends = _bin_ends(words, bin_size, n_bins, strategy)
    n = np.empty(ends.shape[0], np.int64)
    sum_q, sum_q2, sum_y, sum_qy = (np.empty(ends.shape[0]) for _ in range(4))
    sorted_sums(words, ends, n, sum_q, sum_q2, sum_y, sum_qy)
    q_min, q_max = ((words[rows] >> U1).view(np.float64) for rows in (ends - n, ends - 1))
    return ReliabilityBins(n, sum_q, sum_q2, sum_y, sum_qy, q_min, q_max)


def _bin_ends(words: Words, bin_size: int | None, n_bins: int | None, strategy: str) -> Ints:
    """End of each bin among ascending words, without empty bins; raise if an option is invalid."""
    is_uniform = _checks.choice("strategy", strategy, STRATEGIES) == "uniform"
    if bin_size is not None and (n_bins is not None or is_uniform):
        conflict = "n_bins" if n_bins is not None else "strategy='uniform'"
        rule = f"must be left out where {conflict} is given, got {shown(bin_size)}"
        raise ParameterError(rule, parameter="bin_size")
    if is_uniform:
        number = DEFAULT_N_BINS if n_bins is None else _checks.whole("n_bins", n_bins, 1)
        _checks.at_most("n_bins", number, MAX_BINS)
        edges = (np.arange(1, number) / number).view(np.uint64) << U1
        ends = np.append(np.searchsorted(words, edges), words.shape[0])
        return ends[np.diff(ends, prepend=0) > 0]
    n_pairs = words.shape[0]
    number = 0 if n_bins is None else _checks.whole("n_bins", n_bins, 1)
    _checks.require("n_bins", number <= n_pairs, f"must be at most the number of pairs ({n_pairs})", n_bins)
    size = default_bin_size(n_pairs) if bin_size is None else _checks.whole("bin_size", bin_size, 1)
    ends = np.empty(number or min(n_pairs // size + 1, n_pairs), np.int64)
    return ends[: adaptive_ends(words, size, number, ends)].copy()


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


# --- compiled loops ------------------------------------------------------------------------------------------


@inlined
def _q_of(word):  # type: ignore[no-untyped-def]
    return np.uint64(word >> U1).view(np.float64)


@kernel
def pack(q: Floats, y: np.typing.NDArray[Any], words: Words) -> bool:
    """Pack pairs into words; False if a q or a y breaks its rule."""
    is_valid = True
    for i in range(q.shape[0]):
        p, label = q[i], y[i]
        is_valid &= (p >= 0.0) & (p <= 1.0) & ((label == 0) | (label == 1))
        words[i] = (np.float64(p).view(np.uint64) << U1) | np.uint64(label == 1)
    return is_valid


@inlined
def _next_target(start, n, bin_size, n_bins):  # type: ignore[no-untyped-def]
    """Number of pairs at or below the value that closes the bin which begins at pair `start`."""
    if n_bins > 0:  # the next multiple of 1 / n_bins; those within a tie are skipped
        share = start * n_bins // n + 1
        return (share * n + n_bins - 1) // n_bins
    return start + bin_size


@kernel
def adaptive_ends(words: Words, bin_size: int, n_bins: int, ends: Ints) -> int:
    """Fill `ends` for ascending words by the tie rule, and return the number of bins; n_bins > 0 takes precedence."""
    n = words.shape[0]
    start, closed = 0, 0
    target = _next_target(start, n, bin_size, n_bins)
    for i in range(n):
        if i + 1 >= target and (i + 1 == n or words[i] >> U1 != words[i + 1] >> U1):
            start = i + 1
            ends[closed] = start
            closed += 1
            if start < n:
                target = _next_target(start, n, bin_size, n_bins)
    if start < n:  # a last bin short of its size joins the one before it
        closed = max(closed, 1)
        ends[closed - 1] = n
    return closed


@kernel
def sorted_sums(
    words: Words, ends: Ints, n: Ints, sum_q: Floats, sum_q2: Floats, sum_y: Floats, sum_qy: Floats
) -> None:
    """Sums over each bin of sorted words."""
    begin = 0
    for b in range(ends.shape[0]):
        q1, q2, qy = 0.0, 0.0, 0.0
        n_positive = 0
        for i in range(begin, ends[b]):
            word = words[i]
            label = word & U1
            p = _q_of(word)
            q1 += p
            q2 += p * p
            qy += p * float(label)
            n_positive += int(label)
        n[b] = ends[b] - begin
        sum_q[b], sum_q2[b], sum_y[b], sum_qy[b] = q1, q2, n_positive, qy
        begin = ends[b]


@kernel
def pack_by_block(q: Floats, y: np.typing.NDArray[Any], codes: Ints32, indptr: Ints, words: Words) -> None:
    """Pack valid pairs into words by block: those of block t go to words[indptr[t]:indptr[t + 1]]."""
    positions = indptr[:-1].copy()
    for i in range(q.shape[0]):
        t = codes[i]
        words[positions[t]] = (np.float64(q[i]).view(np.uint64) << U1) | np.uint64(y[i] == 1)
        positions[t] += 1


@kernel
def block_sums(grouped: Words, indptr: Ints, last: Words, n: Floats, sum_q: Floats, sum_y: Floats) -> None:
    """Sums by block and bin of words sorted within their block; last[b] is the largest word that bin b may contain."""
    for t in range(indptr.shape[0] - 1):
        b = 0
        for i in range(indptr[t], indptr[t + 1]):
            word = grouped[i]
            while word > last[b]:
                b += 1
            n[t, b] += 1.0
            sum_q[t, b] += _q_of(word)
            sum_y[t, b] += float(word & U1)
