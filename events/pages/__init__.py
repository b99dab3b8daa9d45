"""HTML pages, each one file without a network: the report of a run, and the page on which a sheet is labelled."""

from corefsample._lazy import attached

__getattr__, __dir__, __all__ = attached(__name__, __file__)
