"""Counts over time: posterior mean, credible interval, and the one-best count."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample.errors import ParameterError
from corefsample.plots.style import COLOURS, bare_spines, figure_of, legible, say_instead

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

__all__ = ["NO_EVENT", "date_axis", "draw_band", "event_band", "event_bands", "starts_of"]

NO_EVENT = "No document holds an event."
BAND, ONE_BEST = COLOURS[:2]
_MOST_PANELS = 10
_FEW = 6  # periods that are labelled one by one


def starts_of(table: pd.DataFrame) -> npt.NDArray[np.datetime64]:
    """First day of each row's period, dates or ISO text: datetime64[D] (n_rows,)."""
    return np.asarray(table["period_start"].to_numpy().astype("datetime64[D]"))


def date_axis(ax: Axes, table: pd.DataFrame) -> None:
    """Label the periods of a table below: each of a few by name, of many the years or months between."""
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

    x = starts_of(table)
    if len(x) <= _FEW:
        ax.set_xticks(x, table["period"].astype(str))
        if len(x) == 1:
            ax.set_xlim(x[0] - 60, x[0] + 60)
        return
    locator = AutoDateLocator(minticks=3, maxticks=8)  # type: ignore[no-untyped-call]
    ax.xaxis.set_major_locator(locator)
    ax.xaxis.set_major_formatter(ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]


def draw_band(
    ax: Axes,
    counts: pd.DataFrame,
    *,
    colour: str,
    style: Any,
    mean: str,
    interval: str,
    edge: float = 0.0,
    lone: tuple[str, float] = (".", 9.0),
) -> list[Artist]:
    """Draw the mean, and shade the interval, an edge about it; `mean` and `interval` name them in the legend.

    `lone` has the marker of a period that no line shows, and the width of its interval, in points.
    """
    x = starts_of(counts)
    lower, upper = counts["lower"].to_numpy(), counts["upper"].to_numpy()
    marker: dict[str, Any] = {"marker": lone[0]} if len(x) < 3 else {}
    band: Artist
    if len(x) == 1:  # a band of no width
        band = ax.vlines(x, lower, upper, color=colour, alpha=0.3, linewidth=lone[1], label=interval)
    else:
        shade: dict[str, Any] = {"facecolor": (colour, 0.25), "edgecolor": colour, "linestyle": style}
        band = ax.fill_between(x, lower, upper, **shade, linewidth=edge, label=interval)
    (line,) = ax.plot(x, counts["mean"], color=colour, linewidth=1.6, linestyle=style, label=mean, **marker)
    return [line, band]


def event_band(ax: Axes, counts: pd.DataFrame, title: str = "") -> Axes:
    """Draw one country's counts: credible interval shaded, posterior mean, one best as a thin dashed line.

    Parameters
    ----------
    ax
        Where to draw.
    counts
        Rows of one country of `events.counting.EventCounts.to_frame`, or of counts.csv; without a row, the axes say so.
    title
        Above the panel.

    Returns
    -------
    matplotlib.axes.Axes
        The one given.
    """
    ax.set_title(legible(title), loc="left", fontsize=10)
    if counts.empty:
        return say_instead(ax, NO_EVENT)
    covered = f"{100.0 * float(counts['level'].iloc[0]):g}% credible interval"
    draw_band(ax, counts, colour=BAND, style="-", mean="posterior mean", interval=covered)
    marker: dict[str, Any] = {"marker": "x"} if len(counts) < 3 else {}
    x = starts_of(counts)
    ax.plot(x, counts["one_best"], color=ONE_BEST, linewidth=0.9, linestyle=(0, (4, 1.5)), label="one best", **marker)
    _finish(ax, counts, highest=float(counts[["upper", "mean", "one_best"]].max().max()))
    return ax


def _finish(ax: Axes, counts: pd.DataFrame, highest: float) -> None:
    from matplotlib.ticker import MaxNLocator

    # At least up to 1, so that a mean of .01 does not look like a war.
    ax.set_ylim(min(0.0, float(counts["lower"].min())), 1.05 * max(1.0, highest))
    ax.margins(x=0.01 if len(counts) > _FEW else 0.05)
    date_axis(ax, counts)
    bare_spines(ax)
    ax.yaxis.set_major_locator(MaxNLocator(nbins="auto", integer=True, min_n_ticks=1))


def event_bands(
    counts: pd.DataFrame,
    countries: Sequence[str] | None = None,
    *,
    names: Mapping[str, str] | None = None,
    most: int = _MOST_PANELS,
    page: int = 1,
    columns: int = 2,
    share_y: bool = False,
    fig: Figure | SubFigure | None = None,
) -> Figure | SubFigure:
    """Draw counts by country in small multiples.

    Parameters
    ----------
    counts
        As `events.counting.EventCounts.to_frame` returns them, or counts.csv.
    countries
        Which to draw, in this order; by default a page of all, those with most documents first.
    names
        Names for the panels' titles, by code.
    most, page
        Countries on a page, and which page, from 1, where `countries` does not say.
    columns
        Panels side by side, at least 1.
    share_y
        Whether all panels have one scale, to compare heights; by default each has its own.
    fig
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib.figure.Figure
        The one given, or the new one.

    Raises
    ------
    ParameterError
        If a country is not in the table, or a number lies outside its range.
    """
    columns = _checks.whole("columns", columns, 1)
    chosen, left_out = _chosen(counts, countries, most, page)
    columns = min(columns, max(1, len(chosen)))
    rows = max(1, -(-len(chosen) // columns))
    figure = figure_of(fig, (5.2 * columns, 1.9 * rows + 0.8))
    axes = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=share_y).ravel()
    if not chosen:
        say_instead(axes[0], NO_EVENT)
        return figure
    panels = []
    for ax, country in zip(axes, chosen, strict=False):
        name = (names or {}).get(country)
        panels.append(counts[counts["country"] == country])
        event_band(ax, panels[-1], f"{name} ({country})" if name else country)
    if share_y:
        _one_scale(axes[0], panels)
    for ax in axes[len(chosen) :]:
        ax.set_visible(False)
    for ax in axes[max(0, len(chosen) - columns) : len(chosen)]:  # the lowest panel of each column
        ax.xaxis.set_tick_params(labelbottom=True)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper right", ncols=3, frameon=False, fontsize=9)
    figure.supylabel("documents with an event", fontsize=10)
    if left_out:
        figure.supxlabel(left_out, fontsize=8, color="0.35")
    return figure


def _chosen(counts: pd.DataFrame, countries: Sequence[str] | None, most: int, page: int) -> tuple[list[str], str]:
    """The countries to draw, and a word on those left out."""
    if countries is not None:
        absent = set(countries) - set(counts["country"])
        if absent:
            raise ParameterError(f"countries must be in the table, got {', '.join(sorted(absent))}")
        return list(countries), ""
    most, page = _checks.whole("most", most, 1), _checks.whole("page", page, 1)
    totals = counts.groupby("country")["mean"].sum().sort_values(ascending=False, kind="stable")
    n_pages = max(1, -(-len(totals) // most))
    _checks.at_most("page", page, n_pages)
    first = most * (page - 1)
    chosen = [str(country) for country in totals.index[first : first + most]]
    if n_pages == 1:
        return chosen, ""
    return chosen, f"countries {first + 1} to {first + len(chosen)} of {len(totals)}, by documents with an event"


def _one_scale(ax: Axes, panels: Sequence[pd.DataFrame]) -> None:
    highest = max(float(rows[["upper", "mean", "one_best"]].max().max()) for rows in panels)
    ax.set_ylim(min(0.0, *(float(rows["lower"].min()) for rows in panels)), 1.05 * max(1.0, highest))
