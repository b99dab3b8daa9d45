"""Plots of event counts in the style of `corefsample.plots`; they draw finished results and compute nothing."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
