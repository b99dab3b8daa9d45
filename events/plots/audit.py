"""Audited counts beside those of the model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from corefsample._arrays import pd
from corefsample.plots.style import COLOURS, bare_spines, figure_of, legible, require_columns, say_instead
from events.plots.bands import date_axis, ends_of, fitted_legend, middles_of, of_shown_periods, stepped

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

MODEL, AUDITED, LEARNED = COLOURS[:3]
_MOST = 10  # panels, of the largest totals
_COLUMNS = (
    *("event", "actor", "period", "period_start", "estimate", "lower", "upper", "level"),
    *("model_mean", "model_lower", "model_upper"),
)


def audit_bands(
    counts: pd.DataFrame,
    *,
    truth: pd.DataFrame | None = None,
    covers: str = "",
    learned: pd.DataFrame | None = None,
) -> Figure | SubFigure:
    """Draw audited counts and their intervals beside the mean and band of the model, one panel for each target.

    Parameters
    ----------
    counts
        Table of audited counts: the result of `AuditEstimate.to_frame`, or audited.csv. Learned counts, the result of
        `LearnResult.to_frame` or learned_counts.csv, are drawn in the same way.
    truth
        True counts where they are known, drawn as crosses: a table with the columns actor, period and count. By
        default none are drawn.
    covers
        Text in the legend that names the uncertainty covered by the model's band, such as "coreference". By default the
        legend does not name it.
    learned
        Learned counts of the same targets, drawn beside the audited ones: the result of `LearnResult.to_frame`, or
        learned_counts.csv. By default none are drawn.

    Returns
    -------
    matplotlib.figure.Figure
        A new figure; targets with the highest totals come first, and at most ten are drawn.
    """
    require_columns("counts", counts, ("period",))
    names = {"mean": "estimate", "run_mean": "model_mean", "run_lower": "model_lower", "run_upper": "model_upper"}
    label = "learned" if "run_mean" in getattr(counts, "columns", ()) else "audited"
    counts = counts.rename(columns=names) if label == "learned" else counts
    require_columns("counts", counts, _COLUMNS)
    if truth is not None:
        require_columns("truth", truth, ("actor", "period", "count"))
    if learned is not None:
        require_columns("learned", learned, ("event", "actor", "period", "mean", "lower", "upper", "level"))
    table = counts.assign(actor=counts["actor"].fillna(""))
    by_period = of_shown_periods(table[table["period"] != "total"])
    totals = table[table["period"] == "total"].sort_values("estimate", ascending=False, kind="stable")
    totals = totals.iloc[:_MOST]
    figure = figure_of(None, (7.0, 2.3 * max(1, len(totals)) + 0.8))
    axes = figure.subplots(max(1, len(totals)), 1, squeeze=False, sharex=True).ravel()
    if totals.empty or by_period.empty:
        say_instead(axes[0], "No period has a document.")
        return figure
    for ax, (_, total) in zip(axes, totals.iterrows(), strict=True):
        rows = by_period[(by_period["event"] == total["event"]) & (by_period["actor"] == total["actor"])]
        name = str(total["actor"] or total["event"])
        if total["actor"] and table["event"].nunique() > 1:
            name = f"{total['event']}: {name}"
        count = f"{total['estimate']:,.0f} ({total['lower']:,} to {total['upper']:,})"
        ax.set_title(legible(f"{name}: total {count}, model {total['model_mean']:,.0f}"), loc="left", fontsize=10)
        ends, level = ends_of(rows), f"{100.0 * float(rows['level'].iloc[0]):g}%"
        limits = stepped(rows["model_lower"]), stepped(rows["model_upper"])
        band = ax.fill_between(ends, *limits, facecolor=(MODEL, 0.25), step="post")
        band.set_label(f"{level} model band{f' ({covers})' if covers else ''}")
        means = stepped(rows["model_mean"])
        ax.plot(ends, means, color=MODEL, linewidth=1.2, drawstyle="steps-post", label="model mean")
        _draw_interval(ax, rows, "estimate", AUDITED, label)
        if truth is not None:
            true_counts = truth[truth["actor"] == total["actor"]].set_index("period")["count"]
            true_counts = true_counts.reindex(rows["period"]).to_numpy(dtype=np.float64)
            ax.plot(middles_of(rows), true_counts, "x", color="0.1", markersize=4, label="truth")
        ax.set_ylim(bottom=0.0)
        date_axis(ax, rows)
        bare_spines(ax)
        if learned is not None:
            of_target = (learned["event"] == total["event"]) & (learned["actor"].fillna("") == total["actor"])
            means = learned[of_target].set_index("period").reindex(rows["period"])
            means = means.assign(period_start=rows["period_start"].to_numpy()).dropna(subset="mean")
            if len(means):
                _draw_interval(ax, means, "mean", LEARNED, "learned", 0.6)
    fitted_legend(figure, axes[0].get_legend_handles_labels()[0], loc="outside upper right")
    figure.supylabel("documents with an event", fontsize=10)
    if label == "learned":
        assumption = "learned bands rest on an assumption: errors of the same kind in all periods"
        figure.supxlabel(assumption, fontsize=8, color="0.35")
    return figure


def _draw_interval(ax: Axes, rows: pd.DataFrame, name: str, colour: str, label: str, share: float = 0.5) -> None:
    """Draw the estimates of a column with their intervals, at a share of each period."""
    ends, estimate = ends_of(rows), rows[name].to_numpy()
    days = (ends[1:] - ends[:-1]).astype(np.float64) * share
    below = np.maximum(estimate - rows["lower"].to_numpy(), 0.0)
    above = np.maximum(rows["upper"].to_numpy() - estimate, 0.0)
    x = ends[:-1] + days.astype(np.int64)
    line = ax.errorbar(x, estimate, [below, above], color=colour, fmt="o", markersize=3, linewidth=1.0)
    line.set_label(f"{100.0 * float(rows['level'].iloc[0]):g}% {label}")
