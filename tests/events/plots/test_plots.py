"""Pictures draw the numbers of the table, the same bytes for the same table."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from expected_errors import error
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.dates import date2num, num2date
from matplotlib.figure import Figure
from matplotlib.patches import StepPatch

from corefsample import ParameterError
from corefsample.plots import save_figure
from events.counts import count_pmf
from events.counts._distributions import CountDistribution
from events.plots import actor_comparison, audit_bands, count_bars, event_band, event_bands
from events.runs._outputs import save_pictures


def counts(*countries: str, periods: int = 4) -> pd.DataFrame:
    starts = [datetime.date(1999 + n // 4, 1 + 3 * (n % 4), 1) for n in range(periods)]
    rows = [
        (country, f"{start.year}Q{start.month // 3 + 1}", start, 1.0 + c + n / 10, float(c), 3.0 + c, 0.9, 2 + c)
        for c, country in enumerate(countries)
        for n, start in enumerate(starts)
    ]
    columns = ["actor", "period", "period_start", "mean", "lower", "upper", "level", "one_best"]
    return pd.DataFrame(rows, columns=columns)


def heights(line: Any) -> list[float]:
    """Heights of the steps, of which the last one is drawn to the end of its period."""
    values: list[float] = line.get_ydata().tolist()
    assert line.get_drawstyle() == "steps-post"
    assert values[-1] == values[-2]
    return values[:-1]


def test_a_band_draws_the_interval_the_mean_and_the_one_best() -> None:
    table = counts("AAA")
    ax = event_band(Figure().subplots(), table, "Aland")
    lines = {line.get_label(): line for line in ax.lines}
    assert set(lines) == {"posterior mean", "one best"}
    assert heights(lines["posterior mean"]) == table["mean"].tolist()
    assert heights(lines["one best"]) == table["one_best"].tolist()
    assert lines["one best"].get_linewidth() < lines["posterior mean"].get_linewidth()
    (band,) = ax.collections
    corners = band.get_paths()[0].vertices[:, 1]
    assert (corners.min(), corners.max()) == (0.0, 3.0)
    assert band.get_label() == "90% credible interval"
    assert ax.get_title(loc="left") == "Aland"


def test_what_readers_would_count_is_the_main_band() -> None:
    table = counts("AAA", "BBB").assign(mean_rule=7.5, lower_rule=2.0, upper_rule=20.0)
    figure: Any = event_bands(table, grey=True)
    rows = table[table["actor"] == "AAA"]
    ax = next(ax for ax in figure.get_axes() if ax.get_title("left") == "AAA")
    main, inner, one_best = ax.lines
    assert (heights(main), heights(inner)) == (rows["mean_rule"].tolist(), rows["mean"].tolist())
    assert main.get_linewidth() > inner.get_linewidth()
    bands = [band.get_paths()[0].vertices[:, 1] for band in ax.collections]
    assert [(band.min(), band.max()) for band in bands] == [(2.0, 20.0), (0.0, 3.0)]
    assert ax.get_ylim()[1] >= 20.0
    assert len({to_rgb(line.get_color())[k] for line in (main, inner, one_best) for k in range(3)}) == 3  # greys
    (one_panel,) = event_bands(table, panels="one").get_axes()
    assert [heights(line) for line in one_panel.lines] == [rows["mean_rule"].tolist()] * 2


@pytest.mark.parametrize("panels", ["actors", "one"])
def test_legends_are_never_cut(panels: Any) -> None:
    names = {"AAA": "The People's Liberation Front of the Northern Provinces", "BBB": "Bland"}
    table = counts("AAA", "BBB").assign(mean_rule=7.5, lower_rule=2.0, upper_rule=20.0)
    for size in ((3.0, 3.0), (7.2, 3.6)):
        figure: Any = event_bands(table, names=names, panels=panels, size=size)
        figure.draw_without_rendering()
        (legend,) = filter(None, [*figure.legends, *(ax.get_legend() for ax in figure.get_axes())])
        box = legend.get_window_extent()
        assert 0.0 <= box.x0 < box.x1 <= figure.bbox.width
        assert 0.0 <= box.y0 < box.y1 <= figure.bbox.height


def test_an_empty_table_says_so() -> None:
    figure = event_bands(counts())
    assert "No document contains an event." in [text.get_text() for ax in figure.axes for text in ax.texts]


def test_a_count_of_one_between_counts_of_zero_is_a_step_over_its_period() -> None:
    """A line through 0, 1, 0 would be a triangle that rises in the quarter before."""
    table = counts("AAA", periods=3).assign(mean=[0.0, 1.0, 0.0], lower=0.0, upper=[0.0, 1.0, 0.0])
    ax = event_band(Figure().subplots(), table)
    (band,) = ax.collections
    days = date2num(table["period_start"])
    raised = {x for x, y in band.get_paths()[0].vertices.tolist() if y == 1.0}
    assert raised == {days[1], days[2]}


@pytest.mark.parametrize(("ending", "start"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")])
def test_the_same_table_gives_the_same_bytes(tmp_path: Path, ending: str, start: bytes) -> None:
    for name in ("one", "two"):
        save_figure(event_bands(counts("AAA", "BBB")), tmp_path / f"{name}.{ending}")
    one = (tmp_path / f"one.{ending}").read_bytes()
    assert one == (tmp_path / f"two.{ending}").read_bytes()
    assert one.startswith(start)
    assert b"CreationDate" not in one


# --- two countries -----------------------------------------------------------------------------------------


def comparison(periods: int = 4) -> pd.DataFrame:
    greater = np.linspace(0.1, 0.6, periods)
    names = {"first": "AAA", "second": "BBB", "p_first_greater": greater, "p_equal": 0.25}
    return counts("AAA", periods=periods)[["period", "period_start"]].assign(**names, p_second_greater=0.75 - greater)


def stairs(ax: Axes) -> list[Any]:
    return [patch.get_data() for patch in ax.patches if isinstance(patch, StepPatch)]


def test_two_countries_stand_above_the_probability_that_each_has_more() -> None:
    table, compared = counts("AAA", "BBB", "CCC"), comparison()
    figure = Figure(layout="constrained")
    assert actor_comparison(table, compared, names={"AAA": "Aland"}, fig=figure) is figure
    above, below = figure.axes
    for line, country in zip(above.lines, ("AAA", "BBB"), strict=True):
        assert heights(line) == table.loc[table["actor"] == country, "mean"].tolist()
    bands = [
        (path.vertices[:, 1].min(), path.vertices[:, 1].max()) for c in above.collections for path in c.get_paths()
    ]
    assert bands == [(0.0, 3.0), (1.0, 4.0)]
    (first, _, floor), (second, _, top) = stairs(below)
    assert first.tolist() == compared["p_first_greater"].tolist()
    assert second == pytest.approx(1.0 - compared["p_second_greater"].to_numpy())
    assert (floor, top) == (0.0, 1.0)
    assert below.get_ylim() == (0.0, 1.0)
    words = [text.get_text() for ax in (above, below) for text in ax.get_legend().get_texts()]
    interval = "90% credible interval"
    assert words == ["Aland (AAA)", "BBB", interval, "Aland (AAA) has more", "BBB has more"]


# --- one count ---------------------------------------------------------------------------------------------


def test_the_bars_of_a_count_are_its_distribution() -> None:
    # Actor, period, n_docs, pmf; mean, sd, lower, upper, level, interval, one best.
    of_count = "AAA", "1999Q2", 1234, count_pmf([0.5, 0.5, 0.9])
    distribution = CountDistribution(*of_count, 1.9, 0.77, 1.0, 3.0, 0.9, "quantile", 2)
    ax = Figure().subplots()
    assert count_bars(distribution, ax=ax) is ax
    heights = [bar.get_height() for bar in ax.patches]
    # P(0) = .5 * .5 * .1, P(3) = .5 * .5 * .9, P(1) = .5 * .1 + .25 * .9, P(2) = .25 * .1 + .5 * .9.
    assert heights == pytest.approx([0.025, 0.275, 0.475, 0.225])
    assert heights == distribution.pmf.tolist()
    interval, mean, one_best = ax.lines
    assert list(interval.get_xdata()) == [1.0, 3.0]
    assert list(mean.get_xdata()) == [1.9, 1.9]
    assert list(one_best.get_xdata()) == [2]
    white = [bar.get_facecolor() == (1.0, 1.0, 1.0, 1.0) for bar in ax.patches]
    assert white == [True, False, False, False]  # 0 lies outside of the interval
    words = [text.get_text() for text in ax.get_legend().get_texts()]
    assert words == ["90% credible interval: 1 to 3", "posterior mean: 1.9", "one best: 2"]
    assert ax.get_title(loc="left") == "AAA, 1999Q2"
    assert ax.get_xlabel() == "documents with an event, of 1,234 in the period"


# --- audits: one panel for each target, with its own counts ------------------------------------------------


AUDITED_YEARS = [datetime.date(1999, 1, 1), datetime.date(2000, 1, 1)]


def audited_counts(event: str, actor: str, estimates: list[float]) -> pd.DataFrame:
    """A total and two years of one target."""
    table = pd.DataFrame({"estimate": [sum(estimates), *estimates], "period": ["total", "1999", "2000"]})
    model = {"model_mean": 1.0, "model_lower": 0, "model_upper": 2, "level": 0.95}
    table = table.assign(event=event, actor=actor, period_start=[AUDITED_YEARS[0], *AUDITED_YEARS], **model)
    return table.assign(lower=np.floor(table["estimate"] / 2).astype(int), upper=(2 * table["estimate"]).astype(int))


def test_audited_counts_stand_in_the_middle_of_the_steps_of_the_model() -> None:
    (ax,) = audit_bands(audited_counts("attack", "USA", [3.0, 4.0])).axes
    steps = date2num(ax.lines[0].get_xdata())
    points = date2num(ax.containers[0].lines[0].get_xdata())
    assert points.tolist() == ((steps[:-1] + steps[1:]) / 2).tolist()


def test_audited_counts_are_drawn_of_dated_periods_near_the_others() -> None:
    """As audited.csv and learned_counts.csv have them where articles are undated, and one date is far away."""
    counts = audited_counts("attack", "USA", [3.0, 4.0]).assign(n_docs=[200, 100, 100])
    far = counts[1:2].assign(period="1911", period_start=datetime.date(1911, 1, 1), n_docs=1)
    undated = counts[1:2].assign(period="undated", period_start="")
    table = pd.concat([counts[:1], far, counts[1:], undated], ignore_index=True)
    learned = table.assign(mean=table["estimate"])
    for figure in (audit_bands(table, learned=learned), audit_bands(counts, learned=learned)):
        points = [container.lines[0].get_xdata() for container in figure.axes[0].containers]
        assert [len(x) for x in points] == [2, 2]
    (ax,) = audit_bands(pd.concat([counts[:1], undated])).axes
    assert "No period" in ax.texts[0].get_text()
    for wrong in (None, 3, "audited.csv", counts.drop(columns="level")):
        with error(ParameterError, "counts"):
            audit_bands(wrong)
    for name in ("truth", "learned"):
        for wrong in (3, counts[["event"]]):
            with error(ParameterError, name):
                audit_bands(counts, **{name: wrong})


def test_a_picture_that_cannot_be_drawn_leaves_the_earlier_one(tmp_path: Path) -> None:
    def failing() -> Any:
        raise OverflowError("date value out of range")

    assert save_pictures({"bands": Figure}, tmp_path.joinpath) == ["bands.png", "bands.svg"]
    before = [path.read_bytes() for path in sorted(tmp_path.iterdir())]
    assert save_pictures({"bands": failing}, tmp_path.joinpath) == []
    assert [path.read_bytes() for path in sorted(tmp_path.iterdir())] == before


# --- pictures for a paper ------------------------------------------------------------------------------------


def ticks(figure: Any) -> dict[str, str]:
    """Day of each label of the x axis of the last panel, within its limits."""
    figure.canvas.draw()
    ax = figure.get_axes()[-1]
    first, last = ax.get_xlim()
    places = zip(ax.get_xticks(), ax.get_xticklabels(), strict=True)
    return {label.get_text(): str(num2date(place).date()) for place, label in places if first <= place <= last}


@pytest.mark.parametrize(
    ("n_periods", "expected"),
    [
        (8, {"1999Q2": "1999-04-01", "1999Q3": "1999-07-01", "1999Q4": "1999-10-01", "2000Q1": "2000-01-01"}),
        (14, {"1999Q3": "1999-07-01", "2000Q1": "2000-01-01", "2000Q3": "2000-07-01", "2002Q1": "2002-01-01"}),
        (24, {"2000": "2000-01-01", "2001": "2001-01-01", "2004": "2004-01-01"}),
        (200, {"2000": "2000-01-01", "2010": "2010-01-01", "2040": "2040-01-01"}),
    ],
)
def test_ticks_are_at_the_first_days_of_quarters_and_years(n_periods: int, expected: dict[str, str]) -> None:
    drawn = ticks(event_bands(counts("AAA", periods=n_periods), panels="one"))
    assert drawn.items() >= expected.items()
    assert len(drawn) <= 9
    assert all(day.endswith(("-01-01", "-04-01", "-07-01", "-10-01")) for day in drawn.values())


def test_ticks_of_months_name_months() -> None:
    months = pd.date_range("2026-01-01", periods=10, freq="MS")
    table = counts("AAA", periods=10).assign(period_start=months, period=months.strftime("%Y-%m"))
    assert ticks(event_bands(table, panels="one")) == {f"2026-{m:02}": f"2026-{m:02}-01" for m in (1, 4, 7, 10)}


def test_one_panel_has_a_band_and_a_label_for_each_of_the_actors() -> None:
    table = counts("AAA", "BBB", "CCC", periods=8)
    labels = {"AAA": "Army"}
    figure: Any = event_bands(table, ["CCC", "AAA"], panels="one", labels=labels, y_label="reports", size=(5.0, 2.5))
    (ax,) = figure.get_axes()
    lines = {line.get_label(): heights(line) for line in ax.lines}
    means = {actor: rows["mean"].tolist() for actor, rows in table.groupby("actor")}
    assert lines == {"CCC": means["CCC"], "Army": means["AAA"]}
    assert len({line.get_color() for line in ax.lines}) == len({line.get_linestyle() for line in ax.lines}) == 2
    assert ax.get_ylabel() == "reports"
    assert tuple(figure.get_size_inches()) == (5.0, 2.5)
