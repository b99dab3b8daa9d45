"""Summaries of a document's posterior: estimates, credible balls, links, counts."""

from corefsample._lazy import attached

__getattr__, __dir__, __all__ = attached(__name__, __file__)
