"""Events on top of entity clusterings: rules, lexicons, posterior counts.

Names load where they are first used, so that importing the package costs next to nothing.
"""

from corefsample._lazy import attached

__getattr__, __dir__, __all__ = attached(__name__, __file__)
