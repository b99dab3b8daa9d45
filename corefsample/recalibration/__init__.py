"""Recalibration of antecedent distributions: a temperature and a bias for NEW, fitted to gold."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
