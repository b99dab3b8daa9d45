"""Counts of documents by target and period, estimated from the labels of a plan's sample; and what labels say of P."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from corefsample import InputError, _checks
from corefsample._arrays import Floats, HtmlTable, Ints8, pd
from events.audit import _model_totals as model_totals
from events.audit._audit_frame import NEITHER, TOTAL, event_and_actor
from events.audit._plan import AuditPlan, checked_proxies, extend_plan
from events.audit._sheets import MISSING, RESOLVED, UNSURE, YES, SheetLabels
from events.audit._totals import DEFAULT_METHOD, Bounds, Method, cell_counts, checked_interval, interval_of
from events.counts import count_pmf
from events.counts._credible_intervals import quantile_interval
from events.rule_error._model import RuleErrorModel

THRESHOLD = 0.5
ALMOST_ZERO = 0.01  # mean P of cells
N_MORE = 100  # labels of a further round whose width is expected


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
        - level and method of the interval
        - model_mean, model_lower and model_upper: mean and credible interval of the model given each document's P,
          which cover coreference only: not the uncertainty of a recalibration that documents share
    quality
        Precision and recall of the documents with P >= 0.5: target, measure, estimate, lower, upper; NaN if there are
        no documents to divide by.
    disagreements
        Documents whose label and P differ by at least one half, the largest first: doc_id, date, target, probability,
        label, note.
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
    disagreements: pd.DataFrame
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
            **{name: getattr(self, name).to_dict("records") for name in ("totals", "quality", "agreement", "learned")},
            "n_few": int((periods["upper"] - periods["lower"] > 0.5 * periods["n_docs"]).sum()),
            "n_periods": len(periods),
        }

    def files(self, texts: Mapping[str, str]) -> dict[str, pd.DataFrame]:
        """Tables by file name, with the texts of documents by doc_id beside the largest disagreements."""
        shown_texts = [texts.get(doc_id, "") for doc_id in self.disagreements["doc_id"]]
        return {
            "audited.csv": self.counts,
            "audited-model.csv": self.quality,
            "disagreements.csv": self.disagreements.assign(text=shown_texts),
            **({"audited-learned.csv": self.learned} if len(self.learned) else {}),
        }


def estimate_counts(
    plan: AuditPlan,
    labels: SheetLabels,
    *,
    level: float = 0.95,
    method: Method = DEFAULT_METHOD,
    learned: Mapping[str, Floats] | None = None,
    proxies: Mapping[str, np.typing.ArrayLike] | None = None,
    reference: RuleErrorModel | None = None,
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
    learned
        P of every document by target, learned from the labels of other documents (`LearnResult.cross_fitted`). Totals
        that use it are in `AuditEstimate.learned`, beside those that need no assumption. By default, P is not learned.
    proxies
        Probabilities of other models by name, (n_documents,) each in [0, 1], beside those of the plan. If there are
        any, `AuditEstimate.learned` has totals from the weighted sum of P and proxies that fits the labels best. By
        default, only those of the plan are used.
    reference
        Errors of other rules, from which further totals in `AuditEstimate.learned` begin, if strata divide classes of
        documents; by default none.

    Raises
    ------
    ParameterError
        If `plan` or `labels` has another type, `level` and `method` are invalid for `estimate_total`, or a proxy has
        not one probability for each document.
    InputError
        If a stratum has no label.
    """
    _checks.instance("plan", plan, AuditPlan, hint="`plan_audit` makes one")
    _checks.instance("labels", labels, SheetLabels, hint="`read_sheets` reads them")
    level, method = checked_interval(level, method)
    require_labels(plan, labels)
    if labels.hand_picked:
        logging.getLogger("corefsample.audit").warning(
            "labels of %d documents that a person chose are not used", len(labels.hand_picked)
        )
    targets = range(len(plan.frame.targets))
    counts = [row for target in targets for row in count_rows(plan, labels, target, level, method)]
    totals = []
    if reference is not None and plan.has_classes:
        totals.append(model_totals.reference_totals(plan, labels, reference, level=level))
    if learned is not None:
        totals.append(model_totals.learned_totals(plan, labels, learned, level))
    if all_proxies := {**plan.proxies, **checked_proxies(proxies, plan.frame)}:
        combined = {
            name: model_totals.combined_probability(plan, labels, t, all_proxies)
            for t, name in enumerate(plan.frame.targets)
        }
        of_proxies: dict[str, Any] = {"assumption": "proxies", "half": model_totals.HALF_OF_PROXIES}
        totals.append(model_totals.learned_totals(plan, labels, combined, level, **of_proxies))
    return AuditEstimate(
        pd.DataFrame(counts),
        model_quality(plan, labels, level, method),
        disagreements(plan, labels),
        agreements(labels.by_labeller, level),
        pd.concat(totals, ignore_index=True) if totals else pd.DataFrame(columns=list(model_totals.LEARNED)),
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
    plan: AuditPlan, labels: SheetLabels, target: int, level: float, method: Method
) -> list[dict[str, object]]:
    """Rows of `AuditEstimate.counts` of one target: the total, and every period from the first to the last."""
    event, actor = event_and_actor(plan.frame, plan.frame.targets[target])
    groups, number_of = plan.frame.groups()
    probability = plan.frame.probability(target)
    is_unsure = np.zeros(len(plan.frame), np.bool_)
    is_unsure[plan.sample[labels.labels[:, target] == UNSURE]] = True
    by_period = cell_counts(plan, labels, target, group_of=number_of, n_groups=len(groups) - 1)
    rows: list[dict[str, object]] = []
    for (label, start, inside), cells in zip(groups, [*cell_counts(plan, labels, target), *by_period], strict=True):
        bounds = interval_of(cells, level, method)
        p, n_unsure = probability[inside], int(is_unsure[inside].sum())
        model_lower, model_upper = quantile_interval(count_pmf(p[p > 0.0]), level)
        rows.append(
            {
                "event": event,
                "actor": actor,
                "period": label,
                "period_start": start,
                "n_docs": int(cells.n_documents.sum()),
                "n_labelled": int(cells.n_labelled.sum()),
                "n_positive": int(cells.n_yes.sum()),
                "n_unsure": n_unsure,
                "n_missing": int(cells.n_open.sum()) - n_unsure,
                **bounds._asdict(),
                "level": level,
                "method": method,
                "model_mean": float(p.sum()),
                "model_lower": model_lower,
                "model_upper": model_upper,
            }
        )
    return rows


def carrying_labels(plan: AuditPlan, labels: SheetLabels) -> list[dict[str, object]]:
    """Labels of yes where P is 0, or almost 0, that stand for more than half of an estimate.

    Returns
    -------
    list of dict
        For each target with such labels: event, actor; n_labels; n_documents, for which these stand; and total, for
        which all labels of yes do.
    """
    rows: list[dict[str, object]] = []
    for target, name in enumerate(plan.frame.targets):
        (cells,) = cell_counts(plan, labels, target, plan.cuts)
        documents = cells.n_documents * cells.n_yes / np.maximum(cells.n_labelled, 1)
        is_zero = cells.mean_p < ALMOST_ZERO
        carried, total = float(documents[is_zero].sum()), float(documents.sum())
        if 2.0 * carried > total:
            n_labels, (event, actor) = int(cells.n_yes[is_zero].sum()), event_and_actor(plan.frame, name)
            row = {"event": event, "actor": actor, "n_labels": n_labels, "n_documents": carried, "total": total}
            rows.append(row)
    return rows


def uncovered_labels(plan: AuditPlan, labels: SheetLabels) -> list[dict[str, object]]:
    """Labels of yes of documents without both a word of the rule and a name of the actor.

    Returns
    -------
    list of dict
        For each target with such labels: event, actor; n_labels, labels of these documents; and n_yes, those of yes.
    """
    rows: list[dict[str, object]] = []
    for target, name in enumerate(plan.frame.targets if plan.has_classes else ()):
        is_neither = plan.frame.divisions(target)[plan.sample] == NEITHER
        answers, (event, actor) = labels.labels[is_neither, target], event_and_actor(plan.frame, name)
        if n_yes := int((answers == YES).sum()):
            n_labels = int((answers < UNSURE).sum())
            rows.append({"event": event, "actor": actor, "n_labels": n_labels, "n_yes": n_yes})
    return rows


def more_labels(
    plan: AuditPlan, labels: SheetLabels, estimate: AuditEstimate, model: RuleErrorModel
) -> dict[str, float]:
    """Width that a further round of labels would give to the widest interval of the totals that are reported first.

    That of totals which begin from the reference class is expected given the labels. Otherwise the width of now is
    multiplied by the ratio of the widths that are expected without labels.

    Returns
    -------
    dict
        n_more, number of labels of the round: 100, or all documents that are left; and width_after, the width.
    """
    is_prior = (estimate.learned["assumption"] == model_totals.REFERENCE).any()
    n_more, level = min(N_MORE, len(plan.frame) - len(plan.sample)), float(estimate.totals["level"].iloc[0])
    if not n_more:
        return {"n_more": 0, "width_after": 0.0}
    further = extend_plan(plan, n_more)
    if is_prior and not uncovered_labels(plan, labels):
        return {"n_more": n_more, "width_after": model_totals.expected_width_of(further, model, labels, level=level)}
    before, after = (model_totals.expected_width_of(each, model) for each in (plan, further))
    width = float((estimate.totals["upper"] - estimate.totals["lower"]).max())
    return {"n_more": n_more, "width_after": width * after / max(before, after)}


# --- what labels say of P, and of each other ---------------------------------------------------------------


def model_quality(plan: AuditPlan, labels: SheetLabels, level: float, method: Method) -> pd.DataFrame:
    """Precision and recall of the documents with P >= 0.5, with intervals: see `AuditEstimate.quality`."""
    cuts, rows = sorted({*(() if plan.proxies else plan.cuts), THRESHOLD}), []
    for target, name in enumerate(plan.frame.targets):
        (cells,) = cell_counts(plan, labels, target, cuts)
        is_high = cells.mean_p >= THRESHOLD
        high_p = interval_of(cells.subset(is_high), level, method)
        low_p = interval_of(cells.subset(~is_high), level, method)
        n_high = int(cells.n_documents[is_high].sum()) or float("nan")
        rows.append((name, "precision", high_p.estimate / n_high, high_p.lower / n_high, high_p.upper / n_high))
        rows.append((name, "recall", *_recall(high_p, low_p)))
    return pd.DataFrame(rows, columns=["target", "measure", "estimate", "lower", "upper"])


def _recall(high_p: Bounds, low_p: Bounds) -> tuple[float, float, float]:
    """Estimate and limits of the share of positive documents that have a high P.

    Positive documents with a high and with a low P lie in different strata or cells, so their numbers are independent.
    The limits of recall r are those at which the interval of (1 - r) * high - r * low, joined by MOVER, reaches zero.
    """
    positive = high_p.estimate + low_p.estimate
    if positive <= 0.0:
        return float("nan"), 0.0, 1.0
    n_steps = 2000
    r = np.linspace(0.0, 1.0, n_steps + 1)
    centre = (1.0 - r) * high_p.estimate - r * low_p.estimate
    above = np.hypot((1.0 - r) * (high_p.upper - high_p.estimate), r * (low_p.estimate - low_p.lower))
    below = np.hypot((1.0 - r) * (high_p.estimate - high_p.lower), r * (low_p.upper - low_p.estimate))
    inside = np.flatnonzero((centre + above >= 0.0) & (centre - below <= 0.0))
    estimate = high_p.estimate / positive
    if not inside.size:
        return estimate, estimate, estimate
    lower, upper = float(r[max(inside[0] - 1, 0)]), float(r[min(inside[-1] + 1, n_steps)])
    return estimate, min(estimate, lower), max(estimate, upper)


def disagreements(plan: AuditPlan, labels: SheetLabels) -> pd.DataFrame:
    """The hundred documents whose labels and P disagree most: see `AuditEstimate.disagreements`."""
    ranked_rows, dates = [], plan.frame.date_texts()
    for target, name in enumerate(plan.frame.targets):
        p, answers = plan.frame.probability(target)[plan.sample], labels.labels[:, target]
        distance = np.where(answers < UNSURE, np.abs(answers - p), 0.0)
        for i in np.flatnonzero(distance >= 0.5).tolist():
            doc_id, date = str(plan.frame.doc_ids[plan.sample[i]]), str(dates[plan.sample[i]])
            row = doc_id, date, name, float(p[i]), ("no", "yes")[answers[i]], labels.notes.get(doc_id, "")
            ranked_rows.append((-float(distance[i]), doc_id, i, target, row))
    rows = [row for *_, row in sorted(ranked_rows, key=lambda ranked: ranked[:-1])[:100]]
    return pd.DataFrame(rows, columns=["doc_id", "date", "target", "probability", "label", "note"])


def cohen_kappa(table: np.typing.ArrayLike, *, level: float = 0.95) -> tuple[float, float, float]:
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
    shares = np.random.default_rng(0).dirichlet(counts.ravel() + 0.5, 20_000).reshape(-1, *counts.shape)
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
    columns = ["first", "second", "n_documents", "n_agreed", "kappa", "lower", "upper", "level"]
    return pd.DataFrame(rows, columns=columns)
