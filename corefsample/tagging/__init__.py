"""Linear chains: the distribution of a tag sequence, exactly and by samples."""

from corefsample._lazy import attached

__getattr__, __dir__, __all__ = attached(__name__, __file__)
