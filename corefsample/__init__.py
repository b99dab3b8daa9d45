"""Sampling and exact inference of entity clusterings from antecedent distributions.

Names and subpackages load at their first use, so that importing the package is fast.
"""

import logging

from corefsample._lazy import attached

__version__ = "0.11.0"

__getattr__, __dir__, __all__ = attached(__name__, __file__)
logging.getLogger(__name__).addHandler(logging.NullHandler())  # silent, unless a program adds a handler
