"""Counts of documents by target and period, estimated from the labels of a plan's sample."""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample._arrays import Floats, Ints
from corefsample._lazy import pd
from corefsample._log import logger
from corefsample._results import HtmlTable, ShortRepr
from corefsample.errors import InputError
from events.audit._documents import TOTAL, event_and_actor
from events.audit._plan import AuditPlan, checked_proxies
from events.audit._proxies import combined_probability
from events.audit._quality import (
    Agreement,
    CurvePoint,
    Disagreement,
    ModelQuality,
    agreements,
    disagreements,
    model_quality,
    probability_curve,
    width_after,
)
from events.audit._sheets import MISSING, UNSURE, YES, SheetLabels
from events.audit._totals import (
    DEFAULT_METHOD,
    HALF,
    Bounds,
    CellCounts,
    Cells,
    Method,
    checked_interval,
    difference_total,
    interval_of,
    target_cells,
)
from events.counting import count_pmf
from events.counting._counts import quantile_interval

STABLE_ERRORS = "stable-errors"
PROXIES = "proxies"
HALF_OF_PROXIES = 0.25  # weights are fewer than the coefficients of learned P: intervals hold with less

Assumption = Literal["stable-errors"]

N_MORE = 100


@dataclass(frozen=True, slots=True, repr=False)
class AuditCount(ShortRepr):
    """The number of documents with a target in one period, or in all.

    Attributes
    ----------
    event, actor
        Name of the event, and of the actor, "" for any actor.
    period, period_start
        Label and first day of the period; "total" and the first day of all periods for the total.
    n_docs
        Number of documents of the period.
    n_labelled, n_positive, n_unsure, n_missing
        Number of documents of the sample in the period, and of those labelled yes, labelled unsure, and without label.
    estimate, lower, upper
        Estimate and confidence interval. Unsure and missing labels are counted both ways: the lower limit has all of
        them as no, the upper limit as yes.
    if_no, if_yes
        Estimate with all unsure and missing labels as no, and as yes.
    level, method, assumption
        Level and method of the interval, and "stable-errors" if it rests on that assumption, "" otherwise.
    model_mean, model_lower, model_upper
        Mean and credible interval of the model given each document's P, which cover coreference only: not the
        uncertainty of a recalibration that documents share.
    """

    event: str
    actor: str
    period: str
    period_start: datetime.date | None
    n_docs: int
    n_labelled: int
    n_positive: int
    n_unsure: int
    n_missing: int
    estimate: float
    lower: int
    upper: int
    if_no: float
    if_yes: float
    level: float
    method: str
    assumption: str
    model_mean: float
    model_lower: int
    model_upper: int


@dataclass(frozen=True, slots=True)
class LearnedTotal:
    """The number of documents with a target, from labels and learned P.

    The estimate needs no assumption. The interval rests on an approximation, which is the better the better the learned
    P is: it has no guarantee.

    Attributes
    ----------
    event, actor
        Name of the event, and of the actor, "" for any actor.
    n_docs, n_labelled, n_positive
        Number of documents, of documents with a label yes or no, and of those labelled yes.
    estimate, lower, upper, level
        Estimate, and interval with its level. Unsure and missing labels are counted both ways.
    assumption
        Source of the total beside the labels: "learned P", "proxies", or "reference class".
    """

    event: str
    actor: str
    n_docs: int
    n_labelled: int
    n_positive: int
    estimate: float
    lower: int
    upper: int
    level: float
    assumption: str


@dataclass(frozen=True, slots=True)
class MoreLabels:
    """What more labels are expected to bring, if the shares of positive labels stay as they are.

    Attributes
    ----------
    target, n_more
        Name of the target, and number of further labels: 100, or all documents that are left.
    width, width_after
        Length of the interval of the target's total, now and with the further labels.
    """

    target: str
    n_more: int
    width: float
    width_after: float


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class AuditEstimate(HtmlTable):
    """Estimated counts, and what the labels say about the model.

    Attributes
    ----------
    counts
        Total of each target, followed by its counts by period.
    quality, curve, disagreements, more, agreement
        Precision and recall, P against labels, the largest disagreements, the use of more labels, and the agreement of
        labellers.
    learned
        Totals that use learned P or proxies; empty without either.
    """

    counts: tuple[AuditCount, ...]
    quality: tuple[ModelQuality, ...]
    curve: tuple[CurvePoint, ...]
    disagreements: tuple[Disagreement, ...]
    more: tuple[MoreLabels, ...]
    agreement: tuple[Agreement, ...]
    learned: tuple[LearnedTotal, ...] = ()

    def __repr__(self) -> str:
        lines = [
            f"  {each.actor or each.event}: {each.estimate:.4g}, {each.lower:,} to {each.upper:,}"
            for each in self.totals
        ]
        return "\n".join([f"AuditEstimate({len(self.counts)} counts)", *lines])

    @property
    def totals(self) -> tuple[AuditCount, ...]:
        """The counts over all periods, one for each target."""
        return tuple(each for each in self.counts if each.period == TOTAL)

    def to_frame(self) -> pd.DataFrame:
        """Tidy table of the counts, one row each, with the fields of `AuditCount` as columns."""
        return rows_frame(self.counts, AuditCount)


def rows_frame(rows: Sequence[object], kind: type) -> pd.DataFrame:
    """Tidy table of results, one row each, with the fields of their class as columns."""
    return pd.DataFrame(list(rows), columns=[each.name for each in dataclasses.fields(kind)])


def estimate_counts(
    plan: AuditPlan,
    labels: SheetLabels,
    *,
    level: float = 0.95,
    method: Method = DEFAULT_METHOD,
    assume: Assumption | None = None,
    learned: Mapping[str, Floats] | None = None,
    proxies: Mapping[str, npt.ArrayLike] | None = None,
) -> AuditEstimate:
    """Estimate the number of documents with each target, in total and by period, from labels.

    Intervals of totals and of periods use the labels of their own documents. They need no assumption about the model.
    Periods with few labels have wide intervals.

    Parameters
    ----------
    plan
        Plan of the audit, from `plan_audit`.
    labels
        Labels of the plan's sample, from `read_sheets`.
    level
        Level of the confidence intervals, in (0, 1). The method ``"mid-p"`` accepts only .95, the default.
    method
        Method of the intervals, ``"mid-p"`` (the default) or ``"exact"``: see `estimate_total`.
    assume
        By default, no assumption. ``"stable-errors"`` assumes that within each stratum and range of P the share of
        positive documents is the same in all periods. P is then recalibrated on all labels, and the interval of a
        period is that of its posterior, with the uncertainty of the recalibration (Jeffreys' prior for each share).
    learned
        P of every document by target, learned from the labels of other documents (`LearnResult.cross_fitted`). Totals
        that use it are in `AuditEstimate.learned`, beside those that need no assumption. By default, P is not learned.
    proxies
        Probabilities of other models by name, (n_documents,) each in [0, 1], beside those of the plan. If there are
        any, `AuditEstimate.learned` has totals from the weighted sum of P and proxies that fits the labels best. By
        default, only those of the plan are used.

    Raises
    ------
    ParameterError
        If `plan` or `labels` has another type, `level` and `method` are invalid for `estimate_total`, `assume` is
        unknown, or a proxy has not one probability for each document.
    InputError
        If a stratum has no label.
    """
    _checks.instance("plan", plan, AuditPlan, hint="`plan_audit` makes one")
    _checks.instance("labels", labels, SheetLabels, hint="`read_sheets` reads them")
    level, method = checked_interval(level, method)
    if assume is not None:
        _checks.choice("assume", assume, (STABLE_ERRORS,))
    require_labels(plan, labels)
    if labels.hand_picked:
        logger("audit").warning("labels of %d documents that a person chose are not used", len(labels.hand_picked))
    counts: list[AuditCount] = []
    quality: list[ModelQuality] = []
    curve: list[CurvePoint] = []
    more: list[MoreLabels] = []
    n_more = min(N_MORE, len(plan.frame) - int((plan.round_of <= labels.n_rounds).sum()))
    for target, name in enumerate(plan.frame.targets):
        cells = target_cells(plan, labels, target)
        counts += _TargetCounts(plan, cells, name, level, method, assume).rows()
        quality += model_quality(plan, labels, target, level, method)
        curve += probability_curve(plan, labels, target, level, method)
        more.append(MoreLabels(name, n_more, *width_after(plan, cells, n_more, level, method)))
    differences = tuple(disagreements(plan, labels))
    agreement = tuple(agreements(labels.by_labeller, level))
    totals = () if learned is None else learned_totals(plan, labels, learned, level)
    if all_proxies := {**plan.proxies, **checked_proxies(proxies, plan.frame)}:
        combined = {
            name: combined_probability(plan, labels, t, all_proxies) for t, name in enumerate(plan.frame.targets)
        }
        totals += learned_totals(plan, labels, combined, level, assumption=PROXIES, half=HALF_OF_PROXIES)
    return AuditEstimate(tuple(counts), tuple(quality), tuple(curve), differences, tuple(more), agreement, totals)


def require_labels(plan: AuditPlan, labels: SheetLabels) -> None:
    """Raise if no document of a stratum has a label."""
    is_labelled = (labels.labels != MISSING).any(axis=1)
    n_labelled = np.bincount(plan.stratum_of[plan.sample[is_labelled]], minlength=len(plan.strata))
    unlabelled_strata = np.flatnonzero(n_labelled == 0)
    if unlabelled_strata.size:
        h = int(unlabelled_strata[0])
        raise InputError(f"every stratum must have a label, got none in stratum {h + 1} ({plan.strata[h].name})")


class _TargetCounts:
    """The counts of one target."""

    def __init__(
        self, plan: AuditPlan, cells: Cells, name: str, level: float, method: Method, assume: Assumption | None
    ) -> None:
        self._plan, self._cells, self._level = plan, cells, level
        self._method: Method = method
        self._assume = assume
        self._event, self._actor = event_and_actor(plan.frame, name)
        self._all = cells.count()

    def rows(self) -> list[AuditCount]:
        """The total, and every period from the first to the last."""
        cells = self._cells
        groups, number_of = self._plan.frame.groups()
        is_unsure = np.zeros(len(number_of), np.bool_)
        is_unsure[cells.sample[cells.labels == UNSURE]] = True
        counts = [self._all, *cells.counts(number_of, len(groups) - 1)]
        return [
            self._row(label, start, own, cells.p[inside], int(is_unsure[inside].sum()))
            for (label, start, inside), own in zip(groups, counts, strict=True)
        ]

    def _row(self, label: str, start: datetime.date | None, counts: CellCounts, p: Floats, n_unsure: int) -> AuditCount:
        assumes = self._assume is not None and label != TOTAL
        bounds = self._stable(counts) if assumes else interval_of(counts, self._level, self._method)
        model = count_pmf(p[p > 0.0])
        low, high = quantile_interval(model, self._level)
        return AuditCount(
            event=self._event,
            actor=self._actor,
            period=label,
            period_start=start,
            n_docs=int(counts.n_documents.sum()),
            n_labelled=int(counts.n_labelled.sum()),
            n_positive=int(counts.n_yes.sum()),
            n_unsure=n_unsure,
            n_missing=int(counts.n_open.sum()) - n_unsure,
            estimate=bounds.estimate,
            lower=bounds.lower,
            upper=bounds.upper,
            if_no=bounds.if_no[0],
            if_yes=bounds.if_yes[0],
            level=self._level,
            method="recalibrated" if assumes else self._method,
            assumption=STABLE_ERRORS if assumes else "",
            model_mean=float(p.sum()),
            model_lower=low,
            model_upper=high,
        )

    def _stable(self, counts: CellCounts) -> Bounds:
        """Posterior of a period's count, with the share of positives of each cell from all periods."""
        ways = []
        for n_open_here, n_open_all in ((0 * counts.n_open, 0 * counts.n_open), (counts.n_open, self._all.n_open)):
            positive = self._all.n_yes + n_open_all
            a, b = (n.astype(np.float64) + 0.5 for n in (positive, self._all.n_labelled - positive))
            n_known_positive = int((counts.n_yes + n_open_here).sum())
            n_unlabelled = counts.n_documents - counts.n_labelled
            lower, upper = beta_binomial_interval(n_unlabelled, a, b, self._level)
            mean = n_known_positive + float((n_unlabelled * a / (a + b)).sum())
            ways.append((mean, n_known_positive + lower, n_known_positive + upper))
        return Bounds(0.5 * (ways[0][0] + ways[1][0]), ways[0][1], ways[1][2], ways[0], ways[1])


def beta_binomial_interval(trials: Ints, a: Floats, b: Floats, level: float) -> tuple[int, int]:
    """Quantiles of a sum of independent beta-binomial numbers, of which each tail has at most (1 - level) / 2."""
    cdf = np.cumsum(beta_binomial_sum(trials, a, b))
    tail = 0.5 * (1.0 - level)
    ends = np.searchsorted(cdf, tail, side="right"), np.searchsorted(cdf, 1.0 - tail, side="left")
    return int(ends[0]), min(int(ends[1]), int(trials.sum()))


def beta_binomial_sum(trials: Ints, a: Floats, b: Floats) -> Floats:
    """Probabilities of a sum of independent beta-binomial numbers."""
    from scipy.signal import fftconvolve
    from scipy.stats import betabinom

    pmf: Floats = np.ones(1)
    for number, *rates in zip(trials.tolist(), a.tolist(), b.tolist(), strict=True):
        pmf = fftconvolve(pmf, betabinom.pmf(np.arange(number + 1), number, *rates))
    pmf = np.maximum(pmf, 0.0)  # the transform leaves errors of about 1e-16
    return pmf / float(pmf.sum())


def learned_totals(
    plan: AuditPlan,
    labels: SheetLabels,
    cross_fitted: Mapping[str, Floats],
    level: float,
    *,
    assumption: str = "learned P",
    half: float = HALF,
) -> tuple[LearnedTotal, ...]:
    """Total of each target that has a learned P.

    Parameters
    ----------
    plan, labels
        Plan of the audit, and labels of its sample.
    cross_fitted
        P of every document by target, learned from the labels of other documents.
    level
        Probability that each interval has, in (0, 1).
    assumption, half
        Name of what the totals rest on, and number of labels that are added: see `difference_total`.
    """
    begun = plan.round_of <= labels.n_rounds
    rows, totals = plan.sample[begun], []
    for target, name in enumerate(plan.frame.targets):
        if name not in cross_fitted:
            continue
        target_labels = labels.labels[begun, target]
        is_open = (target_labels == UNSURE) | (target_labels == MISSING)
        answers = (np.where(is_open, open_as, target_labels == YES) for open_as in (0.0, 1.0))
        if_no, if_yes = (
            difference_total(plan.stratum_of, rows, y, cross_fitted[name], level, half=half) for y in answers
        )
        event, actor = event_and_actor(plan.frame, name)
        counts = len(plan.frame), int((~is_open).sum()), int((target_labels == YES).sum())
        estimate = 0.5 * (if_no[0] + if_yes[0])
        totals.append(LearnedTotal(event, actor, *counts, estimate, if_no[1], if_yes[2], level, assumption))
    return tuple(totals)
