"""Bars of what samples have: the posterior of a score, and distances from the centre of a credible ball."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from corefsample.plots.style import COLOURS, axes_of, finish_axes, legible

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from corefsample._arrays import Floats
    from corefsample.metrics._scores import ScoreSamples
    from corefsample.summaries._alternatives import CredibleBall

_NAMES = {"ceafe": "CEAFe", "ceafm": "CEAFm", "conll": "CoNLL"}  # others are in capitals
_MOST_BARS = 40


def score_bars(posterior: ScoreSamples, *, ax: Axes | None = None, title: str = "") -> Axes:
    """Draw the posterior of a score as bars, darker within its credible interval, with a line at the mean.

    Parameters
    ----------
    posterior
        From `corefsample.metric_posterior` or `corpus_posterior`.
    ax
        Axes to draw on; by default a new figure.
    title
        Title of the picture; by default the document's name.

    Returns
    -------
    matplotlib.axes.Axes
        The given or the new one.
    """
    ax = axes_of(ax, (6.0, 3.4), legible(title or posterior.doc_id, 60))
    _bars(ax, posterior.values, *posterior.interval, f"{100 * posterior.level:g}% credible interval")
    ax.axvline(posterior.mean, color=COLOURS[0], linestyle=(0, (4, 2)), label=f"mean {posterior.mean:.3f}")
    score = f"{_NAMES.get(posterior.metric, posterior.metric.upper())} {posterior.part.replace('f1', 'F1')}"
    return finish_axes(ax, score, f"of {posterior.n_samples:,} samples", legend={"fontsize": 9})


def distance_bars(ball: CredibleBall, *, ax: Axes | None = None, title: str = "") -> Axes:
    """Draw how far the samples are from the centre of a credible ball, darker within the ball.

    Parameters
    ----------
    ball
        From `corefsample.summaries.credible_ball`.
    ax
        Axes to draw on; by default a new figure.
    title
        Title of the picture.

    Returns
    -------
    matplotlib.axes.Axes
        The given or the new one.
    """
    ax = axes_of(ax, (6.0, 3.4), legible(title))
    _bars(ax, ball.distances, -np.inf, ball.radius, f"{100 * ball.share:.3g}% of the samples, within {ball.radius:.3g}")
    unit = " in nats" if ball.distance == "vi" else ""
    legend = {"fontsize": 9}
    return finish_axes(ax, f"distance from the centre ({ball.distance}{unit})", "samples", legend=legend)


def _bars(ax: Axes, values: Floats, lower: float, upper: float, label: str) -> None:
    """Histogram of values; those from lower to upper are darker."""
    n_bars = min(_MOST_BARS, max(int(np.sqrt(values.shape[0])), 5))
    edges = np.histogram_bin_edges(values, bins=n_bars).tolist()
    inside = values[(values >= lower) & (values <= upper)]
    ax.hist(values, edges, color=COLOURS[5], alpha=0.45)
    ax.set_ylim(0.0, 1.2 * float(np.histogram(values, edges)[0].max()))  # with room for the legend
    ax.hist(inside, edges, color=COLOURS[5], edgecolor=COLOURS[0], linewidth=0.5, label=label)
