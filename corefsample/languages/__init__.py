"""What the engine knows of a language: a folder of resources each, and which language a document is in."""

from corefsample._lazy import attached

__getattr__, __dir__, __all__ = attached(__name__, __file__)
