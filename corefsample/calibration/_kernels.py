"""Compiled loops over prediction-label pairs: plain arrays in, plain arrays filled.

Legend of dimensions and names
    i    : pair                              n : number of pairs
    b    : bin, ascending in q               ends[b] : first row (pair or cell) after bin b
    t    : block (a document)
    k    : level of q = k / S
    c    : cell (a fine bin of a table), ascending in q: a stretch of x = min(q, 1 - q) on one side of one half on
           which the leading bits are the same

A pair is packed into one word: the bits of q, whose sign and top exponent bit are zero for q in [0, 1], shifted
left by one, and y in the lowest bit. Packing loses nothing, and words sort by q, then by y; so the order of the rows
cannot change even the last bit of a sum over sorted words. The shift drops the sign of -0.0.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from corefsample._arrays import Floats, Ints, Ints32, Words
from corefsample._jit import inlined, kernel

Labels = npt.NDArray[Any]  # uint8, int64 or float64: each type is compiled separately

U1 = np.uint64(1)


# --- packed words ------------------------------------------------------------------------------------------


@inlined
def _q_of(word):  # type: ignore[no-untyped-def]
    return np.uint64(word >> U1).view(np.float64)


@kernel
def pack(q: Floats, y: Labels, words: Words) -> bool:
    """Pack pairs into words; False if a q or a y breaks its rule."""
    is_valid = True
    for i in range(q.shape[0]):
        p, label = q[i], y[i]
        is_valid &= (p >= 0.0) & (p <= 1.0) & ((label == 0) | (label == 1))
        words[i] = (np.float64(p).view(np.uint64) << U1) | np.uint64(label == 1)
    return is_valid


# --- bins of sorted words ----------------------------------------------------------------------------------


@inlined
def _next_target(start, n, bin_size, n_bins):  # type: ignore[no-untyped-def]
    """Number of pairs at or below the value that closes the bin which begins at pair `start`."""
    if n_bins > 0:  # the next multiple of 1 / n_bins; those within a tie are skipped
        share = start * n_bins // n + 1
        return (share * n + n_bins - 1) // n_bins
    return start + bin_size


@kernel
def adaptive_ends(values: Words, counts: Ints, bin_size: int, n_bins: int, ends: Ints) -> int:
    """Fill `ends` for ascending values by the tie rule, and return the number of bins; n_bins > 0 takes precedence.

    Row i stands for counts[i] pairs, or for one if `counts` is empty: then values are words of pairs, otherwise they
    are distinct.
    """
    rows = values.shape[0]
    n = counts.sum() if counts.shape[0] > 0 else rows
    start, below, closed = 0, 0, 0
    target = _next_target(start, n, bin_size, n_bins)
    for i in range(rows):
        below += counts[i] if counts.shape[0] > 0 else 1
        if below >= target and (i + 1 == rows or counts.shape[0] > 0 or values[i] >> U1 != values[i + 1] >> U1):
            ends[closed] = i + 1
            closed += 1
            start = below
            if start < n:
                target = _next_target(start, n, bin_size, n_bins)
    if start < n:  # a last bin short of its size joins the one before it
        closed = max(closed, 1)
        ends[closed - 1] = rows
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
def words_by_block(words: Words, codes: Ints32, indptr: Ints, grouped: Words) -> None:
    """Group words by block: those of block t go to grouped[indptr[t]:indptr[t + 1]]."""
    positions = indptr[:-1].copy()
    for i in range(words.shape[0]):
        t = codes[i]
        grouped[positions[t]] = words[i]
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


# --- levels: q = k / S -------------------------------------------------------------------------------------


@inlined
def _level_cell(q, label, n_samples, tolerance):  # type: ignore[no-untyped-def]
    """Index 2 * k + y of a pair, or -1 if its q or its y breaks the rule."""
    is_valid = (q >= 0.0) & (q <= 1.0) & ((label == 0) | (label == 1))
    k = np.int64(q * n_samples + 0.5) if is_valid else 0
    is_valid &= abs(q - k / n_samples) <= tolerance
    return 2 * k + np.int64(label == 1) if is_valid else -1


@kernel
def count_levels(q: Floats, y: Labels, n_samples: float, tolerance: float, counts: Ints, cells: Ints32) -> bool:
    """Count pairs by level and label: counts[2 * k + y]; False if a q or a y breaks its rule.

    `cells` receives 2 * k + y of each pair, if it is not empty.
    """
    is_valid = True
    for i in range(q.shape[0]):
        cell = _level_cell(q[i], y[i], n_samples, tolerance)
        is_valid &= cell >= 0
        counts[max(cell, 0)] += 1
        if cells.shape[0] > 0:
            cells[i] = max(cell, 0)
    return is_valid


U52 = np.uint64(52)
MANTISSA = np.uint64((1 << 52) - 1)
HALF = 1022  # exponent field of 0.5, the largest possible x

# Leading bits of the mantissa that define a cell, by exponent field: an octave has 2 ** LEADING_BITS cells. Cells are
# fine where pairs are frequent, and coarse below 2 ** -64, where a difference cannot affect any error.
EXPONENTS = np.arange(HALF + 1)
LEADING_BITS = np.select([EXPONENTS >= HALF - 15, EXPONENTS >= HALF - 63, EXPONENTS >= 1], [10, 8, 3], 0)
SHIFTS = np.where(EXPONENTS >= 1, 52 - LEADING_BITS, 63).astype(np.uint64)
OCTAVE_CELLS = np.where(EXPONENTS >= 1, 1 << LEADING_BITS, 1)
FIRST_CELLS = np.concatenate(([0], np.cumsum(OCTAVE_CELLS)[:-1]))  # of each octave; 0 itself comes before them all
MIDDLE = int(FIRST_CELLS[HALF]) + 1  # the cell of 0.5, alone in its octave
N_CELLS = 2 * MIDDLE + 1


@inlined
def fine_bin(q):  # type: ignore[no-untyped-def]
    """Cell that contains q, which must lie in [0, 1]: from 0 to N_CELLS - 1, ascending in q."""
    x = min(q, 1.0 - q)  # exact: above one half, 1 - q has no rounding
    bits = np.float64(x).view(np.uint64)
    exponent = np.int64(bits >> U52)
    cell = FIRST_CELLS[exponent] + np.int64((bits & MANTISSA) >> SHIFTS[exponent]) + np.int64(x > 0.0)
    return cell if q <= 0.5 else 2 * MIDDLE - cell


@kernel
def float_cells(q: Floats, y: Labels, cells: Ints32) -> bool:
    """Cell of each pair; False if a q or a y breaks its rule."""
    is_valid = True
    for i in range(q.shape[0]):
        p, label = q[i], y[i]
        is_pair = (p >= 0.0) & (p <= 1.0) & ((label == 0) | (label == 1))
        is_valid &= is_pair
        p = p + 0.0 if is_pair else 0.0  # -0.0 becomes 0.0
        cells[i] = fine_bin(p)
    return is_valid


@kernel
def add_pairs(rows: Ints, q: Floats, y: Labels, sums: Floats) -> None:
    """Add 1, q, q^2, y and q y of each pair to its row of `sums`."""
    for i in range(q.shape[0]):
        sums_row, p, label = sums[rows[i]], q[i], float(y[i])
        sums_row[0] += 1.0
        sums_row[1] += p
        sums_row[2] += p * p
        sums_row[3] += label
        sums_row[4] += p * label
