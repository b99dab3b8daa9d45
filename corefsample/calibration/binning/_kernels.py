"""Compiled loops over prediction-label pairs: plain arrays in, plain arrays filled.

Legend of dimensions and names
    i    : pair                              n : number of pairs
    b    : bin, ascending in q               ends[b] : first pair (or cell) after bin b
    t    : block (a document)                g : group
    c    : cell of a grid (a fine bin)       k : level of q = k / S

A pair is packed into one word: the bits of q, whose sign and top exponent bit are zero for q in [0, 1], shifted
left by one, and y in the lowest bit. Packing loses nothing, and words sort by q, then by y; so the order of the rows
cannot change even the last bit of a sum over sorted words. The shift drops the sign of -0.0.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from corefsample._arrays import Floats, Ints, Ints32, Words
from corefsample._jit import inlined, inner_kernel, kernel

Labels = npt.NDArray[Any]  # uint8, int64 or float64: each type is compiled separately

U1 = np.uint64(1)
DIGITS = 8  # of DIGIT_BITS bits each
DIGIT_BITS = 8
DIGIT_VALUES = 256
DIGIT_MASK = np.uint64(255)
SHORT = 48  # a shorter stretch is sorted by insertion


# --- packed words ------------------------------------------------------------------------------------------


@inlined
def _q_of(word):  # type: ignore[no-untyped-def]
    return np.uint64(word >> U1).view(np.float64)


@kernel
def pack(q: Floats, y: Labels, words: Words, digits: Ints) -> bool:
    """Pack pairs into words and count their digits (DIGITS, DIGIT_VALUES); False if a q or a y breaks its rule."""
    good = True
    for i in range(q.shape[0]):
        p, label = q[i], y[i]
        good &= (p >= 0.0) & (p <= 1.0) & ((label == 0) | (label == 1))
        word = (np.float64(p).view(np.uint64) << U1) | np.uint64(label == 1)
        words[i] = word
        for d in range(DIGITS):
            digits[d, (word >> np.uint64(d * DIGIT_BITS)) & DIGIT_MASK] += 1
    return good


@inner_kernel
def count_digits(words: Words, digits: Ints) -> None:
    """Count the digits of words, as `pack` does."""
    digits[:] = 0
    for i in range(words.shape[0]):
        word = words[i]
        for d in range(DIGITS):
            digits[d, (word >> np.uint64(d * DIGIT_BITS)) & DIGIT_MASK] += 1


@kernel
def radix_sort(words: Words, spare: Words, digits: Ints) -> None:
    """Sort words, digit by digit from the lowest; `digits` contains their counts and is overwritten.

    Eight passes of 256 streams beat NumPy's vectorised sort where compressed stores are slow, and take the same time
    for any distribution; a digit that all words share costs nothing.
    """
    n = words.shape[0]
    source, target = words, spare
    for d in range(DIGITS):
        places = digits[d]
        begin = 0
        shared = False
        for v in range(DIGIT_VALUES):
            count = places[v]
            shared |= count == n
            places[v] = begin
            begin += count
        if shared:
            continue
        shift = np.uint64(d * DIGIT_BITS)
        for i in range(n):
            word = source[i]
            value = (word >> shift) & DIGIT_MASK
            place = places[value]
            target[place] = word
            places[value] = place + 1
        source, target = target, source
    if n > 0 and source is not words:
        words[:] = source


@kernel
def sort_stretches(words: Words, indptr: Ints, spare: Words) -> None:
    """Sort words[indptr[t]:indptr[t + 1]] for each t."""
    digits = np.zeros((DIGITS, DIGIT_VALUES), np.int64)
    for t in range(indptr.shape[0] - 1):
        begin, end = indptr[t], indptr[t + 1]
        if end - begin >= SHORT:
            count_digits(words[begin:end], digits)
            radix_sort(words[begin:end], spare[begin:end], digits)
            continue
        for i in range(begin + 1, end):
            word = words[i]
            place = i
            while place > begin and words[place - 1] > word:
                words[place] = words[place - 1]
                place -= 1
            words[place] = word


# --- bins of sorted words ----------------------------------------------------------------------------------


@inlined
def _next_target(start, n, bin_size, n_bins):  # type: ignore[no-untyped-def]
    """Number of pairs at or below the value that closes the bin which begins at pair `start`."""
    if n_bins > 0:  # the next multiple of 1 / n_bins; those within a tie are skipped
        share = start * n_bins // n + 1
        return (share * n + n_bins - 1) // n_bins
    return start + bin_size


@kernel
def adaptive_ends(words: Words, bin_size: int, n_bins: int, ends: Ints) -> int:
    """Fill `ends` for sorted words by the tie rule, and return the number of bins; n_bins > 0 takes precedence."""
    n = words.shape[0]
    start = 0
    closed = 0
    while start < n:
        end = _next_target(start, n, bin_size, n_bins)
        if end > n:  # a last bin short of its size joins the one before it
            closed = max(closed - 1, 0)
            end = n
        value = words[end - 1] >> U1
        while end < n and words[end] >> U1 == value:
            end += 1
        ends[closed] = end
        closed += 1
        start = end
    return closed


@kernel
def sorted_sums(
    words: Words, ends: Ints, n: Ints, sum_q: Floats, sum_q2: Floats, sum_y: Floats, sum_qy: Floats
) -> None:
    """Sums over each bin of sorted words."""
    begin = 0
    for b in range(ends.shape[0]):
        q1, q2, qy = 0.0, 0.0, 0.0
        ones = 0
        for i in range(begin, ends[b]):
            word = words[i]
            label = word & U1
            p = _q_of(word)
            q1 += p
            q2 += p * p
            qy += p * float(label)
            ones += int(label)
        n[b] = ends[b] - begin
        sum_q[b], sum_q2[b], sum_y[b], sum_qy[b] = q1, q2, ones, qy
        begin = ends[b]


@kernel
def words_by_block(words: Words, codes: Ints32, indptr: Ints, grouped: Words) -> None:
    """Group words by block: those of block t go to grouped[indptr[t]:indptr[t + 1]]."""
    places = indptr[:-1].copy()
    for i in range(words.shape[0]):
        t = codes[i]
        grouped[places[t]] = words[i]
        places[t] += 1


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
    """Place of a pair among 2 * k + y, or -1 if its q or its y breaks the rule."""
    fine = (q >= 0.0) & (q <= 1.0) & ((label == 0) | (label == 1))
    k = np.int64(q * n_samples + 0.5) if fine else 0
    fine &= abs(q - k / n_samples) <= tolerance
    return 2 * k + np.int64(label == 1) if fine else -1


@kernel
def count_levels(q: Floats, y: Labels, n_samples: float, tolerance: float, counts: Ints) -> bool:
    """Count pairs by level and label: counts[2 * k + y]; False if a q or a y breaks its rule."""
    # Two tables in turn: neighbours often share a level, and then an addition has to wait for the previous one.
    other = np.zeros(counts.shape[0], np.int64)
    n = q.shape[0]
    good = True
    for i in range(0, n - 1, 2):
        cell = _level_cell(q[i], y[i], n_samples, tolerance)
        good &= cell >= 0
        counts[max(cell, 0)] += 1
        cell = _level_cell(q[i + 1], y[i + 1], n_samples, tolerance)
        good &= cell >= 0
        other[max(cell, 0)] += 1
    if n % 2:
        cell = _level_cell(q[n - 1], y[n - 1], n_samples, tolerance)
        good &= cell >= 0
        counts[max(cell, 0)] += 1
    for c in range(counts.shape[0]):
        counts[c] += other[c]
    return good


@kernel
def adaptive_cell_ends(counts: Ints, bin_size: int, n_bins: int, ends: Ints) -> int:
    """Fill `ends` with cells as `adaptive_ends` does with pairs, those of one cell being tied; counts are positive."""
    n = 0
    for c in range(counts.shape[0]):
        n += counts[c]
    start = 0
    below = 0
    closed = 0
    target = _next_target(start, n, bin_size, n_bins)
    for c in range(counts.shape[0]):
        below += counts[c]
        if below >= target:
            ends[closed] = c + 1
            closed += 1
            start = below
            if start < n:
                target = _next_target(start, n, bin_size, n_bins)
    if start < n:  # a last bin short of its size joins the one before it
        closed = max(closed, 1)
        ends[closed - 1] = counts.shape[0]
    return closed


@kernel
def level_cells(q: Floats, y: Labels, n_samples: float, tolerance: float, cells: Ints32) -> bool:
    """Level of each pair, from its prediction; False if a q or a y breaks its rule."""
    good = True
    for i in range(q.shape[0]):
        cell = _level_cell(q[i], y[i], n_samples, tolerance)
        good &= cell >= 0
        cells[i] = max(cell, 0) >> 1
    return good
