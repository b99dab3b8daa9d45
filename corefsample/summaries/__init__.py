"""Summaries of a document's posterior: estimates, credible balls, confident cores, alternatives, links, counts."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
