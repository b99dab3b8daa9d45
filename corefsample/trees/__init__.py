"""Distributions over dependency trees: scores of arcs, exact inference, exact samples."""

from corefsample._lazy import attached

__getattr__, __dir__, __all__ = attached(__name__, __file__)
