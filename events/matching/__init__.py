"""Rules and lexicons matched with the parse of a document: described mentions, and mentions that fill roles."""

from corefsample._lazy import attached

__getattr__, __dir__, __all__ = attached(__name__, __file__)
