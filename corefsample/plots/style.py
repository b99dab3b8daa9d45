"""What all pictures share: colours, text that can be drawn, axes, files."""

from __future__ import annotations

import os
import unicodedata
from functools import lru_cache
from typing import TYPE_CHECKING

from corefsample import _checks

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

__all__ = [
    "COLOURS",
    "LINE_STYLES",
    "MARKERS",
    "axes_of",
    "bare_spines",
    "figure_of",
    "legible",
    "save_figure",
    "say_instead",
    "thinned",
]

# Okabe & Ito's palette: apart for colour-blind readers; with the markers, in grey too.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
MARKERS = "osD^vP"
LINE_STYLES = ("-", (0, (5, 1.5)), (0, (1, 1.2)), (0, (5, 1.5, 1, 1.5)), (0, (9, 2)), (0, (3, 1.5, 1, 1.5, 1, 1.5)))

_BOX = "\N{WHITE SQUARE}"


def axes_of(ax: Axes | None, size: tuple[float, float] = (6.4, 4.2)) -> Axes:
    """The axes given, or those of a new figure of this size in inches."""
    if ax is not None:
        return ax
    from matplotlib.figure import Figure

    return Figure(figsize=size, layout="constrained").subplots()


def figure_of(fig: Figure | SubFigure | None, size: tuple[float, float]) -> Figure | SubFigure:
    """The figure given, or a new one of this size in inches."""
    if fig is not None:
        return fig
    from matplotlib.figure import Figure

    return Figure(figsize=size, layout="constrained")


def bare_spines(ax: Axes) -> None:
    """Take away the lines above and to the right."""
    ax.spines[["top", "right"]].set_visible(False)


def say_instead(ax: Axes, words: str) -> Axes:
    """Write a sentence where there is nothing to draw."""
    ax.set_axis_off()
    ax.text(0.5, 0.5, words, ha="center", va="center", wrap=True, transform=ax.transAxes)
    return ax


def thinned(n: int, most: int) -> range:
    """Every so many-th of n things, so that at most `most` are left."""
    most = _checks.whole("most_labels", most, 1)
    return range(0, n, max(1, -(-n // most)))


def legible(text: str, most: int | None = None) -> str:
    """Text that a label can draw: one line, shortened to `most` characters, taken as it stands.

    Dollar signs begin no formula, and a character that the font lacks becomes a box, where Matplotlib would draw a box
    and warn at each drawing.
    """
    text = " ".join(str(text).split())
    if most is not None and len(text) > most:
        text = text[: most - 1].rstrip() + "…"
    if not (text.isascii() and text.isprintable()):
        drawn = _characters(_font_paths())
        text = "".join(_legible_character(character, drawn) for character in text)
    # Matplotlib leaves names that begin with a low line out of legends.
    return (" " if text.startswith("_") else "") + text.replace("$", r"\$")


def _legible_character(character: str, drawn: frozenset[int]) -> str:
    category = unicodedata.category(character)
    if category == "Cc":
        return ""
    if ord(character) in drawn and category != "Cs":
        return character
    # Joiners, marks of direction and variation selectors have no shape of their own.
    selects = 0xFE00 <= ord(character) <= 0xFE0F or 0xE0100 <= ord(character) <= 0xE01EF
    shapeless = category == "Cf" or selects
    return "" if shapeless else _BOX


def _font_paths() -> tuple[str, ...]:
    """Files of the fonts that Matplotlib is set to, its fallbacks included."""
    import matplotlib as mpl
    from matplotlib.font_manager import FontProperties, findfont

    paths = []
    for family in mpl.rcParams["font.family"]:
        try:
            paths.append(str(findfont(FontProperties(family=[family]), fallback_to_default=False)))
        except ValueError:  # not installed
            continue
    return tuple(paths) or (str(findfont(FontProperties())),)


@lru_cache(maxsize=8)
def _characters(paths: tuple[str, ...]) -> frozenset[int]:
    """Code points that any of these fonts can draw."""
    from matplotlib.font_manager import get_font

    return frozenset(code for path in paths for code in get_font(path).get_charmap())


def save_figure(figure: Figure | SubFigure, path: str | os.PathLike[str]) -> None:
    """Write a figure as its file name's ending says, the same bytes for the same figure; SVG keeps text as text.

    Of a part of a figure, the whole is written.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure

    whole = figure if isinstance(figure, Figure) else figure.figure
    is_svg = os.fspath(path).endswith(".svg")
    with mpl.rc_context({"svg.hashsalt": "corefsample", "svg.fonttype": "none"}):
        whole.savefig(path, dpi=150, metadata={"Date": None} if is_svg else None)
