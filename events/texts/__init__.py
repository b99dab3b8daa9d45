"""Plain texts of documents, with the words that a rule and a lexicon look for marked."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
