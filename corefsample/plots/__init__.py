"""Pictures of finished results; nothing is computed here.

A function that draws on one axis takes `ax` and returns it; without, it makes a figure of its own (``ax.figure``). One
that draws on several takes `fig`, a figure or a part of one (`Figure.subfigures`), and returns that. None touches
pyplot's state. Colours are apart for colour-blind readers; line styles, markers or hatches tell the same in grey.
Text is drawn in Matplotlib's font, with a box for every character that it lacks: choose another one by
``matplotlib.rcParams["font.family"]``.
"""

from __future__ import annotations

from corefsample.plots.calibration_errors import calibration_error_dots
from corefsample.plots.clusterings import entity_count_bars, link_heat_map
from corefsample.plots.costs import cost_curves
from corefsample.plots.networks import link_network
from corefsample.plots.reliability import reliability_axes, reliability_figure
from corefsample.plots.style import COLOURS, LINE_STYLES, MARKERS, save_figure

__all__ = [
    "COLOURS",
    "LINE_STYLES",
    "MARKERS",
    "calibration_error_dots",
    "cost_curves",
    "entity_count_bars",
    "link_heat_map",
    "link_network",
    "reliability_axes",
    "reliability_figure",
    "save_figure",
]
