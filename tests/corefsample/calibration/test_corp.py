"""CORP against the max-min formula, by hand, and by its identities."""

from __future__ import annotations

import numpy as np
import pytest
from expected_errors import error
from hypothesis import given
from hypothesis import strategies as st
from references.calibration_recalibrators_and_tags import corp, isotonic

from corefsample import ParameterError
from corefsample.calibration.measures._scores import corp_decomposition

labels = st.integers(0, 1)
open_values = st.one_of(st.integers(1, 7).map(lambda k: k / 8), st.floats(0.001, 0.999))
closed_values = st.one_of(st.integers(0, 8).map(lambda k: k / 8), st.floats(0.0, 1.0, allow_subnormal=False))
open_pairs = st.lists(st.tuples(open_values, labels), min_size=1, max_size=14)
closed_pairs = st.lists(st.tuples(closed_values, labels), min_size=1, max_size=14)


def unzipped(pairs: list[tuple[float, int]]) -> tuple[list[float], list[int]]:
    return [q for q, _ in pairs], [y for _, y in pairs]


@given(open_pairs, st.sampled_from(["brier", "log"]))
def test_the_parts_are_those_of_the_reference(pairs: list[tuple[float, int]], scoring: str) -> None:
    q, y = unzipped(pairs)
    found = corp_decomposition(q, y, score=scoring)  # type: ignore[arg-type]
    parts = (found.score, found.miscalibration, found.discrimination, found.uncertainty)
    assert parts == pytest.approx(corp(q, y, scoring), abs=1e-12)


@given(closed_pairs)
def test_the_curve_is_the_isotonic_fit(pairs: list[tuple[float, int]]) -> None:
    q, y = unzipped(pairs)
    found = corp_decomposition(q, y)
    expected = isotonic([(a, b, 1.0) for a, b in pairs])
    for value in q:
        block = [b for b in range(found.n.size) if found.q_lower[b] <= value <= found.q_upper[b]]
        assert [found.recalibrated[b] for b in block] == pytest.approx([expected[value]], abs=1e-12)
    assert found.n.sum() == len(q)
    assert (np.diff(found.recalibrated) > 0).all()
    assert (found.q_lower[1:] > found.q_upper[:-1]).all()


def test_parts_derived_by_hand() -> None:
    # Labels 0 1 0 1 at .1 .3 .6 .8: the middle two violate and are pooled to 1/2, so recalibrated 0 .5 .5 1.
    # Score (.01 + .49 + .36 + .04) / 4 = .225; recalibrated (0 + .25 + .25 + 0) / 4 = .125; constant .5: .25.
    found = corp_decomposition([0.1, 0.3, 0.6, 0.8], [0, 1, 0, 1])
    assert found.score == pytest.approx(0.225, abs=1e-15)
    assert found.miscalibration == pytest.approx(0.1, abs=1e-15)
    assert found.discrimination == pytest.approx(0.125, abs=1e-15)
    assert found.uncertainty == 0.25
    assert found.to_frame().to_dict("list") == {
        "q_lower": [0.1, 0.3, 0.8],
        "q_upper": [0.1, 0.6, 0.8],
        "recalibrated": [0.0, 0.5, 1.0],
        "n": [1, 2, 1],
    }


@given(closed_pairs, st.randoms(use_true_random=False))
def test_the_order_of_rows_changes_no_bit(pairs: list[tuple[float, int]], random: object) -> None:
    shuffled = list(pairs)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    one, other = (corp_decomposition(*unzipped(rows)) for rows in (pairs, shuffled))
    assert one.to_frame().equals(other.to_frame())
    assert one.discrimination == other.discrimination


@given(st.lists(st.tuples(st.integers(0, 16).map(lambda k: k / 16), labels), min_size=1, max_size=20))
def test_a_rising_change_of_predictions_leaves_discrimination_and_curve(pairs: list[tuple[float, int]]) -> None:
    q, y = unzipped(pairs)
    one, other = corp_decomposition(q, y), corp_decomposition([v / 2 + 0.25 for v in q], y)  # exact in binary
    assert one.discrimination == other.discrimination
    assert one.recalibrated.tolist() == other.recalibrated.tolist()


@given(closed_pairs)
def test_recalibrated_predictions_have_no_miscalibration_left(pairs: list[tuple[float, int]]) -> None:
    q, y = unzipped(pairs)
    curve = corp_decomposition(q, y)
    better = curve.recalibrated[np.searchsorted(curve.q_upper, q)]
    again = corp_decomposition(better, y)
    assert again.miscalibration == pytest.approx(0.0, abs=1e-15)
    assert again.discrimination == pytest.approx(curve.discrimination, abs=1e-15)


def test_rounding_makes_no_part_negative() -> None:
    for seed in range(100):  # without care, some come out at -3e-17
        rng = np.random.default_rng(seed)
        q = rng.random(9).round(2)
        y = rng.random(9) < q
        curve = corp_decomposition(q, y)
        again = corp_decomposition(curve.recalibrated[np.searchsorted(curve.q_upper, q)], y)
        assert min(again.miscalibration, again.discrimination) >= 0.0


@pytest.mark.parametrize(("q", "y"), [(0.0, 1), (1.0, 0)])
def test_an_infinite_log_score_raises(q: float, y: int) -> None:
    with pytest.raises(ParameterError, match=rf"log score to be finite, got 1 such, the first q = {q:g} at index 1"):
        corp_decomposition([0.5, q], [1, y], score="log")
    assert corp_decomposition([q], [1 - y], score="log").score == 0.0
    assert corp_decomposition([0.5, q], [1, y]).score == 0.625  # (.25 + 1) / 2: the Brier score knows no infinity
    with error(ParameterError, "score"):
        corp_decomposition([0.5], [1], score="crps")  # type: ignore[arg-type]
