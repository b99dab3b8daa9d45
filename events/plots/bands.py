"""Counts over time: posterior mean, credible interval, and the one-best count."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, MaxNLocator

from corefsample import _checks
from corefsample._arrays import pd
from corefsample.errors import ParameterError
from corefsample.plots.style import (
    COLOURS,
    LINE_STYLES,
    axes_of,
    bare_spines,
    figure_of,
    legible,
    require_axes,
    require_columns,
    say_instead,
)
from events.counts._count_posterior import CountDistribution
from events.evidence._columns import RULE_ENDS, row_names, shown_name
from events.news._dates import outlying_dates

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.figure import Figure, SubFigure


NO_EVENT = "No document contains an event."
Y_LABEL = "documents with an event"
Panels = Literal["actors", "one"]
BAND, ONE_BEST = COLOURS[:2]
RULE_BAND = "0.9"
_MOST_HEIGHT = 4.0  # of a picture, in heights of its counts
_MOST_PANELS = 10
_HEIGHTS = ("upper", "mean", "one_best")
_COLUMNS = ("period", "period_start", "mean", "lower", "upper", "level", "one_best")
_PER_EVENT = 4  # panels of each of several events
ACTOR_NAME = "name of the actor"  # a column that no table has
_FEW = 6  # periods that have a label each
_MOST_TICKS = 7
_TICK_MONTHS = (1, 3, 6, 12, 24, 60, 120, 240, 600)  # between two ticks
_SHORTEST_SPAN = 3  # months; ticks of shorter ones are at days
LEGEND_ABOVE: dict[str, Any] = {"frameon": False, "fontsize": 9, "loc": "lower left", "bbox_to_anchor": (0.0, 1.0)}


def starts_of(table: pd.DataFrame) -> npt.NDArray[np.datetime64]:
    """First day of each row's period, dates or ISO text: datetime64[D] (n_rows,)."""
    return np.asarray(table["period_start"].to_numpy().astype("datetime64[D]"))


def ends_of(table: pd.DataFrame) -> npt.NDArray[np.datetime64]:
    """First day of each row's period, and the day after the last one: datetime64[s] (n_rows + 1,).

    The last period is taken to be as long as the one before it; one alone has a width for the picture.
    """
    starts = starts_of(table).astype("datetime64[s]")
    last = starts[-1] - starts[-2] if len(starts) > 1 else np.timedelta64(60 * 86_400, "s")
    return np.append(starts, starts[-1] + last)


def middles_of(table: pd.DataFrame) -> npt.NDArray[np.datetime64]:
    """Middle of each row's period: datetime64[s] (n_rows,)."""
    ends = ends_of(table)
    return ends[:-1] + (ends[1:] - ends[:-1]) // 2


def of_shown_periods(counts: pd.DataFrame) -> pd.DataFrame:
    """Rows of all periods but those with few documents, far from the others, which would leave the picture empty."""
    counts = counts[counts["period_start"].notna()]  # documents without a date are in no period
    if "n_docs" not in counts:
        return counts
    periods = counts.drop_duplicates("period_start").sort_values("period_start")
    is_outlying = outlying_dates(starts_of(periods), periods["n_docs"].to_numpy(np.int64))
    return counts[np.isin(starts_of(counts), starts_of(periods)[~is_outlying])]


def stepped(values: Any) -> npt.NDArray[np.float64]:
    """Heights of periods at `ends_of` them: the last one again."""
    heights = np.asarray(values, np.float64)
    return np.append(heights, heights[-1:])


def date_axis(ax: Axes, table: pd.DataFrame) -> None:
    """Label the x axis: a few periods by name, many at the first days of years, quarters or months."""
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter, MonthLocator, YearLocator, num2date

    if len(table) <= _FEW:
        names = table["period"].astype(str).str.partition("/")[0]  # the first day names a week
        ax.set_xticks(middles_of(table), names)
        ax.tick_params(axis="x", length=0)
        if len(table) == 1:
            ax.margins(x=0.5)
        return
    starts = np.sort(starts_of(table).astype("datetime64[M]").astype(np.int64))
    span, shortest = int(starts[-1] - starts[0]), int(np.diff(starts).min())
    step = next((step for step in _TICK_MONTHS if max(span / _MOST_TICKS, shortest) <= step), _TICK_MONTHS[-1])

    def label(day: float, _: object = None) -> str:
        date: Any = num2date(day)  # type: ignore[no-untyped-call]
        quarter = f"{date.year}Q{(date.month + 2) // 3}"
        return str(date.year) if step >= 12 else quarter if step > 1 else f"{date:%Y-%m}"

    locator: Any
    formatter: Any = FuncFormatter(label)
    if span < _SHORTEST_SPAN:
        locator = AutoDateLocator(minticks=3, maxticks=8)  # type: ignore[no-untyped-call]
        formatter = ConciseDateFormatter(locator)  # type: ignore[no-untyped-call]
    elif step < 12:
        locator = MonthLocator(bymonth=range(1, 13, step))  # type: ignore[no-untyped-call]
    else:
        locator = YearLocator(step // 12)  # type: ignore[no-untyped-call]
    ax.xaxis.set_major_locator(locator)
    ax.xaxis.set_major_formatter(formatter)


def draw_band(ax: Axes, counts: pd.DataFrame, *, colour: str, style: Any, mean: str, edge: float = 0.0) -> list[Artist]:
    """Draw mean and credible interval as steps, because a count belongs to a whole period.

    `mean` is the legend of the line, and `edge` the line width of the band's edge.
    """
    interval = f"{100.0 * float(counts['level'].iloc[0]):g}% credible interval"
    x = ends_of(counts)
    limits = stepped(counts["lower"]), stepped(counts["upper"])
    look: dict[str, Any] = {"edgecolor": colour, "linestyle": style, "linewidth": edge, "label": interval}
    band = ax.fill_between(x, *limits, step="post", facecolor=(colour, 0.25), **look)
    steps = {"color": colour, "linestyle": style, "drawstyle": "steps-post", "label": mean}
    return [*ax.plot(x, stepped(counts["mean"]), linewidth=1.6, **steps), band]


def event_band(ax: Axes, counts: pd.DataFrame, title: str = "") -> Axes:
    """Draw the counts of one actor: shaded credible interval, posterior mean, and one best as a thin dashed line.

    Tables of a run also have the interval of what readers would count, which is a grey band. It is cut where it is much
    higher than the counts.

    Parameters
    ----------
    ax
        Axes to draw on.
    counts
        Rows of one actor of `EventCounts.to_frame`, or of counts.csv. Without rows, a note is drawn.
    title
        Title of the panel.

    Returns
    -------
    matplotlib.axes.Axes
        The axes `ax`.
    """
    require_axes(ax)
    require_columns("counts", counts, _COLUMNS)
    ax.set_title(legible(title), loc="left", fontsize=10)
    if counts.empty:
        return say_instead(ax, NO_EVENT)
    if RULE_ENDS[0] in counts:
        lower, upper = (stepped(counts[name]) for name in RULE_ENDS)
        label = f"{100.0 * float(counts['level'].iloc[0]):g}% with the error of the rule"
        ax.fill_between(ends_of(counts), lower, upper, step="post", color=RULE_BAND, linewidth=0.0, label=label)
    draw_band(ax, counts, colour=BAND, style="-", mean="posterior mean")
    dashes: dict[str, Any] = {"linestyle": (0, (4, 1.5)), "drawstyle": "steps-post"}
    heights = stepped(counts["one_best"])
    ax.plot(ends_of(counts), heights, color=ONE_BEST, linewidth=0.9, label="one best", **dashes)
    scale_counts(ax, [counts])
    ax.margins(x=0.01)
    date_axis(ax, counts)
    bare_spines(ax)
    return ax


def draw_actors(
    ax: Axes, counts: pd.DataFrame, actors: Sequence[str], titles: Sequence[str], styles: Sequence[Any] = LINE_STYLES
) -> None:
    """Draw several actors on one pair of axes: a band, a colour and a line style for each."""
    drawn: list[pd.DataFrame] = []
    handles: list[Artist] = []
    for c, (actor, title) in enumerate(zip(actors, titles, strict=True)):
        colour, style = COLOURS[c % len(COLOURS)], styles[c % len(styles)]
        rows = counts[counts[ACTOR_NAME] == actor]
        if rows.empty:
            # Two entries, so that each actor has a column of the legend.
            handles += ax.plot([], [], color=colour, linestyle=style, label=f"{title}: no event")
            handles += ax.plot([], [], linestyle="none", label=" ")
            continue
        handles += draw_band(ax, rows, mean=title, colour=colour, style=style, edge=0.6)
        drawn.append(rows[["lower", "upper", "mean"]])
    if not drawn:
        say_instead(ax, NO_EVENT)
        return
    scale_counts(ax, drawn, ("upper", "mean"))
    if len(actors) > 2:
        handles = [*handles[::2], Patch(facecolor="0.8", label=handles[1].get_label())]
    ax.set_ylabel(Y_LABEL)
    ax.legend(handles=handles, ncols=2, handlelength=3, **LEGEND_ABOVE)
    bare_spines(ax)


def scale_counts(ax: Axes, tables: Sequence[pd.DataFrame], columns: Sequence[str] = _HEIGHTS) -> None:
    """Scale the y axis for the counts of several tables, at least from 0 to 1, so that a mean of .01 looks small."""
    highest = max(float(rows[list(columns)].to_numpy().max()) for rows in tables)
    with_error = [float(rows[RULE_ENDS[1]].max()) for rows in tables if RULE_ENDS[1] in rows and "upper" in columns]
    highest = max([highest, *(min(each, _MOST_HEIGHT * max(highest, 1.0)) for each in with_error)])
    ax.set_ylim(min(0.0, *(float(rows["lower"].min()) for rows in tables)), 1.05 * max(1.0, highest))
    ax.yaxis.set_major_locator(MaxNLocator(nbins="auto", integer=True, min_n_ticks=1))


def actor_title(actor: str, names: Mapping[str, str] | None) -> str:
    """Name and code of an actor or of a pair, or the code."""
    shown = shown_name(actor, names or {})
    is_code = actor not in ("-", shown) and "{" not in actor and "*" not in actor
    return f"{shown} ({actor})" if is_code else shown


def event_bands(
    counts: pd.DataFrame,
    actors: Sequence[str] | None = None,
    *,
    names: Mapping[str, str] | None = None,
    most: int = _MOST_PANELS,
    page: int = 1,
    columns: int = 2,
    share_y: bool = False,
    panels: Panels = "actors",
    labels: Mapping[str, str] | None = None,
    y_label: str = Y_LABEL,
    size: tuple[float, float] | None = None,
    fig: Figure | SubFigure | None = None,
) -> Figure | SubFigure:
    """Draw the counts of one event by actor, in small multiples or in one panel.

    Parameters
    ----------
    counts
        Table of the counts of one event: the result of `EventCounts.to_frame`, or rows of counts.csv of a run.
    actors
        Codes of the actors to draw, in this order; by default one page of all, those with most documents first.
    names
        Names for the panels' titles, by code.
    most, page
        Number of actors per page, and number of the page, from 1; not used with `actors`.
    columns
        Number of panels in a row, at least 1.
    share_y
        True if all panels have the same scale; by default each has its own.
    panels
        "actors": a panel for each actor. "one": all actors in one panel, each with its mean and credible interval
        alone.
    labels
        Titles by actor, in place of name and code.
    y_label
        Label of the y axis.
    size
        Width and height in inches; by default they fit the panels. Not used with `fig`.
    fig
        Figure to draw on; by default a new one.

    Returns
    -------
    matplotlib.figure.Figure
        The figure `fig`, or the new one.

    Raises
    ------
    ParameterError
        If an actor is not in the table, `panels` is unknown, or a number is below its least value.
    """
    _checks.choice("panels", panels, get_args(Panels))
    require_columns("counts", counts, _COLUMNS)
    counts = of_shown_periods(counts)
    counts = counts.assign(**{ACTOR_NAME: row_names(counts)})
    columns = _checks.whole("columns", columns, 1)
    shown_actors, left_out = _chosen(counts, actors, most, page)
    labels = labels or {}
    _require_actors("labels", labels, counts)
    titles = [labels.get(actor, actor_title(actor, names)) for actor in shown_actors]
    size = None if size is None else (_checks.above_zero("size", size[0]), _checks.above_zero("size", size[1]))
    if panels == "one" and shown_actors:
        figure = figure_of(fig, size or (7.2, 3.6))
        ax = figure.subplots()
        draw_actors(ax, counts, shown_actors, [legible(title) for title in titles])
        ax.set_ylabel(legible(y_label))
        ax.margins(x=0.01)
        date_axis(ax, counts[counts[ACTOR_NAME] == shown_actors[0]])
        return figure
    columns = min(columns, max(1, len(shown_actors)))
    rows = max(1, -(-len(shown_actors) // columns))
    figure = figure_of(fig, size or (5.2 * columns, 1.9 * rows + 0.8))
    axes = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=share_y).ravel()
    if not shown_actors:
        say_instead(axes[0], NO_EVENT)
        return figure
    tables = [counts[counts[ACTOR_NAME] == actor] for actor in shown_actors]
    for ax, table, title in zip(axes, tables, titles, strict=False):
        event_band(ax, table, title)
    if share_y:
        scale_counts(axes[0], tables)
    for ax in axes[len(shown_actors) :]:
        ax.set_visible(False)
    for ax in axes[max(0, len(shown_actors) - columns) : len(shown_actors)]:  # the lowest panel of each column
        ax.xaxis.set_tick_params(labelbottom=True)
    handles, labels = axes[0].get_legend_handles_labels()
    n_columns = 2 if len(labels) > 3 else 3
    figure.legend(handles, labels, loc="outside upper right", ncols=n_columns, frameon=False, fontsize=9)
    figure.supylabel(legible(y_label), fontsize=10)
    if left_out:
        figure.supxlabel(left_out, fontsize=8, color="0.35")
    return figure


def bands_by_event(
    counts: pd.DataFrame, *, names: Mapping[str, str] | None = None, most: int = _PER_EVENT
) -> Figure | SubFigure:
    """Draw the counts of several events, one below the other, each as `event_bands` does.

    Parameters
    ----------
    counts
        Rows of several events: counts.csv of a run with several rules.
    names
        Names for the panels' titles, by code.
    most
        Actors of each event, at least 1.
    """
    tables = {str(event): table for event, table in counts.groupby("event", sort=False)}
    rows = [max(1, -(-min(most, row_names(table).nunique()) // 2)) for table in tables.values()]
    heights = [1.9 * n + 1.1 for n in rows]
    figure = figure_of(None, (10.4, sum(heights)))
    for event, subfigure in titled_subfigures(figure, list(tables), 1, heights):
        event_bands(tables[event], names=names, most=most, fig=subfigure)
    return figure


def titled_subfigures(
    figure: Figure | SubFigure, titles: Sequence[str], columns: int, heights: Sequence[float]
) -> Iterator[tuple[str, SubFigure]]:
    """Yield each title with a part of a figure, which has the title at its top left; a height for each row."""
    subfigures: list[SubFigure] = list(np.ravel(figure.subfigures(len(heights), columns, height_ratios=heights)))  # type: ignore[arg-type]
    for title, subfigure in zip(titles, subfigures, strict=False):
        yield title, subfigure
        subfigure.suptitle(legible(title), x=0.01, ha="left", fontsize=11, fontweight="bold")


def _chosen(counts: pd.DataFrame, actors: Sequence[str] | None, most: int, page: int) -> tuple[list[str], str]:
    """The actors to draw, and a note on the others."""
    if actors is not None:
        _require_actors("actors", actors, counts)
        return list(actors), ""
    most, page = _checks.whole("most", most, 1), _checks.whole("page", page, 1)
    totals = counts.groupby(ACTOR_NAME)["mean"].sum().sort_values(ascending=False, kind="stable")
    n_pages = max(1, -(-len(totals) // most))
    _checks.at_most("page", page, n_pages)
    first = most * (page - 1)
    actors_of_page = [str(actor) for actor in totals.index[first : first + most]]
    shown_numbers = f"actors {first + 1} to {first + len(actors_of_page)} of {len(totals)}"
    return actors_of_page, "" if n_pages == 1 else f"{shown_numbers}, by documents with an event"


def _require_actors(name: str, actors: Iterable[str], counts: pd.DataFrame) -> None:
    absent = {*_checks.elements(name, actors, str)} - {*counts[ACTOR_NAME]}
    if absent:
        raise ParameterError(f"must be in the table, got {', '.join(sorted(absent))}", parameter=name)


_NEGLIGIBLE = 1e-4  # share of the largest probability below which counts are not drawn
_INTERVALS = {"quantile": "credible interval", "hdi": "shortest credible interval", "normal": "normal interval"}


def count_bars(posterior: CountDistribution, *, ax: Axes | None = None, title: str | None = None) -> Axes:
    """Draw the posterior of one count as bars, filled within the interval, with marks for mean and one best.

    The axis ends at the last count with at least 1 / 10,000 of the largest probability, or at a mark beyond it.

    Parameters
    ----------
    posterior
        Posterior of one count: the result of `events.count_posterior`.
    ax
        Axes to draw on; by default those of a new figure.
    title
        Title of the plot; by default actor and period.

    Returns
    -------
    matplotlib.axes.Axes
        The axes `ax`, or the new ones.
    """
    _checks.instance("posterior", posterior, CountDistribution, "events.count_posterior makes one")
    ax = axes_of(ax, (6.4, 3.6))
    pmf, lower, upper, one_best = posterior.pmf, posterior.lower, posterior.upper, posterior.one_best
    likely = np.flatnonzero(pmf >= _NEGLIGIBLE * pmf.max())
    shown = pmf[: max(int(likely[-1]), min(one_best, pmf.size - 1)) + 1]
    counts = np.arange(shown.size)
    inside = (counts >= lower) & (counts <= upper)
    fills = [COLOURS[5] if is_inside else "white" for is_inside in inside.tolist()]
    ax.bar(counts, shown, color=fills, edgecolor=COLOURS[0], linewidth=0.8, width=0.8)
    top = float(pmf.max())
    kind = _INTERVALS.get(posterior.interval, posterior.interval)
    name = f"{100.0 * posterior.level:g}% {kind}: {lower:.4g} to {upper:.4g}"
    ax.plot([lower, upper], [1.06 * top] * 2, color="black", marker="|", markersize=9, label=name)
    ax.axvline(posterior.mean, color=COLOURS[0], linestyle=(0, (4, 2)), label=f"posterior mean: {posterior.mean:.3g}")
    triangle: dict[str, Any] = {"markersize": 9, "markeredgecolor": "white", "clip_on": False, "zorder": 4}
    ax.plot([one_best], [0.0], "v", color=COLOURS[1], label=f"one best: {one_best}", **triangle)
    ax.set_xlim(min(-0.7, lower - 0.3), max(shown.size - 0.3, upper + 0.3, one_best + 0.7))
    ax.set_ylim(0.0, 1.14 * top)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    ax.set_xlabel(f"documents with an event, of {posterior.n_docs:,} in the period")
    ax.set_ylabel("probability")
    ax.set_title(legible(f"{posterior.actor}, {posterior.period}" if title is None else title), loc="left", fontsize=10)
    ax.legend(frameon=False, fontsize=9, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    bare_spines(ax)
    return ax
