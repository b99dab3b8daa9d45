"""spaCy: the pipeline component, the posterior of a Doc, and conversion of Docs."""

from corefsample._lazy import attached

__getattr__, __dir__, __all__ = attached(__name__, __file__, needs=("spacy",))
