"""Bins of predicted probabilities: adaptive, equal-width, and the sums in each."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
