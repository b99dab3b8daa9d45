"""Pre-scored mention files: JSON Lines and Parquet."""

from corefsample._lazy import attached

__getattr__, __dir__, __all__ = attached(__name__, __file__)
