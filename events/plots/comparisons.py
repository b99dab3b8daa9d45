"""Comparison of two actors: their counts, and the probabilities that each has more."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from corefsample._arrays import pd
from corefsample.errors import ParameterError
from corefsample.plots.style import COLOURS, LINE_STYLES, bare_spines, figure_of, legible, require_columns, say_instead
from events.evidence._columns import row_names
from events.plots.bands import (
    ACTOR_NAME,
    LEGEND_ABOVE,
    actor_title,
    date_axis,
    draw_actors,
    ends_of,
    of_shown_periods,
    titled_subfigures,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

_STYLES = (LINE_STYLES[0], LINE_STYLES[3])


def actor_comparison(
    counts: pd.DataFrame,
    comparison: pd.DataFrame,
    *,
    names: Mapping[str, str] | None = None,
    fig: Figure | SubFigure | None = None,
) -> Figure | SubFigure:
    """Draw the counts of two actors, and below for each period the probability that each has more.

    In the lower panel, the first actor's probability is drawn from the bottom and the second's from the top; the gap
    is the probability that both have the same count.

    Parameters
    ----------
    counts
        Table of counts: the result of `EventCounts.to_frame`, or counts.csv of a run.
    comparison
        Table of comparisons: the result of `EventCounts.compare`, or comparisons.csv of a run.
    names
        Names for the legend, by code.
    fig
        Figure to draw on; by default a new one.

    Returns
    -------
    matplotlib.figure.Figure
        The figure `fig`, or the new one, with two axes.

    Raises
    ------
    ParameterError
        If the comparison is of several pairs of actors.

    References
    ----------
    Nguyen & O'Connor (2015), section 6.2, which compares Yugoslavia and NATO.
    """
    require_columns("comparison", comparison, ("first", "second", "period"))
    require_columns("counts", counts, ("actor", "period", "period_start"))
    figure = figure_of(fig, (7.2, 5.0))
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    if comparison.empty:
        below.set_axis_off()
        say_instead(above, "No period to compare.")
        return figure
    pairs = comparison[["first", "second"]].drop_duplicates()
    if len(pairs) > 1:
        raise ParameterError(f"must be of one pair of actors, got {len(pairs)}", parameter="comparison")
    first, second = (str(actor) for actor in pairs.iloc[0])
    titles = [legible(actor_title(actor, names)) for actor in (first, second)]
    if "event" in counts and "event" in comparison:
        counts = counts[counts["event"] == comparison["event"].iloc[0]]
    shown = of_shown_periods(counts)
    comparison = comparison[~comparison["period"].isin({*counts["period"]} - {*shown["period"]})]
    counts = shown.assign(**{ACTOR_NAME: row_names(shown)})
    draw_actors(above, counts[counts["period"].isin(comparison["period"])], (first, second), titles, _STYLES)
    _draw_probabilities(below, comparison, titles)
    date_axis(below, comparison)
    return figure


def comparisons_by_event(
    counts: pd.DataFrame, comparison: pd.DataFrame, *, names: Mapping[str, str] | None = None
) -> Figure | SubFigure:
    """Draw the comparison of two actors for each of several events, each as `actor_comparison` does.

    Parameters
    ----------
    counts, comparison
        counts.csv and comparisons.csv of a run with several rules; events without a comparison are not drawn.
    names
        Names for the legend, by code.
    """
    events = [str(event) for event in comparison["event"].unique()]
    columns = min(2, len(events))
    rows = -(-len(events) // columns)
    figure = figure_of(None, (7.2 * columns, 5.3 * rows))
    for event, subfigure in titled_subfigures(figure, events, columns, [1.0] * rows):
        actor_comparison(counts, comparison[comparison["event"] == event], names=names, fig=subfigure)
    return figure


def _draw_probabilities(ax: Axes, comparison: pd.DataFrame, titles: list[str]) -> None:
    from matplotlib.dates import date2num
    from matplotlib.ticker import PercentFormatter

    edges = np.asarray(date2num(ends_of(comparison)), np.float64)  # type: ignore[no-untyped-call]
    ends = (comparison["p_first_greater"].to_numpy(), 0.0), (1.0 - comparison["p_second_greater"].to_numpy(), 1.0)
    for c, (title, (heights, baseline)) in enumerate(zip(titles, ends, strict=True)):
        look: dict[str, Any] = {"facecolor": (COLOURS[c], (0.75, 0.35)[c]), "edgecolor": COLOURS[c], "linewidth": 0.0}
        label = f"{title} has more"
        ax.stairs(heights, edges, baseline=baseline, fill=True, hatch=(None, "////")[c], label=label, **look)
    ax.axhline(0.5, color="0.35", linewidth=0.8, linestyle=(0, (4, 2)))
    ax.set_xlim(edges[0], edges[-1])
    ax.set_ylim(0.0, 1.0)
    ax.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    ax.set_ylabel("probability\n(white: as many)")
    ax.legend(ncols=2, **LEGEND_ABOVE)
    bare_spines(ax)
