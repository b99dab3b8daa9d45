"""Counts of queries: distributions by enumeration, intervals by definition, coverage counted by hand."""

from __future__ import annotations

import itertools
import math
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from references import coreference as references
from references import events as er

from corefsample import ParameterError
from events.counting import count_pmf
from events.counting._counts import quantile_interval
from events.queries import mixture_pmf
from events.queries._queries import MENTION_TYPES
from events.queries._table import QueryTable
from events.queries._true_counts import count_coverage, count_intervals, count_quantiles

shares = st.floats(0.0, 1.0)


def table(truth: dict[str, list[bool]]) -> QueryTable:
    """A query of each verb, held by as many documents as it has truths."""
    verbs = sorted(truth)
    pairs = [(d, v) for v, verb in enumerate(verbs) for d in range(len(truth[verb]))]
    flat = [truth[verbs[v]][d] for d, v in pairs]
    documents: Any = tuple(range(max(len(each) for each in truth.values())))  # nothing of them is asked
    return QueryTable(
        documents,
        tuple((MENTION_TYPES[0], verb) for verb in verbs),
        np.array([d for d, _ in pairs], np.int32),
        np.array([v for _, v in pairs], np.int32),
        np.array(flat),
    )


# --- distributions ------------------------------------------------------------------------------------------


@given(st.integers(1, 4).flatmap(lambda n: st.lists(st.lists(shares, min_size=n, max_size=n), min_size=1, max_size=3)))
def test_a_mixture_is_the_mean_of_the_distributions_by_enumeration(draws: list[list[float]]) -> None:
    expected = np.mean([references.poisson_binomial_pmf(draw) for draw in draws], axis=0)
    np.testing.assert_allclose(mixture_pmf(draws), expected, atol=1e-12)


def test_the_uncertainty_of_what_documents_share_does_not_average_out() -> None:
    # P is 0.3 or 0.5 for all of n documents: Var = E[n p (1-p)] + n^2 Var(p) = n 0.23 + n^2 0.01.
    for n in (10, 1000):
        pmf = mixture_pmf(np.repeat([[0.3], [0.5]], n, axis=1))
        counts = np.arange(n + 1)
        variance = pmf @ counts**2 - (pmf @ counts) ** 2
        assert variance == pytest.approx(0.23 * n + 0.01 * n**2)


def test_one_draw_is_the_distribution_itself() -> None:
    assert mixture_pmf([[0.2, 0.9]]).tolist() == count_pmf([0.2, 0.9]).tolist()


@pytest.mark.parametrize("probs", [[0.5], np.zeros((0, 3)), [["a"]], [[math.nan]]])
def test_distributions_of_no_probabilities_are_rejected(probs: Any) -> None:
    with pytest.raises(ParameterError, match="probs"):
        mixture_pmf(probs)


# --- intervals ----------------------------------------------------------------------------------------------


@given(st.lists(st.tuples(shares, st.booleans()), min_size=2, max_size=7), st.sampled_from([0.5, 0.8, 0.95]))
def test_intervals_are_those_of_the_definition(pairs: list[tuple[float, bool]], level: float) -> None:
    probs = [p for p, _ in pairs]
    found = count_intervals(table({"see": [t for _, t in pairs]}), probs, levels=[level], min_documents=2)
    pmf = references.poisson_binomial_pmf(probs)
    rows = found.set_index("interval")
    quantile = rows.loc["quantile"]
    tail = (1 - level) / 2
    assert (quantile["lower"], quantile["upper"]) == (er.quantile(pmf, tail), er.quantile(pmf, 1 - tail))
    hdi = rows.loc["hdi"]
    assert (hdi["lower"], hdi["upper"]) in er.shortest_intervals(pmf, level)
    mean, sd = math.fsum(probs), math.sqrt(math.fsum(p * (1 - p) for p in probs))
    half = NormalDist().inv_cdf((1 + level) / 2) * sd
    normal = rows.loc["normal"]
    np.testing.assert_allclose([normal["lower"], normal["upper"]], [mean - half, mean + half], atol=1e-6)
    truth = sum(t for _, t in pairs)
    assert (found["true_count"] == truth).all()
    assert (found["n_documents"] == len(pairs)).all()
    np.testing.assert_allclose(found["mean"], mean, atol=1e-9)
    np.testing.assert_allclose(found["sd"], sd, atol=1e-6)
    assert found["held"].tolist() == [row.lower <= truth <= row.upper for row in found.itertuples()]


def test_certain_documents_are_in_every_interval() -> None:
    found = count_intervals(table({"see": [True] * 6 + [False] * 3}), [1.0] * 6 + [0.0] * 3)
    assert found["held"].all()
    assert len(found) == 9  # three intervals, three levels


def test_queries_of_too_few_documents_are_left_out() -> None:
    found = count_intervals(table({"say": [True] * 4, "see": [True] * 5}), [0.5] * 9)
    assert set(found["verb"]) == {"see"}


def test_draws_of_a_recalibration_widen_the_intervals() -> None:
    queries = table({"see": [True] * 40})
    given_one = count_intervals(queries, np.full(40, 0.5), levels=[0.95])
    uncertain = count_intervals(queries, np.repeat([[0.35], [0.65]], 40, axis=1), levels=[0.95])
    width = (uncertain["upper"] - uncertain["lower"]).to_numpy() - (given_one["upper"] - given_one["lower"]).to_numpy()
    assert (width > 0).all()
    expected = quantile_interval((count_pmf([0.35] * 40) + count_pmf([0.65] * 40)) / 2)
    row = uncertain[uncertain["interval"] == "quantile"].iloc[0]
    assert (row["lower"], row["upper"]) == expected


@pytest.mark.parametrize(("probs", "level"), [([0.5] * 4, 0.5), ([0.5] * 5, 1.0), ([0.5, 0.5, 0.5, 0.5, 2.0], 0.5)])
def test_intervals_of_something_else_are_rejected(probs: list[float], level: float) -> None:
    with pytest.raises(ParameterError, match="levels" if level == 1.0 else "probs"):
        count_intervals(table({"see": [True] * 5}), probs, levels=[level])


# --- coverage -----------------------------------------------------------------------------------------------


def test_coverage_is_the_share_of_queries_covered_by_number_of_documents() -> None:
    # All P are 1: counts are said to be 5, 6 and 12 for sure; gold has 5, 4 and 12.
    truth = {"a": [True] * 5, "b": [True] * 4 + [False] * 2, "c": [True] * 12}
    intervals = count_intervals(table(truth), np.ones(23), levels=[0.95])
    coverage = count_coverage(intervals)
    small = coverage[coverage["documents"] == "5-9"]
    assert small["n_queries"].tolist() == [2, 2, 2]
    assert small["coverage"].tolist() == [0.5] * 3
    assert small["below"].tolist() == [0.5] * 3
    assert small["above"].tolist() == [0.0] * 3
    assert small["mean_error"].tolist() == [1.0] * 3  # (0 + 2) / 2
    assert small[small["interval"] != "normal"]["mean_width"].tolist() == [0.0, 0.0]
    large = coverage[coverage["documents"] == "10-19"]
    assert large["coverage"].tolist() == [1.0] * 3
    assert set(coverage["documents"]) == {"5-9", "10-19"}


def test_groups_are_named_by_their_ends() -> None:
    truth = {str(n): [True] * n for n in (5, 9, 10, 80, 81, 100)}
    intervals = count_intervals(table(truth), np.ones(sum(int(n) for n in truth)), levels=[0.5])
    groups = count_coverage(intervals).query("interval == 'hdi'")
    assert dict(zip(groups["documents"], groups["n_queries"], strict=True)) == {
        "5-9": 2,
        "10-19": 1,
        "20-80": 1,
        "81+": 2,
    }


@pytest.mark.parametrize("sizes", [[], [5, 5], [10, 5]])
def test_sizes_out_of_order_are_rejected(sizes: list[int]) -> None:
    intervals = count_intervals(table({"see": [True] * 5}), [0.5] * 5)
    with pytest.raises(ParameterError, match="sizes must be at least one whole number, ascending, got"):
        count_coverage(intervals, sizes=sizes)


def test_places_of_true_counts_are_those_of_the_definition() -> None:
    # Two documents at 1/2: counts 0, 1, 2 with 1/4, 1/2, 1/4. The true count 1 lies between 1/4 and 3/4.
    # A certain query whose truth is impossible: its count 0 is below everything, so its place is 0.
    queries = table({"eat": [False, False], "see": [True, False]})
    probs, null = np.array([1.0, 1.0, 0.5, 0.5]), np.array([[True, True, True, True]])
    found = count_quantiles(queries, probs, null, n_bins=4, min_documents=2)
    assert found is not None
    assert found.n == 2
    assert found.shares == pytest.approx([0.5, 0.25, 0.25, 0.0], abs=1e-12)
    # Under the null both counts are 2: places are between 0 and 1, and between 3/4 and 1.
    assert found.lower == pytest.approx([0.125, 0.125, 0.125, 0.625], abs=1e-12)
    # Squared distances at the inner edges: true 1/4, 1/4, 1/4; null -1/8, -1/4, -3/8. So the null's is larger.
    assert found.p_value == 1.0
    assert count_quantiles(queries, probs, null, min_documents=3) is None


@pytest.mark.parametrize("seed", range(3))
def test_places_are_uniform_by_a_test_that_knows_that_queries_share_documents(seed: int) -> None:
    # Ten queries that are always true together: ten counts, but only one independent one.
    rng = np.random.default_rng(seed)
    probs = np.tile(np.full(40, 0.5), 10)
    drawn = rng.random((400, 40)) < 0.5
    null = np.tile(drawn, (1, 10))
    p_values = []
    for truth in rng.random((60, 40)) < 0.5:
        queries = table({f"verb{k}": truth.tolist() for k in range(10)})
        found = count_quantiles(queries, probs, null)
        assert found is not None
        p_values.append(found.p_value)
    assert np.mean(np.array(p_values) < 0.2) == pytest.approx(0.2, abs=3 * math.sqrt(0.2 * 0.8 / 60))
    wrong = count_quantiles(queries, np.full(400, 0.1), rng.random((400, 400)) < 0.1)
    assert wrong is not None
    assert wrong.p_value < 0.01


def test_intervals_of_calibrated_counts_have_their_level() -> None:
    # Every truth of 8 documents with its probability: the probability inside each interval, exactly.
    probs = [0.1, 0.3, 0.5, 0.5, 0.7, 0.8, 0.2, 0.9]
    coverage = dict.fromkeys(("quantile", "hdi"), 0.0)
    for outcome in itertools.product((False, True), repeat=8):
        chance = math.prod(p if hit else 1 - p for p, hit in zip(probs, outcome, strict=True))
        if chance < 1e-4:
            continue
        found = count_intervals(table({"see": list(outcome)}), probs, levels=[0.8])
        for name in coverage:
            coverage[name] += chance * bool(found.set_index("interval").loc[name, "held"])
    assert coverage["quantile"] >= 0.8
    assert coverage["hdi"] >= 0.8
