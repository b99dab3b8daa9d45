"""The posterior of one count as bars."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from corefsample.plots.style import COLOURS, axes_of, bare_spines, legible

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from events.counting import CountPosterior

__all__ = ["count_bars"]

_NEGLIGIBLE = 1e-4  # of the likeliest count: not drawn beyond
_INTERVALS = {"quantile": "credible interval", "hdi": "shortest credible interval", "normal": "normal interval"}


def count_bars(posterior: CountPosterior, *, ax: Axes | None = None, title: str | None = None) -> Axes:
    """Draw the posterior of one count as bars, those of the interval filled, with mean and one best marked.

    Counts less likely than 1 / 10,000 of the likeliest are left out above, unless a mark stands there.

    Parameters
    ----------
    posterior
        From `events.counting.count_posterior`.
    ax
        Where to draw; by default a new figure.
    title
        Above the picture; by default country and period.

    Returns
    -------
    matplotlib.axes.Axes
        The one given, or the new one.
    """
    from matplotlib.ticker import MaxNLocator

    ax = axes_of(ax, (6.4, 3.6))
    law = posterior
    likely = np.flatnonzero(law.pmf >= _NEGLIGIBLE * law.pmf.max())
    shown = law.pmf[: max(int(likely[-1]), min(law.one_best, law.pmf.size - 1)) + 1]
    counts = np.arange(shown.size)
    inside = (counts >= law.lower) & (counts <= law.upper)
    fills = [COLOURS[5] if held else "white" for held in inside.tolist()]
    ax.bar(counts, shown, color=fills, edgecolor=COLOURS[0], linewidth=0.8, width=0.8)
    top = float(law.pmf.max())
    name = f"{100.0 * law.level:g}% {_INTERVALS.get(law.interval, law.interval)}: {law.lower:.4g} to {law.upper:.4g}"
    ax.plot([law.lower, law.upper], [1.06 * top] * 2, color="black", marker="|", markersize=9, label=name)
    ax.axvline(law.mean, color=COLOURS[0], linestyle=(0, (4, 2)), label=f"posterior mean: {law.mean:.3g}")
    ax.plot(
        [law.one_best],
        [0.0],
        "v",
        color=COLOURS[1],
        markeredgecolor="white",
        markersize=9,
        clip_on=False,
        zorder=4,
        label=f"one best: {law.one_best}",
    )
    ax.set_xlim(min(-0.7, law.lower - 0.3), max(shown.size - 0.3, law.upper + 0.3, law.one_best + 0.7))
    ax.set_ylim(0.0, 1.14 * top)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    ax.set_xlabel(f"documents with an event, of {law.n_docs:,} in the period")
    ax.set_ylabel("probability")
    ax.set_title(legible(f"{law.country}, {law.period}" if title is None else title), loc="left", fontsize=10)
    ax.legend(frameon=False, fontsize=9, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    bare_spines(ax)
    return ax
