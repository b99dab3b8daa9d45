"""The command `score`: from dated news or annotated corpora to scored mentions."""

from corefsample._lazy import attached

__getattr__, __dir__, __all__ = attached(__name__, __file__)
