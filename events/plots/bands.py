"""Counts over time: posterior mean, credible interval, one-best count, and comparisons of two actors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator, PercentFormatter

from corefsample import _checks
from corefsample._arrays import pd
from corefsample.errors import ParameterError, did_you_mean
from corefsample.plots import style as plots
from events.counts._distributions import CountDistribution
from events.evidence._columns import RULE_COLUMNS, row_names, shown_name
from events.news._quality import outlying_dates

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.figure import Figure, SubFigure


NO_EVENT = "No document contains an event."
Y_LABEL = "documents with an event"
Panels = Literal["actors", "one"]
_COLUMNS = ("period", "period_start", "mean", "lower", "upper", "level", "one_best")
_ACTOR = "name of the actor"  # a column that no table has
_FEW = 6  # periods that have a label each
_MOST_TICKS = 7
_TICK_WIDTH = 0.65  # inches
_LETTERS = 7  # of a label in an inch of the figure's height
_TICK_MONTHS = (1, 3, 6, 12, 24, 60, 120, 240, 600)  # between two ticks
_SHORTEST_SPAN = 3  # months; ticks of shorter ones are at periods
_GREYS = ("0.15", "0.5", "0.65", "0.35", "0.75", "0.0")
_NUMBERS = ("mean", "lower", "upper")
_LEGEND_ABOVE: dict[str, Any] = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "handlelength": 3}
_NEGLIGIBLE = 1e-4  # share of the largest probability below which counts are not drawn
_INTERVALS = {"quantile": "credible interval", "hdi": "shortest credible interval", "normal": "normal interval"}


def starts_of(table: pd.DataFrame) -> np.typing.NDArray[np.datetime64]:
    """First day of each row's period, dates or ISO text: datetime64[D] (n_rows,)."""
    return np.asarray(table["period_start"].to_numpy().astype("datetime64[D]"))


def ends_of(table: pd.DataFrame) -> np.typing.NDArray[np.datetime64]:
    """First day of each row's period, and the day after the last one: datetime64[s] (n_rows + 1,).

    The last period is taken to be as long as the one before it; one alone has a width for the picture.
    """
    starts = starts_of(table).astype("datetime64[s]")
    last = starts[-1] - starts[-2] if len(starts) > 1 else np.timedelta64(60 * 86_400, "s")
    return np.append(starts, starts[-1] + last)


def middles_of(table: pd.DataFrame) -> np.typing.NDArray[np.datetime64]:
    """Middle of each row's period: datetime64[s] (n_rows,)."""
    ends = ends_of(table)
    return ends[:-1] + (ends[1:] - ends[:-1]) // 2


def of_shown_periods(counts: pd.DataFrame) -> pd.DataFrame:
    """Rows of all periods but those with few documents, far from the others, which would leave the picture empty."""
    has_start = counts["period_start"].notna() & (counts["period_start"] != "")
    counts = counts[has_start]  # documents without a date are in no period
    if "n_docs" not in counts:
        return counts
    periods = counts.drop_duplicates("period_start").sort_values("period_start")
    is_outlying = outlying_dates(starts_of(periods), periods["n_docs"].to_numpy(np.int64))
    return counts[np.isin(starts_of(counts), starts_of(periods)[~is_outlying])]


def stepped(values: Any) -> np.typing.NDArray[np.float64]:
    """Heights of periods at `ends_of` them: the last one again."""
    heights = np.asarray(values, np.float64)
    return np.append(heights, heights[-1:])


def date_axis(ax: Axes, table: pd.DataFrame) -> None:
    """Label the x axis: a few periods by name, many at the first days of years, quarters or months."""
    n_fitting = max(int(ax.get_window_extent().width / ax.figure.dpi / _TICK_WIDTH), 1)
    months = ends_of(table).astype("datetime64[M]").astype(np.int64) + 12 * 1970
    span = int(months[-2] - months[0])
    if len(table) <= _FEW or span < _SHORTEST_SPAN:
        names = table["period"].astype(str).str.partition("/")[0]  # the first day names a week
        every = -(-len(table) // min(_FEW, n_fitting))
        ax.set_xticks(middles_of(table)[::every], names[::every])
        ax.tick_params(axis="x", length=0)
        if len(table) == 1:
            ax.margins(x=0.5)
        return
    shortest = int(np.diff(months).min())  # months of a period
    fewest = max(span / min(_MOST_TICKS, n_fitting), shortest)
    step = next((step for step in _TICK_MONTHS if fewest <= step), _TICK_MONTHS[-1])
    ticks = range(-(-int(months[0]) // step) * step, int(months[-1]) + 1, step)
    days = (np.array(ticks) - 12 * 1970).astype("datetime64[M]")
    labels = days.astype("datetime64[Y]" if step >= 12 else "datetime64[M]").astype(str).tolist()
    if shortest > 1 and step < 12:
        labels = [f"{month // 12}Q{month % 12 // 3 + 1}" for month in ticks]
    ax.set_xticks(days, labels)


def of_readers(counts: pd.DataFrame) -> pd.DataFrame:
    """Counts whose mean and interval are those of what readers would count, where the table has these."""
    if RULE_COLUMNS[0] not in counts:
        return counts
    return counts.assign(**{name: counts[rule] for name, rule in zip(_NUMBERS, RULE_COLUMNS, strict=True)})


def _draw_band(
    ax: Axes, counts: pd.DataFrame, *, colour: str, style: Any, mean: str, interval: str, width: float, edge: float
) -> list[Artist]:
    """Draw mean and interval as steps, because a count belongs to a whole period.

    `mean` and `interval` are texts of the legend, `width` and `edge` line widths of the mean and of the band's edge.
    """
    x = ends_of(counts)
    limits = stepped(counts["lower"]), stepped(counts["upper"])
    level = f"{100.0 * float(counts['level'].iloc[0]):g}%"
    look: dict[str, Any] = {"edgecolor": colour, "linestyle": style, "linewidth": edge, "label": f"{level} {interval}"}
    band = ax.fill_between(x, *limits, step="post", facecolor=(colour, 0.25), **look)
    steps = {"color": colour, "linestyle": style, "drawstyle": "steps-post", "label": mean}
    return [*ax.plot(x, stepped(counts["mean"]), linewidth=width, **steps), band]


def event_band(ax: Axes, counts: pd.DataFrame, title: str = "", *, grey: bool = False) -> Axes:
    """Draw the counts of one actor: shaded interval, mean, and one best as a thin dashed line.

    Mean and interval are what readers would count, where the table has it, and those of the rule's count are thin
    beside them; otherwise they are those of the rule's count.

    Parameters
    ----------
    ax
        Axes to draw on.
    counts
        Rows of one actor of `EventCounts.to_frame`, or of counts.csv. Without rows, a note is drawn.
    title
        Title of the panel.
    grey
        True to draw in shades of grey.

    Returns
    -------
    matplotlib.axes.Axes
        The axes `ax`.
    """
    plots.require_axes(ax)
    plots.require_columns("counts", counts, _COLUMNS)
    ax.set_title(plots.legible(title), loc="left", fontsize=10)
    if counts.empty:
        return plots.say_instead(ax, NO_EVENT)
    first, second, third = _GREYS[:3] if grey else plots.COLOURS[:3]
    main = of_readers(counts)
    texts = ("posterior mean", "credible interval"), ("a reader would count", "interval, errors of the rule included")
    mean, interval = texts[main is not counts]
    _draw_band(ax, main, colour=first, style="-", mean=mean, interval=interval, width=1.6, edge=0.0)
    if main is not counts:
        inner = {"mean": "the rule counts", "interval": "interval of the rule's count"}
        _draw_band(ax, counts, colour=third, style="-", **inner, width=0.8, edge=0.4)
    look: dict[str, Any] = {"color": second, "linestyle": (0, (4, 1.5)), "drawstyle": "steps-post"}
    ax.plot(ends_of(counts), stepped(counts["one_best"]), linewidth=0.9, label="one best", **look)
    _scale_counts(ax, [counts, main], ("upper", "mean", "one_best"))
    ax.margins(x=0.01)
    date_axis(ax, counts)
    plots.bare_spines(ax)
    return ax


def fitted_legend(parent: Axes | Figure | SubFigure, handles: Sequence[Artist], **options: Any) -> None:
    """Draw a legend in as many columns as fit into the figure, with lines that are broken where one is too long."""
    labels = [str(handle.get_label()) for handle in handles]
    widest = parent.figure.bbox.width if isinstance(parent, Axes) else parent.bbox.width
    for n_letters, n_columns in ((n, columns) for n in (200, 40, 25, 15) for columns in (3, 2, 1)):
        broken = [fill(label, n_letters) for label in labels]
        legend = parent.legend(handles, broken, ncols=n_columns, frameon=False, fontsize=9, **options)
        if legend.get_window_extent().width <= 0.85 * widest:
            return
        if (n_letters, n_columns) != (15, 1):
            legend.remove()


def _draw_actors(
    ax: Axes, counts: pd.DataFrame, titles: Mapping[str, str], styles: Sequence[Any], colours: Sequence[str]
) -> None:
    """Draw several actors, titles by name, on one pair of axes: a band, a colour and a line style for each."""
    drawn: list[pd.DataFrame] = []
    interval = "credible interval" if RULE_COLUMNS[0] not in counts else "interval of what a reader would count"
    counts = of_readers(counts)
    handles: list[Artist] = []
    for c, (actor, title) in enumerate(titles.items()):
        colour, style = colours[c % len(colours)], styles[c % len(styles)]
        rows = counts[counts[_ACTOR] == actor]
        if rows.empty:
            handles += ax.plot([], [], color=colour, linestyle=style, label=f"{title}: no event")
            continue
        look: dict[str, Any] = {"colour": colour, "style": style, "width": 1.6, "edge": 0.6}
        line, band = _draw_band(ax, rows, mean=title, interval=interval, **look)
        handles.append(line)
        drawn.append(rows)
    if not drawn:
        plots.say_instead(ax, NO_EVENT)
        return
    _scale_counts(ax, drawn, ("upper", "mean"))
    ax.set_ylabel(Y_LABEL)
    fitted_legend(ax, [*handles, Patch(facecolor="0.8", label=band.get_label())], **_LEGEND_ABOVE)
    plots.bare_spines(ax)


def _scale_counts(ax: Axes, tables: Sequence[pd.DataFrame], columns: Sequence[str]) -> None:
    """Scale the y axis for the counts of several tables, at least from 0 to 1, so that a mean of .01 looks small."""
    highest = max(float(rows[list(columns)].to_numpy().max()) for rows in tables)
    ax.set_ylim(min(0.0, *(float(rows["lower"].min()) for rows in tables)), 1.05 * max(1.0, highest))
    ax.yaxis.set_major_locator(MaxNLocator(nbins="auto", integer=True, min_n_ticks=1))


def _title(actor: str, names: Mapping[str, str] | None) -> str:
    """Name and code of an actor or of a pair, or the code."""
    shown = shown_name(actor, names or {})
    is_code = actor not in ("-", shown) and "{" not in actor and "*" not in actor
    return f"{shown} ({actor})" if is_code else shown


def event_bands(
    counts: pd.DataFrame,
    actors: Sequence[str] | None = None,
    *,
    names: Mapping[str, str] | None = None,
    most: int = 10,
    panels: Panels = "actors",
    labels: Mapping[str, str] | None = None,
    y_label: str = Y_LABEL,
    size: tuple[float, float] | None = None,
    grey: bool = False,
    fig: Figure | SubFigure | None = None,
) -> Figure | SubFigure:
    """Draw the counts of one event by actor, in small multiples or in one panel.

    Parameters
    ----------
    counts
        Table of the counts of one event: the result of `EventCounts.to_frame`, or rows of counts.csv of a run.
    actors
        Codes of the actors to draw, in this order; by default those with most documents.
    names
        Names for the panels' titles, by code.
    most
        Largest number of actors, at least 1; not used with `actors`.
    panels
        "actors": a panel for each actor. "one": all actors in one panel, each with mean and interval alone: those of
        what readers would count, where the table has them.
    labels
        Titles by actor, in place of name and code.
    y_label
        Label of the y axis.
    size
        Width and height in inches; by default they fit the panels. Not used with `fig`.
    grey
        True to draw in shades of grey.
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
    plots.require_columns("counts", counts, _COLUMNS)
    counts = of_shown_periods(counts)
    counts = counts.assign(**{_ACTOR: row_names(counts)})
    totals = counts.groupby(_ACTOR)["mean"].sum().sort_values(ascending=False, kind="stable")
    labels = labels or {}
    for parameter, codes in {"actors": actors or (), "labels": labels}.items():
        absent = sorted({*_checks.elements(parameter, codes, str)} - {*totals.index})
        if absent:
            hint = did_you_mean(absent[0], totals.index, names)
            raise ParameterError(f"must be in the table, got {', '.join(absent)}", parameter=parameter, hint=hint)
    shown = [str(actor) for actor in totals.index[: _checks.whole("most", most, 1)]] if actors is None else actors
    titles = {actor: labels.get(actor, _title(actor, names)) for actor in shown}
    size = None if size is None else (_checks.above_zero("size", size[0]), _checks.above_zero("size", size[1]))
    if panels == "one" and titles:
        figure = plots.figure_of(fig, size or (7.2, 3.6))
        ax = figure.subplots()
        shown_titles = {actor: plots.legible(title) for actor, title in titles.items()}
        _draw_actors(ax, counts, shown_titles, plots.LINE_STYLES, _GREYS if grey else plots.COLOURS)
        ax.set_ylabel(fill(plots.legible(y_label), max(int(_LETTERS * figure.bbox.height / figure.dpi), 9)))
        ax.margins(x=0.01)
        date_axis(ax, counts[counts[_ACTOR] == shown[0]])
        return figure
    columns, rows = min(2, max(1, len(titles))), max(1, -(-len(titles) // 2))
    figure = plots.figure_of(fig, size or (5.2 * columns, 1.9 * rows + 0.8))
    axes = figure.subplots(rows, columns, squeeze=False, sharex=True).ravel()
    if not titles:
        plots.say_instead(axes[0], NO_EVENT)
        return figure
    for ax, (actor, title) in zip(axes, titles.items(), strict=False):
        event_band(ax, counts[counts[_ACTOR] == actor], title, grey=grey)
    for ax in axes[len(titles) :]:
        ax.set_visible(False)
    for ax in axes[max(0, len(titles) - columns) : len(titles)]:  # the lowest panel of each column
        ax.xaxis.set_tick_params(labelbottom=True)
    fitted_legend(figure, axes[0].get_legend_handles_labels()[0], loc="outside upper right")
    figure.supylabel(plots.legible(y_label), fontsize=10)
    if actors is None and len(totals) > most:
        note = f"actors 1 to {most} of {len(totals)}, by documents with an event"
        figure.supxlabel(note, fontsize=8, color="0.35")
    return figure


def bands_by_event(counts: pd.DataFrame, *, names: Mapping[str, str] | None = None) -> Figure | SubFigure:
    """Draw the counts of several events, one below the other, each as `event_bands` does, of at most four actors.

    Parameters
    ----------
    counts
        Rows of several events: counts.csv of a run with several rules.
    names
        Names for the panels' titles, by code.
    """
    tables = {str(event): table for event, table in counts.groupby("event", sort=False)}
    heights = [4.9 if row_names(table).nunique() > 2 else 3.0 for table in tables.values()]  # of two rows, or of one
    figure = plots.figure_of(None, (10.4, sum(heights)))
    for event, subfigure in _titled_subfigures(figure, list(tables), 1, heights):
        event_bands(tables[event], names=names, most=4, fig=subfigure)
    return figure


def _titled_subfigures(
    figure: Figure | SubFigure, titles: Sequence[str], columns: int, heights: Sequence[float]
) -> Iterator[tuple[str, SubFigure]]:
    """Yield each title with a part of a figure, which has the title at its top left; a height for each row."""
    subfigures: list[SubFigure] = list(np.ravel(figure.subfigures(len(heights), columns, height_ratios=heights)))  # type: ignore[arg-type]
    for title, subfigure in zip(titles, subfigures, strict=False):
        yield title, subfigure
        subfigure.suptitle(plots.legible(title), x=0.01, ha="left", fontsize=11, fontweight="bold")


def actor_comparison(
    counts: pd.DataFrame,
    comparison: pd.DataFrame,
    *,
    names: Mapping[str, str] | None = None,
    fig: Figure | SubFigure | None = None,
) -> Figure | SubFigure:
    """Draw the counts of two actors, and below for each period the probability that each has more.

    In the lower panel, the first actor's probability is drawn from the bottom and the second's from the top; the gap
    is the probability that both have the same count. Counts and probabilities are those of what readers would count,
    where the tables have them.

    Parameters
    ----------
    counts
        Table of counts: the result of `EventCounts.to_frame`, or counts.csv of a run.
    comparison
        Table of comparisons: the result of `EventCounts.compare`, or comparisons.csv of a run.
    names
        Names for the legend, by code.
    fig
        Figure to draw on; by default a new one.

    Returns
    -------
    matplotlib.figure.Figure
        The figure `fig`, or the new one, with two axes.

    Raises
    ------
    ParameterError
        If the comparison is of several pairs of actors.

    References
    ----------
    Nguyen & O'Connor (2015), section 6.2, which compares Yugoslavia and NATO.
    """
    from matplotlib.dates import date2num

    plots.require_columns("comparison", comparison, ("first", "second", "period"))
    plots.require_columns("counts", counts, ("actor", "period", "period_start"))
    figure = plots.figure_of(fig, (7.2, 5.0))
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    if comparison.empty:
        below.set_axis_off()
        plots.say_instead(above, "No period to compare.")
        return figure
    pairs = comparison[["first", "second"]].drop_duplicates()
    if len(pairs) > 1:
        raise ParameterError(f"must be of one pair of actors, got {len(pairs)}", parameter="comparison")
    first, second = (str(actor) for actor in pairs.iloc[0])
    titles = {actor: plots.legible(_title(actor, names)) for actor in (first, second)}
    if "event" in counts and "event" in comparison:
        counts = counts[counts["event"] == comparison["event"].iloc[0]]
    shown = of_shown_periods(counts)
    comparison = comparison[~comparison["period"].isin({*counts["period"]} - {*shown["period"]})]
    counts = shown.assign(**{_ACTOR: row_names(shown)})
    styles = plots.LINE_STYLES[0], plots.LINE_STYLES[3]
    _draw_actors(above, counts[counts["period"].isin(comparison["period"])], titles, styles, plots.COLOURS)
    rule = "_rule" if "p_first_greater_rule" in comparison else ""
    edges = np.asarray(date2num(ends_of(comparison)), np.float64)  # type: ignore[no-untyped-call]
    greater = (comparison[f"p_{name}_greater{rule}"].to_numpy() for name in ("first", "second"))
    ends = (next(greater), 0.0), (1.0 - next(greater), 1.0)
    for c, (title, (heights, baseline)) in enumerate(zip(titles.values(), ends, strict=True)):
        label, colour = f"{title} has more", plots.COLOURS[c]
        look: dict[str, Any] = {"facecolor": (colour, (0.75, 0.35)[c]), "edgecolor": colour, "linewidth": 0.0}
        below.stairs(heights, edges, baseline=baseline, fill=True, hatch=(None, "////")[c], label=label, **look)
    below.axhline(0.5, color="0.35", linewidth=0.8, linestyle=(0, (4, 2)))
    below.set(xlim=(edges[0], edges[-1]), ylim=(0.0, 1.0), ylabel="probability\n(white: as many)")
    below.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    fitted_legend(below, below.get_legend_handles_labels()[0], **_LEGEND_ABOVE)
    plots.bare_spines(below)
    date_axis(below, comparison)
    return figure


def comparisons_by_event(
    counts: pd.DataFrame, comparison: pd.DataFrame, *, names: Mapping[str, str] | None = None
) -> Figure | SubFigure:
    """Draw the comparison of two actors for each of several events, each as `actor_comparison` does.

    Parameters
    ----------
    counts, comparison
        counts.csv and comparisons.csv of a run with several rules; events without a comparison are not drawn.
    names
        Names for the legend, by code.
    """
    events = [str(event) for event in comparison["event"].unique()]
    columns = min(2, len(events))
    rows = -(-len(events) // columns)
    figure = plots.figure_of(None, (7.2 * columns, 5.3 * rows))
    for event, subfigure in _titled_subfigures(figure, events, columns, [1.0] * rows):
        actor_comparison(counts, comparison[comparison["event"] == event], names=names, fig=subfigure)
    return figure


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
    ax = plots.axes_of(ax, (6.4, 3.6))
    pmf, lower, upper, one_best = posterior.pmf, posterior.lower, posterior.upper, posterior.one_best
    likely = np.flatnonzero(pmf >= _NEGLIGIBLE * pmf.max())
    shown = pmf[: max(int(likely[-1]), min(one_best, pmf.size - 1)) + 1]
    counts = np.arange(shown.size)
    inside = (counts >= lower) & (counts <= upper)
    fills = [plots.COLOURS[5] if is_inside else "white" for is_inside in inside.tolist()]
    ax.bar(counts, shown, color=fills, edgecolor=plots.COLOURS[0], linewidth=0.8, width=0.8)
    top = float(pmf.max())
    kind = _INTERVALS.get(posterior.interval, posterior.interval)
    name = f"{100.0 * posterior.level:g}% {kind}: {lower:.4g} to {upper:.4g}"
    ax.plot([lower, upper], [1.06 * top] * 2, color="black", marker="|", markersize=9, label=name)
    dashes: dict[str, Any] = {"color": plots.COLOURS[0], "linestyle": (0, (4, 2))}
    ax.axvline(posterior.mean, label=f"posterior mean: {posterior.mean:.3g}", **dashes)
    triangle: dict[str, Any] = {"markersize": 9, "markeredgecolor": "white", "clip_on": False, "zorder": 4}
    ax.plot([one_best], [0.0], "v", color=plots.COLOURS[1], label=f"one best: {one_best}", **triangle)
    ax.set_xlim(min(-0.7, lower - 0.3), max(shown.size - 0.3, upper + 0.3, one_best + 0.7))
    ax.set_ylim(0.0, 1.14 * top)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    title = f"{posterior.actor}, {posterior.period}" if title is None else title
    ax.set_title(plots.legible(title), loc="left", fontsize=10)
    legend = {"fontsize": 9, "loc": "upper left", "bbox_to_anchor": (1.0, 1.0)}
    x_label = f"documents with an event, of {posterior.n_docs:,} in the period"
    return plots.finish_axes(ax, x_label, "probability", legend=legend)
