"""Calibration of probabilities: do predictions of 70% come true in 70% of cases? Arrays in, results out."""

from corefsample._lazy import attached

__getattr__, __dir__, __all__ = attached(__name__, __file__)
