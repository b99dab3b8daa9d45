"""Dated news articles in files: JSON Lines, tables, Excel workbooks, texts and NITF XML."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
