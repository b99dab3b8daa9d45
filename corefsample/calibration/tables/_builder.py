"""Builds the table of sufficient statistics of a stream of blocks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample._arrays import Floats, Ints
from corefsample.calibration.binning._validation import in_order, require_all, require_length
from corefsample.calibration.tables._grids import Grid, fine_sums, require_grid
from corefsample.calibration.tables._table import CalibrationTable, table_of_rows
from corefsample.errors import ParameterError


class TableBuilder:
    """Builds a CalibrationTable from a stream of blocks, one block's pairs at a time.

    Time and memory of a block are proportional to its pairs, not to the grid: each fine bin with a pair of the block
    becomes a row.

    Parameters
    ----------
    grid
        Fine bins; by default FloatGrid().
    groups
        Names of the groups that codes stand for; by default one group "".

    Examples
    --------
    >>> builder = TableBuilder(groups=["near", "far"])
    >>> builder.add([0.1, 0.7, 0.9], [0, 1, 1], block="a", groups=[0, 0, 1])
    >>> builder.table().group("near").n_pairs
    2
    """

    def __init__(self, grid: Grid | None = None, groups: Sequence[Any] = ("",)) -> None:
        self._grid = require_grid(grid)
        self._groups = tuple(groups)
        if len(set(self._groups)) != len(self._groups) or not self._groups:
            found = _checks.shown(self._groups)
            raise ParameterError(f"must be distinct names, at least one, got {found}", parameter="groups")
        in_order("groups", self._groups)
        self._blocks: dict[Any, int] = {}
        self._parts: list[tuple[int, Ints, Floats]] = [(0, np.empty(0, np.int64), np.empty((5, 0)))]

    def add(
        self, q: npt.ArrayLike, y: npt.ArrayLike, *, block: object = "", groups: npt.ArrayLike | None = None
    ) -> None:
        """Add the pairs of a block; a block may come in several parts, and one without a pair is ignored.

        Parameters
        ----------
        q, y
            Predictions in [0, 1] and labels 0 or 1, (n_pairs,).
        block
            Name of the block.
        groups
            Code of each pair's group, from 0, (n_pairs,); required if there are several groups.

        Raises
        ------
        ParameterError
            If a value breaks its rule, or lengths differ; no pair is then added.
        """
        if block is None or block != block:
            raise ParameterError(f"must be a name, got {block!r}", parameter="block")
        if np.size(q) == 0 and np.size(y) == 0:
            return
        cells, predictions, labels = self._grid.cell_pairs(q, y)
        keys = self._group_codes(groups, predictions.shape[0]) * self._grid.n_cells + cells
        code = self._blocks.setdefault(block, len(self._blocks))
        self._parts.append((code, *fine_sums(keys, predictions, labels)))

    def _group_codes(self, groups: npt.ArrayLike | None, n: int) -> Ints:
        n_groups = len(self._groups)
        if groups is None:
            if n_groups > 1:
                raise ParameterError(f"must be one code per pair, of {n_groups} groups, got None", parameter="groups")
            return np.zeros(n, np.int64)
        codes = _checks.integers("groups", groups)
        require_length("groups", codes, n)
        require_all("groups", codes, (codes >= 0) & (codes < n_groups), f"lie in 0 to {n_groups - 1}")
        return codes

    def table(self) -> CalibrationTable:
        """Table of all pairs so far; more can be added afterwards."""
        in_order("blocks", self._blocks)
        blocks, keys, sums = zip(*self._parts, strict=True)
        group, cell = np.divmod(np.concatenate(keys), self._grid.n_cells)
        block = np.repeat(blocks, [part.shape[0] for part in keys])
        return table_of_rows(
            self._grid, self._groups, tuple(self._blocks), (group, block, cell), np.concatenate(sums, axis=1)
        )
