"""Metrics of clusterings against annotated ones, and their posterior over samples."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
