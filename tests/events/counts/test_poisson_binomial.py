"""Distributions of counts and their intervals against brute force."""

import math
from typing import Any

import numpy as np
import pytest
from expected_errors import error
from hypothesis import given, settings, strategies as st
from references import coreference as references, events as er

from corefsample import ParameterError
from events.counts import count_pmf
from events.counts._credible_intervals import difference_pmf, hdi_interval, quantile_interval

probabilities = st.one_of(st.sampled_from([0.0, 1.0, 0.5]), st.floats(0.0, 1.0, allow_subnormal=False))
levels = st.one_of(st.sampled_from([0.5, 0.8, 0.9, 0.95, 0.99]), st.floats(0.01, 0.99))


@st.composite
def distributions(draw: Any) -> list[float]:
    weights = draw(st.lists(st.integers(0, 20), min_size=1, max_size=9).filter(any))
    return [weight / sum(weights) for weight in weights]


# --- the distribution ---------------------------------------------------------------------------------------


@given(st.lists(probabilities, max_size=8))
def test_the_distribution_is_that_of_all_outcomes(probs: list[float]) -> None:
    assert count_pmf(probs) == pytest.approx(references.poisson_binomial_pmf(probs), abs=1e-12)


# --- intervals ---------------------------------------------------------------------------------------------


@given(distributions(), levels)
def test_quantile_intervals_are_the_cumulative_loops(pmf: list[float], level: float) -> None:
    tail = (1.0 - level) / 2.0
    assert quantile_interval(pmf, level) == (er.quantile(pmf, tail), er.quantile(pmf, 1.0 - tail))


@given(distributions(), levels)
def test_hdi_intervals_are_the_shortest_of_all_and_then_the_lowest(pmf: list[float], level: float) -> None:
    assert hdi_interval(pmf, level) == min(er.shortest_intervals(pmf, level))


@pytest.mark.parametrize("find", [quantile_interval, hdi_interval])
def test_levels_and_distributions_are_validated(find: Any) -> None:
    for level in (0.0, 1.0, -0.1, 1.5, float("nan")):
        with error(ParameterError, "level"):
            find([0.5, 0.5], level)
    for pmf in ([], [0.5, 0.4], [1.5, -0.5], [0.2, float("nan")], [2.0]):
        with error(ParameterError, "pmf"):
            find(pmf)


# --- comparison --------------------------------------------------------------------------------------------


@settings(max_examples=80)
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=5))
def test_the_distribution_of_a_difference_is_that_of_all_outcomes(pairs: list[tuple[int, int]]) -> None:
    first, second = np.array([a / 9 for a, _ in pairs]), np.array([b / 9 for _, b in pairs])
    distribution, n = er.difference_distribution(first.tolist(), second.tolist()), len(pairs)
    expected = [distribution.get(k, 0.0) for k in range(-n, n + 1)]
    assert difference_pmf(first, second) == pytest.approx(expected, abs=1e-12)


def test_an_interval_of_a_level_next_to_1_has_its_tails() -> None:
    # Each tail may have (1 - level) / 2, about 5e-13: 4e-13 may lie outside, 1.2e-12 may not.
    level = 1.0 - 1e-12
    for small, expected in ((1.2e-12, (0, 2)), (4e-13, (1, 1))):
        assert quantile_interval([small, 1.0 - 2.0 * small, small], level) == expected
    assert hdi_interval([1.5e-12, 1.0 - 1.5e-12], level) == (0, 1)


def test_thousands_of_trials_have_an_accurate_tail() -> None:
    # P(no success) = 0.9^5000 = e^(5000 log 0.9), some 1e-229: a Fourier transform would lose it.
    pmf = count_pmf(np.full(5000, 0.1))
    assert math.log(pmf[0]) == pytest.approx(5000 * math.log(0.9), rel=1e-12)
    assert pmf.sum() == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("probs", [[0.5, 1.5], [0.1, math.nan], ["0.5"], [[0.5]]])
def test_an_invalid_probability_raises(probs: Any) -> None:
    with pytest.raises(ParameterError, match="probs"):
        count_pmf(probs)
