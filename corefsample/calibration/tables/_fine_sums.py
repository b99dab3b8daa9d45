"""Sums of pairs by group, block and fine bin, gathered block by block."""

from __future__ import annotations

import numpy as np

from corefsample._arrays import Floats, Ints, Ints32
from corefsample.calibration.binning import Labels
from corefsample.calibration.tables import _kernels

Keys = tuple[Ints, Ints, Ints]  # code of the group, code of the block, fine bin


class FineSums:
    """Gathers the rows of one block after another; only the used cells of its dense array are cleared afterwards."""

    def __init__(self, n_groups: int, n_cells: int) -> None:
        self._n_cells = n_cells
        self._dense = np.zeros((n_groups * n_cells, _kernels.SUMS))
        self._blocks: list[int] = []
        self._touched: list[Ints] = []
        self._sums: list[Floats] = []

    def add(self, block: int, cells: Ints32, q: Floats, y: Labels, groups: Ints32) -> None:
        """Add pairs of a block; `groups` is one code a pair, or empty where all pairs are of group 0."""
        touched = np.empty(min(cells.shape[0], self._dense.shape[0]), np.int64)
        n_touched = _kernels.accumulate(q, y, cells, groups, self._n_cells, self._dense, touched)
        touched = np.sort(touched[:n_touched])
        sums = np.empty((_kernels.SUMS, n_touched))
        _kernels.take_out(self._dense, touched, sums)
        self._blocks.append(block)
        self._touched.append(touched)
        self._sums.append(sums)

    def rows(self) -> tuple[Keys, Floats]:
        """Keys of the rows so far, and their sums, (SUMS, n_rows); a block added in parts may repeat a key."""
        group, cell = np.divmod(np.concatenate([np.empty(0, np.int64), *self._touched]), self._n_cells)
        block = np.repeat(np.array(self._blocks, np.int64), [touched.shape[0] for touched in self._touched])
        return (group, block, cell), np.concatenate([np.empty((_kernels.SUMS, 0)), *self._sums], axis=1)
