"""The reliability curve: points, intervals and verdicts."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from references import calibration_bins as references

from corefsample.calibration import reliability_curve
from corefsample.calibration._binning import bin_pairs, block_bin_pairs, brier_decomposition
from corefsample.calibration._reliability import ReliabilityCurve, bin_intervals


def test_points_and_intervals_are_those_of_the_bins() -> None:
    rng = np.random.default_rng(1)
    q = rng.random(300)
    y = rng.random(300) < q
    curve = reliability_curve(q, y, bin_size=100, level=0.9, method="normal")
    bins = bin_pairs(q, y, bin_size=100)
    np.testing.assert_array_equal(curve.bins.mean_y, bins.mean_y)
    lower, upper = bin_intervals(bins, level=0.9, method="normal")
    np.testing.assert_array_equal(curve.lower, lower)
    np.testing.assert_array_equal(curve.upper, upper)
    assert not curve.by_block


def test_documents_widen_the_intervals_where_their_pairs_agree() -> None:
    # Forty documents, the labels of each all alike: they count as forty pairs, not four hundred.
    documents = np.repeat(np.arange(40), 10)
    y = documents % 2
    q = np.tile(np.linspace(0.4, 0.6, 10), 40)
    alone, together = reliability_curve(q, y, n_bins=1), reliability_curve(q, y, documents=documents, n_bins=1)
    assert together.by_block
    assert together.upper[0] - together.lower[0] > 2.5 * (alone.upper[0] - alone.lower[0])  # near sqrt(10)
    blocks = block_bin_pairs(q, y, documents, n_bins=1)
    np.testing.assert_array_equal(ReliabilityCurve.of_bins(blocks).lower, together.lower)


def test_verdicts_follow_the_diagonal() -> None:
    # A thousand pairs each at 0.2, 0.5 and 0.8; shares 0.5, 0.5 and 0.5.
    q = np.repeat([0.2, 0.5, 0.8], 1000)
    y = np.tile([0, 1], 1500)
    frame = reliability_curve(q, y, bin_size=1000).to_frame()
    assert frame["verdict"].tolist() == ["under", "", "over"]
    assert frame["mean_y"].tolist() == [0.5, 0.5, 0.5]


# --- the decomposition of the brier score, against plain loops and by hand --------------------------------


pair_lists = st.lists(st.tuples(st.floats(0.0, 1.0), st.integers(0, 1)), min_size=2, max_size=60)


@settings(max_examples=40)
@pytest.mark.parametrize("rule", [{"bin_size": 3}, {"n_bins": 2}, {"n_bins": 2, "strategy": "uniform"}], ids=str)
@given(pairs=pair_lists)
def test_the_parts_of_the_brier_score_add_up(rule: dict[str, Any], pairs: list[references.Pair]) -> None:
    q, y = zip(*pairs, strict=True)
    parts = brier_decomposition(bin_pairs(q, y, **rule))
    assert parts.calibration + parts.refinement + parts.within_bins == pytest.approx(parts.brier, rel=0, abs=1e-12)
    assert parts.brier == pytest.approx(references.brier(pairs), rel=0, abs=1e-12)


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
    figures = parts.brier, parts.calibration, parts.refinement, parts.within_bins, parts.uncertainty
    assert figures == pytest.approx([0.22, 0.09, 0.125, 0.005, 0.1875], rel=1e-13)
