"""Events on top of entity clusterings: rules, lexicons, posterior counts.

Names load where they are first used, so that importing the package costs next to nothing.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
