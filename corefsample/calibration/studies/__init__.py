"""Simulation studies of the measures: bias, coverage and power on synthetic pairs."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
