"""Dated news articles in files: JSON Lines, tables, Excel workbooks, texts and NITF XML."""

from corefsample._lazy import attached

__getattr__, __dir__, __all__ = attached(__name__, __file__)
