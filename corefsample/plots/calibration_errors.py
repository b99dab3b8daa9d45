"""Calibration errors of tags, groups or models as dots with intervals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeAlias

from corefsample import _checks
from corefsample._lazy import pd
from corefsample.plots.style import axes_of, bare_spines, curve_look, legible, require_columns, say_instead

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from corefsample.calibration._error import CalibrationError
    from corefsample.calibration._tag_errors import GroupErrors, TagErrors
    from corefsample.links._calibration import LinkCalibration

    Several: TypeAlias = pd.DataFrame | Mapping[str, CalibrationError] | TagErrors | GroupErrors | LinkCalibration
    Errors: TypeAlias = CalibrationError | Several

_ROW = 0.24  # inches
_COLUMNS = ["name", "part", "error", "lower", "upper", "level"]


def calibration_error_dots(errors: Errors, *, ax: Axes | None = None, most: int = 40, title: str = "") -> Axes:
    """Draw calibration errors as dots with their intervals, one row for each tag, group or model, the first on top.

    An interval is for the true error and may exclude the dot, because binning adds noise to every estimate.

    Parameters
    ----------
    errors
        `CalibrationError`, or several by name; or `TagErrors`, `GroupErrors` or `LinkCalibration`; or their table, such
        as calibration.csv, with columns tag or group, error, lower, upper and optionally partition, which groups the
        rows.
    ax
        Axes to draw on; by default a new figure with a height for its rows.
    most
        Number of rows to draw, at least 1: the first ones of the table. The label of the axis has the total number.
    title
        Title of the picture.

    Returns
    -------
    matplotlib.axes.Axes
        The given or the new one.

    Raises
    ------
    ParameterError
        If the table lacks a column, or `most` is below 1.
    """
    most = _checks.whole("most", most, 1)
    table = _table(errors)
    shown = table.iloc[:most]
    parts = list(dict.fromkeys(shown["part"]))
    ax = axes_of(ax, (6.4, 1.1 + _ROW * (max(len(shown), 3) + len(parts))), legible(title))
    if shown.empty:
        return say_instead(ax, "No calibration error to draw.")
    row, places, labels = 0.0, [], []
    for p, part in enumerate(parts):
        rows = shown[shown["part"] == part]
        heights = [row + r for r in range(len(rows))]
        look = curve_look(p)
        ax.hlines(heights, rows["lower"], rows["upper"], color=look["color"], linewidth=1.8, alpha=0.55)
        ax.plot(rows["error"], heights, **{**look, "linestyle": "none"}, markersize=5)
        for height in (h for h, value in zip(heights, rows["error"], strict=True) if value != value):
            ax.text(0.01, height, "no score", fontsize=8, color="0.4", va="center", transform=ax.get_yaxis_transform())
        places += heights
        labels += [legible(name, 40) for name in rows["name"]]
        row = heights[-1] + 1.7
    ax.set_yticks(places, labels)
    ax.set_ylim(row - 1.0, -0.8)
    _finish(ax, shown, len(table))
    return ax


def _finish(ax: Axes, shown: pd.DataFrame, n_rows: int) -> None:
    from matplotlib.ticker import PercentFormatter

    highest = shown[["error", "lower", "upper"]].max().max()
    ax.set_xlim(min(0.0, float(shown["error"].min())), 1.06 * highest if highest > 0 else 1.0)
    ax.xaxis.set_major_formatter(PercentFormatter(1.0))
    ax.grid(axis="y", color="0.9", linewidth=0.8)
    ax.set_axisbelow(True)
    bare_spines(ax)
    level = shown["level"].dropna().unique()
    interval = f", {100 * level[0]:g}% interval" if len(level) == 1 and shown["lower"].notna().any() else ""
    more = f"\n(the first {len(shown)} of {n_rows:,})" if n_rows > len(shown) else ""
    ax.set_xlabel(f"calibration error{interval}{more}")


def _table(errors: Errors) -> pd.DataFrame:
    """Table with one row for each dot: name, part, error, lower, upper, level."""
    from corefsample.calibration._error import CalibrationError

    if isinstance(errors, CalibrationError):
        errors = {"": errors}
    if isinstance(errors, Mapping):
        rows = [(name, "", e.estimate, e.lower, e.upper, e.level) for name, e in errors.items()]
        table = pd.DataFrame(rows, columns=_COLUMNS)
    elif isinstance(errors, pd.DataFrame):
        table = _rows(errors)
    else:
        table = _rows(errors.to_frame()).assign(level=errors.level)
    return table.astype(dict.fromkeys(_COLUMNS[2:], float))


def _rows(errors: pd.DataFrame) -> pd.DataFrame:
    named = next((name for name in ("tag", "group") if name in errors.columns), None)
    require_columns("errors", errors, (named or "tag or group", "error", "lower", "upper"))
    names = [str(name) for name in errors[named]]
    parts = [str(part) for part in errors["partition"]] if "partition" in errors.columns else [""] * len(names)
    if pd.api.types.is_integer_dtype(errors[named]):
        names = [f"{named} {name}" for name in names]
    labels = [name if part in ("", "all") else f"{part} {name}" for name, part in zip(names, parts, strict=True)]
    levels = errors["level"].to_numpy() if "level" in errors.columns else None
    numbers = {name: errors[name].to_numpy() for name in ("error", "lower", "upper")}
    return pd.DataFrame({"name": labels, "part": parts, **numbers, "level": levels}, columns=_COLUMNS)
