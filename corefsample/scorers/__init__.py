"""Scorers: from the words and mentions of a document to the distribution of each mention's antecedent."""

from corefsample._lazy import attached

__getattr__, __dir__, __all__ = attached(__name__, __file__)
