"""Plans: strata, allocation, and the random sample."""

import io
import itertools
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from events_audit_made import frame
from expected_errors import error
from hypothesis import given, settings, strategies as st
from tolerance import plausible_counts

from corefsample import ParameterError
from events.audit import AuditFrame, plan_audit
from events.audit._plan import extend_plan, plan_name
from events.audit._strata import allocate, best_cuts


def test_strata_are_ranges_of_p() -> None:
    plan = plan_audit(frame(), 60, cuts=[0.5])
    p = plan.frame.probability(0)
    assert [each.name for each in plan.strata] == ["P = 0", "0 < P < 0.5", "P >= 0.5"]
    np.testing.assert_array_equal(plan.stratum_of, (p > 0).astype(int) + (p >= 0.5))
    assert sum(each.n_sampled for each in plan.strata) == len(plan.sample) == 60
    assert len(set(plan.sample.tolist())) == 60


def test_strata_of_a_run_are_classes_of_documents_that_it_does_not_count() -> None:
    p, cooccurrence = np.repeat([1.0, 0.4, 0.0], [30, 20, 950]), ["sentence"] * 60 + ["document"] * 100 + [""] * 840
    dates = ["2000-01-01"] * 1000
    of_run = AuditFrame.from_arrays([f"d{i:03d}" for i in range(1000)], dates, p, cooccurrence=cooccurrence)
    plan = plan_audit(of_run, 60)
    expected = {"P > 0.5": 30, "P <= 0.5, sentence": 30, "P <= 0.5, document": 100, "P <= 0.5, neither": 840}
    assert {each.name: each.n_documents for each in plan.strata} == expected
    assert min(each.n_sampled for each in plan.strata) >= 5
    # Ten labels of documents with neither word nor name in the whole plan, however strata are divided further.
    for options in ({}, {"groups": ["ab"[i % 2] for i in range(1000)]}):
        strata = plan_audit(of_run, 42, **options).strata
        assert sum(each.n_sampled for each in strata if "neither" in each.name) >= 10


def test_strata_cross_groups_and_years() -> None:
    given_frame = frame()
    colours = given_frame.properties["colour"]
    plan = plan_audit(given_frame, 120, groups=colours, by="year", floor=4)
    years = given_frame.dates.astype("datetime64[Y]").astype(str)
    for row, h in enumerate(plan.stratum_of.tolist()):
        assert plan.strata[h].name.endswith(f", {colours[row]}, {years[row]}")
    assert all(each.n_sampled >= min(4, each.n_documents) for each in plan.strata)
    by_year = Counter(years[plan.sample])
    assert all(by_year[year] >= 4 for year in ("1999", "2000", "2001"))


def test_the_sample_does_not_depend_on_the_order_of_the_documents() -> None:
    one = frame()
    order = np.random.default_rng(0).permutation(len(one))
    other = AuditFrame.from_arrays(one.doc_ids[order], one.dates[order], one.probability(0)[order], event="attack")
    for seed in (0, 1):
        first, second = plan_audit(one, 60, seed=seed), plan_audit(other, 60, seed=seed)
        assert first.frame.doc_ids[first.sample].tolist() == second.frame.doc_ids[second.sample].tolist()
    assert set(plan_audit(one, 60, seed=2).sample) != set(plan_audit(one, 60, seed=3).sample)


def test_every_document_of_a_stratum_is_as_likely_as_its_inclusion_probability() -> None:
    small = frame(40)
    n_seeds = 3000
    drawn = np.zeros(40)
    for seed in range(n_seeds):
        plan = plan_audit(small, 15, seed=seed)
        drawn[plan.sample] += 1
    probability = np.array([plan.strata[h].inclusion_probability for h in plan.stratum_of])
    assert plausible_counts(drawn, n_seeds, probability).all()


def test_every_pair_of_a_stratum_is_as_likely_as_in_a_simple_random_sample() -> None:
    """In 2 of 5 documents each of the 10 pairs has probability 1/10."""
    five = AuditFrame.from_arrays(list("abcde"), ["2000-01-01"] * 5, [0.0] * 5)
    pairs = Counter(tuple(sorted(plan_audit(five, 2, floor=1, seed=seed).sample)) for seed in range(4000))
    counts = [pairs[pair] for pair in itertools.combinations(range(5), 2)]
    assert plausible_counts(counts, 4000, np.full(10, 0.1)).all()


def test_a_second_round_keeps_the_first_and_the_plans_identity() -> None:
    first = plan_audit(frame(), 60)
    second = extend_plan(first, 40)
    assert second.sample[:60].tolist() == first.sample.tolist()
    assert second.round_of.tolist() == [1] * 60 + [2] * 40
    assert len(set(second.sample.tolist())) == 100
    assert second.identity == first.identity
    others = [plan_audit(frame(), 60, seed=1), plan_audit(frame(seed=1), 60), plan_audit(frame(), 61)]
    assert len({first.identity, *(each.identity for each in others)}) == 4
    assert second.inclusion_probability(1) == first.inclusion_probability(1)
    assert sum(second.rounds[1]) == 100
    # As if all had been drawn at once.
    whole = plan_audit(frame(), 100)
    assert set(whole.sample.tolist()) == set(second.sample.tolist())
    with error(ParameterError, "n_more"):
        extend_plan(first, 241)


# --- allocation --------------------------------------------------------------------------------------------


def test_labels_follow_size_and_spread() -> None:
    """Weights 1000 * .1 = 100, 100 * .5 = 50, 100 * .5 = 50: of 80 labels 40, 20, 20."""
    assert allocate([1000, 100, 100], [0.1, 0.5, 0.5], 80, floor=5).tolist() == [40, 20, 20]
    assert allocate([1000, 3, 400], [0.5, 0.5, 0.0], 50, floor=5).tolist() == [42, 3, 5]


@settings(max_examples=80, deadline=None)
@given(
    strata=st.lists(st.tuples(st.integers(1, 500), st.floats(0.01, 1.0)), min_size=1, max_size=8),
    share=st.floats(0.0, 1.0),
    floor=st.integers(1, 10),
)
def test_an_allocation_adds_up_within_its_bounds(strata: list[tuple[int, float]], share: float, floor: int) -> None:
    sizes, spreads = map(list, zip(*strata, strict=True))
    least = sum(min(size, floor) for size in sizes)
    n_labels = least + round(share * (sum(sizes) - least))
    found = allocate(sizes, spreads, n_labels, floor=floor)
    assert found.sum() == n_labels
    assert all(min(size, floor) <= n <= size for size, n in zip(sizes, found.tolist(), strict=True))


@pytest.mark.parametrize(
    "options",
    [
        *({"n_labels": 0}, {"n_labels": 7}, {"n_labels": 301}, {"cuts": [0.5, 0.2]}, {"cuts": [0.0]}, {"floor": 0}),
        {"groups": ["a"]},
    ],
)
def test_bad_options_are_named(options: dict[str, object]) -> None:
    with error(ParameterError, *options):
        plan_audit(frame(), **{"n_labels": 60, **options})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("parameter", "arrays"),
    [
        ("doc_ids", (["a", "a"], ["2000-01-01"] * 2, [0.1, 0.2])),
        ("doc_ids", ([], [], [])),
        ("dates", (["a"], ["NaT"], [0.2])),
        ("probabilities", (["a"], ["2000-01-01"], [1.2])),
        ("probabilities", (["a"], ["2000-01-01"], [float("nan")])),
        ("probabilities", (["a"], ["2000-01-01"], [0.1, 0.2])),
    ],
)
def test_bad_frames_are_named(parameter: str, arrays: tuple[list[object], ...]) -> None:
    with error(ParameterError, parameter):
        AuditFrame.from_arrays(*arrays)  # type: ignore[arg-type]


# --- bounds between ranges of P ----------------------------------------------------------------------------


def expected_variance(p: list[float], cuts: tuple[float, ...]) -> float:
    """Sum over strata of size times expected standard deviation, in plain loops."""
    edges = [0.0, *cuts, 2.0]
    total = 0.0
    for low, high in itertools.pairwise(edges):
        own = [x for x in p if low <= x < high and x > 0.0]
        if own:
            share = 0.95 * sum(own) / len(own) + 0.05 / 2
            total += len(own) * (share * (1 - share)) ** 0.5
    return total


@pytest.mark.parametrize("n_bounds", [1, 2])
@pytest.mark.parametrize("seed", range(4))
def test_no_division_at_tenths_is_expected_to_vary_less(n_bounds: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    p = np.round(rng.beta(0.3, 1.0, 60), 1)
    found = best_cuts(p, n_bounds)
    assert len(found) == n_bounds
    tenths = [round(0.1 * i, 1) for i in range(1, 11)]
    least = min(expected_variance(p.tolist(), cuts) for cuts in itertools.combinations(tenths, n_bounds))
    assert expected_variance(p.tolist(), found) == pytest.approx(least, rel=1e-12)


def test_a_plan_has_fewer_bounds_where_floors_would_take_half_of_the_labels() -> None:
    """Floors of 5 in 4 strata are 20 labels, half of 40."""
    plan = plan_audit(frame(), 40)
    assert plan.cuts == best_cuts(plan.frame.probability(0), 2)
    assert len(plan.strata) == 4
    assert len(plan_audit(frame(), 39).cuts) == 1
    assert len(plan_audit(frame(), 120, by="year").cuts) == 2
    assert len(plan_audit(frame(), 119, by="year").cuts) == 1
    # Floors in 3 strata of 3 years are 45 labels.
    assert len(plan_audit(frame(), 45, by="year").cuts) == 1
    assert plan_audit(frame(), 44, by="year").cuts == ()


@pytest.mark.parametrize(
    ("digest", "name"),
    [
        ("916545821e80", "p916545821e8"),
        ("123456789012", "p12345678901"),
        ("b3a047644bd4", "b3a047644bd4"),
        ("12345678901e", "12345678901e"),
    ],
)
def test_the_name_of_a_plan_is_no_number_for_a_spreadsheet(digest: str, name: str) -> None:
    table = pd.read_csv(io.StringIO(f"plan\n{plan_name(digest)}\n"))
    assert table["plan"].tolist() == [name]
