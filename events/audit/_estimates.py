"""Counts of documents by target and period, estimated from the labels of a plan's sample."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample._arrays import Floats, HtmlTable, Ints, pd
from corefsample.errors import InputError
from events.audit._audit_frame import TOTAL, event_and_actor
from events.audit._model_quality import agreements, disagreements, model_quality, more_labels, probability_curve
from events.audit._plan import AuditPlan, checked_proxies
from events.audit._proxies import combined_probability
from events.audit._reference import ReferenceClass, reference_totals
from events.audit._sheets import MISSING, UNSURE, YES, SheetLabels
from events.audit._totals import (
    DEFAULT_METHOD,
    HALF,
    LEARNED,
    Bounds,
    CellCounts,
    Cells,
    Method,
    checked_interval,
    difference_total,
    interval_of,
    target_cells,
)
from events.counts import count_pmf
from events.counts._credible_intervals import quantile_interval

STABLE_ERRORS = "stable-errors"
PROXIES = "proxies"
HALF_OF_PROXIES = 0.25  # weights are fewer than the coefficients of learned P: intervals hold with less

Assumption = Literal["stable-errors"]


_IN_JSON = ("totals", "quality", "more", "agreement", "learned")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class AuditEstimate(HtmlTable):
    """Estimated counts, and what the labels say about the model: tidy tables.

    Attributes
    ----------
    counts
        Total of each target, followed by its counts by period; one row each:

        - event, actor ("" for any actor); period ("total" for all) and period_start, its first day
        - n_docs; of these, documents of the sample: n_labelled; labelled yes: n_positive; labelled unsure: n_unsure;
          without a label: n_missing
        - estimate, lower and upper: estimate and confidence interval. Unsure and missing labels are counted both ways:
          the lower limit has all of them as no, the upper limit as yes
        - if_no and if_yes: estimate with all unsure and missing labels as no, and as yes
        - level, method and assumption of the interval ("stable-errors" if it rests on that assumption, "" otherwise)
        - model_mean, model_lower and model_upper: mean and credible interval of the model given each document's P,
          which cover coreference only: not the uncertainty of a recalibration that documents share
    quality
        Precision and recall of the documents with P >= 0.5: target, measure, estimate, lower, upper; NaN if there are
        no documents to divide by.
    curve
        P against labels by range of P: target, range_of_p, n_documents, n_labelled, mean_p; share of the documents that
        are positive, lower, upper.
    disagreements
        Documents whose label and P differ by at least one half, the largest first: doc_id, date, target, probability,
        label, note.
    more
        What 100 more labels (or all documents that are left) are expected to bring, if the shares of positive labels
        stay as they are: target, n_more; width of the interval of the target's total, and width_after the labels.
    agreement
        Agreement of every two labellers: first, second; n_documents, the labels of documents and targets that both
        gave, and n_agreed; Cohen's kappa with lower, upper and level.
    learned
        Totals that use learned P or proxies, without rows if there is neither: the columns of `counts` of that name,
        and assumption, the source of the total beside the labels: "learned P", "proxies", or "reference class". The
        estimate needs no assumption. The interval rests on an approximation, which is the better the better this P is:
        it has no guarantee.
    """

    counts: pd.DataFrame
    quality: pd.DataFrame
    curve: pd.DataFrame
    disagreements: pd.DataFrame
    more: pd.DataFrame
    agreement: pd.DataFrame
    learned: pd.DataFrame

    def __repr__(self) -> str:
        rows = self.totals[["actor", "event", "estimate", "lower", "upper"]].itertuples(index=False, name=None)
        lines = [f"  {actor or event}: {count:.4g}, {low:,} to {high:,}" for actor, event, count, low, high in rows]
        return "\n".join([f"AuditEstimate({len(self.counts)} counts)", *lines])

    @property
    def totals(self) -> pd.DataFrame:
        """The counts over all periods, one row for each target."""
        return self.counts[self.counts["period"] == TOTAL].reset_index(drop=True)

    def to_frame(self) -> pd.DataFrame:
        """Table of the counts."""
        return self.counts

    def to_json(self) -> dict[str, object]:
        """Values for programs: rows of the tables, and numbers of labels and of periods with wide intervals."""
        total = self.totals.loc[0, ["n_labelled", "n_unsure", "n_missing"]].to_dict()
        periods = self.counts[(self.counts["period"] != TOTAL) & (self.counts["n_docs"] > 0)]
        return {
            "n_labels": total["n_labelled"] - total["n_missing"],
            "n_unsure": total["n_unsure"],
            "n_missing": total["n_missing"],
            **{name: getattr(self, name).to_dict("records") for name in _IN_JSON},
            "n_few": int((periods["upper"] - periods["lower"] > 0.5 * periods["n_docs"]).sum()),
            "n_periods": len(periods),
        }

    def files(self, texts: Mapping[str, str]) -> dict[str, pd.DataFrame]:
        """Tables by file name, with the texts of documents by doc_id beside the largest disagreements."""
        shown_texts = [texts.get(doc_id, "") for doc_id in self.disagreements["doc_id"]]
        return {
            "audited.csv": self.counts,
            "audited-model.csv": self.quality,
            "audited-curve.csv": self.curve,
            "disagreements.csv": self.disagreements.assign(text=shown_texts),
            **({"audited-learned.csv": self.learned} if len(self.learned) else {}),
        }


def estimate_counts(
    plan: AuditPlan,
    labels: SheetLabels,
    *,
    level: float = 0.95,
    method: Method = DEFAULT_METHOD,
    assume: Assumption | None = None,
    learned: Mapping[str, Floats] | None = None,
    proxies: Mapping[str, npt.ArrayLike] | None = None,
    reference: ReferenceClass | None = None,
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
    reference
        Errors of other rules, from which further totals in `AuditEstimate.learned` begin; by default none.

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
        logging.getLogger("corefsample.audit").warning(
            "labels of %d documents that a person chose are not used", len(labels.hand_picked)
        )
    counts: list[dict[str, object]] = []
    for target, name in enumerate(plan.frame.targets):
        counts += count_rows(plan, target_cells(plan, labels, target), name, level, method, assume)
    totals = [] if learned is None else [learned_totals(plan, labels, learned, level)]
    if all_proxies := {**plan.proxies, **checked_proxies(proxies, plan.frame)}:
        combined = {
            name: combined_probability(plan, labels, t, all_proxies) for t, name in enumerate(plan.frame.targets)
        }
        totals.append(learned_totals(plan, labels, combined, level, assumption=PROXIES, half=HALF_OF_PROXIES))
    if reference is not None:
        totals.append(reference_totals(plan, labels, reference, level=level))
    return AuditEstimate(
        pd.DataFrame(counts),
        model_quality(plan, labels, level, method),
        probability_curve(plan, labels, level, method),
        disagreements(plan, labels),
        more_labels(plan, labels, level, method),
        agreements(labels.by_labeller, level),
        pd.concat(totals, ignore_index=True) if totals else pd.DataFrame(columns=list(LEARNED)),
    )


def require_labels(plan: AuditPlan, labels: SheetLabels) -> None:
    """Raise if no document of a stratum has a label."""
    is_labelled = (labels.labels != MISSING).any(axis=1)
    n_labelled = np.bincount(plan.stratum_of[plan.sample[is_labelled]], minlength=len(plan.strata))
    unlabelled_strata = np.flatnonzero(n_labelled == 0)
    if unlabelled_strata.size:
        h = int(unlabelled_strata[0])
        raise InputError(f"every stratum must have a label, got none in stratum {h + 1} ({plan.strata[h].name})")


def count_rows(
    plan: AuditPlan, cells: Cells, name: str, level: float, method: Method, assume: Assumption | None
) -> list[dict[str, object]]:
    """Rows of `AuditEstimate.counts` of one target: the total, and every period from the first to the last."""
    event, actor = event_and_actor(plan.frame, name)
    groups, number_of = plan.frame.groups()
    is_unsure = np.zeros(len(number_of), np.bool_)
    is_unsure[cells.sample[cells.labels == UNSURE]] = True
    rows: list[dict[str, object]] = []
    total = cells.count()
    counts = [total, *cells.counts(number_of, len(groups) - 1)]
    for (label, start, inside), cell_counts in zip(groups, counts, strict=True):
        assumes = assume is not None and label != TOTAL
        bounds = _stable(cell_counts, total, level) if assumes else interval_of(cell_counts, level, method)
        p, n_unsure = cells.p[inside], int(is_unsure[inside].sum())
        low, high = quantile_interval(count_pmf(p[p > 0.0]), level)
        rows.append(
            {
                "event": event,
                "actor": actor,
                "period": label,
                "period_start": start,
                "n_docs": int(cell_counts.n_documents.sum()),
                "n_labelled": int(cell_counts.n_labelled.sum()),
                "n_positive": int(cell_counts.n_yes.sum()),
                "n_unsure": n_unsure,
                "n_missing": int(cell_counts.n_open.sum()) - n_unsure,
                "estimate": bounds.estimate,
                "lower": bounds.lower,
                "upper": bounds.upper,
                "if_no": bounds.if_no[0],
                "if_yes": bounds.if_yes[0],
                "level": level,
                "method": "recalibrated" if assumes else method,
                "assumption": STABLE_ERRORS if assumes else "",
                "model_mean": float(p.sum()),
                "model_lower": low,
                "model_upper": high,
            }
        )
    return rows


def _stable(counts: CellCounts, total: CellCounts, level: float) -> Bounds:
    """Posterior of a period's count, with the share of positives of each cell from all periods."""
    ends = []
    for n_open_here, n_open_all in ((0 * counts.n_open, 0 * counts.n_open), (counts.n_open, total.n_open)):
        positive = total.n_yes + n_open_all
        a, b = (n.astype(np.float64) + 0.5 for n in (positive, total.n_labelled - positive))
        n_known_positive = int((counts.n_yes + n_open_here).sum())
        n_unlabelled = counts.n_documents - counts.n_labelled
        lower, upper = beta_binomial_interval(n_unlabelled, a, b, level)
        mean = n_known_positive + float((n_unlabelled * a / (a + b)).sum())
        ends.append((mean, n_known_positive + lower, n_known_positive + upper))
    return Bounds(*ends)


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
) -> pd.DataFrame:
    """Total of each target that has a learned P: rows of `AuditEstimate.learned`.

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
        totals.append((event, actor, *counts, estimate, if_no[1], if_yes[2], level, assumption))
    return pd.DataFrame(totals, columns=list(LEARNED))
