"""Simulated news whose true events are known."""

from corefsample._lazy import attached

__getattr__, __dir__, __all__ = attached(__name__, __file__)
