"""Builds the table of sufficient statistics of a stream of blocks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample.calibration.binning import Codes, Floats, in_order, require_length
from corefsample.calibration.tables._fine_sums import FineSums
from corefsample.calibration.tables._grids import Grid, require_grid
from corefsample.calibration.tables._table import CalibrationTable
from corefsample.errors import ParameterError

__all__ = ["TableBuilder"]


class TableBuilder:
    """Builds a CalibrationTable of a stream of blocks, one block's pairs at a time.

    Work and memory of a block go with its pairs, not with the grid; what is kept is a row for each fine bin that a
    block holds.

    Parameters
    ----------
    grid
        Fine bins; FloatGrid() where it is not given.
    groups
        Names of the groups that codes stand for; one group "" where they are not given.

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
            raise ParameterError(f"groups must be distinct names, at least one, got {_checks.shown(self._groups)}")
        in_order("groups", self._groups)
        self._blocks: dict[Any, int] = {}
        self._sums = FineSums(len(self._groups), self._grid.n_cells)

    def add(
        self, q: npt.ArrayLike, y: npt.ArrayLike, *, block: object = "", groups: npt.ArrayLike | None = None
    ) -> None:
        """Add the pairs of a block; a block may come in several parts, and one without a pair leaves no trace.

        Parameters
        ----------
        q, y
            Predictions in [0, 1] and labels 0 or 1, (n_pairs,).
        block
            Name of the block.
        groups
            Code of each pair's group, from 0, (n_pairs,); needed where there are several groups.

        Raises
        ------
        ParameterError
            If a value breaks its rule, or lengths differ; nothing is then added.
        """
        if block is None or block != block:
            raise ParameterError(f"block must be a name, got {block!r}")
        if np.size(q) == 0 and np.size(y) == 0:
            return
        cells, predictions, labels = self._grid.cell_pairs(q, y)
        codes = self._group_codes(groups, predictions)
        self._sums.add(self._blocks.setdefault(block, len(self._blocks)), cells, predictions, labels, codes)

    def _group_codes(self, groups: npt.ArrayLike | None, predictions: Floats) -> Codes:
        if groups is None:
            if len(self._groups) > 1:
                raise ParameterError(f"groups must be one code a pair, of {len(self._groups)} groups, got None")
            return np.empty(0, np.int32)
        codes = _checks.integers_32("groups", groups)
        require_length("groups", codes, predictions)
        outside = np.flatnonzero((codes < 0) | (codes >= len(self._groups)))
        if outside.size:
            last = len(self._groups) - 1
            raise ParameterError(f"groups[{outside[0]}] must lie in 0 to {last}, got {codes[outside[0]]}")
        return codes

    def table(self) -> CalibrationTable:
        """Table of all pairs so far; more can be added afterwards."""
        in_order("blocks", self._blocks)
        return CalibrationTable(self._grid, *self._sums.rows(self._groups, tuple(self._blocks)))
