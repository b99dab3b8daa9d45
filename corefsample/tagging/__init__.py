"""Linear chains: the distribution of a tag sequence, exactly and by samples."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
