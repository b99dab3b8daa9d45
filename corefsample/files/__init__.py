"""Files: paths and globs, lines, and outputs that appear when they are complete."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
