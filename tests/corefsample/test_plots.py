"""Pictures of calibration: they show what the result holds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from corefsample import ParameterError
from corefsample.calibration.reliability import ReliabilityCurve, reliability_curve
from corefsample.plots import reliability_axes, reliability_figure, save_figure


def curve(n_pairs: int = 200, n_bins: int = 4) -> ReliabilityCurve:
    rng = np.random.default_rng(3)
    q = rng.random(n_pairs)
    return reliability_curve(q, rng.random(n_pairs) < q**2, n_bins=n_bins)


def test_points_lie_at_mean_prediction_and_share() -> None:
    ax = Figure().subplots()
    drawn = curve()
    assert reliability_axes(ax, {"model": drawn}) is ax
    diagonal, points = ax.lines
    assert diagonal.get_xydata().tolist() == [[0, 0], [1, 1]]  # type: ignore[union-attr]
    np.testing.assert_array_equal(points.get_xdata(), drawn.bins.mean_q)
    np.testing.assert_array_equal(points.get_ydata(), drawn.bins.mean_y)
    (bars,) = [each for each in ax.collections if len(each.get_paths()) == 4]
    ends = [path.vertices[:, 1].tolist() for path in bars.get_paths()]
    assert ends == [[low, high] for low, high in zip(drawn.lower, drawn.upper, strict=True)]


def test_many_points_get_a_band() -> None:
    ax = Figure().subplots()
    reliability_axes(ax, {"model": curve(5000, 500)})
    assert len(ax.collections) == 2  # the shade above the diagonal, and the band


def test_several_curves_get_a_legend_and_one_does_not() -> None:
    one, two = Figure().subplots(), Figure().subplots()
    reliability_axes(one, {"a": curve()})
    reliability_axes(two, {"a": curve(), "b": curve(300)})
    assert one.get_legend() is None
    assert [text.get_text() for text in two.get_legend().get_texts()] == ["a", "b"]


def test_no_curve_is_refused() -> None:
    with pytest.raises(ParameterError, match="curves must hold at least one, got none"):
        reliability_axes(Figure().subplots(), {})


def test_a_figure_is_saved_the_same_twice(tmp_path: Path) -> None:
    for name in ("a.svg", "b.svg", "a.png"):
        save_figure(reliability_figure({"model": curve()}, title="Title"), tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    assert (tmp_path / "a.png").stat().st_size > 5000
