"""Compiled loops over prediction-label pairs: plain arrays in, plain arrays filled.

Legend of dimensions and names
    i    : pair                              n : number of pairs
    b    : bin, ascending in q               ends[b] : first row after bin b
    t    : block (a document)

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
