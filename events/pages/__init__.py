"""What self-contained HTML pages share: data and scripts embedded safely, and a policy that allows nothing else."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
