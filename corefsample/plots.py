"""Pictures of finished results; nothing is computed here."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from corefsample.errors import ParameterError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from corefsample.calibration.reliability import ReliabilityCurve

__all__ = ["COLOURS", "MARKERS", "reliability_axes", "reliability_figure", "save_figure"]

# Okabe & Ito's palette: apart for colour-blind readers; with the markers, in grey too.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
MARKERS = "osD^vP"
_MOST_BARS = 400  # of a single curve; beyond, a shaded band reads better


def reliability_axes(ax: Axes, curves: Mapping[str, ReliabilityCurve]) -> Axes:
    """Draw reliability curves on one axis: points with intervals, and the diagonal of perfect calibration.

    Parameters
    ----------
    ax
        Where to draw.
    curves
        By name, for the legend; a single one needs none.

    Raises
    ------
    ParameterError
        If there is no curve.
    """
    if not curves:
        raise ParameterError("curves must hold at least one, got none")
    ax.plot([0, 1], [0, 1], color="0.45", linewidth=0.9, linestyle=(0, (4, 2)), zorder=1)
    ax.fill_between([0, 1], [0, 1], [1, 1], color="0.5", alpha=0.06, linewidth=0)
    note: dict[str, Any] = {"fontsize": 9, "color": "0.35", "transform": ax.transAxes}
    ax.text(0.04, 0.95, "underconfident", va="top", **note)
    ax.text(0.96, 0.05, "overconfident", ha="right", **note)
    for c, (name, curve) in enumerate(curves.items()):
        colour, marker = COLOURS[c % len(COLOURS)], MARKERS[c % len(MARKERS)]
        x, y = curve.bins.mean_q, curve.bins.mean_y
        if len(curves) == 1 and curve.bins.n_bins > _MOST_BARS:
            ax.fill_between(x, curve.lower, curve.upper, color=colour, alpha=0.25, linewidth=0)
        else:
            ax.vlines(x, curve.lower, curve.upper, color=colour, linewidth=0.8, alpha=0.6)
        ax.plot(x, y, color=colour, linewidth=0.8, marker=marker, markersize=3, label=name, zorder=3)
    ax.set_xlim(-0.02, 1.02)
    ax.set_ylim(-0.02, 1.02)
    ax.set_aspect("equal")
    ax.set_xlabel("mean prediction")
    ax.set_ylabel("share that came true")
    ax.spines[["top", "right"]].set_visible(False)
    if len(curves) > 1:
        ax.legend(frameon=False, fontsize=9, loc="center left", bbox_to_anchor=(0.02, 0.78))
    return ax


def reliability_figure(curves: Mapping[str, ReliabilityCurve], *, title: str = "") -> Figure:
    """Draw reliability curves, and beneath them how the predictions are spread.

    Parameters
    ----------
    curves
        By name.
    title
        Above the picture.

    Raises
    ------
    ParameterError
        If there is no curve.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.2, 6.6), layout="constrained")
    above, beneath = figure.subplots(2, 1, height_ratios=(4.2, 1), sharex=False)
    reliability_axes(above, curves)
    first = next(iter(curves.values()))
    how = "between documents" if first.by_block else "of independent pairs"
    if title:
        above.set_title(title, loc="left", fontsize=10)
    for c, curve in enumerate(curves.values()):
        bins = curve.bins
        shares = 1.0 - np.cumsum(np.concatenate(([0], bins.n[:-1]))) / bins.n_pairs
        beneath.step(bins.q_min, shares, where="post", color=COLOURS[c % len(COLOURS)], linewidth=1.2)
    beneath.set_xlim(-0.02, 1.02)
    beneath.set_yscale("log")
    beneath.set_ylim(top=1.3)
    beneath.set_ylabel("share of pairs\nat or above", fontsize=9)
    beneath.set_xlabel(f"prediction\n(above: {100 * first.level:g}% intervals by bin, {how})", fontsize=9)
    beneath.spines[["top", "right"]].set_visible(False)
    return figure


def save_figure(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Write a figure as its file name's ending says, the same bytes for the same figure."""
    import matplotlib as mpl

    is_svg = os.fspath(path).endswith(".svg")
    with mpl.rc_context({"svg.hashsalt": "corefsample", "svg.fonttype": "none"}):
        figure.savefig(path, dpi=150, metadata={"Date": None} if is_svg else None)
