"""Distributions over dependency trees: scores of arcs, exact inference, exact samples."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
