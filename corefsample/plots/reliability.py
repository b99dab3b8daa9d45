"""Reliability curves: of one model or several."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from corefsample.calibration._reliability import ReliabilityCurve
from corefsample.errors import ParameterError
from corefsample.plots.style import axes_of, curve_look, figure_of, finish_axes, legible

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure


_MOST_BARS = 400  # of all curves together; more are drawn as shaded bands


def reliability_axes(ax: Axes, curves: ReliabilityCurve | Mapping[str, ReliabilityCurve]) -> Axes:
    """Draw reliability curves on one axes: points with intervals, and the diagonal of perfect calibration.

    A curve made with `smooth=True` is drawn too, with its band, instead of the line that joins the points.

    Parameters
    ----------
    ax
        Axes to draw on.
    curves
        A curve, or several by name, for the legend; a single curve has no legend.

    Returns
    -------
    matplotlib.axes.Axes
        The given one.

    Raises
    ------
    ParameterError
        If there is no curve.
    """
    curves = _by_name(curves)
    if not curves:
        raise ParameterError("must have at least one curve, got none", parameter="curves")
    ax.plot([0, 1], [0, 1], color="0.45", linewidth=0.9, linestyle=(0, (4, 2)), zorder=1)
    ax.fill_between([0, 1], [0, 1], [1, 1], color="0.5", alpha=0.06, linewidth=0)
    note: dict[str, Any] = {"fontsize": 9, "color": "0.35", "transform": ax.transAxes}
    ax.text(0.04, 0.95, "too low", va="top", **note)
    ax.text(0.96, 0.05, "too high", ha="right", **note)
    as_bars = sum(curve.bins.n_bins for curve in curves.values()) <= _MOST_BARS
    for c, (name, curve) in enumerate(curves.items()):
        look = curve_look(c)
        x, y = curve.bins.mean_q, curve.bins.mean_y
        if as_bars:
            ax.vlines(x, curve.lower, curve.upper, color=look["color"], linewidth=0.8, alpha=0.6)
        else:
            ax.fill_between(x, curve.lower, curve.upper, color=look["color"], alpha=0.25, linewidth=0)
        if (smooth := curve.smooth) is not None:  # the points stay, without the line that joins them
            ax.fill_between(smooth.q, smooth.lower, smooth.upper, color=look["color"], alpha=0.18, linewidth=0)
            ax.plot(smooth.q, smooth.share, color=look["color"], linestyle=look["linestyle"], linewidth=1.4, zorder=2)
            look["linestyle"] = "none"
        ax.plot(x, y, **look, linewidth=0.9, markersize=3, label=legible(name), zorder=3)
    ax.set_xlim(-0.02, 1.02)
    ax.set_ylim(-0.02, 1.02)
    ax.set_aspect("equal")
    legend = {"fontsize": 9, "loc": "upper left", "bbox_to_anchor": (0.02, 0.9), "handlelength": 3}
    return finish_axes(ax, "mean prediction", "share that came true", legend=legend if len(curves) > 1 else None)


def reliability_figure(
    curves: ReliabilityCurve | Mapping[str, ReliabilityCurve], *, title: str = "", fig: Figure | SubFigure | None = None
) -> Figure | SubFigure:
    """Draw reliability curves, and below them the distribution of the predictions.

    Parameters
    ----------
    curves
        A curve, or several by name.
    title
        Title of the picture.
    fig
        Figure to draw on; by default a new figure.

    Returns
    -------
    matplotlib.figure.Figure
        The given or the new one.

    Raises
    ------
    ParameterError
        If there is no curve.
    """
    curves = _by_name(curves)
    figure = figure_of(fig, (5.2, 6.6))
    above, below = figure.subplots(2, 1, height_ratios=(4.2, 1), sharex=False)
    reliability_axes(axes_of(above, title=legible(title)), curves)
    first = next(iter(curves.values()))
    how = "between documents" if first.by_block else "of independent pairs"
    for c, curve in enumerate(curves.values()):
        bins, look = curve.bins, curve_look(c)
        ends, shares = [*bins.q_min, bins.q_max[-1]], [*bins.share_above, bins.share_above[-1]]
        below.step(ends, shares, where="post", **{**look, "marker": ""}, linewidth=1.2)
    below.set_xlim(-0.02, 1.02)
    below.set_yscale("log")
    below.set_ylim(top=1.3)
    x_label = f"prediction\n(above: {100 * first.level:g}% intervals by bin, {how})"
    finish_axes(below, x_label, "share of pairs\nat or above", size=9)
    return figure


def _by_name(curves: ReliabilityCurve | Mapping[str, ReliabilityCurve]) -> Mapping[str, ReliabilityCurve]:
    return curves if isinstance(curves, Mapping) else {"": curves}
