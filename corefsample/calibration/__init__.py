"""Calibration of probabilities: is what is said with 70% true in 70% of cases? Arrays in, results out.

Names load where they are first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
