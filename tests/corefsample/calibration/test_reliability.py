"""The reliability curve: points, intervals and verdicts."""

import numpy as np

from corefsample.calibration import reliability_curve
from corefsample.calibration._binning import bin_pairs, block_bin_pairs
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
