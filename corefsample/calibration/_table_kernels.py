"""Compiled loops of the table of sufficient statistics: plain arrays in, plain arrays filled.

Legend of dimensions and names
    i : pair      c : cell (a fine bin), ascending in q      x : min(q, 1 - q)

A cell is a stretch of x on which the leading bits are the same, on one side of one half.
"""

from __future__ import annotations

import numpy as np

from corefsample._arrays import Floats, Ints, Ints32
from corefsample._jit import inlined, kernel
from corefsample.calibration._kernels import Labels

U52 = np.uint64(52)
MANTISSA = np.uint64((1 << 52) - 1)
HALF = 1022  # exponent field of 0.5, the largest x there is

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
    good = True
    for i in range(q.shape[0]):
        p, label = q[i], y[i]
        fine = (p >= 0.0) & (p <= 1.0) & ((label == 0) | (label == 1))
        good &= fine
        p = p + 0.0 if fine else 0.0  # -0.0 becomes 0.0
        cells[i] = fine_bin(p)
    return good


@kernel
def add_pairs(places: Ints, q: Floats, y: Labels, sums: Floats) -> None:
    """Add 1, q, q^2, y and q y of each pair to the row of `sums` at its place."""
    for i in range(q.shape[0]):
        row, p, label = sums[places[i]], q[i], float(y[i])
        row[0] += 1.0
        row[1] += p
        row[2] += p * p
        row[3] += label
        row[4] += p * label
