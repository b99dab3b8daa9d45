"""Pictures of one document's uncertain clustering: link marginals, and the number of entities."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from corefsample import _checks
from corefsample.plots.style import COLOURS, axes_of, finish_axes, legible, say_instead
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
        From `corefsample.summaries.document_links`.
    ax
        Axes to draw on, with a colour bar beside them; by default a new figure.
    most_labels
        Largest number of labels along an axis, at least 1; of more mentions only every second, third ... has a label.

    Returns
    -------
    matplotlib.axes.Axes
        The given or the new one.

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
        The given or the new one.
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
