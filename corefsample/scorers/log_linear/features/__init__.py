"""Features of mention pairs: atoms of a mention, templates, and their hashes."""

from corefsample._lazy import attached

__getattr__, __dir__, __all__ = attached(__name__, __file__)
