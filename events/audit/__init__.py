"""Audits: counts from labels of a random sample, with intervals that hold whatever the model's errors are."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
