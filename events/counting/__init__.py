"""Events of one document, posterior counts by period, and the evidence behind them."""

from corefsample._lazy import attached

__getattr__, __dir__, __all__ = attached(__name__, __file__)
