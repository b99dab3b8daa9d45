"""Calibration of many classes at once, sparse tagsets above all."""

from corefsample._lazy import attached

__getattr__, __dir__, __all__ = attached(__name__, __file__)
