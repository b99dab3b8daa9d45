"""Scores of existing coreference systems as scored documents, and of parsers as distributions over trees.

Nothing here imports such a system: the adapters take its objects, or plain arrays of its layout.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
