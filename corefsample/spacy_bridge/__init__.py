"""spaCy: the pipeline component, conversion of Docs, and displaCy rendering."""

from corefsample._lazy import attached

__getattr__, __dir__, __all__ = attached(__name__, __file__, needs=("spacy",))
