"""Pictures draw the numbers of the table, the same bytes for the same table."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.dates import date2num
from matplotlib.figure import Figure
from matplotlib.patches import StepPatch

from corefsample import ParameterError
from corefsample.plots import save_figure
from events.counting import count_pmf
from events.counting._count_posterior import CountDistribution
from events.plots import actor_comparison, audit_bands, count_bars, event_band, event_bands
from events.plots.audit import learned_bands
from events.plots.comparisons import comparisons_by_event
from events.plots.queries import query_coverage, query_quantiles


def counts(*countries: str, periods: int = 4) -> pd.DataFrame:
    starts = [datetime.date(1999 + n // 4, 1 + 3 * (n % 4), 1) for n in range(periods)]
    rows = [
        {
            "actor": country,
            "period": f"{start.year}Q{start.month // 3 + 1}",
            "period_start": start,
            "mean": 1.0 + c + n / 10,
            "lower": float(c),
            "upper": 3.0 + c,
            "level": 0.9,
            "one_best": 2 + c,
        }
        for c, country in enumerate(countries)
        for n, start in enumerate(starts)
    ]
    return pd.DataFrame(
        rows, columns=["actor", "period", "period_start", "mean", "lower", "upper", "level", "one_best"]
    )


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


def test_a_band_shows_an_interval_below_zero() -> None:
    table = counts("AAA").assign(lower=-2.0)
    assert event_band(Figure().subplots(), table).get_ylim()[0] <= -2.0
    assert event_band(Figure().subplots(), counts("AAA")).get_ylim()[0] == 0.0


def titles(figure: Figure) -> list[str]:
    return [ax.get_title(loc="left") for ax in figure.axes if ax.get_visible() and ax.get_title(loc="left")]


def test_countries_come_by_their_sum_and_ten_at_most() -> None:
    table = counts(*(f"C{n:02}" for n in range(12)))
    assert titles(event_bands(table)) == [f"C{n:02}" for n in range(11, 1, -1)]


def test_countries_can_be_chosen_and_named() -> None:
    figure = event_bands(counts("AAA", "BBB", "CCC"), ["CCC", "AAA"], names={"CCC": "Celand"})
    assert titles(figure) == ["Celand (CCC)", "AAA"]


def test_a_country_that_is_not_in_the_table_is_rejected() -> None:
    with pytest.raises(ParameterError, match="actors must be in the table, got YYY, ZZZ"):
        event_bands(counts("AAA"), ["ZZZ", "AAA", "YYY"])


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


def test_pages_show_all_countries_once() -> None:
    table = counts(*(f"C{n:02}" for n in range(12)))
    pages = [event_bands(table, most=5, page=page) for page in (1, 2, 3)]
    assert [title for page in pages for title in titles(page)] == [f"C{n:02}" for n in range(11, -1, -1)]
    notes = [page.get_supxlabel() for page in pages]
    assert notes[1] == "actors 6 to 10 of 12, by documents with an event"
    assert event_bands(table, most=12).get_supxlabel() == ""
    with pytest.raises(ParameterError, match="page must be at most 3, got 4"):
        event_bands(table, most=5, page=4)


def test_old_years_can_be_drawn(tmp_path: Path) -> None:
    table = counts("AAA").assign(period_start=[datetime.date(1600 + n, 1, 1) for n in range(4)])
    save_figure(event_bands(table), tmp_path / "old.svg")
    assert np.isfinite((tmp_path / "old.svg").stat().st_size)


@pytest.mark.parametrize("ending", ["png", "svg"])
def test_the_same_table_gives_the_same_bytes(tmp_path: Path, ending: str) -> None:
    for name in ("one", "two"):
        save_figure(event_bands(counts("AAA", "BBB")), tmp_path / f"{name}.{ending}")
    one = (tmp_path / f"one.{ending}").read_bytes()
    assert one == (tmp_path / f"two.{ending}").read_bytes()
    assert one.startswith(b"\x89PNG") if ending == "png" else b"<svg" in one


def test_places_of_true_counts_are_drawn_with_their_range_under_the_null() -> None:
    rows = [
        (name, 9, lower, lower + 0.5, 0.4, 0.3, 0.7, 0.2) for name in ("as scored", "links") for lower in (0.0, 0.5)
    ]
    columns = ["variant", "n_queries", "bin_lower", "bin_upper", "share", "null_lower", "null_upper", "p_value"]
    axes = query_quantiles(pd.DataFrame(rows, columns=columns)).axes
    assert [ax.get_title(loc="left") for ax in axes] == ["as scored: p = 0.200", "links: p = 0.200"]
    assert [patch.get_height() for patch in axes[1].patches] == [0.4, 0.4]


def test_the_coverage_of_queries_is_drawn_by_variant_and_size() -> None:
    rows = [
        (variant, kind, size, "quantile", 0.95, 10, share)
        for variant, kind, shares in (("as scored", "given", (0.9, 0.8)), ("links", "uncertain", (0.96, 0.95)))
        for size, share in zip(("5-9", "10-19"), shares, strict=True)
    ]
    columns = ["variant", "recalibration", "documents", "interval", "level", "n_queries", "coverage"]
    table = pd.DataFrame(rows, columns=columns)
    (ax,) = query_coverage(table).axes
    at_level, first, second = ax.lines
    assert list(at_level.get_ydata()) == [0.95, 0.95]
    assert list(first.get_ydata()) == [0.9, 0.8]
    assert list(second.get_ydata()) == [0.96, 0.95]
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["as scored", "links, with its own uncertainty"]
    with pytest.raises(ParameterError, match=r"level and interval must be in the table, got 0\.8 and 'quantile'"):
        query_coverage(table, level=0.8)


# --- two countries -----------------------------------------------------------------------------------------


def comparison(periods: int = 4, first: str = "AAA", second: str = "BBB") -> pd.DataFrame:
    table = counts("AAA", periods=periods)
    greater = np.linspace(0.1, 0.6, periods)
    return pd.DataFrame(
        {
            "period": table["period"],
            "period_start": table["period_start"],
            "first": first,
            "second": second,
            "p_first_greater": greater,
            "p_equal": 0.25,
            "p_second_greater": 0.75 - greater,
        }
    )


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
    assert words == ["Aland (AAA)", interval, "BBB", interval, "Aland (AAA) has more", "BBB has more"]


def test_a_country_without_an_event_is_named() -> None:
    above, _ = actor_comparison(counts("AAA"), comparison()).axes
    assert "BBB: no event" in [text.get_text() for text in above.get_legend().get_texts()]
    above, _ = actor_comparison(counts(), comparison()).axes
    assert [text.get_text() for text in above.texts] == ["No document contains an event."]


def test_each_event_has_a_comparison_of_its_own() -> None:
    events = ("attack", "meet", "protest")
    table = pd.concat([counts("AAA", "BBB").assign(event=event) for event in events])
    table.loc[table["event"] == "meet", "mean"] += 1.0
    compared = pd.concat([comparison(n + 2).assign(event=event) for n, event in enumerate(events)])
    figure = comparisons_by_event(table, compared)
    axes = np.reshape(figure.axes, (3, 2))
    for (above, below), event in zip(axes, events, strict=True):
        assert above.figure.get_suptitle() == below.figure.get_suptitle() == event
        rows = table[(table["event"] == event) & (table["actor"] == "AAA")]
        periods = compared.loc[compared["event"] == event, "p_first_greater"]
        assert heights(above.lines[0]) == rows["mean"].iloc[: len(periods)].tolist()
        assert stairs(below)[0][0].tolist() == periods.tolist()


def test_no_period_and_several_pairs_are_reported() -> None:
    above, _ = actor_comparison(counts(), comparison(0)).axes
    assert [text.get_text() for text in above.texts] == ["No period to compare."]
    both = pd.concat([comparison(), comparison(second="CCC")])
    with pytest.raises(ParameterError, match="comparison must be of one pair of actors, got 2"):
        actor_comparison(counts("AAA", "BBB"), both)


# --- one count ---------------------------------------------------------------------------------------------


def posterior(**changes: Any) -> CountDistribution:
    fields: dict[str, Any] = {
        "actor": "AAA",
        "period": "1999Q2",
        "n_docs": 1234,
        "pmf": count_pmf([0.5, 0.5, 0.9]),
        "mean": 1.9,
        "sd": 0.77,
        "lower": 1.0,
        "upper": 3.0,
        "level": 0.9,
        "interval": "quantile",
        "one_best": 2,
    }
    return CountDistribution(**{**fields, **changes})


def test_the_bars_of_a_count_are_its_distribution() -> None:
    distribution = posterior()
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
    assert (ax.get_title(loc="left"), ax.get_xlabel()) == (
        "AAA, 1999Q2",
        "documents with an event, of 1,234 in the period",
    )


def test_a_normal_interval_may_begin_below_zero() -> None:
    ax = count_bars(posterior(lower=-0.4, upper=2.5, interval="normal"))
    assert ax.get_xlim()[0] < -0.4
    assert ax.get_legend().get_texts()[0].get_text() == "90% normal interval: -0.4 to 2.5"


@pytest.mark.parametrize("name", ["bands", "comparison", "count"])
def test_an_svg_is_valid_and_keeps_its_text(name: str, tmp_path: Path) -> None:
    odd = {"AAA": "שלום 日本 <b>$x_{$"}
    table = counts("AAA", "BBB")
    figures = {
        "bands": lambda: event_bands(table, names=odd),
        "comparison": lambda: actor_comparison(table, comparison(), names=odd),
        "count": lambda: count_bars(posterior(), title="שלום 日本 <b>$x_{$").figure,
    }
    save_figure(figures[name](), tmp_path / "picture.svg")
    words = ["".join(each.itertext()) for each in ElementTree.parse(tmp_path / "picture.svg").iter()]
    assert any("<b>$x_{$" in word for word in words)


# --- audits: one panel for each target, with its own counts ------------------------------------------------


AUDITED_YEARS = [datetime.date(1999, 1, 1), datetime.date(2000, 1, 1)]


def audited_counts(event: str, actor: str, estimates: list[float]) -> pd.DataFrame:
    """A total and two years of one target."""
    columns = {
        "event": event,
        "actor": actor,
        "period": ["total", "1999", "2000"],
        "period_start": [AUDITED_YEARS[0], *AUDITED_YEARS],
        "estimate": [sum(estimates), *estimates],
        "level": 0.95,
        "assumption": "",
        "model_mean": 1.0,
        "model_lower": 0,
        "model_upper": 2,
    }
    table = pd.DataFrame(columns)
    return table.assign(lower=np.floor(table["estimate"] / 2).astype(int), upper=(2 * table["estimate"]).astype(int))


def test_each_event_has_a_panel_with_its_own_counts() -> None:
    """Several rules have no actors, so that the event alone tells them apart."""
    table = pd.concat(
        [audited_counts("attack", "", [3.0, 4.0]), audited_counts("meet", "", [10.0, 20.0])], ignore_index=True
    )
    panels = audit_bands(table).axes
    assert [ax.get_title(loc="left").partition(":")[0] for ax in panels] == ["meet", "attack"]
    drawn = [ax.containers[0].lines[0].get_ydata().tolist() for ax in panels]
    assert drawn == [[10.0, 20.0], [3.0, 4.0]]


def test_each_actor_has_a_panel_with_its_own_counts() -> None:
    table = pd.concat(
        [audited_counts("attack", "USA", [3.0, 4.0]), audited_counts("attack", "IRQ", [10.0, 20.0])], ignore_index=True
    )
    panels = audit_bands(table, most=1).axes
    assert [ax.get_title(loc="left").partition(":")[0] for ax in panels] == ["IRQ"]


def test_audited_counts_stand_in_the_middle_of_the_steps_of_the_model() -> None:
    (ax,) = audit_bands(audited_counts("attack", "USA", [3.0, 4.0])).axes
    steps = date2num(ax.lines[0].get_xdata())
    points = date2num(ax.containers[0].lines[0].get_xdata())
    assert points.tolist() == ((steps[:-1] + steps[1:]) / 2).tolist()


def test_learned_counts_of_several_events_of_an_actor_have_panels_of_their_own() -> None:
    table = pd.concat([audited_counts("arrest", "POLICE", [3.0, 4.0]), audited_counts("kill", "POLICE", [10.0, 20.0])])
    names = {"estimate": "mean", "model_mean": "run_mean", "model_lower": "run_lower", "model_upper": "run_upper"}
    figure = learned_bands(table.drop(columns="assumption").rename(columns=names))
    titles = [ax.get_title(loc="left") for ax in figure.axes]
    assert [title.rpartition(": ")[0] for title in titles] == ["kill: POLICE", "arrest: POLICE"]
    drawn = [ax.containers[0].lines[0].get_ydata().tolist() for ax in figure.axes]
    assert drawn == [[10.0, 20.0], [3.0, 4.0]]
    assert "assumption" in figure.get_supxlabel()
