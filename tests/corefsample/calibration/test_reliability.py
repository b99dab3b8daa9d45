"""The reliability curve: points, intervals, verdicts, and the smooth curve against plain loops over the pairs."""

from __future__ import annotations

import numpy as np
import pytest
from expected_errors import error
from references.calibration_smooth import binned_log_score, fold_log_score, local_shares
from strategies.synthetic_pairs import synthetic_pairs

from corefsample import ParameterError
from corefsample.calibration import _smooth_curves, reliability_curve
from corefsample.calibration._binning import bin_pairs, block_bin_pairs
from corefsample.calibration._reliability import ReliabilityCurve, bin_intervals
from corefsample.calibration._smooth_curves import smooth_curve


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


# --- smooth reliability curves --------------------------------------------------------------------------------

LOG_ODDS = np.array([-6.0, -4.0, -2.5, -1.0, 0.0, 0.7, 2.0, 3.3, 5.0])  # far enough apart for a cell each


def pairs(n: int = 400) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Overconfident predictions of few different values, labels, and documents."""
    rng = np.random.default_rng(3)
    x = rng.choice(LOG_ODDS, n)
    y = (rng.random(n) < 1.0 / (1.0 + np.exp(-0.6 * x))).astype(float)
    return 1.0 / (1.0 + np.exp(-x)), y, rng.integers(0, 20, n)


@pytest.mark.parametrize("bandwidth", [0.5, 2.0, 1000.0])
def test_the_curve_maximises_the_local_likelihood(bandwidth: float) -> None:
    q, y, _ = pairs()
    cells = _smooth_curves._Pairs.of(q, y, None)
    places = np.array([-5.0, -1.3, 0.2, 4.0])
    fit = _smooth_curves._fitted(cells.x, *cells.sums(), places, bandwidth)
    found = 1.0 / (1.0 + np.exp(-(places + fit.shift)))
    np.testing.assert_allclose(found, local_shares(q, y, places, bandwidth), atol=2e-6)


def test_labels_that_all_agree_give_a_finite_curve_and_a_band_with_width() -> None:
    q, y, documents = pairs()
    curve = smooth_curve(q, np.zeros_like(y), documents=documents)
    assert np.all(curve.share > 0.0)
    assert np.all(curve.share < 0.1)
    assert np.all(curve.upper > curve.share)


def test_the_band_is_wide_where_the_pairs_say_nothing() -> None:
    # Forty predictions of 0 and of 1 that all come true do not show how rare an error is.
    curve = smooth_curve([0.0] * 40 + [1.0] * 40, [0] * 40 + [1] * 40)
    assert curve.upper[0] > 0.005
    assert curve.lower[-1] < 0.995


def test_scores_are_those_of_held_out_pairs() -> None:
    q, y, documents = pairs()
    cells = _smooth_curves._Pairs.of(q, y, documents.astype(np.int32))
    folds = _smooth_curves._folds(cells, np.random.default_rng(0))
    for document in range(20):
        assert len(set(folds[documents == document])) == 1
    found = _smooth_curves._held_out(cells, folds, 1.0)
    assert found == pytest.approx(fold_log_score(q, y, folds, 1.0), abs=1e-6)
    q = synthetic_pairs(400, seed=1).q  # without ties
    by_size = _smooth_curves._bin_scores(_smooth_curves._Pairs.of(q, y, None), folds)
    assert set(by_size) == {10.0, 18.0, 32.0, 56.0, 100.0, 178.0}
    for size in (10, 100):
        assert by_size[size] == pytest.approx(binned_log_score(q, y, folds, size), abs=1e-12)


def test_bandwidth_and_bin_size_have_the_best_scores_and_misfits_that_bend_need_a_narrow_kernel() -> None:
    bent = synthetic_pairs(5000, shift=0.2, seed=1)
    straight = synthetic_pairs(5000, temperature=3.0, seed=1)
    for made, narrow in ((bent, True), (straight, False)):
        curve = smooth_curve(made.q, made.y)
        assert curve.scores["bandwidth"][curve.bandwidth] == max(curve.scores["bandwidth"].values())
        assert curve.scores["bin_size"][curve.bin_size] == max(curve.scores["bin_size"].values())
        assert (curve.bandwidth < 1.0) == narrow


def test_the_band_contains_the_whole_true_curve() -> None:
    # 60 sets of pairs in 60 documents. A band that contains the curve in 90% of sets contains it in 38 or fewer of 60
    # with probability 3e-7. Half as wide, it contains it in less than half of these sets.
    held = 0
    for seed in range(60):
        made = synthetic_pairs(3000, temperature=1.5, dependence=0.1, n_documents=60, seed=seed)
        cells = _smooth_curves._Pairs.of(made.q, made.y.astype(float), made.documents.astype(np.int32))
        places = _smooth_curves._points(cells)
        fit = _smooth_curves._fitted(cells.x, *cells.sums(), places, 2.0)
        half = _smooth_curves._half_widths(cells, fit, places, 2.0, 0.95, np.random.default_rng(seed))
        held += bool(np.all(np.abs(places / 1.5 - places - fit.shift) <= half))
    assert held > 38


def test_documents_whose_labels_agree_widen_the_band() -> None:
    made = synthetic_pairs(4000, dependence=0.8, n_documents=40, seed=2)
    together, alone = (smooth_curve(made.q, made.y, documents=each) for each in (made.documents, None))
    assert together.by_block
    assert not alone.by_block
    middle = np.argmin(np.abs(together.q - 0.5))
    assert together.upper[middle] - together.lower[middle] > 2.0 * (alone.upper[middle] - alone.lower[middle])


def test_a_reliability_curve_has_the_smooth_one_on_request() -> None:
    q, y, documents = pairs()
    assert reliability_curve(q, y, bin_size=100).smooth is None
    smooth = reliability_curve(q, y, bin_size=100, documents=documents, level=0.8, smooth=True).smooth
    assert smooth is not None
    assert (smooth.level, smooth.by_block) == (0.8, True)
    frame = smooth.to_frame()
    assert frame.columns.tolist() == ["q", "share", "lower", "upper", "level"]
    assert frame["q"].is_monotonic_increasing
    assert q.min() == pytest.approx(frame["q"].iloc[0])


def test_too_little_data_raises() -> None:
    with error(ParameterError, "documents"):
        smooth_curve([0.1] * 8, [0, 1] * 4, documents=[0, 1, 2, 3] * 2)
    with error(ParameterError, "q"):
        smooth_curve([0.1] * 4, [0, 1] * 2)
    with error(ParameterError, "n_samples"):
        reliability_curve([0.1] * 10, [0, 1] * 5, n_samples=10, bin_size=5, smooth=True)
