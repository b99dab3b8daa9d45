"""Antecedent distributions: validation, sampling of clusterings, exact inference, graphs."""

from corefsample._lazy import attached

__getattr__, __dir__, __all__ = attached(__name__, __file__)
