"""A table of sufficient statistics, from which every binned error can be computed, and its builder.

Fine bins. A fine bin contains the predictions on one side of one half whose distance x to the nearer end, q or 1 - q,
has the same leading bits. Its width is at most x / 1024 for x from 2^-16 (1.5e-5) up, x / 256 from 2^-64 (5e-20) up,
and x / 8 below; 0, 1/2 and 1 have fine bins of their own. Of ten million pairs of Beta(0.1, 1) a fine bin contains at
most about 1,300, and adaptive bins of 5,000 pairs have 5,200 on average.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample._arrays import Floats, Ints, Ints32
from corefsample._lazy import pd
from corefsample._results import Result
from corefsample.calibration import _kernels
from corefsample.calibration._binning import bin_rule, bins_of_cells, sums_by_block
from corefsample.calibration._bins import BlockBins, Strategy
from corefsample.calibration._kernels import Labels
from corefsample.calibration._validation import in_order, pair_arrays, require_all, require_length, require_pairs
from corefsample.errors import ParameterError

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


SUMS = ("n", "sum_q", "sum_q2", "sum_y", "sum_qy")
Names = tuple[Any, ...]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CalibrationTable(Result):
    """Sums of prediction-label pairs by group, block (a document) and fine bin; arrays read-only.

    Only fine bins with a pair have a row, and rows are sorted by group, block and fine bin. Tables add up:
    `a + b` is the table of the pairs of both; groups and blocks of the same name are united. Numbers of pairs and of
    positive labels are exact (to 2^53, about 10^16); the other sums are float64, so the order of rows or of additions
    can change their last digits, by about 1e-16 times the square root of the pairs in a fine bin.

    Attributes
    ----------
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
    >>> builder = TableBuilder()
    >>> builder.add([0.1, 0.2, 0.8, 0.1], [0, 1, 1, 0])
    >>> builder.table().block_bins(bin_size=2).bins.n
    array([2, 2])
    """

    groups: Names
    blocks: Names
    group_code: Ints32
    block_code: Ints32
    cell: Ints32
    n: Ints
    sum_q: Floats
    sum_q2: Floats
    sum_y: Floats
    sum_qy: Floats

    @property
    def n_pairs(self) -> int:
        """Number of pairs."""
        return int(self.n.sum())

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.n.shape[0])

    def group(self, name: object) -> CalibrationTable:
        """Table of the pairs of one group; blocks without a pair of it are left out.

        Raises
        ------
        ParameterError
            If there is no such group.
        """
        if name not in self.groups:
            known = _checks.shown(", ".join(map(str, self.groups)))
            raise ParameterError(f"must be one of {known}, got {_checks.shown(name)}", parameter="group")
        rows = np.flatnonzero(self.group_code == self.groups.index(name))
        keys = (self.group_code[rows], self.block_code[rows], self.cell[rows])
        sums = [getattr(self, name)[rows] for name in SUMS]
        return table_of_rows(self.groups, self.blocks, keys, sums)

    def block_bins(
        self, *, bin_size: int | None = None, n_bins: int | None = None, strategy: Strategy = "adaptive"
    ) -> BlockBins:
        """Sums by block and bin, over all groups, as `block_bin_pairs` makes them of pairs; rows as `blocks`.

        The pairs of one fine bin are tied: adaptive bins close where a fine bin ends, and a fine bin that an edge of
        equal width crosses goes to the side of its mean prediction. If every fine bin contains one distinct prediction,
        as for q = k / n_samples, the bins are those of `block_bin_pairs`.

        Raises
        ------
        ParameterError
            If an option breaks its rule, or the table is empty.
        """
        rule = bin_rule(bin_size, n_bins, strategy)
        if self.n_rows == 0:
            raise ParameterError("must contain at least one pair, got none", parameter="table")
        by_cell = [np.bincount(self.cell, getattr(self, name), N_CELLS).astype(np.float64) for name in SUMS]
        cells = np.flatnonzero(by_cell[0])
        n, sum_q, sum_q2, sum_y, sum_qy = (each[cells] for each in by_cell)
        bin_of = np.zeros(N_CELLS, np.int32)
        totals = n.astype(np.int64), sum_q, sum_q2, sum_y, sum_qy
        bins, bin_of[cells] = bins_of_cells(totals, *bounds(cells), centres(cells, sum_q / n), rule)
        places, shape = bin_of[self.cell], (len(self.blocks), bins.n_bins)
        sums = (sums_by_block(self.block_code, places, shape, each) for each in (self.n, self.sum_q, self.sum_y))
        return BlockBins(bins, *sums)

    def to_frame(self) -> pd.DataFrame:
        """Tidy table, one row per fine bin: group, block (both categorical), cell, n, sum_q, sum_q2, sum_y, sum_qy."""
        names = {
            "group": pd.Categorical.from_codes(self.group_code, pd.Index(list(self.groups))),
            "block": pd.Categorical.from_codes(self.block_code, pd.Index(list(self.blocks))),
        }
        return pd.DataFrame({**names, "cell": self.cell, **{name: getattr(self, name) for name in SUMS}})


def table_of_rows(
    groups: Names,
    blocks: Names,
    keys: Sequence[npt.NDArray[Any]],
    sums: Sequence[npt.NDArray[Any]] | npt.NDArray[Any],
) -> CalibrationTable:
    """Sort rows by the names of their groups and blocks and by fine bin, add those of one key, and drop unused names.

    `keys` are the codes of group and block, and the fine bin, of each row; `sums` are in the order of `SUMS`.
    """
    (group_code, groups), (block_code, blocks) = _used(keys[0], groups), _used(keys[1], blocks)
    cell = keys[2].astype(np.int64)
    n_cells = int(cell.max(initial=0)) + 1
    key = (group_code * len(blocks) + block_code) * n_cells + cell
    n = sums[0].astype(np.int64)
    others = [each.astype(np.float64) for each in sums[1:]]
    if (np.diff(key) <= 0).any():
        order = np.argsort(key, kind="stable")
        key = key[order]
        starts = np.flatnonzero(np.diff(key, prepend=-1))
        n = np.add.reduceat(n[order], starts)
        others = [np.add.reduceat(each[order], starts) for each in others]
        key = key[starts]
    rest, cell = np.divmod(key, n_cells)
    group_code, block_code = np.divmod(rest, max(len(blocks), 1))
    codes = group_code.astype(np.int32), block_code.astype(np.int32), cell.astype(np.int32)
    return CalibrationTable(groups, blocks, *codes, n, *others)


def _used(codes: npt.NDArray[Any], names: Names) -> tuple[Ints, Names]:
    """Keep the names that are used, in ascending order, and renumber the codes."""
    used = np.flatnonzero(np.bincount(codes, minlength=len(names))).tolist()
    used.sort(key=names.__getitem__)
    places = np.zeros(len(names), np.int64)
    places[used] = np.arange(len(used))
    return places[codes], tuple(names[code] for code in used)


class TableBuilder:
    """Builds a CalibrationTable from a stream of blocks, one block's pairs at a time.

    Time and memory of a block are proportional to its pairs: each fine bin with a pair of the block
    becomes a row.

    Parameters
    ----------
    groups
        Names of the groups that codes stand for; by default one group "".

    Examples
    --------
    >>> builder = TableBuilder(groups=["near", "far"])
    >>> builder.add([0.1, 0.7, 0.9], [0, 1, 1], block="a", groups=[0, 0, 1])
    >>> builder.table().group("near").n_pairs
    2
    """

    def __init__(self, groups: Sequence[Any] = ("",)) -> None:
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
        cells, predictions, labels = cell_pairs(q, y)
        keys = self._group_codes(groups, predictions.shape[0]) * N_CELLS + cells
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
        group, cell = np.divmod(np.concatenate(keys), N_CELLS)
        block = np.repeat(blocks, [part.shape[0] for part in keys])
        return table_of_rows(self._groups, tuple(self._blocks), (group, block, cell), np.concatenate(sums, axis=1))
