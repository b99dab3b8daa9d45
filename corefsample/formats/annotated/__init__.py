"""Annotated corpora: CorefUD (CoNLL-U) and CoNLL-2012."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
