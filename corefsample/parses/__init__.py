"""Sampled parses against a treebank: probabilities of arcs, paths and roles, their calibration, the temperature."""

from corefsample._lazy import attached

__getattr__, __dir__, __all__ = attached(__name__, __file__)
