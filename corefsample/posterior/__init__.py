"""The posterior of a document's entities: weighted parses, their antecedents, and draws of a recalibration."""

from corefsample._lazy import attached

__getattr__, __dir__, __all__ = attached(__name__, __file__)
