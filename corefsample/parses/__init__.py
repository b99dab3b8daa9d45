"""Sampled parses against a treebank: probabilities of arcs, paths and roles, their calibration, the temperature."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
