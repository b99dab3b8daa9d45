"""Calibration tables: counts of pairs by predicted probability that can be merged."""

from corefsample._lazy import attached

__getattr__, __dir__, __all__ = attached(__name__, __file__)
