"""The number of positive documents in strata, estimated from labels of a random sample of each stratum.

The limits of a total join those of the strata.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from corefsample import _checks
from corefsample._arrays import Bools, Floats, HtmlTable, Ints, pd
from corefsample.errors import ParameterError, ParameterHint
from events.audit import _kernels
from events.audit._plan import AuditPlan
from events.audit._sheets import UNSURE, YES, SheetLabels
from events.audit._strata import DIVISIONS, cut_classes, target_strata

Method = Literal["mid-p", "exact"]

METHODS: tuple[Method, ...] = ("mid-p", "exact")
DEFAULT_METHOD: Method = "mid-p"


@dataclass(frozen=True, slots=True, repr=False)
class TotalEstimate(HtmlTable):
    """A number of positive documents, estimated from labels.

    Attributes
    ----------
    estimate
        The stratified estimate, the sum over strata of n_documents * n_positive / n_labelled.
    lower, upper
        Confidence interval of the number of positive documents, in whole numbers.
    level, method
        Level and method of the interval.
    n_positive, n_labelled, n_documents
        Number of positive labels, labels and documents of all strata.
    """

    estimate: float
    lower: int
    upper: int
    level: float
    method: Method
    n_positive: int
    n_labelled: int
    n_documents: int

    @property
    def width(self) -> int:
        """Length of the interval."""
        return self.upper - self.lower

    def to_frame(self) -> pd.DataFrame:
        """Table of one row with the fields as columns."""
        return pd.DataFrame([{name: getattr(self, name) for name in self.__slots__}])


def estimate_total(
    n_positive: np.typing.ArrayLike,
    n_labelled: np.typing.ArrayLike,
    n_documents: np.typing.ArrayLike,
    *,
    level: float = 0.95,
    method: Method = DEFAULT_METHOD,
) -> TotalEstimate:
    """Estimate how many documents are positive, from labels of a random sample of each stratum.

    The interval needs one assumption: within each stratum the labelled documents are a simple random sample without
    replacement, and their labels are right. The quality of the model whose probabilities divided the documents into
    strata affects the width of the interval, but not its coverage.

    Parameters
    ----------
    n_positive, n_labelled, n_documents
        Whole numbers, (n_strata,): positive labels, labels, and documents of each stratum;
        0 <= n_positive <= n_labelled <= n_documents, and at least one label in a stratum with documents.
    level
        Level of the confidence interval, in (0, 1). The method ``"mid-p"`` accepts only .95, the default.
    method
        Method of the interval:

        ``"mid-p"`` (the default)
            The hypergeometric interval of each stratum, with half of the probability of the observed number in each
            tail, joined by MOVER; the exact interval of Blaker's test if there is one stratum. The narrowest that holds
            its level in the study, at .95: docs/audit.md.
        ``"exact"``
            The exact hypergeometric interval of each stratum with equal tails, joined by MOVER. Where it holds its
            level is said in docs/audit.md.

    Raises
    ------
    ParameterError
        If lengths differ, there is no stratum, a number violates the inequalities above, `method` is unknown, or
        `level` is outside (0, 1) or not .95 for ``"mid-p"``.

    References
    ----------
    Blaker (2000), "Confidence curves and improved exact confidence intervals for discrete distributions", Canadian
    Journal of Statistics 28, section 3. Zou & Donner (2008), "Construction of confidence limits about effect measures:
    a general approach", Statistics in Medicine 27, section 2 (MOVER). Fay & Feuer (1997): see `gamma_limit`. Stark
    (2020).

    Examples
    --------
    There are 1,000 documents with P = 0 and 100 labels, of which one is positive; and 50 others, with 40 of 45.

    >>> total = estimate_total([1, 40], [100, 45], [1000, 50])
    >>> round(total.estimate, 2), total.lower, total.upper
    (54.44, 41, 90)
    """
    k, n = _checks.integers("n_positive", n_positive), _checks.integers("n_labelled", n_labelled)
    size = _checks.integers("n_documents", n_documents)
    for name, values in (("n_labelled", n), ("n_documents", size)):
        if len(values) != len(k):
            raise ParameterError(f"must have the length of n_positive, {len(k)}, got {len(values)}", parameter=name)
    if not len(k):
        raise ParameterError("must have at least one stratum, got none", parameter="n_positive")
    for name, values, above, most in (("n_positive", k, "n_labelled", n), ("n_labelled", n, "n_documents", size)):
        wrong = np.flatnonzero((values < 0) | (values > most))
        if wrong.size:
            h = int(wrong[0])
            rule = f"must lie between 0 and {above}, {most[h]}"
            raise ParameterError(f"{rule}, got {values[h]} at index {h}", parameter=name)
    level, method = checked_interval(level, method)
    empty = np.flatnonzero((n == 0) & (size > 0))
    if empty.size:
        rule = "must be at least 1 in a stratum with documents"
        raise ParameterError(f"{rule}, got 0 at index {empty[0]}", parameter="n_labelled")
    used = size > 0
    estimate, lower, upper = total_interval(k[used], n[used], size[used], level, method)
    return TotalEstimate(estimate, lower, upper, level, method, int(k.sum()), int(n.sum()), int(size.sum()))


def checked_interval(level: float, method: Method) -> tuple[float, Method]:
    """Return level and method of an interval, or raise; mid-P intervals fall below other levels than .95."""
    level = _checks.probability("level", level, below_one=True, above_zero=True)
    _checks.choice("method", method, METHODS)
    if method == "mid-p" and level != 0.95:
        hint = ParameterHint("method", "exact takes other levels")
        raise ParameterError(f"must be 0.95 for mid-P intervals, got {level:g}", parameter="level", hint=hint)
    return level, method


def total_interval(k: Ints, n: Ints, size: Ints, level: float, method: Method) -> tuple[float, int, int]:
    """Estimate and limits of the total of strata that all have labels."""
    # In this order of operations the estimate lies between what the labels alone imply, rounding included.
    certain_limits = int(k.sum()), int((size - n + k).sum())
    estimate = certain_limits[0] + float(((size - n) * (k / n)).sum())
    low, high = stratum_limits(k, n, size, level, method, joined=np.count_nonzero(n < size) != 1)
    # MOVER (Zou & Donner 2008, Eq. 3): distances of independent terms from their limits add up in squares.
    estimates = size * (k / n)
    lower = float(estimates.sum()) - float(np.sqrt(((estimates - low) ** 2).sum()))
    upper = float(estimates.sum()) + float(np.sqrt(((high - estimates) ** 2).sum()))
    # MOVER alone is too short towards zero where few positive labels are spread over several strata.
    variance = size * (k / n) * (1.0 - k / n) * (size / n - 1.0)
    if np.count_nonzero(variance) > 1:
        total = float(size.sum())
        spread = float(variance.sum())
        lower = min(lower, float(gamma_limit(estimate, spread, level, method)))
        upper = max(upper, total - float(gamma_limit(total - estimate, spread, level, method)))
        if is_possible(log_share_sampled(k, n, size).sum(), level, method):
            lower = float(certain_limits[0])
        if is_possible(log_share_sampled(n - k, n, size).sum(), level, method):
            upper = float(certain_limits[1])
    # The total is a whole number: rounding inwards leaves out none that lies in the interval. A short interval may have
    # none, and is widened to the nearest that hold the estimate.
    lower = min(np.ceil(lower - 1e-9 * estimate), np.floor(estimate))
    upper = max(np.floor(upper + 1e-9 * estimate), np.ceil(estimate))
    return estimate, max(certain_limits[0], int(lower)), min(certain_limits[1], int(upper))


def stratum_limits(
    k: Ints, n: Ints, size: Ints, level: float, method: Method, *, joined: bool = True
) -> tuple[Floats, Floats]:
    """Limits of the number of positive documents of each stratum: float64 (n_strata,) each.

    Mid-P tails alone would not hold the level everywhere in one stratum, where nothing is joined: it has Blaker's.
    """
    kind = _kernels.EQUAL if method == "exact" else _kernels.MID if joined else _kernels.BLAKER
    lower, upper = np.empty(len(k)), np.empty(len(k))
    _kernels.limits(k, size, n, 1.0 - level, kind, lower, upper)
    return lower, upper


def gamma_limit(estimate: np.typing.ArrayLike, variance: np.typing.ArrayLike, level: float, method: str) -> Floats:
    """Lower limit of a weighted sum of counts: the quantile of a gamma distribution with its mean and variance.

    With mid-P tails half a count is added, as in the middle between P(X >= k) and P(X > k) of a Poisson count.
    It keeps the skewness of a sum of few counts, which MOVER loses (Fay & Feuer 1997, "Confidence intervals for
    directly standardized rates", Statistics in Medicine 16, Eq. 5, with the variance of stratified sampling).
    """
    from scipy.special import gammaincinv

    mean, spread = np.asarray(estimate, np.float64), np.asarray(variance, np.float64)
    scale = spread / mean
    half = 0.5 if method == "mid-p" else 0.0
    return np.asarray(scale * gammaincinv(mean / scale + half, 0.5 * (1.0 - level)))


def log_share_sampled(k: Ints, n: Ints, size: Ints) -> Floats:
    """Logarithm of the probability that all positive documents of a stratum are labelled, if there are only k."""
    from scipy.special import gammaln

    # C(n, k) / C(N, k)
    return np.asarray(gammaln(n + 1.0) - gammaln(n - k + 1.0) - gammaln(size + 1.0) + gammaln(size - k + 1.0))


def is_possible(log_probability: np.typing.ArrayLike, level: float, method: str) -> Bools:
    """Test whether the corpus may have no other positive documents than the labelled ones.

    The smallest possible total can be divided among strata in many ways, and only one gives the labels. Its probability
    is the P value of the test, and half of it with mid-P tails.
    """
    share = 0.5 if method == "mid-p" else 1.0
    return np.asarray(share * np.exp(log_probability) > 0.5 * (1.0 - level))


# --- cells of a plan ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class CellCounts:
    """Numbers of documents and labels in cells; arrays (n_cells,).

    Attributes
    ----------
    mean_p, classes
        Mean P of each cell, and shares of `CLASSES` among its documents with P of .5 or less, float64 (n_cells, 3).
    n_documents, n_labelled
        Number of documents of each cell, and of those in the sample.
    n_yes, n_open
        Number of labels of each cell that say yes, and of labels that are missing or unsure.
    """

    mean_p: Floats
    classes: Floats
    n_documents: Ints
    n_labelled: Ints
    n_yes: Ints
    n_open: Ints

    def subset(self, cells: Bools) -> CellCounts:
        """Return the numbers of some cells."""
        return CellCounts(*(getattr(self, name)[cells] for name in self.__slots__))


def cell_counts(
    plan: AuditPlan,
    labels: SheetLabels,
    target: int,
    cuts: Sequence[float] | None = None,
    *,
    group_of: Ints | None = None,
    n_groups: int = 1,
) -> list[CellCounts]:
    """Numbers of one target in cells: the strata of the plan, crossed with ranges of P of the target, or its classes.

    Parameters
    ----------
    plan, labels, target
        Plan of the audit, labels of its sample, and index of the target.
    cuts
        Bounds of the ranges; by default those of the strata; strata that other models made are then not crossed.
    group_of, n_groups
        int64 (n_documents,): group of each document, such as its period, and number of groups; by default one group.

    Returns
    -------
    list of CellCounts
        The same cells for every group.
    """
    p = plan.frame.probability(target)
    ranges = np.zeros_like(plan.stratum_of)
    if plan.has_classes:
        ranges = plan.frame.divisions(target)
        if plan.cuts:
            ranges = ranges + len(DIVISIONS) * cut_classes(p, plan.cuts)
    elif cuts is not None or not plan.proxies:
        ranges = cut_classes(p, plan.cuts if cuts is None else cuts)
    cells, code = np.unique(plan.stratum_of * (ranges.max() + 1) + ranges, return_inverse=True)
    if group_of is not None:
        code = group_of * len(cells) + code
    begun = plan.round_of <= labels.n_rounds  # later rounds count as not drawn
    target_labels, sampled = labels.labels[begun, target], code[plan.sample[begun]]
    n = n_groups * len(cells)
    sizes, mean_p, classes = target_strata(plan.frame, target, code, n)
    counted = sampled, sampled[target_labels == YES], sampled[target_labels >= UNSURE]
    numbers = mean_p, classes, sizes, *(np.bincount(codes, minlength=n) for codes in counted)
    parts = zip(*(np.split(each, n_groups) for each in numbers), strict=True)
    return [CellCounts(*of_group) for of_group in parts]


class Bounds(NamedTuple):
    """Estimate and limits of a total: open labels are no in the lower limit, and yes in the upper one.

    The estimate is halfway between `if_no` and `if_yes`, the estimates with all open labels as no, and as yes.
    """

    estimate: float
    lower: int
    upper: int
    if_no: float
    if_yes: float


def interval_of(counts: CellCounts, level: float, method: Method) -> Bounds:
    """Estimate and limits of the number of positive documents in some cells.

    A cell without a label adds its sum of P to the estimate, nothing to the lower limit, and all of its documents to
    the upper one.
    """
    used = counts.subset(counts.n_labelled > 0)
    empty = counts.subset(counts.n_labelled == 0)
    guess, n_empty = float(empty.mean_p @ empty.n_documents), int(empty.n_documents.sum())
    ends = []
    for positive in (used.n_yes, used.n_yes + used.n_open) if used.n_open.any() else (used.n_yes,):
        estimate, lower, upper = 0.0, 0, 0
        if len(positive):
            estimate, lower, upper = total_interval(positive, used.n_labelled, used.n_documents, level, method)
        ends.append((estimate + guess, lower, upper + n_empty))
    if_no, if_yes = ends[0][0], ends[-1][0]
    return Bounds(0.5 * (if_no + if_yes), ends[0][1], ends[-1][2], if_no, if_yes)
