"""A table of sufficient statistics, from which every binned error can be computed, and its builder.

Fine bins. A fine bin contains the predictions on one side of one half whose distance x to the nearer end, q or 1 - q,
has the same leading bits. Its width is at most x / 1024 for x from 2^-16 (1.5e-5) up, x / 256 from 2^-64 (5e-20) up,
and x / 8 below; 0, 1/2 and 1 have fine bins of their own. Of ten million pairs of Beta(0.1, 1) a fine bin contains at
most about 1,300, and adaptive bins of 5,000 pairs have 5,200 on average.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample._arrays import Floats, Ints, Ints32
from corefsample._lazy import pd
from corefsample._results import Result
from corefsample.calibration import _kernels
from corefsample.calibration._binning import bin_rule, bins_of_cells
from corefsample.calibration._bins import BlockBins, Strategy
from corefsample.calibration._kernels import Labels
from corefsample.calibration._validation import in_order, pair_arrays, require_all, require_length, require_pairs
from corefsample.errors import ParameterError

N_CELLS = _kernels.N_CELLS  # about 70,000
_STRETCH = 1 << 20  # rows that are copied at a time
_FIRST_CHUNK = 1 << 12  # rows; later chunks double the rows
EDGE_SLACK = 1e-9  # allows for rounding in the mean of a cell when it is compared with an edge of equal width


def cell_pairs(q: npt.ArrayLike, y: npt.ArrayLike) -> tuple[Ints32, Floats, Labels]:
    """Fine bin, prediction and label of each pair; raises if a prediction is not in [0, 1] or a label not 0 or 1."""
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
    mantissas = np.arange(exponents.shape[0]) + 1 - _kernels.FIRST_CELLS[exponents]
    shifts = _kernels.SHIFTS[exponents]
    octaves = (exponents.astype(np.uint64) << np.uint64(52)) | (mantissas.astype(np.uint64) << shifts)
    starts = np.concatenate((np.array([0, 1], np.uint64), octaves))[: _kernels.MIDDLE + 1]  # 0, subnormal, rest
    lower = starts.view(np.float64)
    upper = np.append((starts[1:] - np.uint64(1)).view(np.float64), 0.5)
    # Above one half a prediction is a whole multiple of 2^-53; fine bins between two of them are never used.
    step = 2.0**-53
    mirrored_lower = 1.0 - np.floor(upper[:-1] / step) * step
    mirrored_upper = 1.0 - np.ceil(lower[:-1] / step) * step
    ends = np.concatenate((lower, mirrored_lower[::-1])), np.concatenate((upper, mirrored_upper[::-1]))
    for bounds_array in ends:
        bounds_array.flags.writeable = False
    return ends


def fine_sums(keys: Ints, q: Floats, y: Labels) -> tuple[Ints, Floats]:
    """Distinct keys of pairs, ascending, and n, sum q, sum q^2, sum y and sum q y of each: (5, n_keys)."""
    n_keys = int(keys.max(initial=0)) + 1
    is_dense = n_keys <= keys.shape[0]  # every key can have a row, which saves a sort
    distinct, rows = (np.arange(n_keys), keys) if is_dense else np.unique(keys, return_inverse=True)
    sums = np.zeros((distinct.shape[0], 5))
    _kernels.add_pairs(rows, q, y, sums)
    has_pairs = sums[:, 0] > 0
    return distinct[has_pairs], sums[has_pairs].T


SUMS = ("n", "sum_q", "sum_q2", "sum_y", "sum_qy")
_COLUMN_TYPES = (np.int32, np.int64, *[np.float64] * 4)  # of the fine bin and the sums
Names = tuple[Any, ...]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CalibrationTable(Result):
    """Sums of prediction-label pairs by group, block (a document) and fine bin; arrays read-only.

    Only fine bins with a pair have a row, and rows are sorted by group, block and fine bin. Numbers of pairs and of
    positive labels are exact (to 2^53, about 10^16); the other sums are float64, so the order of additions can change
    their last digits, by about 1e-16 times the square root of the pairs in a fine bin.

    Attributes
    ----------
    groups, blocks
        Names of the groups and of the blocks, in ascending order; each has at least one pair.
    group_code, block_code
        int32 (n_rows,): index of the row's group in `groups`, and of its block in `blocks`.
    cell
        int32 (n_rows,): number of the row's fine bin.
    n
        int64 (n_rows,): number of pairs of the row, at least 1.
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
            If the table has no group of this name.
        """
        if name not in self.groups:
            names_of_groups = _checks.shown(", ".join(map(str, self.groups)))
            raise ParameterError(f"must be one of {names_of_groups}, got {_checks.shown(name)}", parameter="group")
        code = self.groups.index(name)
        rows = slice(*np.searchsorted(self.group_code, [code, code + 1]).tolist())  # rows are sorted by group
        used, blocks = np.unique(self.block_code[rows], return_inverse=True)
        columns = (getattr(self, each)[rows] for each in ("cell", *SUMS))
        names = tuple(self.blocks[block] for block in used.tolist())
        codes = np.zeros(blocks.shape[0], np.int32), blocks.astype(np.int32)
        return CalibrationTable((name,), names, *codes, *columns)

    def block_bins(
        self, *, bin_size: int | None = None, n_bins: int | None = None, strategy: Strategy = "adaptive"
    ) -> BlockBins:
        """Sums by block and bin over all groups, with a row per block in the order of `blocks`.

        The parameters are those of `block_bin_pairs`.

        The pairs of one fine bin are tied: adaptive bins close where a fine bin ends, and a fine bin that an edge of
        equal width crosses goes to the side of its mean prediction. If every fine bin contains one distinct prediction,
        as for q = k / n_samples, the bins are those of `block_bin_pairs`.

        Raises
        ------
        ParameterError
            If the table is empty, an option is out of range, or options contradict each other.
        """
        rule = bin_rule(bin_size, n_bins, strategy)
        if self.n_rows == 0:
            raise ParameterError("must contain at least one pair, got none", parameter="table")
        totals = [np.zeros(N_CELLS) for _ in SUMS]
        for rows, cell in self._stretches():
            for total, name in zip(totals, SUMS, strict=True):
                np.add.at(total, cell, getattr(self, name)[rows].astype(np.float64))
        cells = np.flatnonzero(totals[0])
        n, sum_q, sum_q2, sum_y, sum_qy = (total[cells] for total in totals)
        bin_of = np.zeros(N_CELLS, np.int64)
        sums = n.astype(np.int64), sum_q, sum_q2, sum_y, sum_qy
        bins, bin_of[cells] = bins_of_cells(sums, *bounds(cells), centres(cells, sum_q / n), rule)
        by_block = [np.zeros((len(self.blocks), bins.n_bins)) for _ in range(3)]
        for rows, cell in self._stretches():
            places = self.block_code[rows] * np.int64(bins.n_bins) + bin_of[cell]
            for block_sums, name in zip(by_block, ("n", "sum_q", "sum_y"), strict=True):
                np.add.at(block_sums.reshape(-1), places, getattr(self, name)[rows].astype(np.float64))
        return BlockBins(bins, *by_block)

    def _stretches(self) -> Iterator[tuple[slice, Ints]]:
        """Rows in stretches, with their fine bins as indices: copies of all rows would double the memory."""
        for start in range(0, self.n_rows, _STRETCH):
            rows = slice(start, start + _STRETCH)
            yield rows, self.cell[rows].astype(np.int64)

    def to_frame(self) -> pd.DataFrame:
        """Tidy table, one row per fine bin: group, block (both categorical), cell, n, sum_q, sum_q2, sum_y, sum_qy."""
        names = {
            "group": pd.Categorical.from_codes(self.group_code, pd.Index(list(self.groups))),
            "block": pd.Categorical.from_codes(self.block_code, pd.Index(list(self.blocks))),
        }
        return pd.DataFrame({**names, "cell": self.cell, **{name: getattr(self, name) for name in SUMS}})


class TableBuilder:
    """Builds a CalibrationTable from a stream of blocks, one block's pairs at a time.

    Time and memory of a block are proportional to its pairs: each fine bin with a pair of the block
    becomes a row. Beyond the rows of its table a builder needs memory for one column of them.

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
            shown_groups = _checks.shown(self._groups)
            raise ParameterError(f"must be distinct names, at least one, got {shown_groups}", parameter="groups")
        in_order("groups", self._groups)
        self._clear()

    def _clear(self) -> None:
        self._blocks: dict[Any, int] = {}
        self._spans: list[tuple[int, int, int, slice]] = []  # group, block, chunk and rows of each stretch of rows
        self._chunks: list[list[npt.NDArray[Any]]] = [[] for _ in _COLUMN_TYPES]  # of each column
        self._n_rows = self._free = 0  # rows of all chunks, and rows of the last one that are free

    def add(
        self, q: npt.ArrayLike, y: npt.ArrayLike, *, block: object = "", groups: npt.ArrayLike | None = None
    ) -> None:
        """Add the pairs of a block; a block may come in several parts, and one without a pair is ignored.

        Parameters
        ----------
        q, y
            Predictions in [0, 1] and labels 0 or 1, (n_pairs,).
        block
            Name of the block, such as a doc_id. By default "".
        groups
            Code of each pair's group, from 0, (n_pairs,); required if there are several groups.

        Raises
        ------
        ParameterError
            If the block has no name, a prediction is outside [0, 1], a label is neither 0 nor 1, a group's code is
            missing or out of range, or lengths differ; no pair is then added.
        """
        if block is None or block != block:
            raise ParameterError(f"must be a name, got {block!r}", parameter="block")
        if np.size(q) == 0 and np.size(y) == 0:
            return
        cells, predictions, labels = cell_pairs(q, y)
        keys = self._group_codes(groups, predictions.shape[0]) * N_CELLS + cells
        code = self._blocks.setdefault(block, len(self._blocks))
        distinct, sums = fine_sums(keys, predictions, labels)
        group, cell = np.divmod(distinct, N_CELLS)
        if self._free < cell.shape[0]:
            self._free = max(cell.shape[0], self._n_rows, _FIRST_CHUNK)
            self._n_rows += self._free
            for chunks, column_type in zip(self._chunks, _COLUMN_TYPES, strict=True):
                chunks.append(np.empty(self._free, column_type))  # takes memory as it is filled
        begin = self._chunks[0][-1].shape[0] - self._free
        self._free -= cell.shape[0]
        for chunks, column in zip(self._chunks, (cell, *sums), strict=True):
            chunks[-1][begin : begin + cell.shape[0]] = column
        starts = np.flatnonzero(np.diff(group, prepend=-1)).tolist()
        for start, end in pairwise([*starts, cell.shape[0]]):
            rows = slice(begin + start, begin + end)
            self._spans.append((int(group[start]), code, len(self._chunks[0]) - 1, rows))

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
        """Table of all pairs since the last table: the builder is empty afterwards."""
        block_names, spans = in_order("blocks", self._blocks), self._spans
        used_groups = {group for group, *_ in spans}
        groups = sorted(used_groups, key=self._groups.__getitem__)
        code_of_group = {group: code for code, group in enumerate(groups)}
        code_of_block = {self._blocks[name]: code for code, name in enumerate(block_names)}
        spans.sort(key=lambda span: (code_of_group[span[0]], code_of_block[span[1]]))
        columns = []
        while self._chunks:
            chunks = self._chunks.pop(0)  # freed before the next column is copied
            empty = np.empty(0, chunks[0].dtype if chunks else np.int64)
            columns.append(np.concatenate([empty, *(chunks[chunk][rows] for _, _, chunk, rows in spans)]))
        lengths = [rows.stop - rows.start for *_, rows in spans]
        group_codes = np.repeat(np.array([code_of_group[group] for group, *_ in spans], np.int32), lengths)
        block_codes = np.repeat(np.array([code_of_block[block] for _, block, *_ in spans], np.int32), lengths)
        is_split = len({span[:2] for span in spans}) < len(spans)
        self._clear()
        columns = [group_codes, block_codes, *columns]
        return CalibrationTable(
            tuple(self._groups[group] for group in groups), block_names, *(_united(columns) if is_split else columns)
        )


def _united(columns: list[npt.NDArray[Any]]) -> list[npt.NDArray[Any]]:
    """Sort rows by group, block and fine bin, and add those of one fine bin, which blocks that came in parts have."""
    order = np.lexsort(columns[2::-1])
    columns = [column[order] for column in columns]
    starts = np.flatnonzero(np.any([np.diff(column, prepend=-1) for column in columns[:3]], axis=0))
    return [*(column[starts] for column in columns[:3]), *(np.add.reduceat(column, starts) for column in columns[3:])]
