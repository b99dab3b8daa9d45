"""What labels say about the model and about each other: precision and recall, P against labels, agreement."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from corefsample._arrays import Floats, Ints8
from events.audit._plan import AuditPlan, allocate, cut_names
from events.audit._sheets import MISSING, RESOLVED, UNSURE, YES, SheetLabels
from events.audit._totals import Bounds, CellCounts, Cells, Method, interval_of, target_cells

THRESHOLD = 0.5
_CURVE = tuple(round(0.1 * i, 1) for i in range(1, 10))
_RECALLS = 2000  # of the grid on which limits of recall are searched
_LEAST = 0.5  # distance between P and label of a disagreement


@dataclass(frozen=True, slots=True)
class ModelQuality:
    """Precision or recall of the documents with P >= 0.5.

    Attributes
    ----------
    target, measure
        The target, and "precision" or "recall".
    estimate, lower, upper
        Share, with its confidence interval; NaN where nothing is to be divided.
    """

    target: str
    measure: str
    estimate: float
    lower: float
    upper: float


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """P against labels in one range of P.

    Attributes
    ----------
    target, range_of_p
        The target, and the range: "0.1 <= P < 0.2".
    n_documents, n_labelled
        Documents with P in the range, and those of the sample.
    mean_p
        Mean P of the documents.
    share, lower, upper
        Share of them that are positive, with its confidence interval.
    """

    target: str
    range_of_p: str
    n_documents: int
    n_labelled: int
    mean_p: float
    share: float
    lower: float
    upper: float


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A document whose label and P disagree.

    Attributes
    ----------
    doc_id, date, target
        Which label.
    probability, label
        P, and "yes" or "no".
    note
        Of the labellers.
    """

    doc_id: str
    date: str
    target: str
    probability: float
    label: str
    note: str


def model_quality(
    plan: AuditPlan, labels: SheetLabels, target: int, level: float, method: Method
) -> tuple[ModelQuality, ModelQuality]:
    """Precision and recall of the documents with P >= 0.5, with intervals.

    Positives found and positives missed lie in different strata or cells, so they are independent. The limits of recall
    r are those at which the interval of (1 - r) found - r missed, joined by MOVER, reaches zero.
    """
    cuts = sorted({*plan.cuts, THRESHOLD})
    cells = target_cells(plan, labels, target, cuts)
    counts = cells.count()
    is_high = cells.range_of_p > cuts.index(THRESHOLD) + 1
    found = interval_of(counts.chosen(is_high), level, method)
    missed = interval_of(counts.chosen(~is_high), level, method)
    n_high = int(counts.n_documents[is_high].sum())
    name = plan.frame.targets[target]
    nan = float("nan")
    precision = (found.estimate / n_high, found.lower / n_high, found.upper / n_high) if n_high else (nan, nan, nan)
    return ModelQuality(name, "precision", *precision), ModelQuality(name, "recall", *_recall(found, missed))


def _recall(found: Bounds, missed: Bounds) -> tuple[float, float, float]:
    positive = found.estimate + missed.estimate
    if positive <= 0.0:
        return float("nan"), 0.0, 1.0
    r = np.linspace(0.0, 1.0, _RECALLS + 1)
    centre = (1.0 - r) * found.estimate - r * missed.estimate
    above = np.hypot((1.0 - r) * (found.upper - found.estimate), r * (missed.estimate - missed.lower))
    below = np.hypot((1.0 - r) * (found.estimate - found.lower), r * (missed.upper - missed.estimate))
    inside = np.flatnonzero((centre + above >= 0.0) & (centre - below <= 0.0))
    estimate = found.estimate / positive
    if not inside.size:
        return estimate, estimate, estimate
    return (
        estimate,
        min(estimate, float(r[max(inside[0] - 1, 0)])),
        max(estimate, float(r[min(inside[-1] + 1, _RECALLS)])),
    )


def probability_curve(
    plan: AuditPlan, labels: SheetLabels, target: int, level: float, method: Method
) -> list[CurvePoint]:
    """Share of positive documents by range of P: 0, and tenths; ranges without documents are left out."""
    cells = target_cells(plan, labels, target, _CURVE)
    counts = cells.count()
    points = []
    for number, name in enumerate(cut_names(_CURVE)):
        own = counts.chosen(cells.range_of_p == number)
        n = int(own.n_documents.sum())
        if n:
            bounds = interval_of(own, level, method)
            shares = (bounds.estimate / n, bounds.lower / n, bounds.upper / n)
            n_labelled = int(own.n_labelled.sum())
            mean_p = float(own.expected.sum()) / n
            points.append(CurvePoint(plan.frame.targets[target], name, n, n_labelled, mean_p, *shares))
    return points


def disagreements(plan: AuditPlan, labels: SheetLabels, most: int = 100) -> list[Disagreement]:
    """The documents whose labels and P disagree most: by at least one half, the largest first."""
    found = []
    for target, name in enumerate(plan.frame.targets):
        p = plan.frame.probability(target)[plan.sample]
        own = labels.labels[:, target]
        distance = np.where(own < UNSURE, np.abs((own == YES) - p), 0.0)
        for i in np.flatnonzero(distance >= _LEAST).tolist():
            doc_id, date = (str(each[plan.sample[i]]) for each in (plan.frame.doc_ids, plan.frame.date_texts()))
            label, note = "yes" if own[i] == YES else "no", labels.notes.get(doc_id, "")
            row = Disagreement(doc_id, date, name, float(p[i]), label, note)
            found.append((-float(distance[i]), doc_id, i, target, row))
    return [row for *_, row in sorted(found, key=lambda each: each[:-1])[:most]]


def width_after(plan: AuditPlan, cells: Cells, n_more: int, level: float, method: Method) -> tuple[float, float]:
    """Width of the interval of the total now, and as expected after more labels with the same shares of positives.

    Open labels stay open; no more labels than there are documents left.
    """
    counts = cells.count()
    now = interval_of(counts, level, method)
    if not n_more:
        return float(now.upper - now.lower), float(now.upper - now.lower)
    sizes, spreads = zip(*((each.n_documents, each.spread) for each in plan.strata), strict=True)
    taken = np.bincount(plan.stratum_of[cells.sample], minlength=len(sizes))
    later = allocate(sizes, spreads, len(cells.sample) + n_more, floor=plan.floor, taken=taken)
    # A cell's labels grow as its stratum's do, with the share of positive labels so far.
    grown = np.minimum(
        counts.n_documents, np.round(counts.n_labelled * (later / np.maximum(taken, 1))[cells.stratum])
    ).astype(np.int64)
    grown = np.maximum(grown, counts.n_labelled)
    share = counts.n_yes / np.maximum(counts.n_labelled - counts.n_open, 1)
    positive = np.round(share * (grown - counts.n_open)).astype(np.int64)
    after = interval_of(CellCounts(counts.n_documents, grown, positive, counts.n_open, counts.expected), level, method)
    return float(now.upper - now.lower), float(after.upper - after.lower)


_DRAWS = 20_000


@dataclass(frozen=True, slots=True)
class Agreement:
    """Agreement of two labellers on the documents that both labelled.

    Attributes
    ----------
    first, second
        Names of the labellers.
    n_documents, n_agreed
        Labels that both gave, of all targets, and those that are the same.
    kappa, lower, upper
        Cohen's kappa and its interval; NaN without a common label.
    level
        Of the interval.
    """

    first: str
    second: str
    n_documents: int
    n_agreed: int
    kappa: float
    lower: float
    upper: float
    level: float


def cohen_kappa(table: npt.ArrayLike, *, level: float = 0.95) -> tuple[float, float, float]:
    """Cohen's kappa of a square table of two labellers' answers, with a credible interval.

    The interval is that of the posterior under a Dirichlet prior with 1/2 in every cell, from 20,000 draws with a fixed
    seed. Unlike intervals from a standard error, it has a width where the labellers always agree.

    Parameters
    ----------
    table
        Whole numbers (n_answers, n_answers): documents by the first and the second labeller's answer.
    level
        Of the interval, in (0, 1).

    Returns
    -------
    kappa, lower, upper
        Kappa is 1 where both always give the same one answer, and NaN for an empty table.

    References
    ----------
    Cohen (1960), "A coefficient of agreement for nominal scales", Educational and Psychological Measurement 20, Eq. 1.

    Examples
    --------
    >>> cohen_kappa([[20, 5], [10, 15]])[0]
    0.4
    """
    counts = np.asarray(table)
    if not counts.sum():
        return float("nan"), float("nan"), float("nan")
    shares = np.random.default_rng(0).dirichlet(counts.ravel() + 0.5, _DRAWS).reshape(-1, *counts.shape)
    tail = 0.5 * (1.0 - level)
    lower, upper = np.quantile(_kappa(shares), [tail, 1.0 - tail])
    kappa = float(_kappa(counts[None] / counts.sum())[0])
    return round(kappa, 12), min(kappa, float(lower)), max(kappa, float(upper))


def _kappa(shares: Floats) -> Floats:
    agreed = np.trace(shares, axis1=1, axis2=2)
    by_chance = (shares.sum(axis=1) * shares.sum(axis=2)).sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(by_chance < 1.0, (agreed - by_chance) / (1.0 - by_chance), 1.0)


def agreements(by_labeller: Mapping[str, Ints8], level: float) -> list[Agreement]:
    """Agreement of every two labellers who labelled a document both."""
    found = []
    names = [name for name in by_labeller if name != RESOLVED]
    for first, second in combinations(names, 2):
        one, other = by_labeller[first], by_labeller[second]
        both = (one != MISSING) & (other != MISSING)
        if both.any():
            answers = sorted({*one[both].tolist(), *other[both].tolist(), 0, 1})
            table = np.array([[int(((one == a) & (other == b) & both).sum()) for b in answers] for a in answers])
            kappa, lower, upper = cohen_kappa(table, level=level)
            found.append(Agreement(first, second, int(both.sum()), int(np.trace(table)), kappa, lower, upper, level))
    return found
