"""Rules applied to one document's parse: which mentions describe an actor, which fill a role."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
