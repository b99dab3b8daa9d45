"""The job of `events`: partitions of documents, counted and merged into the tables of a run."""

from corefsample._lazy import attached

__getattr__, __dir__, __all__ = attached(__name__, __file__)
