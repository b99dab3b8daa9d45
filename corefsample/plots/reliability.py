"""Reliability curves of one model or several, and calibration errors with their intervals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from corefsample import _checks
from corefsample._arrays import pd
from corefsample.calibration._reliability import ReliabilityCurve
from corefsample.errors import ParameterError, shown
from corefsample.plots import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

    from corefsample.calibration._error import CalibrationError
    from corefsample.links._calibration import LinkCalibration

    Errors: TypeAlias = CalibrationError | pd.DataFrame | Mapping[str, CalibrationError] | LinkCalibration

_MOST_BARS = 400  # of all curves together; more are drawn as shaded bands


def reliability_axes(ax: Axes, curves: ReliabilityCurve | Mapping[str, ReliabilityCurve]) -> Axes:
    """Draw reliability curves on one axes: points with intervals, and the diagonal of perfect calibration.

    Parameters
    ----------
    ax
        Axes to draw on.
    curves
        A curve, or several by name, for the legend; a single curve has no legend.

    Returns
    -------
    matplotlib.axes.Axes
        The axes `ax`.

    Raises
    ------
    ParameterError
        If there is no curve.
    """
    style.require_axes(ax)
    curves = _by_name(curves)
    _checks.require("curves", curves, "must have at least one curve", "none")
    ax.plot([0, 1], [0, 1], color="0.45", linewidth=0.9, linestyle=(0, (4, 2)), zorder=1)
    ax.fill_between([0, 1], [0, 1], [1, 1], color="0.5", alpha=0.06, linewidth=0)
    note: dict[str, Any] = {"fontsize": 9, "color": "0.35", "transform": ax.transAxes}
    ax.text(0.04, 0.95, "too low", va="top", **note)
    ax.text(0.96, 0.05, "too high", ha="right", **note)
    as_bars = sum(curve.bins.n_bins for curve in curves.values()) <= _MOST_BARS
    for c, (name, curve) in enumerate(curves.items()):
        look = style.curve_look(c)
        x, y = curve.bins.mean_q, curve.bins.mean_y
        if as_bars:
            ax.vlines(x, curve.lower, curve.upper, color=look["color"], linewidth=0.8, alpha=0.6)
        else:
            ax.fill_between(x, curve.lower, curve.upper, color=look["color"], alpha=0.25, linewidth=0)
        ax.plot(x, y, **look, linewidth=0.9, markersize=3, label=style.legible(name), zorder=3)
    ax.set_xlim(-0.02, 1.02)
    ax.set_ylim(-0.02, 1.02)
    ax.set_aspect("equal")
    legend = {"fontsize": 9, "loc": "upper left", "bbox_to_anchor": (0.02, 0.9), "handlelength": 3}
    return style.finish_axes(ax, "mean prediction", "share that came true", legend=legend if len(curves) > 1 else None)


def reliability_figure(
    curves: ReliabilityCurve | Mapping[str, ReliabilityCurve], *, title: str = "", fig: Figure | SubFigure | None = None
) -> Figure | SubFigure:
    """Draw reliability curves, and below them the share of pairs with a prediction at or above each value.

    The axis of the shares is logarithmic, because often few pairs have a high prediction.

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
        The figure `fig`, or the new one.

    Raises
    ------
    ParameterError
        If there is no curve.
    """
    curves = _by_name(curves)
    figure = style.figure_of(fig, (5.2, 6.6))
    above, below = figure.subplots(2, 1, height_ratios=(4.2, 1), sharex=False)
    reliability_axes(style.axes_of(above, title=style.legible(title)), curves)
    first = next(iter(curves.values()))
    how = "between documents" if first.by_block else "of independent pairs"
    for c, curve in enumerate(curves.values()):
        bins, look = curve.bins, style.curve_look(c)
        ends, shares = [*bins.q_min, bins.q_max[-1]], [*bins.share_above, bins.share_above[-1]]
        below.step(ends, shares, where="post", **{**look, "marker": ""}, linewidth=1.2)
    below.set_xlim(-0.02, 1.02)
    below.set_yscale("log")
    below.set_ylim(top=1.3)
    x_label = f"prediction\n(above: {100 * first.level:g}% intervals by bin, {how})"
    style.finish_axes(below, x_label, "share of pairs\nat or above", size=9)
    return figure


def _by_name(curves: ReliabilityCurve | Mapping[str, ReliabilityCurve]) -> Mapping[str, ReliabilityCurve]:
    curves = curves if isinstance(curves, Mapping) else {"": curves}
    for curve in curves.values():
        _checks.instance("curves", curve, ReliabilityCurve, "reliability_curve(q, y) makes one")
    return curves


_ROW = 0.24  # inches
_COLUMNS = ["name", "part", "error", "lower", "upper", "level"]


def calibration_error_dots(errors: Errors, *, ax: Axes | None = None, most: int = 40, title: str = "") -> Axes:
    """Draw calibration errors as dots with their intervals, one row for each tag, group or model, the first on top.

    An interval is for the true error and may exclude the dot of an error that is not debiased: noise inflates it.

    Parameters
    ----------
    errors
        `CalibrationError`, or several by name; or `LinkCalibration`; or a table such as calibration.csv, with columns
        group, error, lower, upper and optionally level and partition, which groups the rows.
    ax
        Axes to draw on; by default a new figure with a height for its rows.
    most
        Number of rows to draw, at least 1: the first ones of the table. The label of the axis has the total number.
    title
        Title of the picture.

    Returns
    -------
    matplotlib.axes.Axes
        The axes `ax`, or those of the new figure.

    Raises
    ------
    ParameterError
        If the table lacks a column, or `most` is below 1.
    """
    from matplotlib.ticker import PercentFormatter

    most = _checks.whole("most", most, 1)
    table = _table(errors)
    drawn = table.iloc[:most]
    sections = list(dict.fromkeys(drawn["part"]))
    ax = style.axes_of(ax, (6.4, 1.1 + _ROW * (max(len(drawn), 3) + len(sections))), style.legible(title))
    if drawn.empty:
        return style.say_instead(ax, "No calibration error to draw.")
    row, places, labels = 0.0, [], []
    for p, section in enumerate(sections):
        rows = drawn[drawn["part"] == section]
        heights = [row + r for r in range(len(rows))]
        look = style.curve_look(p)
        ax.hlines(heights, rows["lower"], rows["upper"], color=look["color"], linewidth=1.8, alpha=0.55)
        ax.plot(rows["error"], heights, **{**look, "linestyle": "none"}, markersize=5)
        for height in (h for h, value in zip(heights, rows["error"], strict=True) if value != value):
            ax.text(0.01, height, "no score", fontsize=8, color="0.4", va="center", transform=ax.get_yaxis_transform())
        places += heights
        labels += [style.legible(name, 40) for name in rows["name"]]
        row = heights[-1] + 1.7
    ax.set_yticks(places, labels)
    ax.set_ylim(row - 1.0, -0.8)
    highest = drawn[["error", "lower", "upper"]].max().max()
    ax.set_xlim(min(0.0, float(drawn["error"].min())), 1.06 * highest if highest > 0 else 1.0)
    ax.xaxis.set_major_formatter(PercentFormatter(1.0))
    ax.grid(axis="y", color="0.9", linewidth=0.8)
    ax.set_axisbelow(True)
    style.bare_spines(ax)
    level = drawn["level"].dropna().unique()
    interval = f", {100 * level[0]:g}% interval" if len(level) == 1 and drawn["lower"].notna().any() else ""
    more = f"\n(the first {len(drawn)} of {len(table):,})" if len(table) > len(drawn) else ""
    ax.set_xlabel(f"calibration error{interval}{more}")
    return ax


def _table(errors: Errors) -> pd.DataFrame:
    """Table with one row for each dot: name, part, error, lower, upper, level."""
    from corefsample.calibration._error import CalibrationError

    if isinstance(errors, CalibrationError):
        errors = {"": errors}
    if isinstance(errors, Mapping):
        for error in errors.values():
            _checks.instance("errors", error, CalibrationError)
        rows = [(name, "", e.estimate, e.lower, e.upper, e.level) for name, e in errors.items()]
        table = pd.DataFrame(rows, columns=_COLUMNS)
    elif hasattr(errors, "to_frame") or isinstance(errors, pd.DataFrame):
        table = errors if isinstance(errors, pd.DataFrame) else errors.to_frame()
        style.require_columns("errors", table, ("group", "error", "lower", "upper"))
        table = table.rename(columns={"group": "name", "partition": "part"})
        defaults = {"part": "", "level": None}
        table = table.assign(**{name: each for name, each in defaults.items() if name not in table})[_COLUMNS]
        labels = zip(table["part"], table["name"], strict=True)
        names = [f"{name}" if part in ("", "all") else f"{part} {name}" for part, name in labels]
        table = table.assign(name=names)
    else:
        rule = "must be calibration errors, by name or in a table"
        raise ParameterError(f"{rule}, got {shown(errors)}", parameter="errors")
    return table.astype(dict.fromkeys(_COLUMNS[2:], float))
