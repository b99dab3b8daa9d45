"""Metrics of clusterings against annotated ones, and their posterior over samples."""

from corefsample._lazy import attached

__getattr__, __dir__, __all__ = attached(__name__, __file__)
