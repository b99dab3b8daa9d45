"""What labels say about models and about each other: precision and recall, P against labels, agreement."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations

import numpy as np
import numpy.typing as npt

from corefsample._arrays import Floats, Ints8, pd
from events.audit._plan import AuditPlan
from events.audit._sheets import MISSING, RESOLVED, UNSURE, YES, SheetLabels
from events.audit._strata import allocate, cut_names
from events.audit._totals import Bounds, CellCounts, Cells, Method, interval_of, target_cells

THRESHOLD = 0.5
_CURVE = tuple(round(0.1 * i, 1) for i in range(1, 10))
_RECALLS = 2000  # of the grid on which limits of recall are searched
_N_MORE = 100
_LEAST = 0.5  # distance between P and label of a disagreement


def model_quality(plan: AuditPlan, labels: SheetLabels, level: float, method: Method) -> pd.DataFrame:
    """Precision and recall of the documents with P >= 0.5, with intervals: see `AuditEstimate.quality`.

    Positives found and positives missed lie in different strata or cells, so they are independent. The limits of recall
    r are those at which the interval of (1 - r) * found - r * missed, joined by MOVER, reaches zero.
    """
    cuts, rows = sorted({*(() if plan.proxies else plan.cuts), THRESHOLD}), []
    for target, name in enumerate(plan.frame.targets):
        cells = target_cells(plan, labels, target, cuts)
        counts = cells.count()
        is_high = cells.range_of_p > cuts.index(THRESHOLD) + 1
        high_p = interval_of(counts.subset(is_high), level, method)
        low_p = interval_of(counts.subset(~is_high), level, method)
        n_high = int(counts.n_documents[is_high].sum()) or float("nan")
        rows.append((name, "precision", high_p.estimate / n_high, high_p.lower / n_high, high_p.upper / n_high))
        rows.append((name, "recall", *_recall(high_p, low_p)))
    return pd.DataFrame(rows, columns=["target", "measure", "estimate", "lower", "upper"])


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


def probability_curve(plan: AuditPlan, labels: SheetLabels, level: float, method: Method) -> pd.DataFrame:
    """Share of positive documents where P is 0, and by tenths of P: see `AuditEstimate.curve`."""
    rows: list[tuple[object, ...]] = []
    for target, target_name in enumerate(plan.frame.targets):
        cells = target_cells(plan, labels, target, _CURVE)
        counts = cells.count()
        for number, name in enumerate(cut_names(_CURVE)):
            in_range = counts.subset(cells.range_of_p == number)
            n = int(in_range.n_documents.sum())
            if n:
                bounds = interval_of(in_range, level, method)
                shares = (bounds.estimate / n, bounds.lower / n, bounds.upper / n)
                n_labelled, mean_p = int(in_range.n_labelled.sum()), float(in_range.expected.sum()) / n
                rows.append((target_name, name, n, n_labelled, mean_p, *shares))
    columns = ["target", "range_of_p", "n_documents", "n_labelled", "mean_p", "share", "lower", "upper"]
    return pd.DataFrame(rows, columns=columns)


def disagreements(plan: AuditPlan, labels: SheetLabels, most: int = 100) -> pd.DataFrame:
    """The documents whose labels and P disagree most: see `AuditEstimate.disagreements`."""
    ranked_rows, dates = [], plan.frame.date_texts()
    for target, name in enumerate(plan.frame.targets):
        p = plan.frame.probability(target)[plan.sample]
        target_labels = labels.labels[:, target]
        distance = np.where(target_labels < UNSURE, np.abs((target_labels == YES) - p), 0.0)
        for i in np.flatnonzero(distance >= _LEAST).tolist():
            doc_id, date = str(plan.frame.doc_ids[plan.sample[i]]), str(dates[plan.sample[i]])
            label, note = "yes" if target_labels[i] == YES else "no", labels.notes.get(doc_id, "")
            row = (doc_id, date, name, float(p[i]), label, note)
            ranked_rows.append((-float(distance[i]), doc_id, i, target, row))
    rows = [row for *_, row in sorted(ranked_rows, key=lambda ranked: ranked[:-1])[:most]]
    return pd.DataFrame(rows, columns=["doc_id", "date", "target", "probability", "label", "note"])


def more_labels(plan: AuditPlan, labels: SheetLabels, level: float, method: Method) -> pd.DataFrame:
    """What 100 more labels, or all that are left, are expected to bring: see `AuditEstimate.more`."""
    n_more = min(_N_MORE, len(plan.frame) - int((plan.round_of <= labels.n_rounds).sum()))
    rows = []
    for target, name in enumerate(plan.frame.targets):
        widths = _width_after(plan, target_cells(plan, labels, target), n_more, level, method)
        rows.append((name, n_more, *widths))
    return pd.DataFrame(rows, columns=["target", "n_more", "width", "width_after"])


def _width_after(plan: AuditPlan, cells: Cells, n_more: int, level: float, method: Method) -> tuple[float, float]:
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


def agreements(by_labeller: Mapping[str, Ints8], level: float) -> pd.DataFrame:
    """Agreement of every two labellers who labelled a document both: see `AuditEstimate.agreement`."""
    rows = []
    names = [name for name in by_labeller if name != RESOLVED]
    for first, second in combinations(names, 2):
        labels_1, labels_2 = by_labeller[first], by_labeller[second]
        both = (labels_1 != MISSING) & (labels_2 != MISSING)
        if both.any():
            answers = sorted({*labels_1[both].tolist(), *labels_2[both].tolist(), 0, 1})
            table = np.array(
                [[int(((labels_1 == a) & (labels_2 == b) & both).sum()) for b in answers] for a in answers]
            )
            rows.append((first, second, int(both.sum()), int(np.trace(table)), *cohen_kappa(table, level=level), level))
    names_of_columns = ["first", "second", "n_documents", "n_agreed", "kappa", "lower", "upper", "level"]
    return pd.DataFrame(rows, columns=names_of_columns)
