"""How pairs are to be binned, and the bins of cells: fine bins of which only sums are known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np

from corefsample import _checks
from corefsample.calibration.binning import _kernels
from corefsample.calibration.binning._bins import STRATEGIES, ReliabilityBins, Strategy
from corefsample.calibration.binning._rows import Floats, Ints
from corefsample.errors import ParameterError

DEFAULT_BIN_SIZE = 5000
DEFAULT_N_BINS = 15  # of equal width
MAX_BINS = 10_000_000

Sums = tuple[Ints, Floats, Floats, Floats, Floats]  # n, sum_q, sum_q2, sum_y, sum_qy


@dataclass(frozen=True, slots=True)
class BinRule:
    """How pairs are to be binned; one of `bin_size` and `n_bins` is None."""

    strategy: Strategy
    bin_size: int | None
    n_bins: int | None
    asked: bool  # n_bins was asked for, and is not the default

    def require(self, n_pairs: int) -> None:
        """Refuse fewer pairs than the bins that were asked for."""
        if self.asked and self.n_bins is not None and self.n_bins > n_pairs:
            raise ParameterError(f"n_bins must be at most the number of pairs ({n_pairs}), got {self.n_bins}")

    def n_ends(self, n_pairs: int) -> int:
        """Largest number of bins that there can be."""
        return self.n_bins if self.n_bins is not None else n_pairs // cast("int", self.bin_size) + 1


def bin_rule(bin_size: object, n_bins: object, strategy: str) -> BinRule:
    """Return the rule that the options name, or refuse them."""
    chosen = cast("Strategy", _checks.choice("strategy", strategy, STRATEGIES))
    if bin_size is not None and (n_bins is not None or chosen == "uniform"):
        against = "n_bins" if n_bins is not None else "strategy='uniform'"
        raise ParameterError(f"bin_size must be left out where {against} is given, got {_checks.shown(bin_size)}")
    if n_bins is not None:
        number = _checks.whole("n_bins", n_bins, 1)
        _checks.at_most("n_bins", number, MAX_BINS)
        return BinRule(chosen, None, number, asked=True)
    if chosen == "uniform":
        return BinRule(chosen, None, DEFAULT_N_BINS, asked=False)
    return BinRule(
        chosen, DEFAULT_BIN_SIZE if bin_size is None else _checks.whole("bin_size", bin_size, 1), None, False
    )


def inner_edges(rule: BinRule) -> Floats:
    """Edges between bins of equal width."""
    n_bins = cast("int", rule.n_bins)
    return np.arange(1, n_bins) / n_bins


def cell_ends(n: Ints, rule: BinRule, centre: Floats) -> Ints:
    """End of each bin among cells in ascending order, none empty; an equal-width bin takes cells by their centre."""
    rule.require(int(n.sum()))
    if rule.strategy == "uniform":
        ends = np.append(np.searchsorted(centre, inner_edges(rule)), n.shape[0])
        return ends[np.diff(ends, prepend=0) > 0]
    ends = np.empty(min(rule.n_ends(int(n.sum())), n.shape[0]), np.int64)
    return ends[: _kernels.adaptive_cell_ends(n, rule.bin_size or 0, rule.n_bins or 0, ends)].copy()


def bins_of_cells(sums: Sums, low: Floats, high: Floats, ends: Ints, rule: BinRule) -> ReliabilityBins:
    """Add up cells between ends; `low` and `high` are the least and the largest prediction of each cell."""
    begins = np.concatenate(([0], ends[:-1]))
    n, sum_q, sum_q2, sum_y, sum_qy = (np.add.reduceat(each, begins) for each in sums)
    asked = rule.strategy, rule.bin_size, rule.n_bins
    return ReliabilityBins(n, sum_q, sum_q2, sum_y, sum_qy, low[begins], high[ends - 1], *asked)
