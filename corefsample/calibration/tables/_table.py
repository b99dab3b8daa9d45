"""One table of sufficient statistics, from which every binned error comes: built block by block, and added up."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample.calibration.binning import (
    BinRule,
    BlockBins,
    Codes,
    Floats,
    Ints,
    ReliabilityBins,
    Strategy,
    bin_rule,
    bins_of_cells,
    cell_ends,
    coded,
    in_order,
)
from corefsample.calibration.tables._fine_sums import FineSums, collected
from corefsample.calibration.tables._grids import Grid, require_grid
from corefsample.errors import ParameterError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["CalibrationTable"]

SUMS = ("n", "sum_q", "sum_q2", "sum_y", "sum_qy")
KEYS = ("group_code", "block_code", "cell")


@dataclass(frozen=True, slots=True, eq=False)
class CalibrationTable:
    """Sums of prediction-label pairs by group, block (a document) and fine bin; arrays read-only.

    Only the fine bins that hold a pair have a row, and rows are sorted by group, block and fine bin. Tables of one
    grid add up: `a + b` is the table of all pairs of both, groups and blocks of one name being one. Numbers of pairs
    and positive labels are exact (to 2^53, some 10^16); the other sums are float64, so that the order of rows or of
    additions can change their last digits: by some 1e-16 times the square root of the pairs in a fine bin.

    Attributes
    ----------
    grid
        FloatGrid or LevelGrid.
    groups, blocks
        Names, in ascending order; each has at least one pair.
    group_code, block_code
        int32 (n_rows,): place of the row's group and block among the names.
    cell
        int32 (n_rows,): fine bin.
    n
        int64 (n_rows,): pairs, at least 1.
    sum_q, sum_q2, sum_y, sum_qy
        float64 (n_rows,): sums of prediction, squared prediction, label and their product.

    Examples
    --------
    >>> table = CalibrationTable.from_pairs([0.1, 0.2, 0.8], [0, 1, 1], blocks=["a", "a", "b"])
    >>> (table + CalibrationTable.from_pairs([0.1], [0], blocks=["c"])).bins(bin_size=2).n
    array([2, 2])
    """

    grid: Grid
    groups: tuple[Any, ...]
    blocks: tuple[Any, ...]
    group_code: Codes
    block_code: Codes
    cell: Codes
    n: Ints
    sum_q: Floats
    sum_q2: Floats
    sum_y: Floats
    sum_qy: Floats

    def __post_init__(self) -> None:
        for name in (*KEYS, *SUMS):
            getattr(self, name).flags.writeable = False

    @property
    def n_pairs(self) -> int:
        """Number of pairs."""
        return int(self.n.sum())

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.n.shape[0])

    # --- making ------------------------------------------------------------------------------------------------

    @classmethod
    def from_pairs(
        cls,
        q: npt.ArrayLike,
        y: npt.ArrayLike,
        *,
        groups: npt.ArrayLike | None = None,
        blocks: npt.ArrayLike | None = None,
        grid: Grid | None = None,
    ) -> CalibrationTable:
        """Table of pairs that are all at hand; for a stream of blocks see `TableBuilder`.

        Parameters
        ----------
        q, y
            Predictions in [0, 1] and labels 0 or 1, (n_pairs,).
        groups, blocks
            Id of each pair's group and block, (n_pairs,): numbers or text; without them all pairs are of one, "".
        grid
            Fine bins; FloatGrid() where it is not given.

        Raises
        ------
        ParameterError
            If a value breaks its rule, lengths differ, or there is no pair.
        """
        fine = require_grid(grid)
        cells, predictions, labels = fine.cell_pairs(q, y)
        group_codes, group_names = _coded_or_one("groups", groups, predictions)
        block_codes, block_names = _coded_or_one("blocks", blocks, predictions)
        sums = FineSums(len(group_names), fine.n_cells)
        together = bool((np.diff(block_codes) >= 0).all())
        if not together:
            order = np.argsort(block_codes, kind="stable")
            cells, predictions, labels, group_codes = (
                cells[order],
                predictions[order],
                labels[order],
                group_codes[order],
            )
        ends = np.cumsum(np.bincount(block_codes, minlength=len(block_names))).tolist()
        for block, (begin, end) in enumerate(zip([0, *ends[:-1]], ends, strict=True)):
            rows = slice(begin, end)
            sums.add(block, cells[rows], predictions[rows], labels[rows], group_codes[rows])
        return cls(fine, *sums.rows(group_names, block_names))

    @classmethod
    def merged(cls, tables: Iterable[CalibrationTable]) -> CalibrationTable:
        """Table of all pairs of several tables of one grid, which is what `+` gives for two.

        Raises
        ------
        ParameterError
            If there is no table, grids differ, or names are of several kinds.
        """
        parts = list(tables)
        if not parts:
            raise ParameterError("tables must hold at least one table, got none")
        for part in parts:
            if part.grid != parts[0].grid:
                raise ParameterError(f"tables must share one grid, {parts[0].grid}, got {part.grid}")
        groups, group_code = _joined("groups", [(part.groups, part.group_code) for part in parts])
        blocks, block_code = _joined("blocks", [(part.blocks, part.block_code) for part in parts])
        keys = group_code, block_code, np.concatenate([part.cell for part in parts])
        sums = [np.concatenate([getattr(part, name) for part in parts]) for name in SUMS]
        return cls(parts[0].grid, *collected(groups, blocks, keys, sums))

    def __add__(self, other: object) -> CalibrationTable:
        if not isinstance(other, CalibrationTable):
            return NotImplemented
        return self.merged([self, other])

    def group(self, name: object) -> CalibrationTable:
        """Table of the pairs of one group; blocks without a pair of it are left out.

        Raises
        ------
        ParameterError
            If there is no such group.
        """
        if name not in self.groups:
            known = _checks.shown(", ".join(map(str, self.groups)))
            raise ParameterError(f"group must be one of {known}, got {_checks.shown(name)}")
        rows = np.flatnonzero(self.group_code == self.groups.index(name))
        keys = (self.group_code[rows], self.block_code[rows], self.cell[rows])
        sums = [getattr(self, name)[rows] for name in SUMS]
        return CalibrationTable(self.grid, *collected(self.groups, self.blocks, keys, sums))

    # --- bins --------------------------------------------------------------------------------------------------

    def bins(
        self, *, bin_size: int | None = None, n_bins: int | None = None, strategy: Strategy = "adaptive"
    ) -> ReliabilityBins:
        """Sums by bin, over all groups and blocks, as `bin_pairs` makes them of pairs.

        The pairs of one fine bin are tied: adaptive bins close where a fine bin ends, and an edge of equal width gives
        a fine bin that it cuts to the side on which its mean prediction lies. Where every fine bin holds one distinct
        prediction, as it does for q = k / n_samples, the bins are those of `bin_pairs`.

        Raises
        ------
        ParameterError
            If an option breaks its rule, or the table is empty.
        """
        return self._bins(bin_rule(bin_size, n_bins, strategy))[0]

    def block_bins(
        self, *, bin_size: int | None = None, n_bins: int | None = None, strategy: Strategy = "adaptive"
    ) -> BlockBins:
        """Sums by block and bin, over all groups, as `block_bin_pairs` makes them of pairs; rows as `blocks`.

        Raises
        ------
        ParameterError
            If an option breaks its rule, or the table is empty.
        """
        bins, bin_of = self._bins(bin_rule(bin_size, n_bins, strategy))
        shape = len(self.blocks), bins.n_bins
        places = self.block_code.astype(np.int64) * bins.n_bins + bin_of[self.cell]

        def summed(values: npt.NDArray[Any]) -> Floats:
            return np.bincount(places, values, shape[0] * shape[1]).astype(np.float64).reshape(shape)

        return BlockBins(bins, summed(self.n), summed(self.sum_q), summed(self.sum_y))

    def _bins(self, rule: BinRule) -> tuple[ReliabilityBins, Codes]:
        """Bins, and the bin of each fine bin."""
        if self.n_rows == 0:
            raise ParameterError("table must hold at least one pair, got none")
        by_cell = [np.bincount(self.cell, getattr(self, name), self.grid.n_cells).astype(np.float64) for name in SUMS]
        cells = np.flatnonzero(by_cell[0])
        n, sum_q, sum_q2, sum_y, sum_qy = (each[cells] for each in by_cell)
        pairs = n.astype(np.int64)
        ends = cell_ends(pairs, rule, self.grid.centres(cells, sum_q / n))
        bins = bins_of_cells((pairs, sum_q, sum_q2, sum_y, sum_qy), *self.grid.bounds(cells), ends, rule)
        bin_of = np.zeros(self.grid.n_cells, np.int32)
        bin_of[cells] = np.repeat(np.arange(bins.n_bins, dtype=np.int32), np.diff(ends, prepend=0))
        return bins, bin_of

    # --- saving ------------------------------------------------------------------------------------------------

    def to_frame(self) -> pd.DataFrame:
        """Tidy table, one row a fine bin: group, block (both categorical), cell, n, sum_q, sum_q2, sum_y, sum_qy.

        It can be written to Parquet, and `from_frame` makes a table of it again.
        """
        import pandas as pd

        names = {
            "group": pd.Categorical.from_codes(self.group_code, pd.Index(self.groups)),
            "block": pd.Categorical.from_codes(self.block_code, pd.Index(self.blocks)),
        }
        return pd.DataFrame({**names, "cell": self.cell, **{name: getattr(self, name) for name in SUMS}})

    @classmethod
    def from_frame(cls, frame: pd.DataFrame, *, grid: Grid | None = None) -> CalibrationTable:
        """Table of what `to_frame` gave; rows may come in any order, and those of one fine bin are added.

        Raises
        ------
        ParameterError
            If a column is missing, a fine bin is not of the grid, or a sum cannot be one.
        """
        fine = require_grid(grid)
        for name in ("group", "block", "cell", *SUMS):
            if name not in frame.columns:
                raise ParameterError(f"frame must have a column {name}, got {_checks.shown(list(frame.columns))}")
        cell = _checks.integers_32("cell", frame["cell"].to_numpy())
        outside = np.flatnonzero((cell < 0) | (cell >= fine.n_cells))
        if outside.size:
            raise ParameterError(f"cell must lie in 0 to {fine.n_cells - 1} of {fine}, got {cell[outside[0]]}")
        group_code, groups = coded("group", frame["group"].to_numpy(), cell)
        block_code, blocks = coded("block", frame["block"].to_numpy(), cell)
        sums = [_checks.floats(name, frame[name].to_numpy()) for name in SUMS]
        for name, values in zip(SUMS, sums, strict=True):
            if not np.isfinite(values).all():
                raise ParameterError(f"{name} must be finite, got {values[~np.isfinite(values)][0]}")
        if (sums[0] < 1).any():
            raise ParameterError(f"n must be at least 1, got {sums[0].min():g}")
        return cls(fine, *collected(groups, blocks, (group_code, block_code, cell), sums))


def _coded_or_one(name: str, ids: npt.ArrayLike | None, predictions: Floats) -> tuple[Codes, tuple[Any, ...]]:
    """Codes and names of ids, or of one id "" where none are given."""
    if ids is None:
        return np.zeros(predictions.shape[0], np.int32), ("",)
    return coded(name, ids, predictions)


def _joined(name: str, parts: list[tuple[tuple[Any, ...], Codes]]) -> tuple[tuple[Any, ...], Codes]:
    """All names of several tables, and the codes of their rows among them."""
    names = in_order(name, {each for found, _ in parts for each in found})
    place = {each: code for code, each in enumerate(names)}
    codes = [np.array([place[each] for each in found], np.int32)[rows] for found, rows in parts]
    return names, np.concatenate(codes)
