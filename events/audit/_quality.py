"""What labels say about models and about each other: precision and recall, P against labels, agreement, two rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from corefsample._arrays import Bools, Floats, Ints, Ints8
from corefsample.errors import InputError
from events.audit._documents import AuditFrame, event_and_actor
from events.audit._plan import AuditPlan
from events.audit._sheets import MISSING, NO, RESOLVED, UNSURE, YES, SheetLabels
from events.audit._strata import allocate, cut_names
from events.audit._totals import Bounds, CellCounts, Cells, Method, interval_of, target_cells
from events.rules._outcomes import ANYBODY

if TYPE_CHECKING:
    import pyarrow as pa

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
        Name of the target, and "precision" or "recall".
    estimate, lower, upper
        Estimated share and its confidence interval, in [0, 1]; NaN if there are no documents to divide by.
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
        Name of the target, and the range of P: "0.1 <= P < 0.2".
    n_documents, n_labelled
        Number of documents with P in the range, and of those in the sample.
    mean_p
        Mean P of the documents in the range.
    share, lower, upper
        Estimated share of the documents in the range that are positive, and its confidence interval.
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
        Identifier and ISO date of the document, and name of the target.
    probability, label
        P of the target in the document, and its label, "yes" or "no".
    note
        Notes of the labellers about the document, joined.
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
    r are those at which the interval of (1 - r) * found - r * missed, joined by MOVER, reaches zero.
    """
    cuts = sorted({*(() if plan.proxies else plan.cuts), THRESHOLD})
    cells = target_cells(plan, labels, target, cuts)
    counts = cells.count()
    is_high = cells.range_of_p > cuts.index(THRESHOLD) + 1
    high_p = interval_of(counts.subset(is_high), level, method)
    low_p = interval_of(counts.subset(~is_high), level, method)
    n_high = int(counts.n_documents[is_high].sum())
    name = plan.frame.targets[target]
    nan = float("nan")
    precision = (high_p.estimate / n_high, high_p.lower / n_high, high_p.upper / n_high) if n_high else (nan, nan, nan)
    return ModelQuality(name, "precision", *precision), ModelQuality(name, "recall", *_recall(high_p, low_p))


def _recall(high_p: Bounds, low_p: Bounds) -> tuple[float, float, float]:
    positive = high_p.estimate + low_p.estimate
    if positive <= 0.0:
        return float("nan"), 0.0, 1.0
    r = np.linspace(0.0, 1.0, _RECALLS + 1)
    centre = (1.0 - r) * high_p.estimate - r * low_p.estimate
    above = np.hypot((1.0 - r) * (high_p.upper - high_p.estimate), r * (low_p.estimate - low_p.lower))
    below = np.hypot((1.0 - r) * (high_p.estimate - high_p.lower), r * (low_p.upper - low_p.estimate))
    inside = np.flatnonzero((centre + above >= 0.0) & (centre - below <= 0.0))
    estimate = high_p.estimate / positive
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
        range_counts = counts.subset(cells.range_of_p == number)
        n = int(range_counts.n_documents.sum())
        if n:
            bounds = interval_of(range_counts, level, method)
            shares = (bounds.estimate / n, bounds.lower / n, bounds.upper / n)
            n_labelled = int(range_counts.n_labelled.sum())
            mean_p = float(range_counts.expected.sum()) / n
            points.append(CurvePoint(plan.frame.targets[target], name, n, n_labelled, mean_p, *shares))
    return points


def disagreements(plan: AuditPlan, labels: SheetLabels, most: int = 100) -> list[Disagreement]:
    """The documents whose labels and P disagree most: by at least one half, the largest first."""
    ranked_rows = []
    for target, name in enumerate(plan.frame.targets):
        p = plan.frame.probability(target)[plan.sample]
        target_labels = labels.labels[:, target]
        distance = np.where(target_labels < UNSURE, np.abs((target_labels == YES) - p), 0.0)
        for i in np.flatnonzero(distance >= _LEAST).tolist():
            doc_id, date = (str(each[plan.sample[i]]) for each in (plan.frame.doc_ids, plan.frame.date_texts()))
            label, note = "yes" if target_labels[i] == YES else "no", labels.notes.get(doc_id, "")
            row = Disagreement(doc_id, date, name, float(p[i]), label, note)
            ranked_rows.append((-float(distance[i]), doc_id, i, target, row))
    return [row for *_, row in sorted(ranked_rows, key=lambda each: each[:-1])[:most]]


def width_after(plan: AuditPlan, cells: Cells, n_more: int, level: float, method: Method) -> tuple[float, float]:
    """Width of the interval of the total now, and as expected after more labels with the same shares of positives.

    Open labels stay open; no more labels than there are documents left.
    """
    counts = cells.count()
    present = interval_of(counts, level, method)
    if not n_more:
        return float(present.upper - present.lower), float(present.upper - present.lower)
    sizes, spreads = zip(*((each.n_documents, each.spread) for each in plan.strata), strict=True)
    n_labelled = np.bincount(plan.stratum_of[cells.sample], minlength=len(sizes))
    later = allocate(sizes, spreads, len(cells.sample) + n_more, floor=plan.floor, earlier_labels=n_labelled)
    # A cell's labels grow as its stratum's do, with the share of positive labels so far.
    grown = np.minimum(
        counts.n_documents, np.round(counts.n_labelled * (later / np.maximum(n_labelled, 1))[cells.stratum])
    ).astype(np.int64)
    grown = np.maximum(grown, counts.n_labelled)
    share = counts.n_yes / np.maximum(counts.n_labelled - counts.n_open, 1)
    positive = np.round(share * (grown - counts.n_open)).astype(np.int64)
    later_bounds = interval_of(
        CellCounts(counts.n_documents, grown, positive, counts.n_open, counts.expected), level, method
    )
    return float(present.upper - present.lower), float(later_bounds.upper - later_bounds.lower)


_DRAWS = 20_000


@dataclass(frozen=True, slots=True)
class Agreement:
    """Agreement of two labellers on the documents that both labelled.

    Attributes
    ----------
    first, second
        Names of the labellers.
    n_documents, n_agreed
        Number of labels of documents and targets that both gave, and number of those that are the same.
    kappa, lower, upper
        Cohen's kappa and its credible interval; NaN without a common label.
    level
        Probability that the interval has, in (0, 1).
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
        Number of documents by the first and the second labeller's answer, (n_answers, n_answers).
    level
        Probability that the interval has, in (0, 1).

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
    results = []
    names = [name for name in by_labeller if name != RESOLVED]
    for first, second in combinations(names, 2):
        labels_1, labels_2 = by_labeller[first], by_labeller[second]
        both = (labels_1 != MISSING) & (labels_2 != MISSING)
        if both.any():
            answers = sorted({*labels_1[both].tolist(), *labels_2[both].tolist(), 0, 1})
            table = np.array(
                [[int(((labels_1 == a) & (labels_2 == b) & both).sum()) for b in answers] for a in answers]
            )
            kappa, lower, upper = cohen_kappa(table, level=level)
            results.append(Agreement(first, second, int(both.sum()), int(np.trace(table)), kappa, lower, upper, level))
    return results


# --- two rules beside the same labels ------------------------------------------------------------------------

_SMALLEST_P = 0.001  # of the log score: a rule says 0 and 1, and one error would cost infinity
MEASURES = ("brier", "log_score", "average_precision", "precision", "recall")

TargetKey = tuple[str, str]  # name of a rule, and the actor


@dataclass(frozen=True, slots=True, eq=False)
class LabelledCells:
    """Labels yes or no of some targets, one a cell.

    Attributes
    ----------
    documents, targets
        int64 (n,): position of the document in the plan's sample, and index of the target.
    is_positive
        bool (n,): True if the label is yes.
    weights
        float64 (n,): number of documents of the stratum divided by its number of labels of the target.
    strata
        int64 (n,): stratum of the document.
    """

    documents: Ints
    targets: Ints
    is_positive: Bools
    weights: Floats
    strata: Ints

    def __len__(self) -> int:
        return len(self.documents)


def labelled_cells(plan: AuditPlan, labels: SheetLabels, targets: Sequence[int]) -> LabelledCells:
    """The labels of some targets of a plan.

    Raises
    ------
    InputError
        If there is no yes, or no no.
    """
    target_labels = labels.labels[:, list(targets)]
    documents, columns = np.nonzero((target_labels == YES) | (target_labels == NO))
    is_positive = target_labels[documents, columns] == YES
    if not is_positive.any() or is_positive.all():
        present = "none" if not is_positive.any() else "only yes"
        raise InputError(f"labels must include yes and no, got {present if len(is_positive) else 'none of either'}")
    strata = plan.stratum_of[plan.sample[documents]]
    shape = len(plan.strata), len(targets)
    n_labelled = np.zeros(shape)
    np.add.at(n_labelled, (strata, columns), 1.0)
    sizes = np.array([each.n_documents for each in plan.strata], np.float64)
    weights = sizes[strata] / n_labelled[strata, columns]
    return LabelledCells(documents, columns, is_positive, weights, strata)


def target_keys(frame: AuditFrame) -> list[TargetKey]:
    """Rule and actor of each target of a frame."""
    pairs = (event_and_actor(frame, name) for name in frame.targets)
    return [(event, actor or ANYBODY) for event, actor in pairs]


def target_probabilities(table: pa.Table, doc_ids: Sequence[str], keys: Sequence[TargetKey]) -> Floats:
    """P of events by actors in some documents of a table of all documents: float64 (n_documents, n_keys).

    Raises
    ------
    InputError
        If the table lacks one of the documents.
    """
    row_of = {doc_id: row for row, doc_id in enumerate(doc_ids)}
    column_of = {key: column for column, key in enumerate(keys)}
    p = np.full((len(doc_ids), len(keys)), np.nan)
    columns = (table.column(name).to_pylist() for name in ("doc_id", "events", "actors", "probabilities"))
    for doc_id, *lists in zip(*columns, strict=True):
        row = row_of.get(doc_id)
        if row is None:
            continue
        p[row] = 0.0
        for event, actor, value in zip(*lists, strict=True):
            column = column_of.get((event, actor))
            if column is not None:
                p[row, column] = value
    missing = np.flatnonzero(np.isnan(p).any(axis=1))
    if missing.size:
        raise InputError(f"documents must include those of the sample, got no {doc_ids[int(missing[0])]!r}")
    return p


@dataclass(frozen=True, slots=True)
class Difference:
    """A measure of two rules on the same labels.

    Attributes
    ----------
    measure
        Name of the measure, one of MEASURES; a rule is better with a higher `log_score` and a lower `brier`.
    first, second
        Values of the measure for the first and the second rule.
    difference, lower, upper
        Value of the second rule minus that of the first, with its bootstrap interval.
    """

    measure: str
    first: float
    second: float
    difference: float
    lower: float
    upper: float


def paired_differences(
    cells: LabelledCells, first: Floats, second: Floats, *, level: float = 0.95, n_resamples: int = 2000, seed: int = 0
) -> list[Difference]:
    """Compare P of two rules, weighted by inclusion, with intervals from documents drawn again within strata.

    Parameters
    ----------
    cells
        Labels with their weights.
    first, second
        float64 (n,): P of the first and of the second rule for each label.
    level
        Probability that each interval has, in (0, 1).
    n_resamples, seed
        Number of bootstrap resamples, and their seed.
    """
    draws = bootstrap_weights(cells, n_resamples, seed)
    values = [_measures(p, cells.is_positive, draws) for p in (first, second)]
    tail = (1.0 - level) / 2.0
    results = []
    for name in MEASURES:
        of_first, of_second = (each[name] for each in values)
        difference = of_second - of_first
        finite = difference[1:][np.isfinite(difference[1:])]
        lower, upper = np.quantile(finite, [tail, 1.0 - tail]) if finite.size else (np.nan, np.nan)
        pair = float(of_first[0]), float(of_second[0]), float(difference[0])
        results.append(Difference(name, *pair, float(lower), float(upper)))
    return results


def bootstrap_weights(cells: LabelledCells, n_resamples: int, seed: int) -> Floats:
    """Weights of the cells, and those of each resample: float64 (1 + n_resamples, n).

    Documents are drawn with replacement, as many of each stratum as it has.
    """
    rng = np.random.default_rng(seed)
    documents, first, cell_of = np.unique(cells.documents, return_index=True, return_inverse=True)
    times = np.ones((1 + n_resamples, len(documents)))
    for stratum in np.unique(cells.strata):
        members = np.flatnonzero(cells.strata[first] == stratum)
        shares = np.full(len(members), 1.0 / len(members))
        times[1:, members] = rng.multinomial(len(members), shares, n_resamples)
    return np.asarray(times[:, cell_of] * cells.weights)


def _measures(p: Floats, y: Bools, weights: Floats) -> dict[str, Floats]:
    """Each measure for each row of weights: float64 (n_rows,)."""
    total = weights.sum(axis=1)
    clipped = np.clip(p, _SMALLEST_P, 1.0 - _SMALLEST_P)
    hits = weights[:, p > THRESHOLD].sum(axis=1)
    right = weights[:, (p > THRESHOLD) & y].sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return {
            "brier": weights @ (p - y) ** 2 / total,
            "log_score": weights @ np.log(np.where(y, clipped, 1.0 - clipped)) / total,
            "average_precision": average_precision(p, y, weights),
            "precision": right / hits,
            "recall": right / weights[:, y].sum(axis=1),
        }


def average_precision(p: Floats, y: Bools | Floats, weights: Floats) -> Floats:
    """Sum over thresholds of precision times the growth of recall, for each row of weights (..., n)."""
    order = np.argsort(-p, kind="stable")
    ends = np.append(np.flatnonzero(np.diff(p[order])), len(p) - 1)  # equal P are one threshold
    n_positive, n_above = (np.cumsum(each[..., order], axis=-1)[..., ends] for each in (weights * y, weights))
    with np.errstate(invalid="ignore", divide="ignore"):
        precisions = np.where(n_above > 0.0, n_positive / n_above, 0.0)
        return np.asarray((np.diff(n_positive, prepend=0.0) * precisions).sum(axis=-1) / n_positive[..., -1])
