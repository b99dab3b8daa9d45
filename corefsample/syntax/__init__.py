"""Dependency schemes, grammatical roles, paths through a parse, and mentions found in it."""

from corefsample._lazy import attached

__getattr__, __dir__, __all__ = attached(__name__, __file__)
