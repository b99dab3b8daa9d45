"""Reading and writing pre-scored mention files: streams of documents, one module per format.

The format, version 1, is described in the README.
"""

from corefsample._lazy import attached

__getattr__, __dir__, __all__ = attached(__name__, __file__)
