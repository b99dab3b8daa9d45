"""HTML pages, each one file without a network: the report of a run, and the page on which a sheet is labelled."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
