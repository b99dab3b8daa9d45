"""Pictures of event counts; they draw finished tables and compute nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from corefsample.errors import ParameterError
from corefsample.plots import COLOURS, MARKERS

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["event_band", "event_bands", "query_coverage"]

BAND, ONE_BEST = COLOURS[:2]
_COLUMNS = 2
_MOST_PANELS = 10


def event_band(ax: Axes, counts: pd.DataFrame, title: str = "") -> Axes:
    """Draw one country's counts: credible interval shaded, posterior mean, one best as a thin line.

    Parameters
    ----------
    ax
        Where to draw.
    counts
        Rows of one country of `events.counts.EventCounts.to_frame`.
    title
        Above the panel.
    """
    from matplotlib.ticker import MaxNLocator

    x = counts["period_start"].to_numpy().astype("datetime64[D]")
    covered = f"{100.0 * float(counts['level'].iloc[0]):g}% credible interval"
    marker: dict[str, Any] = {"marker": "."} if len(counts) < 3 else {}
    ax.fill_between(
        x,
        counts["lower"],
        counts["upper"],
        color=BAND,
        alpha=0.25,
        linewidth=0,
        label=covered,
    )
    ax.plot(x, counts["mean"], color=BAND, linewidth=1.6, label="posterior mean", **marker)
    ax.plot(x, counts["one_best"], color=ONE_BEST, linewidth=0.7, linestyle=(0, (4, 1.5)), label="one best", **marker)
    ax.set_title(title, loc="left", fontsize=10)
    # At least up to 1, so that a mean of .01 does not look like a war.
    highest = float(counts[["upper", "mean", "one_best"]].max().max())
    ax.set_ylim(min(0.0, float(counts["lower"].min())), 1.05 * max(1.0, highest))
    ax.margins(x=0.01)
    ax.spines[["top", "right"]].set_visible(False)
    ax.yaxis.set_major_locator(MaxNLocator(nbins="auto", integer=True, min_n_ticks=1))
    return ax


def event_bands(
    counts: pd.DataFrame,
    countries: Sequence[str] | None = None,
    *,
    names: Mapping[str, str] | None = None,
) -> Figure:
    """Draw counts by country in small multiples.

    Parameters
    ----------
    counts
        As `events.counts.EventCounts.to_frame` returns them.
    countries
        Which to draw, in this order; by default those with most documents in all, at most ten.
    names
        Names for the panels' titles, by code.

    Raises
    ------
    ParameterError
        If a country is not in the table.
    """
    from matplotlib.figure import Figure

    if countries is None:
        totals = counts.groupby("country")["mean"].sum().sort_values(ascending=False, kind="stable")
        countries = list(totals.index[:_MOST_PANELS])
    absent = set(countries) - set(counts["country"])
    if absent:
        raise ParameterError(f"countries must be in the table, got {', '.join(sorted(absent))}")
    rows = max(1, -(-len(countries) // _COLUMNS))
    columns = _COLUMNS if len(countries) > 1 else 1
    figure = Figure(figsize=(5.2 * columns, 1.9 * rows + 0.8), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False, sharex=True).ravel()
    for ax, country in zip(axes, countries, strict=False):
        name = (names or {}).get(country)
        event_band(ax, counts[counts["country"] == country], f"{name} ({country})" if name else country)
    for ax in axes[len(countries) :]:
        ax.set_visible(False)
    if not len(countries):
        axes[0].set_visible(True)
        axes[0].set_axis_off()
        axes[0].text(0.5, 0.5, "No document holds an event.", ha="center", va="center")
        return figure
    if len(countries) % _COLUMNS and len(countries) > 1:
        axes[len(countries) - _COLUMNS].xaxis.set_tick_params(labelbottom=True)
        axes[-_COLUMNS - 1].xaxis.set_tick_params(labelbottom=True)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper right", ncols=3, frameon=False, fontsize=9)
    figure.supylabel("documents with an event", fontsize=10)
    return figure


def query_coverage(coverage: pd.DataFrame, *, interval: str = "quantile", level: float = 0.95) -> Figure:
    """Draw how often the true count lies in its interval, by number of documents of the query.

    Parameters
    ----------
    coverage
        As `events.query_study.QueryStudy.coverage` returns it.
    interval, level
        Of the intervals to draw.

    Raises
    ------
    ParameterError
        If the table has no such interval.
    """
    from matplotlib.figure import Figure
    from matplotlib.ticker import PercentFormatter

    rows = coverage[(coverage["interval"] == interval) & (coverage["level"] == level)]
    if rows.empty:
        raise ParameterError(f"level and interval must be in the table, got {level} and {interval!r}")
    figure = Figure(figsize=(6.4, 4.2), layout="constrained")
    ax = figure.subplots()
    sizes = list(dict.fromkeys(rows["documents"]))
    ax.axhline(level, color="0.45", linewidth=0.9, linestyle=(0, (4, 2)))
    variants = list(dict.fromkeys(rows["variant"]))
    for (variant, kind), group in rows.groupby(["variant", "recalibration"], sort=False):
        v = variants.index(variant)
        uncertain = kind == "uncertain"
        ax.plot(
            [sizes.index(size) + 0.06 * (v - len(variants) / 2) for size in group["documents"]],
            group["coverage"],
            color=COLOURS[v % len(COLOURS)],
            marker=MARKERS[v % len(MARKERS)],
            markersize=5,
            linewidth=0.9,
            markerfacecolor="white" if uncertain else COLOURS[v % len(COLOURS)],
            linestyle=(0, (1, 1.5)) if uncertain else "-",
            label=f"{variant}, with its own uncertainty" if uncertain else str(variant),
        )
    counts = rows.drop_duplicates("documents").set_index("documents")["n_queries"]
    ax.set_xticks(range(len(sizes)), [f"{size}\n({counts[size]} queries)" for size in sizes])
    ax.set_xlabel("documents that the query could hold in")
    ax.set_ylabel(f"true count within the {100 * level:g}% interval")
    ax.set_ylim(top=1.01)
    ax.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, fontsize=8, loc="lower left")
    return figure
