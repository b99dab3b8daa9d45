"""Summaries of a document's posterior: links and numbers of entities as tables."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
