"""Lexicons: names of countries and other actors, with the dates between which they hold."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
