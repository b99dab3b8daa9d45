"""Annotated corpora: CorefUD (CoNLL-U) and CoNLL-2012."""

from corefsample._lazy import attached

__getattr__, __dir__, __all__ = attached(__name__, __file__)
