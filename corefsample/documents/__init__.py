"""Scored and annotated documents, batches of them, and the rules that they must satisfy."""

from corefsample._lazy import attached

__getattr__, __dir__, __all__ = attached(__name__, __file__)
