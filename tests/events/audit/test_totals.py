"""Intervals of totals: exact coverage over every small population, and values by hand."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import pytest
from expected_errors import error
from hypothesis import given, settings, strategies as st
from references import audit as references

from corefsample import ParameterError
from events.audit import estimate_total
from events.audit._totals import METHODS, Method

ALPHA = Fraction(1, 20)
SMALL = [(1, 1), (6, 2), (7, 7), (12, 5), (25, 4), (30, 29)]


# --- one stratum -------------------------------------------------------------------------------------------


@pytest.mark.kernels
@pytest.mark.parametrize(("size", "n"), SMALL)
@pytest.mark.parametrize(("method", "limits"), [("exact", references.equal_tails), ("mid-p", references.blaker)])
def test_limits_of_one_stratum_are_those_of_the_enumeration(method: Method, limits: Any, size: int, n: int) -> None:
    for k in range(n + 1):
        found = estimate_total([k], [n], [size], method=method)
        assert (found.lower, found.upper) == limits(k, size, n, ALPHA)


def test_limits_by_hand() -> None:
    """Two documents, one labelled.

    A positive label leaves one or two positive documents. With one, it is positive with probability 1/2, with two
    always: none is rejected at any level above 1/2, and 0 positive documents are impossible.
    """
    for method in METHODS:
        found = estimate_total([1], [1], [2], method=method)
        assert (found.estimate, found.lower, found.upper) == (2.0, 1, 2)


def test_no_positive_label_gives_the_rule_of_three() -> None:
    """0 of 100 labels in a large stratum: (1 - p) ** 100 = 0.025 at p = 1 - 0.025 ** 0.01 = 0.03622."""
    found = estimate_total([0], [100], [10**6], method="exact")
    assert found.lower == 0
    assert found.upper == pytest.approx(1e6 * (1 - 0.025**0.01), rel=1e-3)


# --- coverage ----------------------------------------------------------------------------------------------


def limits_of(method: Method, level: float = 0.95) -> references.Limits:
    def limits(k: Sequence[int], n: Sequence[int], sizes: Sequence[int]) -> tuple[float, float]:
        found = estimate_total(k, n, sizes, method=method, level=level)
        return found.lower, found.upper

    return limits


POPULATIONS = [((9,), (4,)), ((6, 5), (3, 2)), ((8, 3), (3, 3)), ((7, 4), (1, 2)), ((4, 3, 3), (2, 2, 1))]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("sizes", "labelled"), POPULATIONS)
def test_joined_intervals_cover_populations(sizes: tuple[int, ...], labelled: tuple[int, ...], method: Method) -> None:
    coverages = dict(references.coverage(limits_of(method), sizes, labelled))
    # Exact in one stratum; joined intervals are approximate, and least exact with one or two labels a stratum.
    least = 0.95 if len(sizes) == 1 else 0.92
    assert min(coverages.values()) >= least
    assert sum(coverages.values()) / len(coverages) >= 0.95


@pytest.mark.parametrize("level", [0.5, 0.8, 0.9, 0.95])
@pytest.mark.parametrize(("sizes", "labelled"), [((9, 8), (4, 5)), ((14, 6), (5, 4)), ((5, 5, 5), (4, 4, 4))])
def test_exact_holds_its_level_in_small_strata_with_four_labels(
    sizes: tuple[int, ...], labelled: tuple[int, ...], level: float
) -> None:
    assert min(p for _, p in references.coverage(limits_of("exact", level), sizes, labelled)) >= level


@pytest.mark.parametrize(
    ("method", "sizes", "labelled", "lowest"),
    [
        ("mid-p", (5, 5, 5), (1, 1, 1), 0.896),
        ("exact", (5, 5, 5), (1, 1, 1), 0.896),
        ("mid-p", (12, 15), (2, 4), 0.904),
        ("exact", (12, 14), (2, 2), 0.913),
        ("mid-p", (13, 13), (4, 4), 0.923),
        ("exact", (14, 15), (4, 4), 0.943),
    ],
)
def test_lowest_coverage_of_joined_intervals(
    method: Method, sizes: tuple[int, ...], labelled: tuple[int, ...], lowest: float
) -> None:
    """The worst of two strata of 3 to 15 documents and three of 3 to 7, with 1 to 4 labels: docs/audit.md."""
    assert min(p for _, p in references.coverage(limits_of(method), sizes, labelled)) == pytest.approx(lowest, abs=5e-4)


def test_mid_p_is_refused_at_levels_that_it_does_not_hold() -> None:
    """Strata of 41 and 38 documents, 7 and 25 labels: at .8 it covered the total of 9 + 0 positive ones in .685."""
    with error(ParameterError, "level"):
        estimate_total([2, 0], [7, 25], [41, 38], level=0.8)
    assert estimate_total([2, 0], [7, 25], [41, 38], level=0.8, method="exact").level == 0.8


@pytest.mark.kernels
def test_few_positive_labels_in_several_strata_do_not_exclude_the_truth() -> None:
    """One positive document in each of three strata; with probability .075 all three are in the sample.

    The estimate is then 160/43 + 133/52 + 7/5 = 7.68. MOVER alone gives a lower limit of 4 or more, above the truth.
    """
    found = estimate_total([1, 1, 1], [43, 52, 5], [160, 133, 7], method="exact")
    assert found.lower == 3


def test_the_positive_labels_may_be_all_that_there_are() -> None:
    """One positive document in each of two strata, both labelled: the probability of that is 1/4 * 1/4 = .0625.

    That is above .025, and so is its half; 1/5 * 1/5 = .04 is not by its half.
    """
    quarter = {m: estimate_total([1, 1], [25, 100], [100, 400], method=m).lower for m in METHODS}
    assert quarter == {"mid-p": 2, "exact": 2}
    fifth = {m: estimate_total([1, 1], [20, 80], [100, 400], method=m).lower for m in METHODS}
    assert fifth["mid-p"] > 2
    assert fifth["exact"] == 2
    # All negative documents may be labelled too.
    assert estimate_total([24, 99], [25, 100], [100, 400]).upper == 498


# --- parts -------------------------------------------------------------------------------------------------


strata = st.lists(
    st.integers(1, 60).flatmap(
        lambda size: st.integers(1, size).flatmap(lambda n: st.integers(0, n).map(lambda k: (k, n, size)))
    ),
    min_size=1,
    max_size=4,
)


@settings(max_examples=80, deadline=None)
@given(rows=strata, method=st.sampled_from(METHODS), level=st.sampled_from([0.01, 0.5, 0.8, 0.95]))
def test_intervals_hold_the_certain_and_nothing_impossible(
    rows: list[tuple[int, int, int]], method: Method, level: float
) -> None:
    k, n, sizes = map(list, zip(*rows, strict=True))
    options: dict[str, Any] = {"method": "exact", "level": level} if method == "exact" else {"method": method}
    found = estimate_total(k, n, sizes, **options)
    assert sum(k) <= found.lower <= found.estimate <= found.upper <= sum(sizes) - sum(n) + sum(k)
    assert found.width <= estimate_total(k, n, sizes, method="exact", level=0.99).width
    # Positive and negative documents are counted by the same rules.
    mirrored = estimate_total([a - b for a, b in zip(n, k, strict=True)], n, sizes, **options)
    assert (mirrored.lower, mirrored.upper) == (sum(sizes) - found.upper, sum(sizes) - found.lower)


@pytest.mark.parametrize(
    ("parameter", "given_arrays", "options"),
    [
        ("n_positive", ([2], [1], [5]), {}),
        ("n_positive", ([-1], [1], [5]), {}),
        ("n_positive", ([], [], []), {}),
        ("n_positive", ([0.5], [1], [5]), {}),
        ("n_labelled", ([1], [6], [5]), {}),
        ("n_labelled", ([0, 0], [1, 0], [5, 5]), {}),
        ("n_labelled", ([1], [1, 2], [5]), {}),
        ("method", ([1], [2], [3]), {"method": "best"}),
        ("level", ([1], [2], [3]), {"level": 1.0}),
    ],
)
def test_bad_numbers_are_named(parameter: str, given_arrays: tuple[Any, ...], options: dict[str, Any]) -> None:
    with error(ParameterError, parameter):
        estimate_total(*given_arrays, **options)
