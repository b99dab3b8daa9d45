"""Files: paths and globs, lines, and outputs that appear when they are complete."""

from corefsample._lazy import attached

__getattr__, __dir__, __all__ = attached(__name__, __file__)
