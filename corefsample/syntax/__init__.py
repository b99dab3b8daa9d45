"""Dependency schemes, grammatical roles, paths through a parse, and mentions found in it."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
