"""The posterior of a document's entities: weighted parses, their antecedents, and draws of a recalibration."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
