"""The command `train`: fit an antecedent model to annotated corpora."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
