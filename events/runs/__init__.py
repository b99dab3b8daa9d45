"""Work in parts: a plan, a store of finished parts, an engine, and runs that resume."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
