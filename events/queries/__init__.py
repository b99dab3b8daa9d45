"""Entity queries of annotated documents, which test whether intervals of counts cover the truth."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
