"""Calibration errors, reliability curves, proper scores and their decompositions."""

from corefsample._lazy import attached

__getattr__, __dir__, __all__ = attached(__name__, __file__)
