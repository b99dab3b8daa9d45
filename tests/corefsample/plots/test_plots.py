"""Pictures of calibration: they show the values of the result; and the style of all pictures."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from expected_errors import error
from matplotlib import font_manager
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.figure import Figure
from strategies.documents import one_word_document

import corefsample as cs
from corefsample import plots as figures
from corefsample.calibration import ReliabilityCurve, calibration_error, reliability_curve
from corefsample.links import calibrate_links
from corefsample.plots.clusterings import entity_count_bars
from corefsample.plots.style import legible
from corefsample.summaries import document_links, entity_count_posterior, point_estimate
from corefsample.summaries._document_links import DocumentLinks, EntityCountDistribution
from events import EventCounter, count_posterior, load_rules, simulate_documents


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
    assert figures.reliability_axes(ax, {"model": drawn}) is ax
    diagonal, points = ax.lines
    assert diagonal.get_xydata().tolist() == [[0, 0], [1, 1]]  # type: ignore[union-attr]
    np.testing.assert_array_equal(points.get_xdata(), drawn.bins.mean_q)
    np.testing.assert_array_equal(points.get_ydata(), drawn.bins.mean_y)
    (bars,) = [each for each in ax.collections if len(each.get_paths()) == 4]
    ends = [path.vertices[:, 1].tolist() for path in bars.get_paths()]
    assert ends == [[low, high] for low, high in zip(drawn.lower, drawn.upper, strict=True)]


def test_the_distribution_of_predictions_is_the_share_at_or_above() -> None:
    drawn = curve()
    _, below = figures.reliability_figure({"model": drawn}).axes
    (steps,) = below.lines
    # 200 pairs in 4 adaptive bins of 50.
    assert drawn.bins.share_above.tolist() == [1.0, 0.75, 0.5, 0.25]
    assert list(steps.get_ydata()) == [1.0, 0.75, 0.5, 0.25, 0.25]
    assert list(steps.get_xdata()) == [*drawn.bins.q_min, drawn.bins.q_max[-1]]


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
    assert figures.calibration_error_dots(errors, ax=ax) is ax
    assert [x for x, _ in dots(ax)] == errors["error"].tolist()
    assert bars(ax) == [[low, high] for low, high in zip(errors["lower"], errors["upper"], strict=True)]
    assert labels(ax) == ["t0", "t1", "t2"]
    assert "90% interval" in ax.get_xlabel()
    assert ax.get_ylim()[0] > ax.get_ylim()[1]  # the first on top


def test_a_group_without_a_score_keeps_its_row() -> None:
    table = pd.DataFrame({"group": [1, 2], "error": [0.1, np.nan], "lower": np.nan, "upper": np.nan})
    ax = figures.calibration_error_dots(table)
    assert labels(ax) == ["1", "2"]
    assert "no score" in texts(ax)
    assert "interval" not in ax.get_xlabel()


def test_models_by_name_are_compared() -> None:
    rng = np.random.default_rng(0)
    q = rng.random(400)
    errors = {
        name: calibration_error(q**power, rng.random(400) < q, bin_size=50) for name, power in (("a", 1), ("b", 3))
    }
    ax = figures.calibration_error_dots(errors)
    assert [x for x, _ in dots(ax)] == [each.estimate for each in errors.values()]
    assert bars(ax) == [[each.lower, each.upper] for each in errors.values()]
    assert labels(ax) == ["a", "b"]


def test_many_rows_are_cut_off_and_counted() -> None:
    ax = figures.calibration_error_dots(tag_errors(100), most=7)
    assert len(dots(ax)) == 7
    assert "the first 7 of 100" in ax.get_xlabel()
    with error(cs.ParameterError, "most"):
        figures.calibration_error_dots(tag_errors(), most=0)


def test_no_error_is_stated_and_no_column_or_curve_raises() -> None:
    with error(cs.ParameterError, "curves"):
        figures.reliability_axes(Figure().subplots(), {})
    assert texts(figures.calibration_error_dots({})) == ["No calibration error to draw."]
    for columns in ({"error": [0.1]}, {"group": ["a"], "error": [0.1], "lower": [0.1]}):
        with error(cs.ParameterError, "errors"):
            figures.calibration_error_dots(pd.DataFrame(columns))


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
    figures.reliability_figure(dict.fromkeys(names, curve()), title=names[0], fig=left)
    figures.calibration_error_dots(
        dict.fromkeys(names, calibration_error([0.5], [1])), ax=right.subplots(), title=names[4]
    )
    path = tmp_path / f"odd.{kind}"
    figures.save_figure(figure, path)
    if kind == "svg":
        texts_of_file = ElementTree.parse(path).iter("{http://www.w3.org/2000/svg}text")
        assert {"<b>&\"'", "שלום"} <= {"".join(each.itertext()) for each in texts_of_file}


def test_pictures_leave_pyplot_alone() -> None:
    from matplotlib import pyplot

    figures.calibration_error_dots(tag_errors())
    assert pyplot.get_fignums() == []


def test_a_script_without_a_font_is_named_with_the_font_to_install(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    shipped = [font for font in font_manager.fontManager.ttflist if font.name.startswith("DejaVu")]
    monkeypatch.setattr(font_manager.fontManager, "ttflist", shipped)
    figure = Figure()
    figure.suptitle("\u4e2d\u56fd")
    figures.save_figure(figure, tmp_path / "a.png")
    assert (tmp_path / "a.png").stat().st_size
    assert [text for text in caplog.messages if text.endswith("install Noto Sans CJK")]
    caplog.clear()
    figure.suptitle("China")
    figures.save_figure(figure, tmp_path / "a.png")
    assert caplog.records == []


# --- pictures of one document -----------------------------------------------------------------------------


def document(n: int = 6) -> cs.ScoredDocument:
    """Mentions of one token; 2 probably corefers with 0, 3 with 1, and 4 possibly with 0."""
    antecedents = [[], [], [0], [1], [0]] + [[] for _ in range(5, n)]
    scores = [[], [], [3.0], [2.0], [-0.5]] + [[] for _ in range(5, n)]
    gold = [0, 1, 0, 1, 0, *range(5, n)]
    return one_word_document((antecedents, scores), gold, "doc", text=[f"w{i}" for i in range(n)])


def empty() -> DocumentLinks:
    return document_links(document(), smallest=9)


# --- heat map ----------------------------------------------------------------------------------------------


def test_the_heat_map_shows_the_marginals_in_the_order_of_the_entities() -> None:
    links = document_links(document())
    ax = Figure().subplots()
    assert figures.link_heat_map(links, ax=ax) is ax
    (image,) = ax.images
    np.testing.assert_array_equal(image.get_array(), links.marginals)
    assert image.get_clim() == (0.0, 1.0)
    # By likeliest antecedents: {0, 2}, {1, 3}, {4}, {5}.
    assert [label.get_text() for label in ax.get_yticklabels()] == ["w0", "w2", "w1", "w3", "w4", "w5"]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["w0", "w2", "w1", "w3", "w4", "w5"]
    assert len(ax.figure.axes) == 2  # with the bar of the colours


@pytest.mark.parametrize("draw", [figures.link_heat_map, figures.link_network])
def test_no_mention_is_stated(draw: object) -> None:
    assert texts(draw(empty())) == ["No mention to draw."]  # type: ignore[operator]


# --- number of entities ------------------------------------------------------------------------------------


def test_bars_are_the_probabilities_of_the_number_of_entities() -> None:
    posterior = entity_count_posterior(document())
    ax = Figure().subplots()
    assert entity_count_bars(posterior, ax=ax) is ax
    heights = {round(bar.get_x() + bar.get_width() / 2): bar.get_height() for bar in ax.patches}
    # 0, 1 and 5 are certainly new; 2, 3 and 4 may be: 3 to 6 entities.
    assert heights == {count: posterior.pmf[count] for count in (3, 4, 5, 6)}
    mean, gold, best = ax.lines
    assert list(mean.get_xdata()) == [posterior.mean, posterior.mean]
    assert (list(gold.get_xdata()), list(best.get_xdata())) == ([3], [4])
    words = [text.get_text() for text in ax.get_legend().get_texts()]
    assert words[1:] == ["3 by gold", "4 by likeliest antecedents"]


def test_a_document_without_mentions_has_certainly_no_entity() -> None:
    posterior = EntityCountDistribution("none", np.ones(1), 0.0, 0.0, 0, None)
    (bar,) = entity_count_bars(posterior).patches
    assert (bar.get_x() + bar.get_width() / 2, bar.get_height()) == (0.0, 1.0)


# --- network -----------------------------------------------------------------------------------------------


def ties(ax: Axes) -> list[float]:
    (lines,) = [each for each in ax.collections if isinstance(each, LineCollection)]
    return sorted(np.asarray(lines.get_linewidths()).tolist()) if len(lines.get_segments()) else []


def test_the_width_of_a_tie_is_its_probability() -> None:
    links = document_links(document())
    ax = Figure().subplots()
    assert figures.link_network(links, ax=ax) is ax
    above = np.tril(links.marginals, -1)
    assert ties(ax) == pytest.approx(sorted(5.0 * above[above >= 0.1]))
    assert len(ties(figures.link_network(links, floor=0.9))) == int((above >= 0.9).sum()) == 1


def test_the_layout_depends_only_on_the_seed() -> None:
    links = document_links(document())

    def places(seed: int) -> list[list[float]]:
        groups = [
            each for each in figures.link_network(links, seed=seed).collections if isinstance(each, PathCollection)
        ]
        return np.concatenate([each.get_offsets() for each in groups]).tolist()

    assert places(1) == places(1)
    assert places(1) != places(2)


def test_options_outside_their_range_raise() -> None:
    with error(cs.ParameterError, "floor"):
        figures.link_network(document_links(document()), floor=0)
    for draw in (figures.link_network, figures.link_heat_map):
        with error(cs.ParameterError, "most_labels"):
            draw(document_links(document()), most_labels=0)


# --- all ---------------------------------------------------------------------------------------------------


def test_the_heat_map_can_be_sorted_by_an_estimate() -> None:
    lists = [[], [0], [0, 1], [0, 2], [1]], [[], [0.5], [0.0, 1.0], [-1.0, 1.0], [2.0]]
    distribution = cs.AntecedentDistribution.from_lists(*lists)
    links = document_links(
        cs.ScoredDocument("d", np.array([[i, i + 1, i] for i in range(5)]), distribution), by="binder"
    )
    labels = point_estimate(distribution, loss="binder").labels
    assert links.entities.tolist() == np.unique(labels[links.mentions], return_inverse=True)[1].tolist()
    assert "smallest Binder loss" in figures.link_heat_map(links).get_xlabel()


def test_every_mention_of_a_small_network_has_a_label_that_covers_no_other_mention() -> None:
    figure = Figure(figsize=(10, 6))
    links = document_links(next(simulate_documents(1, seed=1, median_mentions=20)).document)
    ax = figures.link_network(links, ax=figure.subplots())
    figure.canvas.draw()
    assert len(ax.texts) == links.n_mentions
    points = ax.transData.transform(np.concatenate([each.get_offsets() for each in ax.collections[1:]]))
    for text in ax.texts:
        box = text.get_window_extent()
        assert not ((box.min < points) & (points < box.max)).all(axis=1).any()


# --- `plots.plot` -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def made() -> dict[str, Any]:
    """A result of each kind by the name of its class."""
    generator = np.random.default_rng(0)
    q = generator.random(500)
    y = generator.random(500) < q
    documents = [each.document for each in simulate_documents(8, event_share=0.9, seed=2)]
    first = documents[0]
    counter = EventCounter(load_rules("attack"), n_samples=50)
    counter.update(documents)
    counts = counter.counts()
    found = [
        calibration_error(q, y, n_bins=10),
        reliability_curve(q, y, n_bins=10),
        calibrate_links(cs.link_tables(documents), n_resamples=20),
        document_links(first),
        entity_count_posterior(first),
        counts,
        count_posterior(counts, counts.events()[0][0], counts.periods()[0].label),
    ]
    return {type(each).__name__: each for each in found}


def test_every_result_has_a_picture(made: dict[str, Any]) -> None:
    for name, result in made.items():
        figure = figures.plot(result)
        assert isinstance(figure, Figure), name
        assert any(ax.has_data() for ax in figure.get_axes()), name


def test_options_reach_the_function_and_several_results_share_a_picture(made: dict[str, Any]) -> None:
    ax = Figure().subplots()
    assert figures.plot(made["CalibrationError"], ax=ax, title="One") is ax.figure
    assert ax.get_title(loc="left") == "One"
    curve = made["ReliabilityCurve"]
    legend = figures.plot({"a": curve, "b": curve}).get_axes()[0].get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["a", "b"]
    assert figures.reliability_figure(curve).get_axes()[0].get_legend() is None


@pytest.mark.parametrize("value", [None, 3, {}, [1.0], "counts.csv"])
def test_what_has_no_picture_raises(value: Any, made: dict[str, Any]) -> None:
    for each in (value, {"a": made["ReliabilityCurve"], "b": made["DocumentLinks"]}):
        with error(cs.ParameterError, "result"):
            figures.plot(each)
