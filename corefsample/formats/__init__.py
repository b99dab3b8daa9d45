"""Reading and writing pre-scored mention files: streams of documents, one module per format.

The format, version 1, is described in the README.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
