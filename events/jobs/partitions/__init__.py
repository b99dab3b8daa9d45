"""A run in partitions: initialise, run each partition in any process and order, finalise."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
