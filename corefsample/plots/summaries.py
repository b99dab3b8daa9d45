"""Plots of summaries of one document's posterior: sizes of confident cores, precision and recall by threshold."""

from __future__ import annotations

from typing import TYPE_CHECKING

from corefsample import _checks
from corefsample.plots.style import COLOURS, axes_of, curve_look, finish_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from corefsample.summaries._confident_cores import CoreCurve
    from corefsample.summaries._thresholds import ThresholdCurve


def core_curve_line(curve: CoreCurve, *, ax: Axes | None = None, title: str = "") -> Axes:
    """Draw how many mentions the confident core has at each threshold.

    Parameters
    ----------
    curve
        From `corefsample.summaries.core_curve`.
    ax
        Axes to draw on; by default a new figure.
    title
        Above the plot.

    Returns
    -------
    matplotlib.axes.Axes
        The given or the new one.
    """
    from corefsample.summaries._confident_cores import CoreCurve

    _checks.instance("curve", curve, CoreCurve, "corefsample.summaries.core_curve(document.antecedents) makes one")
    ax = axes_of(ax, (5.0, 3.4), title)
    ax.step(curve.thresholds, curve.n_mentions, COLOURS[0], where="post", label="mentions")
    ax.step(curve.thresholds, curve.n_entities, COLOURS[1], where="post", linestyle="--", label="entities of these")
    ax.set_xlim(0.0, 1.0)
    ax.set_ylim(0.0, max(curve.n_document, 1) * 1.02)
    y_label = f"in the core, of {curve.n_document} mentions"
    return finish_axes(ax, "joint probability of at least", y_label, size=9, legend={"fontsize": 8})


def precision_recall_line(curve: ThresholdCurve, *, ax: Axes | None = None, title: str = "") -> Axes:
    """Draw expected precision against expected recall of each metric, one point per threshold.

    The threshold with the largest expected F1 of each metric has a ring and its value.

    Parameters
    ----------
    curve
        From `corefsample.summaries.threshold_curve`.
    ax
        Axes to draw on; by default a new figure.
    title
        Above the plot.

    Returns
    -------
    matplotlib.axes.Axes
        The given or the new one.
    """
    from corefsample.summaries._thresholds import ThresholdCurve

    hint = "corefsample.summaries.threshold_curve(document.antecedents) makes one"
    _checks.instance("curve", curve, ThresholdCurve, hint)
    ax = axes_of(ax, (4.6, 4.2), title)
    for m, metric in enumerate(curve.metrics):
        precision, recall = curve.expected[:, m, 0], curve.expected[:, m, 1]
        look = curve_look(m)
        ax.plot(recall, precision, **look, markersize=3.5, linewidth=1.0, label=metric)
        best = curve.best(metric)
        ax.plot(recall[best], precision[best], "o", markersize=9, markerfacecolor="none", markeredgecolor=look["color"])
        place = recall[best], precision[best]
        ax.annotate(f"{curve.thresholds[best]:g}", place, (6, 6), textcoords="offset points")
    ax.set_xlim(0.0, 1.02)
    ax.set_ylim(0.0, 1.02)
    legend = {"fontsize": 8, "loc": "lower left"}
    return finish_axes(ax, "expected recall", "expected precision", size=9, legend=legend)
