"""Posterior counts of documents with an event, by actor, period and group: functions of the evidence."""

from corefsample._lazy import attached

__getattr__, __dir__, __all__ = attached(__name__, __file__)
