"""The command line: it parses arguments and prints results."""

from corefsample._lazy import attached

__getattr__, __dir__, __all__ = attached(__name__, __file__)
