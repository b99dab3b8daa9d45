"""Fine bins of predictions, by which a table of sufficient statistics is summed.

A fine bin contains the predictions on one side of one half whose distance x to the nearer end, q or 1 - q, has the same
leading bits. Its width is at most x / 1024 for x from 2^-16 (1.5e-5) up, x / 256 from 2^-64 (5e-20) up, and x / 8
below; 0, 1/2 and 1 have fine bins of their own. Of ten million pairs of Beta(0.1, 1) a fine bin contains at most about
1,300, and adaptive bins of 5,000 pairs have 5,200 on average.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import numpy.typing as npt

from corefsample._arrays import Floats, Ints, Ints32
from corefsample.calibration import _table_kernels as _kernels
from corefsample.calibration._kernels import Labels
from corefsample.calibration._validation import pair_arrays, require_pairs

N_CELLS = _kernels.N_CELLS  # about 70,000
EDGE_SLACK = 1e-9  # allows for rounding in the mean of a cell when it is compared with an edge of equal width


def cell_pairs(q: npt.ArrayLike, y: npt.ArrayLike) -> tuple[Ints32, Floats, Labels]:
    """Fine bin, prediction and label of each pair; raise if a value breaks its rule."""
    predictions, labels = pair_arrays(q, y)
    cells = np.empty(predictions.shape[0], np.int32)
    if not _kernels.float_cells(predictions, labels, cells):
        require_pairs(predictions, labels)
    return cells, predictions, labels


def bounds(cells: Ints) -> tuple[Floats, Floats]:
    """Least and largest prediction that each of the fine bins may contain."""
    lower, upper = _all_bounds()
    return lower[cells], upper[cells]


def centres(cells: Ints, mean_q: Floats) -> Floats:
    """Position of each fine bin for bins of equal width: its mean prediction."""
    return np.clip(mean_q * (1.0 + EDGE_SLACK), *bounds(cells))


@cache
def _all_bounds() -> tuple[Floats, Floats]:
    """Least and largest prediction of every fine bin."""
    exponents = np.repeat(_kernels.EXPONENTS[1:], _kernels.OCTAVE_CELLS[1:])
    places = np.arange(exponents.shape[0]) + 1 - _kernels.FIRST_CELLS[exponents]
    shifts = _kernels.SHIFTS[exponents]
    octaves = (exponents.astype(np.uint64) << np.uint64(52)) | (places.astype(np.uint64) << shifts)
    starts = np.concatenate((np.array([0, 1], np.uint64), octaves))[: _kernels.MIDDLE + 1]  # 0, subnormal, rest
    lower = starts.view(np.float64)
    upper = np.append((starts[1:] - np.uint64(1)).view(np.float64), 0.5)
    # Above one half a prediction is a whole multiple of 2^-53; fine bins between two of them are never used.
    step = 2.0**-53
    mirrored_lower = 1.0 - np.floor(upper[:-1] / step) * step
    mirrored_upper = 1.0 - np.ceil(lower[:-1] / step) * step
    ends = np.concatenate((lower, mirrored_lower[::-1])), np.concatenate((upper, mirrored_upper[::-1]))
    for each in ends:
        each.flags.writeable = False
    return ends


def fine_sums(keys: Ints, q: Floats, y: Labels) -> tuple[Ints, Floats]:
    """Distinct keys of pairs, ascending, and n, sum q, sum q^2, sum y and sum q y of each: (5, n_keys)."""
    n_keys = int(keys.max(initial=0)) + 1
    few = n_keys <= keys.shape[0]  # so few that each can have a row, which saves a sort
    distinct, places = (np.arange(n_keys), keys) if few else np.unique(keys, return_inverse=True)
    sums = np.zeros((distinct.shape[0], 5))
    _kernels.add_pairs(places, q, y, sums)
    used = sums[:, 0] > 0
    return distinct[used], sums[used].T
