"""Labels beside points, at the side where they cover least."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from corefsample._arrays import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_GAP = 6.0  # distance of a label from its point, in points
_DOTS = 12  # number of dots that represent a line
_MOST_COVERED = 0.6  # of a label's area
# Positions of a label, best first: direction from the point, and horizontal and vertical alignment.
_SIDES = (
    (0.0, 1.0, "center", "bottom"),
    (0.0, -1.0, "center", "top"),
    (1.0, 0.0, "left", "center"),
    (-1.0, 0.0, "right", "center"),
    (0.7, 0.7, "left", "bottom"),
    (-0.7, 0.7, "right", "bottom"),
    (0.7, -0.7, "left", "top"),
    (-0.7, -0.7, "right", "top"),
)
_SHIFTS = {"left": 0.0, "bottom": 0.0, "center": -0.5, "right": -1.0, "top": -1.0}


def place_labels(
    ax: Axes,
    positions: Floats,
    labels: Sequence[tuple[int, str]],
    *,
    lines: Floats | None = None,
    size: float = 8.0,
    radius: float = 4.5,
) -> None:
    """Write labels one after another, each at the side of its point where it covers the least.

    A label that would mostly cover other things is left out.

    Parameters
    ----------
    ax
        Axes with their final limits.
    positions
        float64 (n_points, 2), in data units: the points; labels should not cover them.
    labels
        Point and text of each label, the most important first.
    lines
        float64 (n_lines, 2, 2): ends of lines; labels should not cross them.
    size, radius
        Size of the text and radius of the points, in points of 1/72 inch.
    """
    scale = 72.0 / ax.figure.dpi
    places = ax.transData.transform(positions) * scale
    taken = np.concatenate((places - radius, places + radius), axis=1)
    if lines is not None and len(lines):
        shares = np.linspace(0.0, 1.0, _DOTS)[:, np.newaxis, np.newaxis]
        along = ((1.0 - shares) * lines[:, 0] + shares * lines[:, 1]).reshape(-1, 2)
        dots = ax.transData.transform(along) * scale
        taken = np.concatenate((taken, np.concatenate((dots - 1.5, dots + 1.5), axis=1)))
    for point, text in labels:
        extent = np.array([0.56 * size * len(text), 1.15 * size])  # 0.56: mean width of a letter
        boxes = np.array([_box(places[point], extent, side) for side in _SIDES])
        covered = [_overlap(box, np.delete(taken, point, axis=0)) for box in boxes]
        best = int(np.argmin(covered))
        if covered[best] > _MOST_COVERED * extent.prod():
            continue
        taken = np.concatenate((taken, boxes[best : best + 1]))
        right, up, horizontal, vertical = _SIDES[best]
        look: dict[str, Any] = {"ha": horizontal, "va": vertical, "fontsize": size, "zorder": 4}
        ax.annotate(text, positions[point], (_GAP * right, _GAP * up), textcoords="offset points", **look)


def _box(place: Floats, extent: Floats, side: tuple[float, float, str, str]) -> Floats:
    """Left, lower, right and upper end of a label."""
    right, up, horizontal, vertical = side
    shift = np.array([_SHIFTS[horizontal], _SHIFTS[vertical]])
    corner = place + _GAP * np.array([right, up]) + shift * extent
    return np.concatenate((corner, corner + extent))


def _overlap(box: Floats, others: Floats) -> float:
    """Area of a box that others cover; areas that two of them cover count twice."""
    widths = np.minimum(box[2], others[:, 2]) - np.maximum(box[0], others[:, 0])
    heights = np.minimum(box[3], others[:, 3]) - np.maximum(box[1], others[:, 1])
    return float((widths.clip(0.0) * heights.clip(0.0)).sum())
