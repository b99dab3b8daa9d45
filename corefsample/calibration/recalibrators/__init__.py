"""Functions fitted to prediction-label pairs that recalibrate further predictions, in scikit-learn's conventions."""

from corefsample._lazy import attached

__getattr__, __dir__, __all__ = attached(__name__, __file__)
