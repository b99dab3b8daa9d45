"""Two countries compared: their counts above, and beneath which is likely the greater."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from corefsample.errors import ParameterError
from corefsample.plots.style import COLOURS, LINE_STYLES, bare_spines, figure_of, legible, say_instead
from events.plots.bands import NO_EVENT, date_axis, draw_band, starts_of

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

__all__ = ["country_comparison"]

_STYLES = (LINE_STYLES[0], LINE_STYLES[3])
_HATCHES = (None, "////")
_LONE = (("o", 12.0), ("s", 5.0))


def country_comparison(
    counts: pd.DataFrame,
    comparison: pd.DataFrame,
    *,
    names: Mapping[str, str] | None = None,
    fig: Figure | SubFigure | None = None,
) -> Figure | SubFigure:
    """Draw the counts of two countries, and beneath by period the probability that each has more.

    Beneath, the first country's share of 1 stands on the floor and the second's hangs from the top; the gap between
    them is the probability that both have as many.

    Parameters
    ----------
    counts
        As `events.counting.EventCounts.to_frame` returns them, or counts.csv.
    comparison
        As `events.counting.EventCounts.compare` returns it, or comparisons.csv.
    names
        Names for the legend, by code.
    fig
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib.figure.Figure
        The one given, or the new one, with two axes.

    Raises
    ------
    ParameterError
        If the comparison is of several pairs of countries.

    References
    ----------
    Nguyen & O'Connor (2015), section 6.2, who ask it of Yugoslavia and NATO.
    """
    figure = figure_of(fig, (7.2, 5.0))
    above, beneath = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    if comparison.empty:
        beneath.set_axis_off()
        say_instead(above, "No period to compare.")
        return figure
    pairs = comparison[["first", "second"]].drop_duplicates()
    if len(pairs) > 1:
        raise ParameterError(f"comparison must be of one pair of countries, got {len(pairs)}")
    first, second = (str(country) for country in pairs.iloc[0])
    titles = [_title(country, names) for country in (first, second)]
    _draw_counts(above, counts[counts["period"].isin(comparison["period"])], (first, second), titles)
    _draw_probabilities(beneath, comparison, titles)
    date_axis(beneath, comparison)
    return figure


def _title(country: str, names: Mapping[str, str] | None) -> str:
    name = (names or {}).get(country)
    return legible(f"{name} ({country})" if name else country)


def _draw_counts(ax: Axes, counts: pd.DataFrame, countries: tuple[str, str], titles: list[str]) -> None:
    from matplotlib.ticker import MaxNLocator

    drawn: list[pd.DataFrame] = []
    handles: list[Artist] = []
    for c, (country, title) in enumerate(zip(countries, titles, strict=True)):
        rows = counts[counts["country"] == country]
        if rows.empty:
            # Two entries, so that each country keeps its column.
            handles += ax.plot([], [], color=COLOURS[c], linestyle=_STYLES[c], label=f"{title}: no event")
            handles += ax.plot([], [], linestyle="none", label=" ")
            continue
        covered = f"{100.0 * float(rows['level'].iloc[0]):g}% credible interval"
        look: dict[str, Any] = {"colour": COLOURS[c], "style": _STYLES[c], "edge": 0.6, "lone": _LONE[c]}
        handles += draw_band(ax, rows, mean=title, interval=covered, **look)
        drawn.append(rows)
    if not drawn:
        say_instead(ax, NO_EVENT)
        return
    ax.set_ylim(
        min(0.0, *(float(rows["lower"].min()) for rows in drawn)),
        1.05 * max(1.0, *(float(rows[["upper", "mean"]].max().max()) for rows in drawn)),
    )
    ax.yaxis.set_major_locator(MaxNLocator(nbins="auto", integer=True, min_n_ticks=1))
    ax.set_ylabel("documents with an event")
    ax.legend(
        handles=handles,
        frameon=False,
        fontsize=9,
        ncols=2,
        loc="lower left",
        bbox_to_anchor=(0.0, 1.0),
        handlelength=3,
    )
    bare_spines(ax)


def _draw_probabilities(ax: Axes, comparison: pd.DataFrame, titles: list[str]) -> None:
    from matplotlib.ticker import PercentFormatter

    edges = _edges(starts_of(comparison))
    ends = (
        (comparison["p_first_greater"].to_numpy(), 0.0),
        (1.0 - comparison["p_second_greater"].to_numpy(), 1.0),
    )
    for c, (title, (heights, baseline)) in enumerate(zip(titles, ends, strict=True)):
        ax.stairs(
            heights,
            edges,
            baseline=baseline,
            fill=True,
            facecolor=(COLOURS[c], 0.75 if c == 0 else 0.35),
            edgecolor=COLOURS[c],
            hatch=_HATCHES[c],
            linewidth=0.0,
            label=f"{title} has more",
        )
    ax.axhline(0.5, color="0.35", linewidth=0.8, linestyle=(0, (4, 2)))
    ax.set_xlim(edges[0], edges[-1])
    ax.set_ylim(0.0, 1.0)
    ax.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    ax.set_ylabel("probability\n(white: as many)")
    ax.legend(frameon=False, fontsize=9, ncols=2, loc="lower left", bbox_to_anchor=(0.0, 1.0))
    bare_spines(ax)


def _edges(starts: npt.NDArray[np.datetime64]) -> npt.NDArray[np.float64]:
    """Ends of the bars about the periods' starts, where the points above stand: days, float64 (n + 1,)."""
    from matplotlib.dates import date2num

    days = np.asarray(date2num(starts), np.float64)  # type: ignore[no-untyped-call]
    if len(days) == 1:
        return np.array([days[0] - 20.0, days[0] + 20.0])
    between = (days[1:] + days[:-1]) / 2.0
    return np.concatenate(([2.0 * days[0] - between[0]], between, [2.0 * days[-1] - between[-1]]))
