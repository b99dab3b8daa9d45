"""Scored and annotated documents, batches of them, and the rules that they must satisfy."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
