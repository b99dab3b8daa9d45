"""Fine bins of predictions: what a table of sufficient statistics is kept by."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample.calibration.binning import (
    LEVEL_TOLERANCE,
    Codes,
    Floats,
    Labels,
    n_levels,
    refuse_levels,
    refuse_pairs,
    require_levels,
    require_pairs,
    whole_numbers,
)
from corefsample.calibration.tables import _kernels as _table_kernels
from corefsample.errors import ParameterError

__all__ = ["FloatGrid", "Grid", "LevelGrid"]

CellPairs = tuple[Codes, Floats, Labels]  # cell, prediction and label of each pair
EDGE_SLACK = 1e-9  # rounding that the mean of a cell may have, when an edge of equal width is compared with it


@dataclass(frozen=True, slots=True)
class FloatGrid:
    """Some 70,000 fine bins for any predictions, ever narrower towards 0 and 1.

    A fine bin holds the predictions of one side of one half whose distance x to the nearer end, q or 1 - q, has the
    same leading bits. Its width is at most x / 1024 for x from 2^-16 (1.5e-5) up, x / 256 from 2^-64 (5e-20) up,
    and x / 8 below; 0, 1/2 and 1 have fine bins of their own. Of ten million pairs of Beta(0.1, 1) a fine bin holds
    at most some 1,300, and adaptive bins of 5,000 come out at 5,200 on average.
    """

    @property
    def n_cells(self) -> int:
        """Number of fine bins."""
        return _table_kernels.N_CELLS

    def cell_pairs(self, q: npt.ArrayLike, y: npt.ArrayLike) -> CellPairs:
        """Fine bin, prediction and label of each pair; refuse what breaks a rule."""
        predictions, labels = require_pairs(q, y)
        cells = np.empty(predictions.shape[0], np.int32)
        if not _table_kernels.float_cells(predictions, labels, cells):
            refuse_pairs(predictions, labels)
        return cells, predictions, labels

    def bounds(self, cells: npt.NDArray[np.int64]) -> tuple[Floats, Floats]:
        """Least and largest prediction that each of the fine bins may hold."""
        lower, upper = _float_bounds()
        return lower[cells], upper[cells]

    def centres(self, cells: npt.NDArray[np.int64], mean_q: Floats) -> Floats:
        """Where each fine bin counts as lying, when bins of equal width are made: at its mean prediction."""
        lower, upper = self.bounds(cells)
        return np.clip(mean_q * (1.0 + EDGE_SLACK), lower, upper)


@dataclass(frozen=True, slots=True)
class LevelGrid:
    """One fine bin for each prediction k / n_samples.

    Attributes
    ----------
    n_samples
        Samples that each prediction is an average of.
    """

    n_samples: int

    def __post_init__(self) -> None:
        n_levels(self.n_samples)

    @property
    def n_cells(self) -> int:
        """Number of fine bins."""
        return self.n_samples + 1

    def cell_pairs(self, q: npt.ArrayLike, y: npt.ArrayLike) -> CellPairs:
        """Fine bin, prediction and label of each pair; refuse what breaks a rule."""
        if whole_numbers(q):
            levels, labels = require_levels(q, y)
            cells = np.empty(levels.shape[0], np.int32)
            if not _table_kernels.whole_level_cells(levels, labels, self.n_samples, cells):
                refuse_levels(levels, labels, self.n_samples)
        else:
            predictions, labels = require_pairs(q, y)
            cells = np.empty(predictions.shape[0], np.int32)
            if not _table_kernels.level_cells(predictions, labels, float(self.n_samples), LEVEL_TOLERANCE, cells):
                refuse_levels(predictions, labels, self.n_samples)
        return cells, cells / self.n_samples, labels

    def bounds(self, cells: npt.NDArray[np.int64]) -> tuple[Floats, Floats]:
        """Least and largest prediction that each of the fine bins may hold."""
        q = cells / self.n_samples
        return q, q

    def centres(self, cells: npt.NDArray[np.int64], mean_q: Floats) -> Floats:
        """Where each fine bin counts as lying, when bins of equal width are made."""
        return cells / self.n_samples


Grid = FloatGrid | LevelGrid


def require_grid(grid: object) -> Grid:
    """Return the grid, FloatGrid() for None, or refuse what is none."""
    if grid is None:
        return FloatGrid()
    if not isinstance(grid, FloatGrid | LevelGrid):
        raise ParameterError(f"grid must be FloatGrid or LevelGrid, got {_checks.shown(grid)}")
    return grid


@cache
def _float_bounds() -> tuple[Floats, Floats]:
    """Ends of every fine bin of the float grid, both of them inside."""
    exponents = np.repeat(_table_kernels.EXPONENTS[1:], _table_kernels.OCTAVE_CELLS[1:])
    places = np.arange(exponents.shape[0]) + 1 - _table_kernels.FIRST_CELLS[exponents]
    shifts = _table_kernels.SHIFTS[exponents]
    octaves = (exponents.astype(np.uint64) << np.uint64(52)) | (places.astype(np.uint64) << shifts)
    starts = np.concatenate((np.array([0, 1], np.uint64), octaves))[: _table_kernels.MIDDLE + 1]  # 0, subnormal, rest
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
