"""Plot of the posterior of one count."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from corefsample.plots.style import COLOURS, axes_of, bare_spines, legible
from events.counting._count_posterior import CountDistribution

_NEGLIGIBLE = 1e-4  # share of the largest probability below which counts are not drawn
_INTERVALS = {"quantile": "credible interval", "hdi": "shortest credible interval", "normal": "normal interval"}


def count_bars(posterior: CountDistribution, *, ax: Axes | None = None, title: str | None = None) -> Axes:
    """Draw the posterior of one count as bars, filled within the interval, with marks for mean and one best.

    The axis ends at the last count with at least 1 / 10,000 of the largest probability, or at a mark beyond it.

    Parameters
    ----------
    posterior
        From `events.count_posterior`.
    ax
        Axes to draw on; by default those of a new figure.
    title
        Title of the plot; by default actor and period.

    Returns
    -------
    matplotlib.axes.Axes
        The axes `ax`, or the new ones.
    """
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
    ax.plot(
        [one_best],
        [0.0],
        "v",
        color=COLOURS[1],
        markeredgecolor="white",
        markersize=9,
        clip_on=False,
        zorder=4,
        label=f"one best: {one_best}",
    )
    ax.set_xlim(min(-0.7, lower - 0.3), max(shown.size - 0.3, upper + 0.3, one_best + 0.7))
    ax.set_ylim(0.0, 1.14 * top)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    ax.set_xlabel(f"documents with an event, of {posterior.n_docs:,} in the period")
    ax.set_ylabel("probability")
    ax.set_title(legible(f"{posterior.actor}, {posterior.period}" if title is None else title), loc="left", fontsize=10)
    ax.legend(frameon=False, fontsize=9, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    bare_spines(ax)
    return ax
