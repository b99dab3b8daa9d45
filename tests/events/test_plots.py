"""Pictures draw the numbers of the table, the same bytes for the same table."""

from __future__ import annotations

import datetime
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from corefsample import ParameterError
from corefsample.plots import save_figure
from events.plots import event_band, event_bands, query_coverage


def counts(*countries: str, periods: int = 4) -> pd.DataFrame:
    starts = [datetime.date(1999 + n // 4, 1 + 3 * (n % 4), 1) for n in range(periods)]
    rows = [
        {
            "country": country,
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
        rows, columns=["country", "period", "period_start", "mean", "lower", "upper", "level", "one_best"]
    )


def test_a_band_draws_the_interval_the_mean_and_the_one_best() -> None:
    table = counts("AAA")
    ax = event_band(Figure().subplots(), table, "Aland")
    lines = {line.get_label(): line for line in ax.lines}
    assert set(lines) == {"posterior mean", "one best"}
    assert lines["posterior mean"].get_ydata().tolist() == table["mean"].tolist()
    assert lines["one best"].get_ydata().tolist() == table["one_best"].tolist()
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


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_every_country_has_a_panel(n: int) -> None:
    assert len(titles(event_bands(counts(*(f"C{k}" for k in range(n)))))) == n


def test_a_country_that_is_not_in_the_table_is_refused() -> None:
    with pytest.raises(ParameterError, match="countries must be in the table, got YYY, ZZZ"):
        event_bands(counts("AAA"), ["ZZZ", "AAA", "YYY"])


def test_an_empty_table_says_so() -> None:
    figure = event_bands(counts())
    assert "No document holds an event." in [text.get_text() for ax in figure.axes for text in ax.texts]


def test_one_period_is_drawn_as_points() -> None:
    ax = event_band(Figure().subplots(), counts("AAA", periods=1))
    assert {line.get_marker() for line in ax.lines} == {"."}


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
