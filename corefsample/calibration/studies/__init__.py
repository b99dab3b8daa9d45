"""Simulation studies of the measures: bias, coverage and power on synthetic pairs."""

from corefsample._lazy import attached

__getattr__, __dir__, __all__ = attached(__name__, __file__)
