"""Labels of a sample beside P of two rules, to say which of them is better."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from corefsample._arrays import Bools, Floats, Ints
from corefsample.errors import InputError
from events.audit._documents import AuditFrame, event_and_actor
from events.audit._plan import AuditPlan
from events.audit._sheets import NO, YES, SheetLabels
from events.rules._outcomes import ANYBODY

HALF = 0.5
_SMALLEST_P = 0.001  # of the log score: a rule says 0 and 1, and one error would cost infinity
MEASURES = ("brier", "log_score", "average_precision", "precision", "recall")

TargetKey = tuple[str, str]  # name of a rule, and the actor


@dataclass(frozen=True, slots=True, eq=False)
class LabelledCells:
    """Labels yes or no of some targets, one a cell.

    Attributes
    ----------
    documents, targets
        int64 (n,): place in the plan's sample, and number of the target.
    is_positive
        bool (n,).
    weights
        float64 (n,): documents of the stratum for each that has a label of the target.
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
    chosen = labels.labels[:, list(targets)]
    documents, columns = np.nonzero((chosen == YES) | (chosen == NO))
    is_positive = chosen[documents, columns] == YES
    if not is_positive.any() or is_positive.all():
        found = "none" if not is_positive.any() else "only yes"
        raise InputError(f"labels must include yes and no, got {found if len(is_positive) else 'none of either'}")
    strata = plan.stratum_of[plan.sample[documents]]
    shape = len(plan.strata), len(targets)
    n_labelled = np.zeros(shape)
    np.add.at(n_labelled, (strata, columns), 1.0)
    sizes = np.array([each.n_documents for each in plan.strata], np.float64)
    weights = sizes[strata] / n_labelled[strata, columns]
    return LabelledCells(documents, columns, is_positive, weights, strata)


def target_keys(frame: AuditFrame) -> list[TargetKey]:
    """Rule and actor of each target of a frame."""
    found = (event_and_actor(frame, name) for name in frame.targets)
    return [(event, actor or ANYBODY) for event, actor in found]


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
        One of MEASURES; with a higher `log_score`, and a lower `brier`, a rule is better.
    first, second
        Its values.
    difference, lower, upper
        Second minus first, with a bootstrap interval.
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
        The labels.
    first, second
        float64 (n,): P of both rules in each cell.
    level, n_resamples, seed
        Of the intervals.
    """
    draws = bootstrap_weights(cells, n_resamples, seed)
    values = [_measures(p, cells.is_positive, draws) for p in (first, second)]
    tail = (1.0 - level) / 2.0
    found = []
    for name in MEASURES:
        of_first, of_second = (each[name] for each in values)
        difference = of_second - of_first
        known = difference[1:][np.isfinite(difference[1:])]
        lower, upper = np.quantile(known, [tail, 1.0 - tail]) if known.size else (np.nan, np.nan)
        pair = float(of_first[0]), float(of_second[0]), float(difference[0])
        found.append(Difference(name, *pair, float(lower), float(upper)))
    return found


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
    hits = weights[:, p > HALF].sum(axis=1)
    right = weights[:, (p > HALF) & y].sum(axis=1)
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
    found, drawn = (np.cumsum(each[..., order], axis=-1)[..., ends] for each in (weights * y, weights))
    with np.errstate(invalid="ignore", divide="ignore"):
        precisions = np.where(drawn > 0.0, found / drawn, 0.0)
        return np.asarray((np.diff(found, prepend=0.0) * precisions).sum(axis=-1) / found[..., -1])
