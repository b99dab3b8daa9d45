"""Audits and the reference class of rules: totals that start from what is known of other rules, and rows for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import numpy as np

from corefsample._lazy import pd
from events.audit._documents import event_and_actor
from events.audit._estimates import LearnedTotal
from events.audit._plan import AuditPlan
from events.audit._sheets import NO, YES, SheetLabels
from events.audit._totals import target_cells
from events.rule_error._counts import error_generator
from events.rule_error._labels import LabelledStrata, expected_width, labelled_totals
from events.rule_error._model import Cell, RuleErrorModel, kind_of
from events.rule_error._table import AUDIT, COLUMNS

REFERENCE_CLASS: Final = "reference class"
FEWEST_LABELS: Final = 25
_N_DRAWS = 20_000


def reference_totals(
    plan: AuditPlan,
    labels: SheetLabels,
    model: RuleErrorModel,
    kinds: Mapping[str, str],
    *,
    level: float = 0.95,
    seed: int = 0,
) -> tuple[LearnedTotal, ...]:
    """Posterior of the total of each target, given the reference class and the labels.

    Parameters
    ----------
    plan, labels
        The plan, and its labels; unsure and missing ones are left out.
    model
        Error of rules, from the reference class.
    kinds
        Kinds of the actors by code, as the lexicon has them; empty if it is unknown.
    level
        Of the intervals.
    seed
        Of the draws.
    """
    totals = []
    corpus = model.corpus_of([event_and_actor(plan.frame, name)[1] for name in plan.frame.targets])
    for target, name in enumerate(plan.frame.targets):
        event, actor = event_and_actor(plan.frame, name)
        cells = target_cells(plan, labels, target, plan.cuts).count()
        n_labels = cells.n_labelled - cells.n_open
        strata = LabelledStrata(cells.n_documents, cells.expected / cells.n_documents, n_labels, cells.n_yes)
        rng = error_generator(seed, event, actor)
        error = model.draws(Cell(_kind(actor, kinds), event, actor, corpus), _N_DRAWS, rng)
        draws = labelled_totals(strata, error, rng)
        tails = np.quantile(draws, [(1.0 - level) / 2.0, (1.0 + level) / 2.0], method="inverted_cdf")
        lower, upper = (int(end) for end in tails)
        counts = len(plan.frame), int(n_labels.sum()), int(cells.n_yes.sum())
        totals.append(LearnedTotal(event, actor, *counts, float(draws.mean()), lower, upper, level, REFERENCE_CLASS))
    return tuple(totals)


def expected_width_of(
    plan: AuditPlan, model: RuleErrorModel, kinds: Mapping[str, str], *, level: float = 0.95, seed: int = 0
) -> float:
    """Expected width of the interval of a total by design from the labels of a plan; the widest of its targets."""
    widths = []
    sizes, n_labels = (np.array([getattr(each, name) for each in plan.strata]) for name in ("n_documents", "n_sampled"))
    corpus = model.corpus_of([event_and_actor(plan.frame, name)[1] for name in plan.frame.targets])
    for target, name in enumerate(plan.frame.targets):
        event, actor = event_and_actor(plan.frame, name)
        error = model.draws(Cell(_kind(actor, kinds), event, actor, corpus), 1000, error_generator(seed, event, actor))
        mean_p = np.bincount(plan.stratum_of, plan.frame.probability(target)) / sizes
        widths.append(expected_width(sizes, mean_p, n_labels, error, level))
    return max(widths)


def labels_for_width(
    plan_of: Callable[[int], AuditPlan], fewest: int, width: float, model: RuleErrorModel, kinds: Mapping[str, str]
) -> AuditPlan:
    """Plan with the fewest labels, to within 5%, whose expected width is at most `width`; else of all documents.

    Parameters
    ----------
    plan_of
        The plan with a number of labels.
    fewest
        The fewest labels of a plan.
    width
        Of the interval of a total, in documents.
    model, kinds
        As in `reference_totals`.
    """
    first = plan_of(fewest)
    if expected_width_of(first, model, kinds) <= width:
        return first
    few, many = fewest, len(first.frame)
    while many > few + max(1, few // 20):
        middle = min(max(round((few * many) ** 0.5), few + 1), many - 1)
        if expected_width_of(plan_of(middle), model, kinds) <= width:
            many = middle
        else:
            few = middle
    return plan_of(many)


def reference_rows(plan: AuditPlan, labels: SheetLabels, kinds: Mapping[str, str]) -> pd.DataFrame:
    """Rows of the audited events and actors for the reference class, with numbers of labelled documents.

    Where labels are rarer among documents with P below .5 than the counted ones, `sum_p` is that of as many documents
    as the labels stand for, so that misses stay relative to counted documents.
    """
    rows = []
    for target, name in enumerate(plan.frame.targets):
        event, actor = event_and_actor(plan.frame, name)
        cells = target_cells(plan, labels, target, plan.cuts)
        is_label = (cells.labels == YES) | (cells.labels == NO)
        documents, yes = cells.sample[is_label], cells.labels[is_label] == YES
        above = cells.p > 0.5
        size = np.bincount(plan.stratum_of)
        n_labels = np.bincount(plan.stratum_of[documents], minlength=len(size))
        weights = (size / np.maximum(n_labels, 1))[plan.stratum_of[documents]]
        missed = yes & ~above[documents]
        if missed.any():
            share = float(missed.sum() / weights[missed].sum())
        else:
            share = float((~above[documents]).sum() / max(int((~above).sum()), 1))
        numbers = (len(documents), round(float(cells.p.sum() * share), 3), int(yes.sum()))
        found = int(above[documents].sum()), int((yes & above[documents]).sum()), int(missed.sum())
        rows.append((AUDIT, event, actor, _kind(actor, kinds), "", "", "", *numbers, *found))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _kind(actor: str, kinds: Mapping[str, str]) -> str:
    """Kind of the actor of a target, "" for anybody."""
    if not actor:
        return "any"
    return kind_of(actor, kinds) if kinds else "named"
