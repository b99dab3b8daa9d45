"""Bins of predicted probabilities: adaptive, equal-width, and the sums in each."""

from corefsample._lazy import attached

__getattr__, __dir__, __all__ = attached(__name__, __file__)
