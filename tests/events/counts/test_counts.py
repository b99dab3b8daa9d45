"""Posterior counts: values by hand, sums against loops, comparison against enumeration."""

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from expected_errors import error
from hypothesis import given, settings, strategies as st
from references import coreference as references, events as er
from references.coreference import poisson_binomial_pmf
from small_counts import SMALL, corpora, counts_of, document, names

from corefsample import ParameterError
from events.counts import count_pmf
from events.counts._credible_intervals import difference_pmf, hdi_interval, quantile_interval
from events.evidence._document_events import DocumentEvents

# --- the table ---------------------------------------------------------------------------------------------


def test_figures_by_hand() -> None:
    table = counts_of(SMALL).to_frame().set_index(["actor", "period"])
    # AAA in 1999Q1: p = 1/4 and 1/2. Mean .75, variance 3/16 + 1/4 = 7/16. Monte Carlo variance of the mean:
    # (3/16) / 4 + (1/4) / 4 = 7/64. P(0) = 3/8, P(1) = 1/2, P(2) = 1/8: 2.5% quantile 0, 97.5% quantile 2.
    row = table.loc[("AAA", "1999Q1")]
    assert row["mean"] == pytest.approx(0.75, abs=1e-15)
    assert row["sd"] == pytest.approx(math.sqrt(7 / 16), abs=1e-15)
    assert row["mean_mc_se"] == pytest.approx(math.sqrt(7 / 64), abs=1e-15)
    assert (row["lower"], row["upper"], row["one_best"], row["n_docs"]) == (0.0, 2.0, 1, 3)
    # AAA in 1999Q4: all four samples agree, so the Monte Carlo error is the bound 1 - .05^(1/4), not 0.
    row = table.loc[("AAA", "1999Q4")]
    assert (row["mean"], row["sd"], row["lower"], row["upper"]) == (1.0, 0.0, 1.0, 1.0)
    assert row["mean_mc_se"] == pytest.approx(1 - 0.05**0.25, abs=1e-15)


def test_periods_without_documents_are_filled_from_the_first_to_the_last() -> None:
    table = counts_of([("1998Q4", None), *SMALL, ("2000Q1", None)]).to_frame()
    expected = ["1998Q4", "1999Q1", "1999Q2", "1999Q3", "1999Q4", "2000Q1"]
    assert table["actor"].tolist() == ["AAA"] * 6 + ["BBB"] * 6
    assert table["period"].tolist() == expected * 2
    assert table["n_docs"].tolist() == [1, 3, 0, 0, 1, 1] * 2
    empty = table[(table["actor"] == "BBB") & (table["period"] != "1999Q1")]
    assert (empty[["mean", "mean_mc_se", "sd", "lower", "upper", "one_best"]] == 0).all(axis=None)
    assert table["period_start"].tolist()[:2] == [pd.Timestamp("1998-10-01"), pd.Timestamp("1999-01-01")]


def test_a_country_only_in_the_one_best_has_rows() -> None:
    documents = [("1999Q1", document({"AAA": [0, 0, 0, 0]}, ("AAA",)))]
    (row,) = counts_of(documents).to_frame().to_dict("records")
    assert (row["mean"], row["one_best"], row["lower"], row["upper"]) == (0.0, 1, 0.0, 0.0)


def test_types_do_not_depend_on_what_was_found() -> None:
    for documents in (SMALL, [("1999Q1", None)], []):
        table = counts_of(documents).to_frame()
        for name in ("n_docs", "n_samples", "one_best"):
            assert table[name].dtype == np.int64
        for name in ("mean", "mean_mc_se", "sd", "lower", "upper", "level"):
            assert table[name].dtype == np.float64
        for name in ("actor", "period", "interval"):
            assert pd.api.types.is_string_dtype(table[name])


# --- intervals ---------------------------------------------------------------------------------------------


def hits_of(documents: list[tuple[str, DocumentEvents]], country: str, period: str) -> list[list[int]]:
    return [
        events.hits[names(events).index(country)].tolist()
        for label, events in documents
        if label == period and country in names(events)
    ]


@settings(max_examples=50)
@given(corpora(), st.sampled_from([0.5, 0.9, 0.95]))
def test_intervals_are_those_of_the_definitions(documents: list[tuple[str, DocumentEvents]], level: float) -> None:
    kinds = ("quantile", "hdi", "normal")
    tables = {kind: counts_of(documents, 6, level, interval=kind).to_frame() for kind in kinds}
    for number, row in enumerate(tables["quantile"].to_dict("records")):
        hits = hits_of(documents, row["actor"], row["period"])
        probs = [sum(h) / 6 for h in hits]
        distribution = poisson_binomial_pmf(probs).tolist()
        tail = (1.0 - level) / 2.0
        assert row["mean"] == pytest.approx(math.fsum(probs), abs=1e-12)
        assert row["sd"] == pytest.approx(math.sqrt(math.fsum(p * (1 - p) for p in probs)), abs=1e-12)
        assert (row["lower"], row["upper"]) == (er.quantile(distribution, tail), er.quantile(distribution, 1.0 - tail))
        hdi = tables["hdi"].iloc[number]
        assert (hdi["lower"], hdi["upper"]) in er.shortest_intervals(distribution, level)
        normal = tables["normal"].iloc[number]
        by_sample = [sum(h[s] for h in hits) for s in range(6)]
        mean = sum(by_sample) / 6
        sd = math.sqrt(sum((n - mean) ** 2 for n in by_sample) / 6)
        z = float(scipy.stats.norm.ppf((1 + level) / 2))
        assert (normal["lower"], normal["upper"]) == pytest.approx((mean - z * sd, mean + z * sd), abs=1e-12)


def test_the_distribution_of_one_count_is_available() -> None:
    counts = counts_of(SMALL)
    assert counts.pmf("AAA", "1999Q1") == pytest.approx([3 / 8, 1 / 2, 1 / 8], abs=1e-15)
    assert counts.pmf("AAA", "1999Q2").tolist() == [1.0]
    assert counts.pmf("ZZZ", "1999Q1").tolist() == [1.0]
    with pytest.raises(ParameterError, match=r"period must be one from 1999Q1 to .*, got 'soon'"):
        counts.pmf("AAA", "soon")
    known = counts_of(SMALL, kinds={"AAA": "country", "BBB": "country"})
    with pytest.raises(ParameterError, match=r"actor must be one that is counted .*, got 'Iraq'"):
        known.pmf("Iraq", "1999Q1")
    with pytest.raises(ParameterError, match=r"second must be one that is counted .*, got 'Iraq'"):
        known.compare("AAA", "Iraq")
    with error(ParameterError, "second"):
        counts.compare("AAA", "AAA")


# --- comparison --------------------------------------------------------------------------------------------


@pytest.mark.kernels
@settings(max_examples=60)
@given(corpora())
def test_a_comparison_is_that_of_the_joint_distributions(documents: list[tuple[str, DocumentEvents]]) -> None:
    table = counts_of(documents, 6).compare("AAA", "BBB")
    for row in table.to_dict("records"):
        first, second = [], []
        for label, events in documents:
            if label == row["period"]:
                zero = [0] * 6
                rows = [events.hits[names(events).index(c)] if c in names(events) else zero for c in ("AAA", "BBB")]
                a, b = er.joint_shares(np.array(rows), 0, 1)
                first.append(a)
                second.append(b)
        assert_compared(row, er.difference_distribution(first, second))


def assert_compared(row: dict[Any, Any], distribution: dict[int, float]) -> None:
    """A row of a comparison has the probabilities and the mean of the distribution of the difference."""
    for name, sign in (("p_first_greater", 1), ("p_equal", 0), ("p_second_greater", -1)):
        expected = math.fsum(p for k, p in distribution.items() if np.sign(k) == sign)
        assert row[name] == pytest.approx(expected, abs=1e-12)
    mean = math.fsum(k * p for k, p in distribution.items())
    assert row["mean_difference"] == pytest.approx(mean, abs=1e-12)


@settings(max_examples=40)
@given(corpora())
def test_periods_are_compared_as_counts_of_different_documents(documents: list[tuple[str, DocumentEvents]]) -> None:
    labels = "1999Q1", "1999Q3"
    documents = [*documents, *((label, document({"AAA": [1, 0, 0, 0, 0, 0]})) for label in labels)]
    table = counts_of(documents, 6).compare_periods(*labels)
    for row in table.to_dict("records"):
        shares = [
            [np.mean(events.hits[names(events).index(row["actor"])]) if row["actor"] in names(events) else 0.0]
            for label in labels
            for period, events in documents
            if period == label
        ]
        n_first = sum(period == labels[0] for period, _ in documents)
        assert (row["n_docs_first"], row["n_docs_second"]) == (n_first, len(documents) - n_first)
        p = np.ravel(shares)
        first = np.append(p[:n_first], np.zeros(len(p) - n_first))
        assert_compared(row, er.difference_distribution(first.tolist(), (p - first).tolist()))


def test_periods_that_share_a_recalibration_are_compared_sample_by_sample() -> None:
    documents = [("1999Q1", document({"AAA": [1, 0, 1, 0]})), ("1999Q2", document({"AAA": [1, 0, 0, 0]}))]
    (row,) = counts_of(documents, uncertainty="domain").compare_periods("1999Q1", "1999Q2").to_dict("records")
    assert [row[name] for name in ("p_first_greater", "p_equal", "mean_difference", "lower", "upper")] == [
        *(0.25, 0.75, 0.25),
        *(0, 1),
    ]
    for labels in (("1999Q1", "1999Q1"), ("1999Q1", "1911Q1")):
        with error(ParameterError, "compare_periods"):
            counts_of(documents).compare_periods(*labels)


# --- errors ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value",
    [
        ("level", 0.0),
        ("level", 95),
        ("interval", "hpd"),
        ("by", "section"),
        ("by", "doc_id"),
        ("by", "period"),
        ("period", "2Q"),
    ],
)
def test_options_that_break_their_rules_are_rejected(value: tuple[str, Any]) -> None:
    with error(ParameterError, value[0]):
        counts_of(SMALL, **dict([value]))
    with error(ParameterError, "period"):  # 401,767 days
        counts_of([("0900Q1", None), ("1999Q4", None), ("2000Q1", None)], period="day")


# --- distributions of counts and their intervals against brute force --------------------------------------


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
