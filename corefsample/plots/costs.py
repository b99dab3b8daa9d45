"""Cost against size, on logarithmic axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from corefsample.errors import ParameterError
from corefsample.plots.style import axes_of, curve_look, finish_axes, legible, require_columns, say_instead

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

_FEW = 8  # up to this number every size has a label


def cost_curves(
    costs: pd.DataFrame,
    *,
    slope: float | Sequence[float] | None = 1.0,
    x_label: str = "size",
    y_label: str = "seconds",
    ax: Axes | None = None,
) -> Axes:
    """Draw cost against size by series on logarithmic axes, with a line of known slope for comparison.

    Parameters
    ----------
    costs
        One row for each series and size: columns series, size and seconds (both above 0). Columns lower and upper,
        such as quartiles of repeated runs, are drawn as bars.
    slope
        Slope of one or several guide lines through the first point of the first series: 1 for cost proportional to
        size, 2 for its square; None for no line.
    x_label, y_label
        Labels of the axes, with units.
    ax
        Axes to draw on; by default a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The given or the new one.

    Raises
    ------
    ParameterError
        If the table lacks a column, or a size or cost is not above 0.
    """
    require_columns("costs", costs, ("series", "size", "seconds"))
    for column in ("size", "seconds"):
        wrong = costs[~(costs[column] > 0)]
        if len(wrong):
            raise ParameterError(f"must be above 0, got {wrong[column].iloc[0]}", parameter=f"costs[{column!r}]")
    ax = axes_of(ax, (5.6, 4.2))
    if costs.empty:
        return say_instead(ax, "No cost to draw.")
    ax.set_xscale("log")
    ax.set_yscale("log")
    for s, (name, rows) in enumerate(costs.groupby("series", sort=False)):
        look = curve_look(s)
        if {"lower", "upper"} <= set(costs.columns):
            ax.vlines(rows["size"], rows["lower"], rows["upper"], color=look["color"], linewidth=1.4, alpha=0.6)
        ax.plot(rows["size"], rows["seconds"], **look, markersize=5, linewidth=1.2, label=legible(str(name)))
    for each in () if slope is None else (slope if isinstance(slope, Sequence) else (slope,)):
        _guide(ax, costs, each)
    _size_axis(ax, sorted(set(costs["size"])))
    ax.grid(color="0.92", linewidth=0.7)
    return finish_axes(ax, x_label, y_label, legend={"fontsize": 9, "handlelength": 3})


def _guide(ax: Axes, costs: pd.DataFrame, slope: float) -> None:
    first = costs[costs["series"] == costs["series"].iloc[0]].sort_values("size").iloc[0]
    ends = [float(costs["size"].min()), float(costs["size"].max())]
    heights = [float(first["seconds"]) * (end / float(first["size"])) ** slope for end in ends]
    ax.plot(ends, heights, color="0.5", linewidth=0.8, linestyle=(0, (2, 2)), zorder=1)
    note: dict[str, Any] = {"fontsize": 8, "color": "0.35", "va": "center"}
    ax.annotate(f"slope {slope:g}", (ends[1], heights[1]), (3, 0), textcoords="offset points", **note)


def _size_axis(ax: Axes, sizes: list[float]) -> None:
    """Label the axis with plain numbers: with the sizes themselves if they are few."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter, NullLocator

    if len(sizes) <= _FEW:
        ax.xaxis.set_major_locator(FixedLocator(sizes))
        ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}" if value < 1e6 else f"{value:g}"))
