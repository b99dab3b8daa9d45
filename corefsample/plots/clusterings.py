"""Pictures of one document's uncertain clustering: link marginals, entities, networks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from corefsample import _checks
from corefsample._arrays import Floats, Ints
from corefsample.plots.style import COLOURS, MARKERS, axes_of, finish_axes, legible, say_instead
from corefsample.summaries._document_links import DocumentLinks, EntityCountDistribution

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SOURCES = {
    "map": "likeliest antecedents",
    "gold": "gold",
    "binder": "smallest Binder loss",
    "vi-bound": "smallest bound of VI",
}
_NEGLIGIBLE = 1e-4  # of the likeliest number; less likely numbers are not drawn


def link_heat_map(links: DocumentLinks, *, ax: Axes | None = None, most_labels: int = 40) -> Axes:
    """Draw the link marginals of one document, with mentions sorted by entity and frames around larger entities.

    Parameters
    ----------
    links
        Link marginals of a document: the result of `corefsample.summaries.document_links`.
    ax
        Axes to draw on, with a colour bar beside them; by default a new figure.
    most_labels
        Largest number of labels along an axis, at least 1; of more mentions only every second, third ... has a label.

    Returns
    -------
    matplotlib.axes.Axes
        The axes `ax`, or those of the new figure.

    Raises
    ------
    ParameterError
        If `links` is something else, such as a document, or `most_labels` is below 1.
    """
    from matplotlib.patches import Rectangle

    _checks.instance("links", links, DocumentLinks, "corefsample.summaries.document_links(document) makes one")
    n = links.n_mentions
    ticks = range(0, n, max(1, -(-n // _checks.whole("most_labels", most_labels, 1))))
    side = min(9.0, 3.2 + 0.16 * min(n, most_labels))
    ax = axes_of(ax, (side + 0.6, side), legible(links.doc_id, 60))
    if n == 0:
        return say_instead(ax, "No mention to draw.")
    image = ax.imshow(links.marginals, cmap="Blues", vmin=0.0, vmax=1.0, interpolation="nearest")
    bounds = links.bounds
    width = float(np.clip(40.0 / n, 0.5, 1.4))
    for start, end in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        if end - start == 1:  # a frame would cover it
            continue
        frame = Rectangle((start - 0.5, start - 0.5), end - start, end - start)
        frame.set(fill=False, edgecolor=COLOURS[1], linewidth=width, clip_on=False, zorder=3)
        ax.add_patch(frame)
    labels = [legible(links.texts[tick], 24) for tick in ticks]
    size = 8 if len(labels) <= 30 else 7
    ax.set_xticks(list(ticks), labels, rotation=90, fontsize=size)
    ax.set_yticks(list(ticks), labels, fontsize=size)
    every = "" if ticks.step == 1 else f"; one in {ticks.step} labelled"
    ax.set_xlabel(f"{n} mentions, by entity (frames: {_SOURCES[links.source]}{every})", fontsize=9)
    ax.figure.colorbar(image, ax=ax, shrink=0.6, aspect=25).set_label("probability of one entity", fontsize=9)
    return ax


def entity_count_bars(posterior: EntityCountDistribution, *, ax: Axes | None = None, title: str = "") -> Axes:
    """Draw the distribution of a document's number of entities, with marks at the numbers of single clusterings.

    Numbers at both ends with less than 1 / 10,000 of the largest probability are left out, unless they have a mark.

    Parameters
    ----------
    posterior
        From `corefsample.summaries.entity_count_posterior`.
    ax
        Axes to draw on; by default a new figure.
    title
        Title of the picture; by default the document's name.

    Returns
    -------
    matplotlib.axes.Axes
        The axes `ax`, or those of the new figure.
    """
    from matplotlib.ticker import MaxNLocator

    hint = "corefsample.summaries.entity_count_posterior(document) makes one"
    _checks.instance("posterior", posterior, EntityCountDistribution, hint)
    ax = axes_of(ax, (6.4, 3.4), legible(title or posterior.doc_id, 60))
    # Both marks can have the same place: the smaller one is inside the larger, open one.
    marks = [] if posterior.gold_count is None else [("by gold", posterior.gold_count, "D", "white", "black", 12)]
    marks.append(("by likeliest antecedents", posterior.map_count, "v", COLOURS[1], "white", 9))
    likely = np.flatnonzero(posterior.pmf >= _NEGLIGIBLE * posterior.pmf.max())
    first = min(int(likely[0]), *(mark[1] for mark in marks))
    last = max(int(likely[-1]), *(mark[1] for mark in marks))
    counts = np.arange(first, last + 1)
    ax.bar(counts, posterior.pmf[first : last + 1], color=COLOURS[5], edgecolor=COLOURS[0], linewidth=0.6, width=0.8)
    mean = f"mean {posterior.mean:.1f} (sd {posterior.sd:.1f})"
    ax.axvline(posterior.mean, color=COLOURS[0], linestyle=(0, (4, 2)), label=mean)
    for name, count, marker, face, edge, size in marks:
        look: dict[str, Any] = {"markerfacecolor": face, "markeredgecolor": edge, "markersize": size}
        ax.plot([count], [0.0], marker, **look, linestyle="none", clip_on=False, zorder=4, label=f"{count} {name}")
    ax.set_xlim(first - 1.0, last + 1.0)
    ax.set_ylim(0.0, 1.06 * float(posterior.pmf.max()))
    ax.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    return finish_axes(ax, f"entities of the {posterior.n_mentions} mentions", "probability", legend={"fontsize": 9})


_WIDEST = 5.0  # points, of an edge of probability 1


def link_network(
    links: DocumentLinks, *, ax: Axes | None = None, floor: float = 0.1, most_labels: int = 60, seed: int = 0
) -> Axes:
    """Draw mentions as a network: mentions that probably corefer are close to each other and have a wide tie.

    Mentions of one entity have the same colour and marker; entities of one mention are white.

    Parameters
    ----------
    links
        Link marginals of a document: the result of `corefsample.summaries.document_links`, whose parameter `smallest`
        leaves small entities out.
    ax
        Axes to draw on; by default a new figure.
    floor
        Least probability of a link that is drawn, in (0, 1].
    most_labels
        Largest number of labels, at least 1: for the first mention of each entity, large entities first, then for
        other mentions. A label that would mostly cover other things is left out.
    seed
        Seed of the layout (networkx's spring layout), in [0, 2**32).

    Returns
    -------
    matplotlib.axes.Axes
        The axes `ax`, or those of the new figure.

    Raises
    ------
    ParameterError
        If `links` is something else, such as a document, or `floor` or `most_labels` lies outside its range.
    """
    from matplotlib.collections import LineCollection
    from matplotlib.lines import Line2D

    _checks.instance("links", links, DocumentLinks, "corefsample.summaries.document_links(document) makes one")
    floor = _checks.probability("floor", floor, above_zero=True)
    most_labels = _checks.whole("most_labels", most_labels, 1)
    ax = axes_of(ax, (7.2, 6.0), legible(links.doc_id, 60))
    if links.n_mentions == 0:
        return say_instead(ax, "No mention to draw.")
    later, earlier = np.nonzero(np.tril(links.marginals, -1) >= floor)
    positions = _layout(links, later, earlier, seed)
    widths = _WIDEST * links.marginals[later, earlier]
    segments = list(np.stack((positions[later], positions[earlier]), axis=1))
    ax.add_collection(LineCollection(segments, linewidths=widths, colors="0.6", zorder=1))
    sizes, n_entities = np.diff(links.bounds), 0
    for start, size in zip(links.bounds[:-1].tolist(), sizes.tolist(), strict=True):
        colour, marker = "white", "o"
        if size > 1:
            # Colours change faster than markers, so that 36 entities look different.
            colour = COLOURS[n_entities % len(COLOURS)]
            marker = MARKERS[(n_entities + n_entities // len(COLOURS)) % len(MARKERS)]
            n_entities += 1
        x, y = positions[start : start + size].T
        ax.scatter(x, y, s=46, c=colour, marker=marker, edgecolors="0.2", linewidths=0.7, zorder=3)
    ax.set_axis_off()
    ax.margins(0.12)
    ax.autoscale_view()
    # Entities by size; the first mention of every entity comes before all second ones.
    rank = np.arange(links.n_mentions) - links.bounds[links.entities]
    labelled = np.lexsort((rank, -sizes[links.entities], rank > 0))[:most_labels].tolist()
    labels = [(mention, legible(links.texts[mention], 20)) for mention in labelled]
    _place_labels(ax, positions, labels, np.array(segments).reshape(-1, 2, 2))
    shown = [floor, *(p for p in (0.25, 0.5, 1.0) if p > floor)]
    lines = [Line2D([], [], color="0.6", linewidth=_WIDEST * p, label=f"{p:g}") for p in shown]
    layout: dict[str, Any] = {"ncols": len(lines), "loc": "upper center", "bbox_to_anchor": (0.5, 0.0)}
    ax.legend(handles=lines, title="probability of one entity", title_fontsize=8, fontsize=8, frameon=False, **layout)
    return ax


def _layout(links: DocumentLinks, later: Ints, earlier: Ints, seed: int) -> Floats:
    """Position of each mention: float64 (n_mentions, 2).

    The spring layout would move unconnected groups far apart, so each group has a layout of its own in a square, and
    the squares are placed in rows, the largest first.
    """
    import networkx as nx

    graph: nx.Graph[int] = nx.Graph()
    graph.add_nodes_from(range(links.n_mentions))
    weights = links.marginals[later, earlier].tolist()
    graph.add_weighted_edges_from(zip(later.tolist(), earlier.tolist(), weights, strict=True))
    groups = sorted((sorted(group) for group in nx.connected_components(graph)), key=lambda group: (-len(group), group))
    sides = [np.sqrt(len(group)) + 0.6 for group in groups]
    width = max(1.15 * np.sqrt(sum(side**2 for side in sides)), sides[0])
    positions = np.empty((links.n_mentions, 2))
    x = y = row = 0.0
    for group, side in zip(groups, sides, strict=True):
        if x and x + side > width:
            x, y, row = 0.0, y - row, 0.0
        middle = np.array([x + side / 2.0, y - side / 2.0])
        distance = 3.0 / np.sqrt(len(group))  # three times the default distance, for labels
        laid = nx.spring_layout(graph.subgraph(group), k=distance, seed=seed, iterations=200, scale=(side - 0.6) / 2.0)
        for m in group:
            positions[m] = middle + laid[m]
        x, row = x + side, max(row, side)
    return positions


# In points of 1/72 inch: size of the text, radius of the points, and distance of a label from its point.
_SIZE, _RADIUS, _GAP = 8.0, 4.5, 6.0

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


def _place_labels(ax: Axes, positions: Floats, labels: list[tuple[int, str]], lines: Floats) -> None:
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
    """
    scale = 72.0 / ax.figure.dpi
    places = ax.transData.transform(positions) * scale
    occupied = np.concatenate((places - _RADIUS, places + _RADIUS), axis=1)
    if len(lines):
        shares = np.linspace(0.0, 1.0, _DOTS)[:, np.newaxis, np.newaxis]
        along = ((1.0 - shares) * lines[:, 0] + shares * lines[:, 1]).reshape(-1, 2)
        dots = ax.transData.transform(along) * scale
        occupied = np.concatenate((occupied, np.concatenate((dots - 1.5, dots + 1.5), axis=1)))
    directions = np.array([side[:2] for side in _SIDES])
    shifts = np.array([[_SHIFTS[alignment] for alignment in side[2:]] for side in _SIDES])
    for point, text in labels:
        extent = np.array([0.56 * _SIZE * len(text), 1.15 * _SIZE])  # 0.56: mean width of a letter
        corners = places[point] + _GAP * directions + shifts * extent
        others = np.delete(occupied, point, axis=0)
        upper, lower = (
            np.minimum((corners + extent)[:, None], others[:, 2:]),
            np.maximum(corners[:, None], others[:, :2]),
        )
        covered = (upper - lower).clip(0.0).prod(axis=2).sum(axis=1)  # areas that two of the others cover count twice
        best = int(np.argmin(covered))
        if covered[best] > _MOST_COVERED * extent.prod():
            continue
        occupied = np.concatenate((occupied, [[*corners[best], *corners[best] + extent]]))
        right, up, horizontal, vertical = _SIDES[best]
        look: dict[str, Any] = {"ha": horizontal, "va": vertical, "fontsize": _SIZE, "zorder": 4}
        ax.annotate(text, positions[point], (_GAP * right, _GAP * up), textcoords="offset points", **look)
