"""Pictures of results; nothing is computed here.

A function that draws on one axes takes `ax` and returns it, or makes a figure of its own (``ax.figure``). One that
draws on several takes `fig`, a figure or a part of one (`Figure.subfigures`), and returns it. No function touches
pyplot's state. Colour-blind readers can distinguish the colours; line styles, markers or hatches work in grey. Text is
drawn in Matplotlib's font, with a box for every character that it lacks: choose another font by
``matplotlib.rcParams["font.family"]``.
"""

from corefsample._lazy import attached

__getattr__, __dir__, __all__ = attached(__name__, __file__, needs="matplotlib")
