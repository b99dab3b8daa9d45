"""Pictures of one document's uncertain clustering: its link marginals, its number of entities."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from corefsample.plots.style import COLOURS, axes_of, bare_spines, legible, say_instead, thinned

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from corefsample.summaries import DocumentLinks, EntityCountLaw

__all__ = ["entity_count_bars", "link_heat_map"]

_SOURCES = {"map": "likeliest antecedents", "gold": "gold"}
_NEGLIGIBLE = 1e-4  # of the likeliest number: not drawn beyond


def link_heat_map(
    links: DocumentLinks, *, ax: Axes | None = None, most_labels: int = 40, label_length: int = 24
) -> Axes:
    """Draw the link marginals of one document, its mentions ordered by entity, entities of several mentions framed.

    Parameters
    ----------
    links
        From `corefsample.summaries.document_links`.
    ax
        Where to draw; a bar of the colours goes beside it. By default a new figure.
    most_labels
        Mentions to label along an axis, at least 1: every second one, third one and so on where they are more.
    label_length
        Characters of a label.

    Returns
    -------
    matplotlib.axes.Axes
        The one given, or the new one.

    Raises
    ------
    ParameterError
        If `most_labels` is below 1.
    """
    from matplotlib.patches import Rectangle

    n = links.n_mentions
    ticks = thinned(n, most_labels)
    side = min(9.0, 3.2 + 0.16 * min(n, most_labels))
    ax = axes_of(ax, (side + 0.6, side))
    ax.set_title(legible(links.doc_id, 60), loc="left", fontsize=10)
    if n == 0:
        return say_instead(ax, "No mention to draw.")
    image = ax.imshow(links.marginals, cmap="Blues", vmin=0.0, vmax=1.0, interpolation="nearest")
    bounds = links.bounds
    width = float(np.clip(40.0 / n, 0.5, 1.4))
    for start, end in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        if end - start == 1:  # a frame would hide it
            continue
        frame = Rectangle((start - 0.5, start - 0.5), end - start, end - start)
        frame.set(fill=False, edgecolor=COLOURS[1], linewidth=width, clip_on=False, zorder=3)
        ax.add_patch(frame)
    labels = [legible(links.texts[tick], label_length) for tick in ticks]
    size = 8 if len(labels) <= 30 else 7
    ax.set_xticks(list(ticks), labels, rotation=90, fontsize=size)
    ax.set_yticks(list(ticks), labels, fontsize=size)
    every = "" if ticks.step == 1 else f"; one in {ticks.step} labelled"
    ax.set_xlabel(f"{n} mentions, by entity (frames: {_SOURCES[links.source]}{every})", fontsize=9)
    ax.figure.colorbar(image, ax=ax, shrink=0.6, aspect=25).set_label("probability of one entity", fontsize=9)
    return ax


def entity_count_bars(law: EntityCountLaw, *, ax: Axes | None = None, title: str = "") -> Axes:
    """Draw the law of a document's number of entities, with the numbers of single answers marked.

    Numbers less likely than 1 / 10,000 of the likeliest are left out at both ends, unless a mark stands there.

    Parameters
    ----------
    law
        From `corefsample.summaries.entity_count_law`.
    ax
        Where to draw; by default a new figure.
    title
        Above the picture; by default the document's name.

    Returns
    -------
    matplotlib.axes.Axes
        The one given, or the new one.
    """
    from matplotlib.ticker import MaxNLocator

    ax = axes_of(ax, (6.4, 3.4))
    # Both marks can stand in one place: the smaller one in the open, larger one.
    marks = [] if law.gold_count is None else [("by gold", law.gold_count, "D", "white", "black", 12)]
    marks.append(("by likeliest antecedents", law.map_count, "v", COLOURS[1], "white", 9))
    likely = np.flatnonzero(law.pmf >= _NEGLIGIBLE * law.pmf.max())
    first = min(int(likely[0]), *(mark[1] for mark in marks))
    last = max(int(likely[-1]), *(mark[1] for mark in marks))
    counts = np.arange(first, last + 1)
    ax.bar(counts, law.pmf[first : last + 1], color=COLOURS[5], edgecolor=COLOURS[0], linewidth=0.6, width=0.8)
    ax.axvline(law.mean, color=COLOURS[0], linestyle=(0, (4, 2)), label=f"mean {law.mean:.1f} (sd {law.sd:.1f})")
    for name, count, marker, face, edge, size in marks:
        ax.plot(
            [count],
            [0.0],
            marker,
            markerfacecolor=face,
            markeredgecolor=edge,
            markersize=size,
            linestyle="none",
            clip_on=False,
            zorder=4,
            label=f"{count} {name}",
        )
    ax.set_xlim(first - 1.0, last + 1.0)
    ax.set_ylim(0.0, 1.06 * float(law.pmf.max()))
    ax.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    ax.set_xlabel(f"entities of the {law.n_mentions} mentions")
    ax.set_ylabel("probability")
    ax.set_title(legible(title or law.doc_id, 60), loc="left", fontsize=10)
    ax.legend(frameon=False, fontsize=9)
    bare_spines(ax)
    return ax
