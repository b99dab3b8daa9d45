"""A trainable model of each mention's antecedent, after Durrett & Klein (2013), and the English model that ships."""

from corefsample._lazy import attached

__getattr__, __dir__, __all__ = attached(__name__, __file__)
