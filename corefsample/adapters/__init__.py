"""Scores of existing coreference systems as scored documents.

Nothing here imports such a system: the adapters take its objects, or plain arrays of its layout.
"""

from corefsample._lazy import attached

__getattr__, __dir__, __all__ = attached(__name__, __file__)
