"""Counts with the error of a rule: hand-derived means, bounds and random streams."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.special import logit
from scipy.stats import betabinom
from tolerance import plausible_means

from events.rule_error._counts import (
    STRATUM_SD,
    central_interval,
    error_generator,
    expected_width,
    reader_probability,
    true_counts,
    unlabelled_yes,
    yes_shares,
)
from events.rule_error._model import RuleError

N = 100_000
STRATA = np.array([1000]), np.array([0.0]), np.array([[0.0, 0.0, 1.0]])  # all in the class "neither"


def constant(precision: float, *misses: float, n: int = N) -> RuleError:
    """Draws without any spread; misses by class, the last of them for those that are left out."""
    of_classes = [*misses, *[misses[-1]] * (3 - len(misses))]
    return RuleError(np.full(n, logit(precision)), np.tile(logit(of_classes), (n, 1)))


@pytest.fixture(autouse=True)
def no_effects_of_periods(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("events.rule_error._counts.PERIOD_SD", 0.0)


def test_counts_are_thinned_and_missed_documents_added_by_class() -> None:
    error, near = constant(0.8, 0.1, 0.02, 0.001), [[30, 20], [0, 60]]
    draws = true_counts(np.tile([10, 40], (N, 1)), [100, 100], near, error, np.random.default_rng(0))
    # 10 * .8 + 30 * .1 + 20 * .02 + 40 * .001; the 60 other documents in the second period are of the second class.
    expected = [11.44, 32.0 + 60 * 0.02]
    assert plausible_means(draws.mean(axis=0), expected, draws.std(axis=0) / np.sqrt(N)).all()


@given(st.integers(0, 30), st.integers(0, 30), st.integers(0, 40), st.floats(-3, 3), st.floats(-3, 5))
def test_no_count_exceeds_the_documents(counted: int, others: int, near: int, precision: float, misses: float) -> None:
    error, rng = RuleError(np.full(50, precision), np.full((50, 3), misses)), np.random.default_rng(0)
    draws = true_counts(np.full((50, 1), counted), [counted + others], [[near, 5]], error, rng)
    assert (draws >= 0).all()
    assert (draws <= counted + others).all()


def test_a_perfect_rule_changes_nothing() -> None:
    counts, error = np.random.default_rng(0).integers(0, 5, (100, 3)), constant(1 - 1e-12, 1e-12, n=100)
    draws = true_counts(counts, [10, 10, 10], np.ones((3, 2), int), error, np.random.default_rng(1))
    assert (draws == counts).all()


def test_periods_differ_more_than_binomial_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    variances = []
    for sd in (0.0, 0.5):
        monkeypatch.setattr("events.rule_error._counts.PERIOD_SD", sd)
        error = constant(0.5, 1e-9)
        variances.append(true_counts(np.full((N, 1), 100), [100], [[0, 0]], error, np.random.default_rng(0)).var())
    assert variances[0] == pytest.approx(25.0, rel=0.03)  # n p (1 - p)
    assert variances[1] > 4 * variances[0]  # about 25 + (100 * .25 * .5)**2


def test_reader_probability_is_a_mixture_of_precision_and_the_misses_of_the_class() -> None:
    (reader,) = reader_probability([0.0, 0.5, 1.0], constant(0.75, 0.1, 0.02, 0.001, n=1))
    assert reader == pytest.approx(np.array([[0.1, 0.02, 0.001], [0.425, 0.385, 0.3755], [0.75, 0.75, 0.75]]))


def test_the_random_stream_depends_on_seed_event_and_actor() -> None:
    draws = {
        key: error_generator(*key).random() for key in ((0, "a", "B"), (1, "a", "B"), (0, "a", "C"), (0, "b", "B"))
    }
    assert len(set(draws.values())) == 4
    assert error_generator(0, "a", "B").random() == draws[0, "a", "B"]


def test_labels_weigh_the_draws_of_the_error() -> None:
    # One stratum of 50 documents that the rule counts, P = 1: the shares are .2 and .9, each half of the draws.
    error = RuleError(np.repeat(logit([0.2, 0.9]), N // 2), np.full((N, 3), -30.0))
    strata = (np.array([50]), np.array([1.0]), np.array([[0.0, 0.0, 1.0]]), np.array([6]), np.array([3]))
    shares = np.array([0.2, 0.9])
    concentration = np.maximum(1.0 / (shares * (1 - shares) * STRATUM_SD**2) - 1.0, 1.0)
    a, b = shares * concentration, (1 - shares) * concentration
    weights = betabinom.pmf(3, 6, a, b)
    mean = 44 * (weights / weights.sum()) @ ((a + 3) / (a + b + 6))
    draws = unlabelled_yes(*strata, error, np.random.default_rng(0))
    assert plausible_means(draws.mean(), mean, draws.std() * np.sqrt(2 / N)).all()  # resampled, then drawn
    assert draws.min() >= 0
    assert draws.max() <= 44


def test_a_label_of_yes_moves_the_misses_of_its_class() -> None:
    # Half of the draws have words that cover the question: 1 of 10,000 of the class "neither", or 1 of 10.
    error = RuleError(np.zeros(N), np.column_stack([np.full((N, 2), -30.0), np.repeat(logit([1e-4, 0.1]), N // 2)]))
    none, one = (
        unlabelled_yes(*STRATA, np.array([20]), np.array([yes]), error, np.random.default_rng(0)).mean()
        for yes in (0, 1)
    )
    shares = np.array([1e-4, 0.1])
    concentration = np.maximum(1.0 / (shares * (1 - shares) * STRATUM_SD**2) - 1.0, 1.0)
    a, b = shares * concentration, (1 - shares) * concentration
    for yes, mean in ((0, none), (1, one)):
        weights = betabinom.pmf(yes, 20, a, b)
        assert mean == pytest.approx(980 * (weights / weights.sum()) @ ((a + yes) / (a + b + 20)), rel=0.03)
    assert one > 4 * none


def test_shares_of_yes_follow_precision_and_misses() -> None:
    shares = yes_shares([1.0, 0.25], [[0.0, 0.0, 1.0], [0.5, 0.0, 0.5]], constant(0.8, 0.1, 0.0001, 0.02, n=1))
    assert shares == pytest.approx(np.array([[0.8, 0.25 * 0.8 + 0.75 * 0.06]]))


def test_expected_width_falls_with_labels() -> None:
    error = RuleError(np.linspace(-1.0, 3.0, 1000), np.linspace(-6.0, -1.0, 3000).reshape(3, -1).T)
    strata = np.array([40, 1000]), np.array([1.0, 0.0]), np.full((2, 3), 1 / 3)
    widths = [
        expected_width(*strata, np.array(labels), error, np.random.default_rng(0))
        for labels in ([5, 20], [10, 90], [40, 1000])
    ]
    assert widths[0] > 1.3 * widths[1] > widths[2] == 0.0


@pytest.mark.parametrize(("level", "ends"), [(0.95, [24, 974]), (0.9, [49, 949]), (0.8, [99, 899])])
def test_ends_of_an_interval_are_the_quantiles_of_1000_draws(level: float, ends: list[int]) -> None:
    """The 25th and the 975th of 1,000 draws, whatever the rounding of 1 - level."""
    assert central_interval(np.arange(1000), level).tolist() == ends
