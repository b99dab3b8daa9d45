"""Lexicons: names of countries and other actors, with the dates of their validity."""

from corefsample._lazy import attached

__getattr__, __dir__, __all__ = attached(__name__, __file__)
