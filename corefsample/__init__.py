"""Sampling and exact inference of entity clusterings from antecedent distributions.

Names and subpackages load at their first use, so that importing the package is fast.
"""

import lazy_loader

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
