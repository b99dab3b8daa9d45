"""Work in parts: a plan, a store of finished parts, engines that compute them, and runs that resume; its two jobs."""

from corefsample._lazy import attached

__getattr__, __dir__, __all__ = attached(__name__, __file__)
