"""Sums of pairs by group, block and fine bin: gathered block by block, sorted, and added up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from corefsample.calibration.binning import Codes, Floats, Ints, Labels
from corefsample.calibration.tables import _kernels as _table_kernels

Names = tuple[Any, ...]


class FineRows(NamedTuple):
    """Rows in the order of the fields of a CalibrationTable, after its grid; each (n_rows,)."""

    groups: Names
    blocks: Names
    group_code: Codes
    block_code: Codes
    cell: Codes
    n: Ints
    sum_q: Floats
    sum_q2: Floats
    sum_y: Floats
    sum_qy: Floats


class FineSums:
    """Gathers the rows of one block after another; of the dense array it adds up in, only what was used is cleared."""

    def __init__(self, n_groups: int, n_cells: int) -> None:
        self._n_cells = n_cells
        self._dense = np.zeros((n_groups * n_cells, _table_kernels.SUMS))
        self._blocks: list[int] = []
        self._touched: list[Ints] = []
        self._sums: list[Floats] = []

    def add(self, block: int, cells: Codes, q: Floats, y: Labels, groups: Codes) -> None:
        """Add pairs of a block; `groups` is a code a pair, or empty."""
        touched = np.empty(min(cells.shape[0], self._dense.shape[0]), np.int64)
        n_touched = _table_kernels.accumulate(q, y, cells, groups, self._n_cells, self._dense, touched)
        touched = np.sort(touched[:n_touched])
        sums = np.empty((_table_kernels.SUMS, n_touched))
        _table_kernels.take_out(self._dense, touched, sums)
        self._blocks.append(block)
        self._touched.append(touched)
        self._sums.append(sums)

    def rows(self, groups: Names, blocks: Names) -> FineRows:
        """Rows so far; `groups` and `blocks` are the names of the codes."""
        if not self._blocks:
            return collected((), (), [np.empty(0, np.int64)] * 3, [np.empty(0)] * _table_kernels.SUMS)
        if len(set(self._blocks)) == len(self._blocks):
            return self._rows_of_whole_blocks(groups, blocks)
        group, cell = np.divmod(np.concatenate(self._touched), self._n_cells)
        block = np.repeat(self._blocks, [touched.shape[0] for touched in self._touched])
        return collected(groups, blocks, [group, block, cell], list(np.concatenate(self._sums, axis=1)))

    def _rows_of_whole_blocks(self, groups: Names, blocks: Names) -> FineRows:
        """Rows where each block came at once: stretches of a block and group, sorted by cell, are put in order."""
        ends = np.arange(len(groups) + 1) * self._n_cells
        bounds = np.array(
            [np.searchsorted(touched, ends) for touched in self._touched]
        )  # (blocks as added, groups + 1)
        lengths = np.diff(bounds, axis=1)
        in_names = sorted(range(len(self._blocks)), key=lambda part: blocks[self._blocks[part]])
        group_order = [g for g in sorted(range(len(groups)), key=groups.__getitem__) if lengths[:, g].any()]
        block_order = [part for part in in_names if lengths[part].any()]
        stretches = [
            (part, g, bounds[part, g], bounds[part, g + 1])
            for g in group_order
            for part in block_order
            if lengths[part, g]
        ]
        cell = np.concatenate([self._touched[part][lo:hi] - ends[g] for part, g, lo, hi in stretches]).astype(np.int32)
        sums = [
            np.concatenate([self._sums[part][k, lo:hi] for part, _, lo, hi in stretches])
            for k in range(_table_kernels.SUMS)
        ]
        place_of_group = {g: place for place, g in enumerate(group_order)}
        place_of_block = {part: place for place, part in enumerate(block_order)}
        sizes = [hi - lo for *_, lo, hi in stretches]
        return FineRows(
            tuple(groups[g] for g in group_order),
            tuple(blocks[self._blocks[part]] for part in block_order),
            np.repeat(np.array([place_of_group[g] for _, g, *_ in stretches], np.int32), sizes),
            np.repeat(np.array([place_of_block[part] for part, *_ in stretches], np.int32), sizes),
            cell,
            sums[0].astype(np.int64),
            *sums[1:],
        )


def collected(
    groups: Names, blocks: Names, keys: Sequence[npt.NDArray[Any]], sums: Sequence[npt.NDArray[Any]]
) -> FineRows:
    """Sort rows by the names of their groups and blocks and by cell, and add those of one key; unused names go."""
    (group_code, groups), (block_code, blocks) = (
        _in_order_of_names(keys[0], groups),
        _in_order_of_names(keys[1], blocks),
    )
    cell = keys[2].astype(np.int64)
    n_cells = int(cell.max(initial=0)) + 1
    key = (group_code * len(blocks) + block_code) * n_cells + cell
    n = sums[0].astype(np.int64)
    added = [each.astype(np.float64) for each in sums[1:]]
    if (np.diff(key) <= 0).any():
        order = np.argsort(key, kind="stable")
        key = key[order]
        starts = np.flatnonzero(np.diff(key, prepend=-1))
        n = np.add.reduceat(n[order], starts)
        added = [np.add.reduceat(each[order], starts) for each in added]
        key = key[starts]
    rest, cell = np.divmod(key, n_cells)
    group_code, block_code = np.divmod(rest, max(len(blocks), 1))
    codes = group_code.astype(np.int32), block_code.astype(np.int32), cell.astype(np.int32)
    return FineRows(groups, blocks, *codes, n, *added)


def _in_order_of_names(codes: npt.NDArray[Any], names: Names) -> tuple[Ints, Names]:
    """Codes anew, in ascending order of the names that are used."""
    used = np.flatnonzero(np.bincount(codes, minlength=len(names))).tolist()
    used.sort(key=names.__getitem__)
    places = np.zeros(len(names), np.int64)
    places[used] = np.arange(len(used))
    return places[codes], tuple(names[code] for code in used)
