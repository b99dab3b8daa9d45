"""The number of positive documents in strata, estimated from labels of a random sample of each stratum.

The limits of a total join those of the strata.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample._arrays import Bools, Floats, HtmlTable, Ints, Ints8, pd
from corefsample.errors import ParameterError, ParameterHint
from events.audit import _kernels
from events.audit._plan import AuditPlan
from events.audit._sheets import MISSING, UNSURE, YES, SheetLabels
from events.audit._strata import cut_classes

Method = Literal["mid-p", "exact"]

METHODS: tuple[Method, ...] = ("mid-p", "exact")
DEFAULT_METHOD: Method = "mid-p"
DEFAULT_LEVEL = 0.95
# Columns of totals that rest on more than the labels.
LEARNED = ("event", "actor", "n_docs", "n_labelled", "n_positive", "estimate", "lower", "upper", "level", "assumption")


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
    n_positive: npt.ArrayLike,
    n_labelled: npt.ArrayLike,
    n_documents: npt.ArrayLike,
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

    >>> estimate_total([1, 40], [100, 45], [1000, 50])
    TotalEstimate(estimate=54.44, lower=41, upper=90, level=0.95, method='mid-p', ...)
    """
    k, n, size = checked_strata(n_positive, n_labelled, n_documents)
    level, method = checked_interval(level, method)
    empty = np.flatnonzero((n == 0) & (size > 0))
    if empty.size:
        raise ParameterError(
            f"must be at least 1 in a stratum with documents, got 0 at index {empty[0]}", parameter="n_labelled"
        )
    used = size > 0
    estimate, lower, upper = total_interval(k[used], n[used], size[used], level, method)
    return TotalEstimate(estimate, lower, upper, level, method, int(k.sum()), int(n.sum()), int(size.sum()))


def checked_interval(level: float, method: Method) -> tuple[float, Method]:
    """Return level and method of an interval, or raise; mid-P intervals fall below other levels than .95."""
    level = _checks.probability("level", level, below_one=True, above_zero=True)
    _checks.choice("method", method, METHODS)
    if method == "mid-p" and level != DEFAULT_LEVEL:
        hint = ParameterHint("method", "exact takes other levels")
        raise ParameterError(
            f"must be {DEFAULT_LEVEL} for mid-P intervals, got {level:g}", parameter="level", hint=hint
        )
    return level, method


def checked_strata(
    n_positive: npt.ArrayLike, n_labelled: npt.ArrayLike, n_documents: npt.ArrayLike
) -> tuple[Ints, Ints, Ints]:
    """Return the numbers of strata as int64 arrays of one length, or raise."""
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
    return k, n, size


def total_interval(k: Ints, n: Ints, size: Ints, level: float, method: Method) -> tuple[float, int, int]:
    """Estimate and limits of the total of strata that all have labels."""
    # In this order of operations the estimate lies between what the labels alone imply, rounding included.
    certain_limits = int(k.sum()), int((size - n + k).sum())
    estimate = certain_limits[0] + float(((size - n) * (k / n)).sum())
    low, high = stratum_limits(k, n, size, level, method, joined=np.count_nonzero(n < size) != 1)
    lower, upper = join(size * (k / n), low, high)
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
    lower = min(np.ceil(lower - _ROUNDING * estimate), np.floor(estimate))
    upper = max(np.floor(upper + _ROUNDING * estimate), np.ceil(estimate))
    return estimate, max(certain_limits[0], int(lower)), min(certain_limits[1], int(upper))


_ROUNDING = 1e-9


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


def join(estimates: Floats, lower: Floats, upper: Floats) -> tuple[float, float]:
    """Limits of a sum from estimates and limits of its independent terms, by MOVER (Zou & Donner 2008, Eq. 3)."""
    total = float(estimates.sum())
    below = float(np.sqrt(((estimates - lower) ** 2).sum()))
    return total - below, total + float(np.sqrt(((upper - estimates) ** 2).sum()))


def gamma_limit(estimate: npt.ArrayLike, variance: npt.ArrayLike, level: float, method: str) -> Floats:
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


def is_possible(log_probability: npt.ArrayLike, level: float, method: str) -> Bools:
    """Test whether the corpus may have no other positive documents than the labelled ones.

    The smallest possible total can be divided among strata in many ways, and only one gives the labels. Its probability
    is the P value of the test, and half of it with mid-P tails.
    """
    share = 0.5 if method == "mid-p" else 1.0
    return np.asarray(share * np.exp(log_probability) > 0.5 * (1.0 - level))


@dataclass(frozen=True, slots=True, eq=False)
class CellCounts:
    """Numbers of documents and labels in cells; arrays (n_cells,).

    Attributes
    ----------
    n_documents, n_labelled
        Number of documents of each cell, and of those in the sample.
    n_yes, n_open
        Number of labels of each cell that say yes, and of labels that are missing or unsure.
    expected
        Sum of P over the documents of each cell.
    """

    n_documents: Ints
    n_labelled: Ints
    n_yes: Ints
    n_open: Ints
    expected: Floats

    def subset(self, cells: Bools) -> CellCounts:
        """Return the numbers of some cells."""
        return CellCounts(*(getattr(self, name)[cells] for name in self.__slots__))


@dataclass(frozen=True, slots=True)
class Bounds:
    """Estimate and limits of a total, with open labels counted as no, as yes, and both ways.

    Attributes
    ----------
    if_no, if_yes
        Estimate, lower and upper limit with open labels as no, and as yes.
    """

    if_no: tuple[float, int, int]
    if_yes: tuple[float, int, int]

    @property
    def estimate(self) -> float:
        """Halfway between the estimates with open labels as no and as yes."""
        return 0.5 * (self.if_no[0] + self.if_yes[0])

    @property
    def lower(self) -> int:
        """The lower limit with open labels as no."""
        return self.if_no[1]

    @property
    def upper(self) -> int:
        """The upper limit with open labels as yes."""
        return self.if_yes[2]


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
        Documents of the sample in the rounds that were read, and their labels of the target.
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


def target_cells(plan: AuditPlan, labels: SheetLabels, target: int, cuts: Sequence[float] | None = None) -> Cells:
    """Cells of one target: the strata of the plan, crossed with ranges of P of the target.

    The bounds of the ranges are by default those of the strata; strata that other models made are not crossed.
    """
    p = plan.frame.probability(target)
    ranges = p
    if cuts is None:
        cuts = plan.cuts
        ranges = np.zeros_like(p) if plan.proxies else p
    n_classes = len(cuts) + 2
    codes, cell_of = np.unique(plan.stratum_of * n_classes + cut_classes(ranges, cuts), return_inverse=True)
    begun = plan.round_of <= labels.n_rounds
    target_labels = labels.labels[begun, target]
    return Cells(cell_of.astype(np.int64), codes // n_classes, codes % n_classes, p, plan.sample[begun], target_labels)


def interval_of(counts: CellCounts, level: float, method: Method) -> Bounds:
    """Estimate and limits of the number of positive documents in some cells.

    A cell without a label adds its sum of P to the estimate, nothing to the lower limit, and all of its documents to
    the upper one.
    """
    used = counts.subset(counts.n_labelled > 0)
    empty = counts.subset(counts.n_labelled == 0)
    guess, n_empty = float(empty.expected.sum()), int(empty.n_documents.sum())
    ends = []
    for positive in (used.n_yes, used.n_yes + used.n_open) if used.n_open.any() else (used.n_yes,):
        estimate, lower, upper = 0.0, 0, 0
        if len(positive):
            estimate, lower, upper = total_interval(positive, used.n_labelled, used.n_documents, level, method)
        ends.append((estimate + guess, lower, upper + n_empty))
    return Bounds(ends[0], ends[-1])


# --- labels and learned P ----------------------------------------------------------------------------------

# Half a label of yes and half of no, as in Jeffreys' prior, are added to the variance of each stratum, with its mean P:
# labels without a surprise say little about how many there are.
HALF = 0.5


def difference_total(
    strata: Ints, rows: Ints, y: Floats, p: Floats, level: float, *, half: float = HALF
) -> tuple[float, int, int]:
    """Estimate and limits of a total by the difference estimator in a stratified random sample.

    The sum of P is corrected by the mean difference of label and P in each stratum. The limits are those of a gamma
    distribution with the mean and variance of the estimate beyond the positive labels, as in `gamma_limit`; the lower
    one is the number of positive labels if the corpus may have no others (`is_possible`).

    Parameters
    ----------
    strata
        int64 (n_documents,): stratum of each document; every stratum has at least one label.
    rows, y
        Rows of the documents of the sample, and their labels, 0 or 1.
    p
        float64 (n_documents,): P of each document, which must not depend on the document's own label.
    level
        Probability that the interval has, in (0, 1).
    half
        Number of labels of either kind that are added to the variance of each stratum.

    References
    ----------
    Cochran (1977), "Sampling Techniques", section 7.10 and Eq. 5.6 (difference estimator, by stratum); Breidt & Opsomer
    (2017), "Model-assisted survey estimation with modern prediction techniques", Statistical Science 32, section 4.
    """
    by_stratum = StratumErrors(strata, rows, y, p, half)
    n_positive, n_documents = float(y.sum()), len(strata)
    most = n_documents - (len(rows) - n_positive)  # each other document is positive
    estimate = float(np.clip(by_stratum.estimate.sum(), n_positive, most))
    if by_stratum.variance.sum() <= 0.0:
        return estimate, int(n_positive), int(n_positive)
    tail = 0.5 * (1.0 - level)
    lower, upper = by_stratum.beyond_labels(np.array([tail, 1.0 - tail]))
    lower = min(np.ceil(n_positive + lower), np.floor(estimate))
    upper = max(np.floor(n_positive + upper), np.ceil(estimate))
    return estimate, int(max(lower, n_positive)), int(min(upper, most))


def total_draws(
    strata: Ints,
    rows: Ints,
    y: Floats,
    p: Floats,
    n_draws: int,
    rng: np.random.Generator,
    unlabelled_yes: Mapping[int, Ints],
) -> Ints:
    """Draws of the number of positive documents in each stratum, whose sums have the limits of `difference_total`.

    Each stratum has draws of a gamma distribution with the mean and variance of its estimate. Their sums are then
    replaced, in their order, by draws of the total.

    Parameters
    ----------
    strata, rows, y, p
        Strata, labelled documents, labels and P: see `difference_total`.
    n_draws, rng
        Number of draws, and source of randomness.
    unlabelled_yes
        By stratum, int64 (n_draws,): draws from elsewhere of the positive documents without a label.

    Returns
    -------
    int64 (n_draws, n_strata): -1 in a stratum without a label, of which nothing is known.
    """
    by_stratum = StratumErrors(strata, rows, y, p)
    drawn = list(unlabelled_yes)
    by_stratum.estimate[drawn], by_stratum.variance[drawn] = by_stratum.yes[drawn], 0.0
    varies = by_stratum.variance > 0.0
    mean = np.maximum(by_stratum.estimate - by_stratum.yes, np.where(varies, HALF, 0.0))
    draws = np.tile(mean, (n_draws, 1))
    scale = by_stratum.variance[varies] / mean[varies]
    draws[:, varies] = rng.gamma(mean[varies] / scale, scale, (n_draws, int(varies.sum())))
    if varies.any():
        sums = draws.sum(axis=1)
        order = np.argsort(sums)
        total = by_stratum.beyond_labels((np.arange(n_draws) + rng.random(n_draws)) / n_draws)
        draws[order] *= (total / np.maximum(sums[order], 1e-300))[:, None]
    # One random number rounds all strata of a draw, so that their sum is rounded once.
    ends = np.floor(draws.cumsum(axis=1) + rng.random((n_draws, 1)))
    counts = by_stratum.yes + np.diff(ends, axis=1, prepend=0.0).astype(np.int64)
    counts[:, by_stratum.n == 0] = -1
    for stratum, draws_of_stratum in unlabelled_yes.items():
        counts[:, stratum] = by_stratum.yes[stratum] + draws_of_stratum
    return np.asarray(np.minimum(counts, by_stratum.size - (by_stratum.n - by_stratum.yes)))


class StratumErrors:
    """The difference estimator by stratum; strata without a document are 0 throughout.

    Attributes
    ----------
    size, n, yes
        int64 (n_strata,): number of documents, of labels, and of labels of yes.
    estimate, variance
        float64 (n_strata,): estimate of the number of positive documents, and its variance; the sum of P and 0 in a
        stratum without a label.
    added_variance
        float64 (n_strata,): the share of the variance that comes from the `half` labels of either kind.
    """

    def __init__(self, strata: Ints, rows: Ints, y: Floats, p: Floats, half: float = HALF) -> None:
        n_strata = int(strata.max()) + 1
        of_sample, error = strata[rows], y - p[rows]
        self.size, self.n = np.bincount(strata), np.bincount(of_sample, minlength=n_strata)
        self.yes = np.bincount(of_sample, y, n_strata).astype(np.int64)
        labels, documents = np.maximum(self.n, 1), np.maximum(self.size, 1)
        mean = np.bincount(of_sample, error, n_strata) / labels
        squares = np.bincount(of_sample, error**2, n_strata) - self.n * mean**2
        sums = np.bincount(strata, p, n_strata)
        share = sums / documents
        added = half * ((1.0 - share) ** 2 + share**2)
        self.estimate: Floats = sums + self.size * mean
        factor = self.size**2 * (1.0 - self.n / documents) / labels / (labels - 1.0 + 2.0 * half)
        self.variance: Floats = np.where(self.n > 0, factor * (squares + added), 0.0)
        self.added_variance: Floats = np.where(self.n > 0, factor * added, 0.0)

    def beyond_labels(self, u: Floats) -> Floats:
        """Quantiles of the total less the positive labels: lower limits for u below one half, upper limits above."""
        from scipy.special import gammaincinv

        beyond = max(float((self.estimate - self.yes).sum()), 0.5)
        scale = self.variance.sum() / beyond
        limits = np.asarray(scale * gammaincinv(beyond / scale + 0.5 * (u > 0.5), u))
        varies = self.variance > 0.0
        all_labelled = log_share_sampled(self.yes[varies], self.n[varies], self.size[varies]).sum()
        # The positive labels may be all positive documents.
        limits[[each <= 0.5 and bool(is_possible(all_labelled, 1.0 - 2.0 * each, DEFAULT_METHOD)) for each in u]] = 0.0
        return limits
