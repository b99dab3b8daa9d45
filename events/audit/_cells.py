"""Numbers of positive labels, labels and documents in cells: strata of the plan, crossed with ranges of P and periods.

Within a stratum the sample is a simple random one; given how many of its documents lie in a cell, those are a simple
random sample of the cell. So intervals of cells hold exactly, whatever the cells are, as long as labels do not choose
them (post-stratification: Holt & Smith 1979, "Post stratification", JRSS A 142, section 2).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from corefsample._arrays import Bools, Floats, Ints, Ints8
from events.audit._plan import AuditPlan
from events.audit._sheets import MISSING, UNSURE, YES, SheetLabels
from events.audit._strata import cut_classes
from events.audit._totals import Method, total_interval


@dataclass(frozen=True, slots=True, eq=False)
class CellCounts:
    """Numbers of the cells of one quantity; arrays (n_cells,).

    Attributes
    ----------
    n_documents, n_labelled
        Documents, and those of the sample.
    n_yes, n_open
        Labels that say yes, and those that are missing or unsure.
    expected
        Sum of P.
    """

    n_documents: Ints
    n_labelled: Ints
    n_yes: Ints
    n_open: Ints
    expected: Floats

    def chosen(self, cells: Bools) -> CellCounts:
        """The numbers of some cells."""
        return CellCounts(*(getattr(self, name)[cells] for name in self.__slots__))


@dataclass(frozen=True, slots=True)
class Bounds:
    """Estimate and limits of a total, with open labels counted as no, as yes, and both ways.

    Attributes
    ----------
    estimate
        Halfway between the estimates with open labels as no and as yes.
    lower, upper
        The lower limit with open labels as no, and the upper limit with open labels as yes.
    if_no, if_yes
        Estimate, lower and upper limit each way.
    """

    estimate: float
    lower: int
    upper: int
    if_no: tuple[float, int, int]
    if_yes: tuple[float, int, int]


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """The documents of a plan in cells, for one target.

    Attributes
    ----------
    cell_of
        int64 (n_documents,): cell of each document.
    stratum, range_of_p
        int64 (n_cells,): stratum and class of P of each cell.
    p
        P of the target in each document.
    sample, labels
        Documents of the sample in the rounds that were begun, and their labels of the target.
    """

    cell_of: Ints
    stratum: Ints
    range_of_p: Ints
    p: Floats
    sample: Ints
    labels: Ints8

    def counts(self, group_of: Ints, n_groups: int) -> list[CellCounts]:
        """Numbers of every cell within each group of documents, such as a period."""
        n_cells = len(self.stratum)
        code = group_of * n_cells + self.cell_of
        sampled = code[self.sample]
        is_open = (self.labels == UNSURE) | (self.labels == MISSING)
        counted = code, sampled, sampled[self.labels == YES], sampled[is_open]
        sums = [np.bincount(each, minlength=n_groups * n_cells) for each in counted]
        sums.append(np.bincount(code, self.p, minlength=n_groups * n_cells))
        return [CellCounts(*of_group) for of_group in zip(*(each.reshape(n_groups, -1) for each in sums), strict=True)]

    def count(self) -> CellCounts:
        """Numbers of every cell."""
        return self.counts(np.zeros(len(self.cell_of), np.int64), 1)[0]


def target_cells(plan: AuditPlan, labels: SheetLabels, target: int, cuts: Sequence[float]) -> Cells:
    """Cells of one target: the strata of the plan, crossed with ranges of the target's own P."""
    p = plan.frame.probability(target)
    n_classes = len(cuts) + 2
    codes, cell_of = np.unique(plan.stratum_of * n_classes + cut_classes(p, cuts), return_inverse=True)
    begun = plan.round_of <= labels.n_rounds
    own = labels.labels[begun, target]
    return Cells(cell_of.astype(np.int64), codes // n_classes, codes % n_classes, p, plan.sample[begun], own)


def interval_of(counts: CellCounts, level: float, method: Method) -> Bounds:
    """Estimate and limits of the number of positive documents in some cells.

    A cell without a label adds its sum of P to the estimate, nothing to the lower limit, and all of its documents to
    the upper one.
    """
    used = counts.chosen(counts.n_labelled > 0)
    empty = counts.chosen(counts.n_labelled == 0)
    guess, n_empty = float(empty.expected.sum()), int(empty.n_documents.sum())
    ways = []
    for positive in (used.n_yes, used.n_yes + used.n_open):
        estimate, lower, upper = 0.0, 0, 0
        if len(positive):
            estimate, lower, upper = total_interval(positive, used.n_labelled, used.n_documents, level, method)
        ways.append((estimate + guess, lower, upper + n_empty))
        if not used.n_open.any():
            ways.append(ways[0])
            break
    if_no, if_yes = ways[0], ways[1]
    return Bounds(0.5 * (if_no[0] + if_yes[0]), if_no[1], if_yes[2], if_no, if_yes)
