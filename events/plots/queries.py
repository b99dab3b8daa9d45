"""Plots of annotated queries: coverage of count intervals, and places of true counts in their distributions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from corefsample._lazy import pd
from corefsample.errors import ParameterError
from corefsample.plots.style import COLOURS, MARKERS, bare_spines, figure_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure, SubFigure


def query_coverage(
    coverage: pd.DataFrame,
    *,
    interval: str = "quantile",
    level: float = 0.95,
    fig: Figure | SubFigure | None = None,
) -> Figure | SubFigure:
    """Draw how often an interval contains the true count, by number of documents of the query.

    Parameters
    ----------
    coverage
        Table of coverage: the result of `QueryStudy.coverage`.
    interval, level
        Kind and level of the intervals to draw.
    fig
        Figure to draw on; by default a new one.

    Returns
    -------
    matplotlib.figure.Figure
        The figure `fig`, or the new one.

    Raises
    ------
    ParameterError
        If the table has no such interval.
    """
    from matplotlib.ticker import PercentFormatter

    rows = coverage[(coverage["interval"] == interval) & (coverage["level"] == level)]
    if rows.empty:
        raise ParameterError(f"must be in the table, got {level} and {interval!r}", parameter="level and interval")
    figure = figure_of(fig, (6.4, 4.2))
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
    ax.set_xlabel("documents to which the query applies")
    ax.set_ylabel(f"true count within the {100 * level:g}% interval")
    ax.set_ylim(top=1.01)
    ax.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    bare_spines(ax)
    ax.legend(frameon=False, fontsize=8, loc="lower left")
    return figure


def query_quantiles(quantiles: pd.DataFrame, *, fig: Figure | SubFigure | None = None) -> Figure | SubFigure:
    """Draw where true counts lie in their distributions, with the range that is expected if these are right.

    Bars that are high at both ends belong to distributions that are too narrow.

    Parameters
    ----------
    quantiles
        From `QueryStudy.quantiles`.
    fig
        Figure to draw on; by default a new one.

    Returns
    -------
    matplotlib.figure.Figure
        The figure `fig`, or the new one.
    """
    from matplotlib.ticker import PercentFormatter

    variants = list(dict.fromkeys(quantiles["variant"]))
    figure = figure_of(fig, (2.9 * max(len(variants), 1) + 0.6, 3.2))
    panels = figure.subplots(1, max(len(variants), 1), sharey=True, squeeze=False)[0]
    for ax, (variant, rows) in zip(panels, quantiles.groupby("variant", sort=False), strict=True):
        width = rows["bin_upper"] - rows["bin_lower"]
        ax.bar(rows["bin_lower"], rows["share"], width, align="edge", color=COLOURS[0], edgecolor="white")
        ends = [*rows["bin_lower"], 1.0]
        null = [[*rows[name], rows[name].iloc[-1]] for name in ("null_lower", "null_upper")]
        ax.fill_between(ends, *null, step="post", color="0.55", alpha=0.35, linewidth=0.0)
        ax.set_title(f"{variant}: p = {rows['p_value'].iloc[0]:.3f}", loc="left", fontsize=9)
        ax.set_xlabel("place in the distribution")
        bare_spines(ax)
    panels[0].set_ylabel("share of true counts")
    panels[0].yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    return figure
