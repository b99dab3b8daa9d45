"""Several models in one audit: weights from labels, and coverage of totals."""

from dataclasses import replace

import numpy as np
import pytest
from events_audit_made import true_labels
from expected_errors import error
from scipy.optimize import minimize
from scipy.stats import binom

from corefsample import ParameterError
from corefsample._arrays import Bools, Floats, Ints
from events.audit import AuditFrame, estimate_counts, plan_audit
from events.audit._model_totals import combined_probability, made_folds
from events.audit._plan import AuditPlan

N = 600


def frame_of(p: Floats) -> AuditFrame:
    return AuditFrame.from_arrays([f"d{i}" for i in range(len(p))], ["2000-01-01"] * len(p), p, period="year")


def corpus(share: float, seed: int = 0) -> tuple[Bools, Floats, dict[str, Floats]]:
    """Truth; P that misses a third of it; a coder who is mostly right, a weak score, and one without information."""
    rng = np.random.default_rng(seed)
    truth = rng.random(N) < share
    p = np.where(truth & (rng.random(N) < 2 / 3), rng.random(N), np.where(rng.random(N) < 0.1, rng.random(N), 0.0))
    coder = np.where(truth, rng.random(N) < 0.85, rng.random(N) < 0.02).astype(float)
    weak = np.clip(0.3 * truth + 0.2 * rng.random(N), 0.0, 1.0)
    return truth, p, {"coder": coder, "weak": weak, "noise": rng.random(N)}


def estimated_variance(plan: AuditPlan, rows: Ints, errors: Floats) -> float:
    """The variance of the difference estimator, stratum by stratum, from labels less weighted sums of models."""
    total = 0.0
    for h, stratum in enumerate(plan.strata):
        inside = errors[plan.stratum_of[rows] == h]
        if len(inside):
            n, size = len(inside), stratum.n_documents
            total += (size / n) ** 2 * (1.0 - n / size) * float(((inside - inside.mean()) ** 2).sum())
    return total


def test_weights_minimise_the_variance_of_the_total_over_labels_of_other_folds() -> None:
    """The reference minimises the variance numerically; documents of a fold have one set of weights."""
    truth, p, proxies = corpus(0.2)
    plan = plan_audit(frame_of(p), 150, proxies=proxies)
    combined = combined_probability(plan, true_labels(plan, truth), 0, proxies)
    x, rows = np.column_stack([p, *proxies.values()]), plan.sample
    folds = made_folds(plan.stratum_of[rows], np.zeros(len(rows)), rows, N, np.random.default_rng([0, 0]))
    for fold in (0, 7):
        train = rows[folds[rows] != fold]
        best = minimize(
            lambda weights, train=train: estimated_variance(plan, train, truth[train] - x[train] @ weights),
            np.full(x.shape[1], 0.2),
            bounds=[(0.0, None)] * x.shape[1],
        )
        inside = np.flatnonzero((folds == fold) & (combined > 0.0) & (combined < 1.0))
        assert np.ptp(combined[inside] - x[inside] @ best.x) < 1e-3


def test_a_label_does_not_change_the_probability_of_its_own_document() -> None:
    truth, p, proxies = corpus(0.3)
    plan = plan_audit(frame_of(p), 80)
    before = combined_probability(plan, true_labels(plan, truth), 0, proxies)
    for document in plan.sample[:10].tolist():
        other = truth.copy()
        other[document] = not truth[document]
        after = combined_probability(plan, true_labels(plan, other), 0, proxies)
        assert after[document] == before[document]
        assert (after != before).any()


@pytest.mark.parametrize("share", [0.04, 0.2])
def test_totals_with_proxies_cover_the_truth_from_fifty_labels_on(share: float) -> None:
    """400 samples: fewer intervals with the true total than .93 of them would give by chance once in a million."""
    truth, p, proxies = corpus(share)
    covered, widths, own_widths = 0, 0.0, 0.0
    for seed in range(400):
        plan = plan_audit(frame_of(p), 50, proxies=proxies, seed=seed)
        estimate = estimate_counts(plan, true_labels(plan, truth))
        (learned,), (total,) = estimate.learned.itertuples(), estimate.totals.itertuples()
        covered += learned.lower <= truth.sum() <= learned.upper
        widths += learned.upper - learned.lower
        own_widths += total.upper - total.lower
    assert covered >= binom.ppf(1e-6, 400, 0.93)
    assert share < 0.1 or widths < 0.8 * own_widths  # rare events need more labels


def test_proxies_of_the_estimate_are_added_to_those_of_the_plan() -> None:
    truth, p, proxies = corpus(0.2)
    labels_of = {name: {key: proxies[key] for key in name} for name in (("coder",), ("weak",), ("coder", "weak"))}
    first = plan_audit(frame_of(p), 100, proxies=labels_of["coder",])
    labels = true_labels(first, truth)
    added = estimate_counts(first, labels, proxies=labels_of["weak",]).learned
    assert added.equals(estimate_counts(replace(first, proxies=labels_of["coder", "weak"]), labels).learned)
    assert not added.equals(estimate_counts(first, labels).learned)


@pytest.mark.parametrize("p", [[0.5, 0.5], [0, 1, 2, 0]])
def test_proxies_must_be_probabilities_of_the_documents(p: list[float]) -> None:
    with error(ParameterError, "proxies"):
        plan_audit(frame_of(np.array([0.0, 0.1, 0.5, 0.9])), 4, proxies={"llm": p})
