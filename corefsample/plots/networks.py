"""The network of one document's mentions, with ties weighted by the probability that they corefer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from corefsample import _checks
from corefsample._arrays import Floats, Ints
from corefsample.plots.labels import place_labels
from corefsample.plots.style import COLOURS, MARKERS, axes_of, legible, say_instead

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from corefsample.summaries._document_links import DocumentLinks

_WIDEST = 5.0  # points, of an edge of probability 1


def link_network(
    links: DocumentLinks,
    *,
    ax: Axes | None = None,
    floor: float = 0.1,
    most_labels: int = 60,
    seed: int = 0,
) -> Axes:
    """Draw mentions as a network: mentions that probably corefer are close to each other and have a wide tie.

    Mentions of one entity have the same colour and marker; entities of one mention are white.

    Parameters
    ----------
    links
        From `corefsample.summaries.document_links`; its parameter `smallest` leaves small entities out.
    ax
        Axes to draw on; by default a new figure.
    floor
        In (0, 1]: less likely links are not drawn.
    most_labels
        Largest number of labels, at least 1: for the first mention of each entity, large entities first, then for
        other mentions. A label that would cover others is left out.
    seed
        Seed of the layout (networkx's spring layout), in [0, 2**32).

    Returns
    -------
    matplotlib.axes.Axes
        The given or the new one.

    Raises
    ------
    ParameterError
        If `links` is something else, such as a document, or `floor` or `most_labels` lies outside its range.
    """
    from matplotlib.collections import LineCollection

    from corefsample.summaries._document_links import DocumentLinks

    _checks.instance("links", links, DocumentLinks, "corefsample.summaries.document_links(document) makes one")
    floor = _checks.probability("floor", floor, above_zero=True)
    most_labels = _checks.whole("most_labels", most_labels, 1)
    ax = axes_of(ax, (7.2, 6.0), legible(links.doc_id, 60))
    if links.n_mentions == 0:
        return say_instead(ax, "No mention to draw.")
    later, earlier = np.nonzero(np.tril(links.marginals, -1) >= floor)
    positions = _layout(links, later, earlier, seed)
    segments = np.stack((positions[later], positions[earlier]), axis=1)
    widths = _WIDEST * links.marginals[later, earlier]
    ax.add_collection(LineCollection(list(segments), linewidths=widths, colors="0.6", zorder=1))
    _draw_mentions(ax, positions, links)
    ax.set_axis_off()
    ax.margins(0.12)
    ax.autoscale_view()
    # Entities by size; the first mention of every entity comes before all second ones.
    sizes, rank = np.diff(links.bounds)[links.entities], np.arange(links.n_mentions) - links.bounds[links.entities]
    labelled = np.lexsort((rank, -sizes, rank > 0))[:most_labels].tolist()
    labels = [(m, legible(links.texts[m], 20)) for m in labelled]
    place_labels(ax, positions, labels, lines=segments)
    _draw_legend(ax, floor)
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
    places = np.empty((links.n_mentions, 2))
    x = y = row = 0.0
    for group, side in zip(groups, sides, strict=True):
        if x and x + side > width:
            x, y, row = 0.0, y - row, 0.0
        middle = np.array([x + side / 2.0, y - side / 2.0])
        apart = 3.0 / np.sqrt(len(group))  # three times the default distance, for labels
        laid = nx.spring_layout(graph.subgraph(group), k=apart, seed=seed, iterations=200, scale=(side - 0.6) / 2.0)
        for m in group:
            places[m] = middle + laid[m]
        x, row = x + side, max(row, side)
    return places


def _draw_mentions(ax: Axes, positions: Floats, links: DocumentLinks) -> None:
    bounds = links.bounds
    several = 0
    for start, end in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        colour, marker = "white", "o"
        if end - start > 1:
            # Colours change faster than markers, so that 36 entities look different.
            colour = COLOURS[several % len(COLOURS)]
            marker = MARKERS[(several + several // len(COLOURS)) % len(MARKERS)]
            several += 1
        x, y = positions[start:end].T
        ax.scatter(x, y, s=46, c=colour, marker=marker, edgecolors="0.2", linewidths=0.7, zorder=3)


def _draw_legend(ax: Axes, floor: float) -> None:
    from matplotlib.lines import Line2D

    shown = [p for p in (0.25, 0.5, 1.0) if p > floor]
    lines = [Line2D([], [], color="0.6", linewidth=_WIDEST * p, label=f"{p:g}") for p in (floor, *shown)]
    place: dict[str, Any] = {"ncols": len(lines), "loc": "upper center", "bbox_to_anchor": (0.5, 0.0)}
    ax.legend(handles=lines, title="probability of one entity", title_fontsize=8, fontsize=8, frameon=False, **place)
