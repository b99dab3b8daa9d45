"""How pairs are to be binned, and the bins of cells: fine bins of which only sums are known."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample._arrays import Floats, Ints, Ints32
from corefsample.calibration.binning import _kernels
from corefsample.calibration.binning._bins import STRATEGIES, ReliabilityBins, Strategy
from corefsample.errors import ParameterError

DEFAULT_BIN_SIZE = 5000
SMALLEST_BIN, _BINS_OF_SMALL = 50, 20  # of the default for small data
FEWEST_BINS = 10  # an error from fewer hides what cancels within them
DEFAULT_N_BINS = 15  # of equal width
MAX_BINS = 10_000_000

Sums = tuple[Ints, Floats, Floats, Floats, Floats]  # n, sum_q, sum_q2, sum_y, sum_qy


@dataclass(frozen=True, slots=True)
class BinRule:
    """How pairs are to be binned; one of `bin_size` and `n_bins` is None, or both until the pairs are counted."""

    strategy: Strategy
    bin_size: int | None
    n_bins: int | None
    by_default: bool = False  # the number of bins is the default, for which there may be fewer pairs

    def of_pairs(self, n_pairs: int) -> BinRule:
        """The rule with the default size of bins for this number of pairs; raise if there are fewer than bins."""
        if self.n_bins is not None and self.n_bins > n_pairs and not self.by_default:
            raise ParameterError(
                f"must be at most the number of pairs ({n_pairs}), got {self.n_bins}", parameter="n_bins"
            )
        if self.bin_size is None and self.n_bins is None:
            return replace(self, bin_size=default_bin_size(n_pairs))
        return self

    def n_ends(self, n_pairs: int) -> int:
        """Largest number of bins that there can be."""
        return self.n_bins if self.n_bins is not None else n_pairs // cast("int", self.bin_size) + 1

    @property
    def inner_edges(self) -> Floats:
        """Edges between bins of equal width."""
        n_bins = cast("int", self.n_bins)
        return np.arange(1, n_bins) / n_bins


def bin_rule(bin_size: object, n_bins: object, strategy: str) -> BinRule:
    """Return the rule that the options name, or raise."""
    chosen = cast("Strategy", _checks.choice("strategy", strategy, STRATEGIES))
    if bin_size is not None and (n_bins is not None or chosen == "uniform"):
        other = "n_bins" if n_bins is not None else "strategy='uniform'"
        raise ParameterError(
            f"must be left out where {other} is given, got {_checks.shown(bin_size)}", parameter="bin_size"
        )
    if n_bins is not None:
        number = _checks.whole("n_bins", n_bins, 1)
        _checks.at_most("n_bins", number, MAX_BINS)
        return BinRule(chosen, None, number)
    if chosen == "uniform":
        return BinRule(chosen, None, DEFAULT_N_BINS, by_default=True)
    return BinRule(chosen, None if bin_size is None else _checks.whole("bin_size", bin_size, 1), None)


def default_bin_size(n_pairs: int) -> int:
    """Size of adaptive bins by default: 5,000 pairs, fewer for small data, so that there are about 20 bins.

    Fewer than 100,000 pairs get smaller bins, but none below 50 pairs, where chance dominates a bin's share.
    """
    return min(DEFAULT_BIN_SIZE, max(SMALLEST_BIN, n_pairs // _BINS_OF_SMALL))


def bins_of_cells(
    sums: Sums, low: Floats, high: Floats, centre: Floats, rule: BinRule
) -> tuple[ReliabilityBins, Ints32]:
    """Bins of cells in ascending order, none of them empty, and the bin of each cell.

    `low` and `high` are the least and the largest prediction of each cell; a bin of equal width takes cells by their
    `centre`.
    """
    n = sums[0]
    n_pairs = int(n.sum())
    rule = rule.of_pairs(n_pairs)
    if rule.strategy == "uniform":
        ends = filled_ends(centre, rule.inner_edges)
    else:
        ends = np.empty(min(rule.n_ends(n_pairs), n.shape[0]), np.int64)
        ends = ends[: _kernels.adaptive_cell_ends(n, rule.bin_size or 0, rule.n_bins or 0, ends)]
    begins = np.concatenate(([0], ends[:-1]))
    n, sum_q, sum_q2, sum_y, sum_qy = (np.add.reduceat(each, begins) for each in sums)
    rest = low[begins], high[ends - 1], rule.strategy, rule.bin_size, rule.n_bins
    bins = ReliabilityBins(n, sum_q, sum_q2, sum_y, sum_qy, *rest)
    return bins, np.repeat(np.arange(ends.shape[0], dtype=np.int32), ends - begins)


def filled_ends(positions: npt.NDArray[Any], edges: npt.NDArray[Any]) -> Ints:
    """End of each bin between edges among ascending positions, empty bins left out."""
    ends = np.append(np.searchsorted(positions, edges), positions.shape[0])
    return ends[np.diff(ends, prepend=0) > 0]
