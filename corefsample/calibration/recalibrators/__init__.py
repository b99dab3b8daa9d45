"""Functions fitted to prediction-label pairs that recalibrate further predictions, in scikit-learn's conventions."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
