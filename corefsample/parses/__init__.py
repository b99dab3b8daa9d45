"""Parses drawn from a spaCy pipeline; and against a treebank: probabilities of arcs and roles, their calibration."""

from corefsample._lazy import attached

__getattr__, __dir__, __all__ = attached(__name__, __file__)
