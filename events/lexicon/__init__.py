"""Lexicons: names of countries and other actors, with the dates of their validity."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
