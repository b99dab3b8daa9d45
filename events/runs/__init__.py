"""Work in parts: a plan, a store of finished parts, engines that compute them, and runs that resume; its two jobs."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
