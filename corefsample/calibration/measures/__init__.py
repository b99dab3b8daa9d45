"""Calibration errors, reliability curves, proper scores and their decompositions."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
