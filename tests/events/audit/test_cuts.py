"""Bounds between ranges of P: the least expected variance of all divisions, by enumeration."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from events_audit_made import frame

from events.audit import AuditFrame, plan_audit
from events.audit._strata import best_cuts


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


def test_two_groups_are_divided_between_them() -> None:
    assert best_cuts(np.array([0.0] * 50 + [0.012] * 20 + [0.9] * 5), 1) == (0.9,)


def test_rare_events_are_divided_below_a_hundredth() -> None:
    assert best_cuts(np.array([0.0] * 50 + [0.0001] * 90 + [0.004] * 20), 1) == (0.002,)


@pytest.mark.parametrize("p", [[0.0, 0.0], [0.0, 1.0, 1.0], [0.5] * 4])
def test_there_are_no_bounds_without_two_ranges(p: list[float]) -> None:
    assert best_cuts(np.array(p), 2) == ()


def test_a_plan_chooses_its_bounds_and_divides_all_documents() -> None:
    plan = plan_audit(frame(), 60)
    assert plan.cuts == best_cuts(plan.frame.probability(0), 2)
    assert len(plan.strata) == 4


def test_a_plan_has_fewer_bounds_where_floors_would_take_half_of_the_labels() -> None:
    """Floors of 5 in 4 strata are 20 labels, half of 40."""
    assert len(plan_audit(frame(), 40).cuts) == 2
    assert len(plan_audit(frame(), 39).cuts) == 1
    assert len(plan_audit(frame(), 120, by="year").cuts) == 2
    assert len(plan_audit(frame(), 119, by="year").cuts) == 1
    # Floors in 3 strata of 3 years are 45 labels.
    assert len(plan_audit(frame(), 45, by="year").cuts) == 1
    assert plan_audit(frame(), 44, by="year").cuts == ()


def test_a_model_without_doubt_has_two_strata() -> None:
    certain = AuditFrame.from_arrays(list("abcdef"), ["2000-01-01"] * 6, [0, 0, 0, 1, 1, 0.0])
    assert [each.name for each in plan_audit(certain, 4, floor=1).strata] == ["P = 0", "P > 0"]
