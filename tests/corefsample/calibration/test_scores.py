"""Proper scores, the parts of the Brier score as an identity, and CORP."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from expected_errors import error
from hypothesis import given, settings
from hypothesis import strategies as st
from references import calibration_bins as references
from references.calibration_recalibrators_and_tags import corp, isotonic

from corefsample import ParameterError
from corefsample.calibration._binning import bin_pairs
from corefsample.calibration._scores import brier_decomposition, brier_score, corp_decomposition, log_loss
from corefsample.calibration._table import CalibrationTable

pair_lists = st.lists(st.tuples(st.floats(0.0, 1.0), st.integers(0, 1)), min_size=2, max_size=60)


@given(pair_lists)
def test_scores_are_those_of_the_plain_loop(pairs: list[references.Pair]) -> None:
    q, y = zip(*pairs, strict=True)
    assert brier_score(q, y) == pytest.approx(references.brier(pairs), rel=1e-13, abs=1e-300)
    assert log_loss(q, y) == pytest.approx(references.log_loss(pairs), rel=1e-12, abs=1e-12)


@given(pair_lists, st.data())
def test_the_order_of_the_rows_changes_no_score(pairs: list[references.Pair], data: st.DataObject) -> None:
    one, other = zip(*pairs, strict=True), zip(*data.draw(st.permutations(pairs)), strict=True)
    (q, y), (p, z) = one, other
    assert brier_score(q, y) == brier_score(p, z)
    assert log_loss(q, y) == log_loss(p, z)


def test_log_loss_is_infinite_where_a_certain_prediction_is_wrong() -> None:
    assert log_loss([0.0, 0.5], [1, 0]) == math.inf
    assert log_loss([1.0, 0.5], [0, 0]) == math.inf
    assert math.copysign(1.0, log_loss([0.0, 1.0], [0, 1])) == 1.0
    assert log_loss([0.0, 1.0], [0, 1]) == 0.0


def test_a_floor_keeps_log_loss_finite() -> None:
    assert log_loss([0.0], [1], floor=0.01) == pytest.approx(-math.log(0.01))
    assert log_loss([1.0], [0], floor=0.01) == pytest.approx(-math.log(0.01))
    assert log_loss([1.0], [1], floor=0.01) == pytest.approx(-math.log(0.99))


@settings(max_examples=40)
@pytest.mark.parametrize("rule", [{"bin_size": 3}, {"n_bins": 2}, {"n_bins": 2, "strategy": "uniform"}], ids=str)
@given(pairs=pair_lists)
def test_the_parts_of_the_brier_score_add_up(rule: dict[str, Any], pairs: list[references.Pair]) -> None:
    q, y = zip(*pairs, strict=True)
    for bins in (bin_pairs(q, y, **rule), CalibrationTable.from_pairs(q, y).bins(**rule)):
        parts = brier_decomposition(bins)
        assert parts.calibration + parts.refinement + parts.within_bins == pytest.approx(parts.brier, rel=0, abs=1e-12)
        assert parts.brier == pytest.approx(references.brier(pairs), rel=0, abs=1e-12)
        assert parts.uncertainty - parts.resolution == pytest.approx(parts.refinement, rel=0, abs=1e-15)
        assert parts.resolution >= -1e-15


@given(pair_lists, st.integers(1, 20))
def test_calibration_and_refinement_are_the_score_of_the_binned_forecast(
    pairs: list[references.Pair], bin_size: int
) -> None:
    """Eq. 1 of the paper, for the forecast that says a bin's mean prediction throughout the bin."""
    q, y = zip(*pairs, strict=True)
    parts = brier_decomposition(bin_pairs(q, y, bin_size=bin_size))
    binned = [
        (references.mean([p for p, _ in each]), label)
        for each in references.bins_by_size(pairs, bin_size)
        for _, label in each
    ]
    assert parts.calibration + parts.refinement == pytest.approx(references.brier(binned), rel=0, abs=1e-12)


def test_parts_worked_out_by_hand() -> None:
    # Bins {.2, .4} with labels 0 0 and {.8, .8} with 1 0: means .3 and .8, shares 0 and 1/2.
    # calibration (.09 + .09) / 2; refinement (0 + 1/4) / 2; within: (.01 + .01) / 4 from .2 and .4; base rate 1/4.
    parts = brier_decomposition(bin_pairs([0.2, 0.4, 0.8, 0.8], [0, 0, 1, 0], n_bins=2))
    figures = parts.brier, parts.calibration, parts.refinement, parts.within_bins, parts.uncertainty, parts.resolution
    assert figures == pytest.approx([0.22, 0.09, 0.125, 0.005, 0.1875, 0.0625], rel=1e-13)


@pytest.mark.parametrize("floor", [-0.1, 0.5, math.nan])
def test_a_bad_floor_raises(floor: float) -> None:
    with error(ParameterError, "floor"):
        log_loss([0.5], [1], floor=floor)


# --- CORP, against the max-min formula and by hand -------------------------------------------------------------

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
