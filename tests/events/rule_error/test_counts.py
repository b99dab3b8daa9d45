"""Counts with the error of a rule: hand-derived means, bounds and random streams."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
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


def constant(precision: float, misses: float, n: int = N, sd: float = 0.0) -> RuleError:
    return RuleError(np.full(n, logit(precision)), np.full(n, np.log(misses)), np.full(n, sd), np.full(n, sd))


def test_counts_are_thinned_and_missed_documents_added() -> None:
    draws = true_counts(np.tile([10, 0], (N, 1)), [100, 100], constant(0.8, 0.4), np.random.default_rng(0))
    # 10 * .8 confirmed; of .4 * 10.5 missed documents 11 in 12 in the first period: see `miss_exposure`.
    missed = 4.2 * 11 / 12, 4.2 / 12
    expected = [8.0 + missed[0], missed[1]]
    assert plausible_means(draws.mean(axis=0), expected, draws.std(axis=0) / np.sqrt(N)).all()


@given(st.integers(0, 30), st.integers(0, 30), st.floats(-3, 3), st.floats(-3, 5))
def test_no_count_exceeds_the_documents(counted: int, others: int, precision: float, misses: float) -> None:
    error = RuleError(np.full(50, precision), np.full(50, misses), np.full(50, 1.0), np.full(50, 1.0))
    draws = true_counts(np.full((50, 1), counted), [counted + others], error, np.random.default_rng(0))
    assert (draws >= 0).all()
    assert (draws <= counted + others).all()


def test_a_perfect_rule_changes_nothing() -> None:
    counts = np.random.default_rng(0).integers(0, 5, (100, 3))
    assert (
        true_counts(counts, [10, 10, 10], constant(1 - 1e-12, 1e-12, 100), np.random.default_rng(1)) == counts
    ).all()


def test_periods_differ_more_than_binomial_counts() -> None:
    counts = np.full((N, 1), 100)
    variances = [
        true_counts(counts, [100], constant(0.5, 1e-9, sd=sd), np.random.default_rng(0)).var() for sd in (0.0, 0.5)
    ]
    assert variances[0] == pytest.approx(25.0, rel=0.03)  # n p (1 - p)
    assert variances[1] > 4 * variances[0]  # about 25 + (100 * .25 * .5)**2


def test_reader_probability_is_a_mixture() -> None:
    counts = np.full((N, 1), 20)
    reader = reader_probability([0.0, 0.5, 1.0], counts, [120], constant(0.75, 0.5), np.random.default_rng(0))
    miss = 0.5 * 20.5 / 100  # missed documents among the 100 others
    expected = np.array([miss, 0.5 * 0.75 + 0.5 * miss, 0.75])
    assert reader.mean(axis=0) == pytest.approx(expected, abs=0.001)


def test_the_random_stream_depends_on_seed_event_and_actor() -> None:
    draws = {
        key: error_generator(*key).random() for key in ((0, "a", "B"), (1, "a", "B"), (0, "a", "C"), (0, "b", "B"))
    }
    assert len(set(draws.values())) == 4
    assert error_generator(0, "a", "B").random() == draws[0, "a", "B"]


def test_labels_weigh_the_draws_of_the_error() -> None:
    # One stratum of 50 documents that the rule counts, P = 1: the shares are .2 and .9, each half of the draws.
    error = RuleError(np.repeat(logit([0.2, 0.9]), N // 2), np.full(N, -30.0), np.zeros(N), np.zeros(N))
    strata = (np.array([50]), np.array([1.0]), np.array([6]), np.array([3]))
    shares = np.array([0.2, 0.9])
    concentration = np.maximum(1.0 / (shares * (1 - shares) * STRATUM_SD**2) - 1.0, 1.0)
    a, b = shares * concentration, (1 - shares) * concentration
    weights = betabinom.pmf(3, 6, a, b)
    mean = 44 * (weights / weights.sum()) @ ((a + 3) / (a + b + 6))
    draws = unlabelled_yes(*strata, error, np.random.default_rng(0))
    assert plausible_means(draws.mean(), mean, draws.std() * np.sqrt(2 / N)).all()  # resampled, then drawn
    assert draws.min() >= 0
    assert draws.max() <= 44


def test_no_label_of_yes_where_p_is_0_leaves_half_a_yes_to_the_prior() -> None:
    # Of 1,000 documents .1 * 20 are missed: a beta distribution with mean .002, whose logit has a variance of 2.
    strata = (np.array([20, 1000]), np.array([1.0, 0.0]), np.array([0, 200]), np.array([0, 0]))
    draws = unlabelled_yes(*strata, constant(0.5, 2.0 / 20.5), np.random.default_rng(0))[:, 1]
    concentration = 1.0 / (0.002 * 0.998 * 2.0) - 1.0
    mean = 800 * 0.002 * concentration / (concentration + 200)  # 800 * .498 / 449
    assert plausible_means(draws.mean(), mean, draws.std() / np.sqrt(N)).all()


def test_shares_of_yes_follow_precision_and_misses() -> None:
    # 40 of 100 documents are counted; .25 * 40.5 of the 60 others are missed.
    shares = yes_shares([40, 60], [1.0, 0.0], constant(0.7, 0.25, 1))
    assert shares == pytest.approx(np.array([[0.7, 0.25 * 40.5 / 60]]))


def test_expected_width_falls_with_labels() -> None:
    error = constant(0.7, 0.25, 10)
    widths = [expected_width([40, 1000], [1.0, 0.0], labels, error) for labels in ([5, 20], [10, 90], [40, 1000])]
    assert widths[0] > widths[1] > widths[2] == 0.0


@pytest.mark.parametrize(("level", "ends"), [(0.95, [24, 974]), (0.9, [49, 949]), (0.8, [99, 899])])
def test_ends_of_an_interval_are_the_quantiles_of_1000_draws(level: float, ends: list[int]) -> None:
    """The 25th and the 975th of 1,000 draws, whatever the rounding of 1 - level."""
    assert central_interval(np.arange(1000), level).tolist() == ends
