"""Regression of counts from labels and P: against refits, likelihoods and enumeration, and coverage of intervals."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from events_audit_made import actor_frame, true_labels
from expected_errors import error
from scipy.optimize import minimize
from scipy.stats import norm, t as student
from tolerance import plausible_counts, plausible_means

from corefsample import InputError
from corefsample._arrays import Bools, Ints
from corefsample.errors import CorefsampleError
from events.audit import AuditFrame, plan_audit, regress_counts
from events.audit._regression import CountRegression, Outcome
from events.audit._sheets import UNSURE, SheetLabels

SLOPE = 0.5


def corpus(seed: int, *, n_units: int = 30, share: float = 0.2) -> tuple[AuditFrame, Bools, pd.DataFrame]:
    """Quarters of about forty documents, whose share of positives rises with z; P misses more of them in late ones."""
    rng = np.random.default_rng(seed)
    z = np.linspace(-1.0, 1.0, n_units)
    unit = np.repeat(np.arange(n_units), rng.poisson(40, n_units) + 1)
    rates = share * np.exp(SLOPE * z) * rng.gamma(20.0, 0.05, n_units)
    truth = rng.random(len(unit)) < rates[unit]
    is_seen = truth & (rng.random(len(unit)) < (0.75 - 0.35 * z)[unit])
    guesses = np.where(rng.random(len(unit)) < 0.1, 0.4 * rng.random(len(unit)), 0.0)
    p = np.where(is_seen, 0.4 + 0.6 * rng.random(len(unit)), guesses).round(3)
    dates = (np.datetime64("1990-01", "M") + 3 * unit).astype("datetime64[D]")
    periods = [f"{1990 + u // 4}Q{1 + u % 4}" for u in range(n_units)]
    frame = AuditFrame.from_arrays(list(map(str, range(len(unit)))), dates, p)
    return frame, truth, pd.DataFrame({"period": periods, "z": z})


def all_labelled(outcome: Outcome) -> tuple[CountRegression, Any, Any, Any]:
    """Regression where every document has a label, with the design, the true counts and the sizes of the units."""
    frame, truth, covariates = corpus(1)
    covariates = covariates.assign(square=covariates["z"] ** 2)
    plan = plan_audit(frame, len(frame))
    result = regress_counts(plan, true_labels(plan, truth), covariates, outcome=outcome)
    numbers = frame.period_numbers() - frame.period_numbers().min()
    x = np.column_stack([np.ones(len(covariates)), covariates["z"], covariates["square"]])
    return result, x, np.bincount(numbers, truth), np.bincount(numbers)


@pytest.mark.parametrize("outcome", ["count", "share"])
def test_with_all_labels_it_is_least_squares_with_errors_from_refits_without_each_unit(outcome: Outcome) -> None:
    result, x, counts, sizes = all_labelled(outcome)
    y = counts if outcome == "count" else counts / sizes
    beta = np.linalg.lstsq(x, y, rcond=None)[0]
    refits = [np.linalg.lstsq(np.delete(x, i, 0), np.delete(y, i), rcond=None)[0] for i in range(len(y))]
    left_out = y - (x * refits).sum(axis=1)
    inverse = np.linalg.inv(x.T @ x)
    covariance = inverse @ (x.T * np.square(left_out)) @ x @ inverse
    assert result.coefficients["term"].tolist() == ["(intercept)", "z", "square"]
    assert result.coefficients["estimate"].tolist() == pytest.approx(beta)
    assert result.coefficients["standard_error"].tolist() == pytest.approx(np.sqrt(np.diag(covariance)))
    reach = student.ppf(0.975, len(y) - 3) * np.sqrt(np.diag(covariance))
    assert list(result.coefficients[["lower", "upper"]].itertuples(index=False, name=None)) == [
        pytest.approx(ends) for ends in zip(beta - reach, beta + reach, strict=True)
    ]
    assert result.coefficients["label_share"].tolist() == [0.0] * 3
    assert result.units["estimate"].tolist() == pytest.approx(counts.tolist())


def test_errors_with_some_labels_are_those_of_pseudo_outcomes_and_of_a_quarter_label_of_either_kind() -> None:
    """A plain loop over strata and documents, with a fixed P in place of learned weights."""
    frame, truth, covariates = corpus(3)
    plan = plan_audit(frame, 150)
    p = np.random.default_rng(0).random(len(frame)).round(2)
    result = regress_counts(plan, true_labels(plan, truth), covariates, learned={"event": p})
    outcomes, added = p.copy(), np.zeros(len(frame))
    for h, stratum in enumerate(plan.strata):
        inside = plan.stratum_of == h
        size, n, mean = stratum.n_documents, stratum.n_sampled, p[inside].mean()
        spread = 0.25 * ((1.0 - mean) ** 2 + mean**2) / (n - 1 + 0.5)
        added[inside] = size * (1.0 - n / size) * spread / n
        for row in plan.sample[inside[plan.sample]]:
            outcomes[row] += (float(truth[row]) - p[row]) * size / n
    unit = frame.period_numbers() - frame.period_numbers().min()
    y, x = np.bincount(unit, outcomes), np.column_stack([np.ones(len(covariates)), covariates["z"]])
    bread = np.linalg.inv(x.T @ x)
    residuals = (y - x @ (bread @ x.T @ y)) / (1.0 - np.einsum("ij,jk,ik->i", x, bread, x))
    covariance = bread @ (x.T * (residuals**2 + np.bincount(unit, added))) @ x @ bread
    assert result.coefficients["standard_error"].tolist() == pytest.approx(np.sqrt(np.diag(covariance)))


def test_with_all_labels_a_rate_is_the_maximum_of_the_poisson_likelihood() -> None:
    result, x, counts, sizes = all_labelled("log-rate")
    best = minimize(lambda beta: float((sizes * np.exp(x @ beta) - counts * (x @ beta)).sum()), np.zeros(3), tol=1e-12)
    assert result.coefficients["estimate"].tolist() == pytest.approx(best.x, abs=1e-4)


def test_counts_of_units_have_no_bias_over_all_samples() -> None:
    """Two strata: all samples of two of four documents with P = 0 and two of three others, with any fixed P."""
    p = np.array([0.0, 0.0, 0.0, 0.0, 0.7, 0.9, 0.4])
    truth = np.array([1, 0, 0, 1, 1, 0, 1], np.bool_)
    dates = [f"{year}-01-01" for year in (2000, 2001, 2002, 2003, 2000, 2001, 2002)]
    plan = plan_audit(AuditFrame.from_arrays(list("abcdefg"), dates, p, period="year"), 4, cuts=(0.1,), floor=2)
    covariates = pd.DataFrame({"period": ["2000", "2001", "2002", "2003"], "z": [0.0, 1.0, 2.0, 4.0]})
    used = np.array([0.1, 0.2, 0.0, 0.5, 0.9, 0.6, 0.3])
    counts, estimates = [], []
    for pair, other in itertools.product(itertools.combinations(range(4), 2), itertools.combinations(range(4, 7), 2)):
        sampled = replace(plan, sample=np.array([*pair, *other]))
        result = regress_counts(sampled, true_labels(sampled, truth), covariates, learned={"event": used})
        counts.append(result.units["estimate"])
        estimates.append(result.coefficients["estimate"].tolist())
    true = np.array([2.0, 0.0, 1.0, 1.0])
    assert np.mean(counts, axis=0) == pytest.approx(true)
    assert np.mean(estimates, axis=0) == pytest.approx(np.polyfit(covariates["z"], true, 1)[::-1])


@pytest.mark.parametrize("outcome", ["share", "log-rate"])
def test_intervals_cover_the_slope_where_a_regression_on_p_misses_it(outcome: Outcome) -> None:
    """The slope of a share is that of the least squares line of expected shares."""
    n_draws, share = 150, 0.2
    rows = []
    for seed in range(n_draws):
        frame, truth, covariates = corpus(seed, share=share)
        plan = plan_audit(frame, 150, seed=seed)
        z = covariates["z"].to_numpy()
        slope = SLOPE if outcome == "log-rate" else float(np.polyfit(z, share * np.exp(SLOPE * z), 1)[0])
        slope_of = regress_counts(plan, true_labels(plan, truth), covariates, outcome=outcome).coefficients.iloc[1]
        is_covered = slope_of.lower <= slope <= slope_of.upper
        rows.append((is_covered, slope_of.estimate - slope, slope_of.run_estimate - slope, slope_of.standard_error))
    covered, bias, naive_bias, errors = np.array(rows, np.float64).T
    assert plausible_counts(covered.sum(), n_draws, 0.95).all()
    for values, is_unbiased in ((bias, True), (naive_bias, False)):
        assert plausible_means(values.mean(), 0.0, values.std(ddof=1) / np.sqrt(n_draws)).all() == is_unbiased
    assert 0.9 < errors.mean() / bias.std(ddof=1) < 1.25


def test_the_power_counts_the_share_of_the_variance_that_more_labels_take_away() -> None:
    frame, truth, covariates = corpus(2)
    slopes = {}
    for n_labels in (200, 400):
        plan = plan_audit(frame, n_labels)
        slopes[n_labels] = regress_counts(plan, true_labels(plan, truth), covariates).coefficients.iloc[1]
    slope = slopes[200]
    reach = norm.ppf(0.975) + norm.ppf(0.8)
    assert slope.detectable == pytest.approx(reach * slope.standard_error)
    assert slope.detectable_twice == pytest.approx(slope.detectable * np.sqrt(1.0 - slope.label_share / 2.0))
    assert 0.2 < slope.label_share < 1.0
    assert slopes[400].label_share < slope.label_share


def test_units_are_actors_in_periods() -> None:
    frame = actor_frame()
    plan = plan_audit(frame, 60)
    values = np.random.default_rng(0).integers(0, 2, (60, 2)).astype(np.int8)
    labels = SheetLabels(values[plan.sample], {}, 1, {})
    keys = list(itertools.product(["1999", "2000", "2001"], ["IRQ", "USA"]))
    covariates = pd.DataFrame(keys, columns=["period", "actor"]).assign(x=[0.0, 1.0, 5.0, 2.0, 3.0, 1.0])
    units = regress_counts(plan, labels, covariates).units
    years = frame.dates.astype("datetime64[Y]").astype(str)
    column: dict[str, Ints] = {"USA": values[:, 0], "IRQ": values[:, 1]}
    assert units["estimate"].tolist() == pytest.approx([column[actor][years == year].sum() for year, actor in keys])
    for change in ({"event": "attack"}, {}):  # both actors are of one event
        with error(InputError):
            regress_counts(plan, labels, covariates.drop(columns="actor").assign(**change))


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        ({"period": "1990Q1"}, InputError),
        ({"z": "many"}, InputError),
        ({"z": 1.0}, InputError),
        ({"z": [1.0] + 29 * [0.0]}, InputError),  # of one unit: its residual is 0
        ({"period": [f"18{k}Q1" for k in range(10, 40)]}, CorefsampleError),
    ],
)
def test_tables_of_covariates_that_break_a_rule_are_rejected(change: dict[str, Any], kind: type[Exception]) -> None:
    frame, truth, covariates = corpus(0)
    plan = plan_audit(frame, 100)
    with pytest.raises(kind):
        regress_counts(plan, true_labels(plan, truth), covariates.assign(**change), outcome="share")
    for table in (covariates[["z"]], covariates[:2], covariates.assign(period=[f"unit {k}" for k in range(30)])):
        with pytest.raises(InputError):
            regress_counts(plan, true_labels(plan, truth), table)


def test_a_stratum_whose_labels_are_all_unsure_is_rejected() -> None:
    """Without a label of yes or no its errors would not be corrected."""
    frame, truth, covariates = corpus(0)
    plan = plan_audit(frame, 100)
    labels = true_labels(plan, truth)
    labels.labels[plan.stratum_of[plan.sample] == 0] = UNSURE
    with pytest.raises(InputError):
        regress_counts(plan, labels, covariates)
