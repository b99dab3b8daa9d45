"""Entity queries of annotated documents, which test whether intervals of counts cover the truth."""

from corefsample._lazy import attached

__getattr__, __dir__, __all__ = attached(__name__, __file__)
