"""Rules: triggers, how a mention is described as an actor, and which mentions fill which role."""

from corefsample._lazy import attached

__getattr__, __dir__, __all__ = attached(__name__, __file__)
