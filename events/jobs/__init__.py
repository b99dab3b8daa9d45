"""The work behind each command, one public module per command: the command line and Python both call these."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
