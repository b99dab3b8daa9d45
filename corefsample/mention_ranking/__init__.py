"""A trainable model of each mention's antecedent, after Durrett & Klein (2013), and the English model that ships."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
