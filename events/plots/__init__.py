"""Plots of event counts in the style of `corefsample.plots`; they draw finished results and compute nothing."""

from corefsample._lazy import attached

__getattr__, __dir__, __all__ = attached(__name__, __file__, needs="matplotlib")
