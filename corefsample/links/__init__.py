"""Link marginals of documents against gold links, and their calibration."""

from corefsample._lazy import attached

__getattr__, __dir__, __all__ = attached(__name__, __file__)
