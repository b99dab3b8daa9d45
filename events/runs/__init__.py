"""Work in parts: a store of finished parts, engines that compute missing ones, and the two jobs that use them."""

from corefsample._lazy import attached

__getattr__, __dir__, __all__ = attached(__name__, __file__)
