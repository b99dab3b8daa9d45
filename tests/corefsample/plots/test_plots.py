"""Pictures of calibration: they show the values of the result; and the style of all pictures."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from expected_errors import error
from matplotlib import font_manager
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from corefsample import ParameterError
from corefsample.calibration import ReliabilityCurve, calibration_error, reliability_curve
from corefsample.plots import calibration_error_dots, reliability_axes, reliability_figure, save_figure
from corefsample.plots.style import legible


def curve(n_pairs: int = 200, n_bins: int = 4) -> ReliabilityCurve:
    rng = np.random.default_rng(3)
    q = rng.random(n_pairs)
    return reliability_curve(q, rng.random(n_pairs) < q**2, n_bins=n_bins)


def texts(ax: Axes) -> list[str]:
    return [text.get_text() for text in ax.texts]


# --- reliability -------------------------------------------------------------------------------------------


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


def test_no_curve_raises() -> None:
    with pytest.raises(ParameterError, match="curves must have at least one curve, got none"):
        reliability_axes(Figure().subplots(), {})


def test_the_distribution_of_predictions_is_the_share_at_or_above() -> None:
    drawn = curve()
    _, below = reliability_figure({"model": drawn}).axes
    (steps,) = below.lines
    # 200 pairs in 4 adaptive bins of 50.
    assert drawn.bins.share_above.tolist() == [1.0, 0.75, 0.5, 0.25]
    assert list(steps.get_ydata()) == [1.0, 0.75, 0.5, 0.25, 0.25]
    assert list(steps.get_xdata()) == [*drawn.bins.q_min, drawn.bins.q_max[-1]]


def test_a_figure_or_a_part_of_one_can_be_given() -> None:
    whole = Figure(layout="constrained")
    assert reliability_figure({"model": curve()}, fig=whole) is whole
    left, right = Figure(layout="constrained").subfigures(1, 2)
    assert reliability_figure({"model": curve()}, fig=right) is right
    assert (len(left.axes), len(right.axes)) == (0, 2)


# --- calibration errors ------------------------------------------------------------------------------------


def tag_errors(n: int = 3) -> pd.DataFrame:
    error = np.linspace(0.02, 0.2, n)
    tags = [f"t{k}" for k in range(n)]
    return pd.DataFrame({"group": tags, "error": error, "lower": error / 2, "upper": error * 2, "level": 0.9})


def dots(ax: Axes) -> list[tuple[float, float]]:
    return [(x, y) for line in ax.lines for x, y in zip(line.get_xdata(), line.get_ydata(), strict=True)]


def bars(ax: Axes) -> list[list[float]]:
    return [path.vertices[:, 0].tolist() for each in ax.collections for path in each.get_paths()]


def labels(ax: Axes) -> list[str]:
    return [label.get_text() for label in ax.get_yticklabels()]


def test_errors_of_tags_are_dots_with_their_intervals() -> None:
    errors = tag_errors()
    ax = Figure().subplots()
    assert calibration_error_dots(errors, ax=ax) is ax
    assert [x for x, _ in dots(ax)] == errors["error"].tolist()
    assert bars(ax) == [[low, high] for low, high in zip(errors["lower"], errors["upper"], strict=True)]
    assert labels(ax) == ["t0", "t1", "t2"]
    assert "90% interval" in ax.get_xlabel()
    assert ax.get_ylim()[0] > ax.get_ylim()[1]  # the first on top


def test_a_group_without_a_score_keeps_its_row() -> None:
    table = pd.DataFrame({"group": [1, 2], "error": [0.1, np.nan], "lower": np.nan, "upper": np.nan})
    ax = calibration_error_dots(table)
    assert labels(ax) == ["1", "2"]
    assert "no score" in texts(ax)
    assert "interval" not in ax.get_xlabel()


def test_models_by_name_are_compared() -> None:
    rng = np.random.default_rng(0)
    q = rng.random(400)
    errors = {
        name: calibration_error(q**power, rng.random(400) < q, bin_size=50) for name, power in (("a", 1), ("b", 3))
    }
    ax = calibration_error_dots(errors)
    assert [x for x, _ in dots(ax)] == [each.estimate for each in errors.values()]
    assert bars(ax) == [[each.lower, each.upper] for each in errors.values()]
    assert labels(ax) == ["a", "b"]


def test_many_rows_are_cut_off_and_counted() -> None:
    ax = calibration_error_dots(tag_errors(100), most=7)
    assert len(dots(ax)) == 7
    assert "the first 7 of 100" in ax.get_xlabel()
    with error(ParameterError, "most"):
        calibration_error_dots(tag_errors(), most=0)


def test_no_error_is_stated_and_no_column_raises() -> None:
    assert texts(calibration_error_dots({})) == ["No calibration error to draw."]
    with pytest.raises(ParameterError, match="errors must have a column group, got error"):
        calibration_error_dots(pd.DataFrame({"error": [0.1]}))
    with pytest.raises(ParameterError, match="errors must have a column upper, got group, error, lower"):
        calibration_error_dots(pd.DataFrame({"group": ["a"], "error": [0.1], "lower": [0.1]}))


# --- style ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "drawn"),
    [
        ("two\nlines\tand  blanks ", "two lines and blanks"),
        ("$5 and $6", r"\$5 and \$6"),
        ("שלום", "שלום"),
        ("a\x00b", "ab"),
        ("_x", " _x"),
    ],
)
def test_labels_are_printable_lines_without_markup(text: str, drawn: str) -> None:
    assert legible(text) == drawn


@pytest.mark.parametrize("kind", ["png", "svg"])
def test_unusual_names_are_saved_without_a_warning_and_svg_keeps_them(kind: str, tmp_path: Path) -> None:
    names = ["$x_{$ 5", "$a^ $", "\\frac$$", "_hidden", "日本 👨‍👩‍👧 😀", "<b>&\"'", "\u202eabc", "ﷺ", "שלום"]
    figure = Figure(figsize=(12, 6), layout="constrained")
    left, right = figure.subfigures(1, 2)
    reliability_figure(dict.fromkeys(names, curve()), title=names[0], fig=left)
    calibration_error_dots(dict.fromkeys(names, calibration_error([0.5], [1])), ax=right.subplots(), title=names[4])
    path = tmp_path / f"odd.{kind}"
    save_figure(figure, path)
    if kind == "svg":
        texts_of_file = ElementTree.parse(path).iter("{http://www.w3.org/2000/svg}text")
        assert {"<b>&\"'", "שלום"} <= {"".join(each.itertext()) for each in texts_of_file}


def test_pictures_leave_pyplot_alone() -> None:
    from matplotlib import pyplot

    calibration_error_dots(tag_errors())
    assert pyplot.get_fignums() == []


def test_a_script_without_a_font_is_named_with_the_font_to_install(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    shipped = [font for font in font_manager.fontManager.ttflist if font.name.startswith("DejaVu")]
    monkeypatch.setattr(font_manager.fontManager, "ttflist", shipped)
    figure = Figure()
    figure.suptitle("\u4e2d\u56fd")
    save_figure(figure, tmp_path / "a.png")
    assert (tmp_path / "a.png").stat().st_size
    assert [text for text in caplog.messages if text.endswith("install Noto Sans CJK")]
    caplog.clear()
    figure.suptitle("China")
    save_figure(figure, tmp_path / "a.png")
    assert caplog.records == []


def test_a_figure_is_saved_the_same_twice(tmp_path: Path) -> None:
    for name in ("a.svg", "b.svg", "a.png"):
        save_figure(reliability_figure({"model": curve()}, title="Title"), tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    assert (tmp_path / "a.png").stat().st_size > 5000
