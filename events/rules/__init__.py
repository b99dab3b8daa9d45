"""Rules: triggers, how a mention is described as an actor, and which mentions fill which role."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
