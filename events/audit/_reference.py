"""Audits and the reference class of rules: totals that start from what is known of other rules, and rows for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from corefsample._arrays import Ints, pd
from events.audit._audit_frame import AuditFrame, event_and_actor
from events.audit._plan import AuditPlan
from events.audit._sheets import NO, YES, SheetLabels
from events.audit._totals import LEARNED, target_cells
from events.rule_error._counts import error_generator
from events.rule_error._labelled_strata import LabelledStrata, expected_width, unlabelled_yes
from events.rule_error._model import Cell, RuleError, RuleErrorModel, kind_of
from events.rule_error._table import AUDIT, COLUMNS

REFERENCE_CLASS: Final = "reference class"
FEWEST_LABELS: Final = 25
_N_DRAWS = 20_000


@dataclass(frozen=True, slots=True)
class ReferenceClass:
    """Error of the targets of an audit, predicted from rules that readers have checked.

    Attributes
    ----------
    model
        Error of rules.
    kinds
        Kinds of the actors by code, as the lexicon of the run has them; empty if the lexicon is unknown.
    """

    model: RuleErrorModel
    kinds: Mapping[str, str]

    def error(self, frame: AuditFrame, target: int, n_draws: int, seed: int) -> tuple[RuleError, np.random.Generator]:
        """Draws of the error of a target, and the generator of the further random numbers of its count."""
        corpus = self.model.corpus_of([event_and_actor(frame, name)[1] for name in frame.targets])
        event, actor = event_and_actor(frame, frame.targets[target])
        rng = error_generator(seed, event, actor)
        return self.model.draws(Cell(_kind(actor, self.kinds), event, actor, corpus), n_draws, rng), rng

    def unlabelled_yes(self, frame: AuditFrame, target: int, strata: LabelledStrata, seed: int) -> Ints:
        """Draws of the number of documents without a label in which a reader sees a target: see `unlabelled_yes`."""
        return unlabelled_yes(strata, *self.error(frame, target, _N_DRAWS, seed))


def reference_totals(
    plan: AuditPlan, labels: SheetLabels, reference: ReferenceClass, *, level: float = 0.95, seed: int = 0
) -> pd.DataFrame:
    """Posterior of the total of each target, given the reference class and the labels: see `AuditEstimate.learned`.

    Parameters
    ----------
    plan, labels
        The plan, and its labels; unsure and missing ones are left out.
    reference
        Rules that readers have checked.
    level
        Probability that each interval has, in (0, 1).
    seed
        Seed of the random draws, in [0, 2**64).
    """
    totals = []
    for target, name in enumerate(plan.frame.targets):
        cells = target_cells(plan, labels, target).count()
        n_labels = cells.n_labelled - cells.n_open
        strata = LabelledStrata(cells.n_documents, cells.expected / cells.n_documents, n_labels, cells.n_yes)
        draws = strata.yes.sum() + reference.unlabelled_yes(plan.frame, target, strata, seed).sum(axis=1)
        tails = np.quantile(draws, [(1.0 - level) / 2.0, (1.0 + level) / 2.0], method="inverted_cdf")
        lower, upper = (int(end) for end in tails)
        counts = len(plan.frame), int(strata.labels.sum()), int(strata.yes.sum())
        event_actor = event_and_actor(plan.frame, name)
        totals.append((*event_actor, *counts, float(draws.mean()), lower, upper, level, REFERENCE_CLASS))
    return pd.DataFrame(totals, columns=list(LEARNED))


def expected_width_of(plan: AuditPlan, reference: ReferenceClass, *, level: float = 0.95, seed: int = 0) -> float:
    """Expected width of the interval of a total by design from the labels of a plan; the widest of its targets."""
    widths = []
    sizes, n_labels = (np.array([getattr(each, name) for each in plan.strata]) for name in ("n_documents", "n_sampled"))
    for target in range(len(plan.frame.targets)):
        error, _ = reference.error(plan.frame, target, 1000, seed)
        mean_p = np.bincount(plan.stratum_of, plan.frame.probability(target)) / sizes
        widths.append(expected_width(sizes, mean_p, n_labels, error, level))
    return max(widths)


def labels_for_width(
    plan_of: Callable[[int], AuditPlan], fewest: int, width: float, reference: ReferenceClass
) -> AuditPlan:
    """Plan with the fewest labels, to within 5%, whose expected width is at most `width`; else of all documents.

    Parameters
    ----------
    plan_of
        The plan with a number of labels.
    fewest
        The fewest labels of a plan.
    width
        Width of the interval of a total, in documents.
    reference
        Rules that readers have checked.
    """
    first = plan_of(fewest)
    if expected_width_of(first, reference) <= width:
        return first
    few, many = fewest, len(first.frame)
    while many > few + max(1, few // 20):
        middle = min(max(round((few * many) ** 0.5), few + 1), many - 1)
        if expected_width_of(plan_of(middle), reference) <= width:
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
        cells = target_cells(plan, labels, target)
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
        n_confirmed = int(above[documents].sum()), int((yes & above[documents]).sum()), int(missed.sum())
        rows.append((AUDIT, event, actor, _kind(actor, kinds), "", "", "", *numbers, *n_confirmed))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _kind(actor: str, kinds: Mapping[str, str]) -> str:
    """Kind of the actor of a target, "" for anybody."""
    if not actor:
        return "any"
    return kind_of(actor, kinds) if kinds else "named"
