"""Sums of pairs by group, block and fine bin, gathered block by block."""

from __future__ import annotations

import numpy as np

from corefsample._arrays import Floats, Ints, Ints32
from corefsample.calibration.binning import Labels
from corefsample.calibration.tables import _kernels

Keys = tuple[Ints, Ints, Ints]  # code of the group, code of the block, fine bin


# Rows of the dense array, 40 bytes each, that all groups may have together; beyond that they take turns.
DENSE_CELLS = 1 << 20


class FineSums:
    """Gathers the rows of one block after another; only the used cells of its dense array are cleared afterwards."""

    def __init__(self, n_groups: int, n_cells: int) -> None:
        self._n_cells = n_cells
        self._together = n_groups == 1 or n_groups * n_cells <= DENSE_CELLS
        self._dense = np.zeros(((n_groups if self._together else 1) * n_cells, _kernels.SUMS))
        self._parts: list[tuple[int, Ints, Floats]] = []

    def add(self, block: int, cells: Ints32, q: Floats, y: Labels, groups: Ints32) -> None:
        """Add pairs of a block; `groups` is one code per pair, or empty where all pairs are of group 0."""
        if self._together:
            self._add(block, 0, cells, q, y, groups)
            return
        order = np.argsort(groups, kind="stable")
        codes, starts = np.unique(groups[order], return_index=True)
        no_groups = np.empty(0, np.int32)
        for code, chosen in zip(codes.tolist(), np.split(order, starts[1:]), strict=True):
            self._add(block, code, cells[chosen], q[chosen], y[chosen], no_groups)

    def _add(self, block: int, first_group: int, cells: Ints32, q: Floats, y: Labels, groups: Ints32) -> None:
        """Add pairs whose groups are counted from `first_group`."""
        touched = np.empty(min(cells.shape[0], self._dense.shape[0]), np.int64)
        n_touched = _kernels.accumulate(q, y, cells, groups, self._n_cells, self._dense, touched)
        touched = np.sort(touched[:n_touched])
        sums = np.empty((_kernels.SUMS, n_touched))
        _kernels.take_out(self._dense, touched, sums)
        self._parts.append((block, touched + first_group * self._n_cells, sums))

    def rows(self) -> tuple[Keys, Floats]:
        """Keys of the rows so far, and their sums, (SUMS, n_rows); a block added in parts may repeat a key."""
        empty = (0, np.empty(0, np.int64), np.empty((_kernels.SUMS, 0)))
        blocks, touched, sums = zip(empty, *self._parts, strict=True)
        group, cell = np.divmod(np.concatenate(touched), self._n_cells)
        return (group, np.repeat(blocks, [part.shape[0] for part in touched]), cell), np.concatenate(sums, axis=1)
