"""Pictures of finished results; nothing is computed here.

A function that draws on one axis takes `ax` and returns it; without, it makes a figure of its own (``ax.figure``). One
that draws on several takes `fig`, a figure or a part of one (`Figure.subfigures`), and returns that. None touches
pyplot's state. Colours are apart for colour-blind readers; line styles, markers or hatches tell the same in grey.
Text is drawn in Matplotlib's font, with a box for every character that it lacks: choose another one by
``matplotlib.rcParams["font.family"]``.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
