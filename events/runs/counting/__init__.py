"""The job of `events`: partitions of documents, counted and merged into the tables of a run."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
