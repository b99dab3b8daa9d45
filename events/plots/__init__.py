"""Pictures of event counts; they draw finished tables and results and compute nothing.

The manner is that of `corefsample.plots`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
