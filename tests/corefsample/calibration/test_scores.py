"""The decomposition of the Brier score, against plain loops and by hand."""

from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from references import calibration_bins as references

from corefsample.calibration._binning import bin_pairs, brier_decomposition

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
