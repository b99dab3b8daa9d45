"""Rules and lexicons matched with the parse of a document: described mentions, and mentions that fill roles."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
