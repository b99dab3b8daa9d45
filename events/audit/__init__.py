"""Audits: counts from labels of a random sample, with intervals that hold whatever the model's errors are."""

from corefsample._lazy import attached

__getattr__, __dir__, __all__ = attached(__name__, __file__)
