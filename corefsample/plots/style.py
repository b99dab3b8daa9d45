"""Colours, text, axes and files of all pictures; and `plot`, which draws any result."""

from __future__ import annotations

import logging
import os
import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from corefsample import _checks
from corefsample._arrays import pd
from corefsample.errors import ParameterError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

# The palette of Okabe & Ito: colour-blind readers can distinguish it; with the markers it also works in grey.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
MARKERS = "osD^vP"
_SCRIPT_OF_GLYPH = re.compile(r"Glyph \d+ \(\\N\{([A-Z]+)")
_CJK = ("CJK", "HIRAGANA", "KATAKANA", "HANGUL", "IDEOGRAPHIC", "FULLWIDTH")
LINE_STYLES = ("-", (0, (5, 1.5)), (0, (1, 1.2)), (0, (5, 1.5, 1, 1.5)), (0, (9, 2)), (0, (3, 1.5, 1, 1.5, 1, 1.5)))


def figure_of(fig: Figure | SubFigure | None, size: tuple[float, float]) -> Figure | SubFigure:
    """Return the given figure, or a new one of this size in inches."""
    if fig is not None:
        return fig
    from matplotlib.figure import Figure

    return Figure(figsize=size, layout="constrained")


def axes_of(ax: Axes | None, size: tuple[float, float] = (6.4, 4.2), title: str = "") -> Axes:
    """Return the given axes, or those of a new figure of this size in inches, with a title if there is one."""
    axes: Axes = figure_of(None, size).subplots() if ax is None else ax
    if title:
        axes.set_title(title, loc="left", fontsize=10)
    return axes


def bare_spines(ax: Axes) -> None:
    """Remove the lines above and to the right."""
    ax.spines[["top", "right"]].set_visible(False)


def curve_look(number: int) -> dict[str, Any]:
    """Colour, marker and line style of one of several curves."""
    look = {"color": COLOURS, "marker": MARKERS, "linestyle": LINE_STYLES}
    return {name: values[number % len(values)] for name, values in look.items()}


def finish_axes(
    ax: Axes, x_label: str, y_label: str, *, size: float | None = None, legend: Mapping[str, Any] | None = None
) -> Axes:
    """Label the axes in text of this size, draw a legend with these options if given, and remove two spines."""
    ax.set_xlabel(x_label, fontsize=size)
    ax.set_ylabel(y_label, fontsize=size)
    if legend is not None:
        ax.legend(frameon=False, **legend)
    bare_spines(ax)
    return ax


def require_axes(ax: object) -> None:
    """Raise unless given axes of Matplotlib."""
    from matplotlib.axes import Axes

    _checks.instance("ax", ax, Axes, "figure.subplots() makes them")


def require_columns(name: str, table: pd.DataFrame, columns: Iterable[str]) -> None:
    """Raise unless a table, the parameter of this name, has the columns."""
    _checks.instance(name, table, pd.DataFrame, "to_frame() of a result is one")
    for column in columns:
        names = ", ".join(map(str, table.columns))
        _checks.require(name, column in table.columns, f"must have a column {column}", names)


def say_instead(ax: Axes, words: str) -> Axes:
    """Write a sentence on axes that have nothing to draw."""
    ax.set_axis_off()
    ax.text(0.5, 0.5, words, ha="center", va="center", wrap=True, transform=ax.transAxes)
    return ax


def legible(text: str, most: int | None = None) -> str:
    """Return text as one line without invisible characters, shortened to `most` characters, for a label.

    Dollar signs and leading underscores have no special meaning to Matplotlib in it.
    """
    text = " ".join(str(text).split())
    text = "".join(character for character in text if character.isprintable())
    if most is not None and len(text) > most:
        text = text[: most - 1].rstrip() + "…"
    # Matplotlib leaves names that begin with an underscore out of legends.
    return (" " if text.startswith("_") else "") + text.replace("$", r"\$")


def save_figure(figure: Figure | SubFigure, path: str | os.PathLike[str]) -> None:
    """Write a figure in the format of the file name's suffix; equal figures give equal bytes, and SVG keeps text.

    If given a part of a figure, it writes the whole figure. Characters that Matplotlib's font lacks are drawn with a
    Noto font of their script; where none is installed they are boxes, and a warning is logged that names it.

    Parameters
    ----------
    figure
        Figure to write, or a part of one.
    path
        Path of the file; its ending, such as .png, .svg or .pdf, determines the format. An existing file is replaced.

    Raises
    ------
    ParameterError
        If `figure` is not a figure of Matplotlib, or `path` is not a path.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure, FigureBase
    from matplotlib.font_manager import fontManager

    _checks.instance("figure", figure, FigureBase)
    root = figure if isinstance(figure, Figure) else figure.figure
    is_svg = _checks.path("path", path).endswith(".svg")
    dates = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(os.path.splitext(path)[1])

    def missing(families: Sequence[str]) -> set[str]:
        """Save the figure with these fonts; return the fonts of the scripts of which characters are missing."""
        settings: dict[Any, Any] = {
            "svg.hashsalt": "corefsample",
            "svg.fonttype": "none",
            "pdf.fonttype": 42,  # TrueType, which journals ask for
            "font.family": list(families),
        }
        with mpl.rc_context(settings), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            root.savefig(path, dpi=150, metadata=dates)
        messages = [str(warning.message) for warning in caught]
        for text, warning in zip(messages, caught, strict=True):
            if not text.startswith(("Glyph ", "Matplotlib currently does not support")):  # a character, a script
                warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
        scripts = {match[1] for text in messages if (match := _SCRIPT_OF_GLYPH.match(text))}
        return {"Noto Sans CJK" if script in _CJK else f"Noto Sans {script.title()}" for script in scripts}

    families = mpl.rcParams["font.family"]
    fonts = missing(families)
    if fonts:
        names = sorted({font.name for font in fontManager.ttflist if font.name.startswith(tuple(fonts))})
        fonts = missing([*families, *names]) if names else fonts
    if fonts and not is_svg:  # readers of an SVG have their own fonts
        logging.getLogger("corefsample.plots").warning(
            "%s has characters that no installed font has, drawn as boxes: install %s",
            os.path.basename(path),  # its folder may be that of a run that is not complete
            " and ".join(sorted(fonts)),
        )


# The function that draws a class, and the attribute or method of the result that it takes ("" for the result itself).
# By name, so that neither computing loads plotting, nor plotting what computes; those of `events` are names only, too.
_DRAWN_BY = {
    "CalibrationError": ("corefsample.plots.reliability.calibration_error_dots", ""),
    "ReliabilityCurve": ("corefsample.plots.reliability.reliability_figure", ""),
    "LinkCalibration": ("corefsample.plots.reliability.calibration_error_dots", ""),
    "DocumentLinks": ("corefsample.plots.clusterings.link_heat_map", ""),
    "EntityCountDistribution": ("corefsample.plots.clusterings.entity_count_bars", ""),
    "AuditEstimate": ("events.plots.audit.audit_bands", "to_frame"),
    "CountDistribution": ("events.plots.bands.count_bars", ""),
    "EventCounts": ("events.plots.bands.event_bands", "to_frame"),
}


def plot(result: object, **options: Any) -> Figure | SubFigure:
    """Draw a result, whatever it is.

    Parameters
    ----------
    result
        A reliability curve, calibration errors, counts or one count of events, audited counts, the
        posterior of a score, or a summary of a document (links, number of entities, credible ball). Several
        reliability curves or calibration errors can be given as a dict by name.
    **options
        Options of the function that draws this kind of result, such as ``ax`` or ``fig`` and ``title``. The table of
        docs/pictures.md lists these functions.

    Returns
    -------
    matplotlib.figure.Figure
        The figure that was drawn on.

    Raises
    ------
    ParameterError
        If there is no picture of such a result.

    Examples
    --------
    >>> from corefsample.calibration import reliability_curve
    >>> curve = reliability_curve([0.2, 0.4, 0.9], [0, 1, 1], bin_size=1)
    >>> plot(curve, title="Three pairs").get_axes()[0].get_title("left")
    'Three pairs'
    """
    results = list(result.values()) if isinstance(result, dict) else [result]
    classes = list(dict.fromkeys(map(type, results)))
    names = [each.__name__ for each in classes[0].__mro__ if each.__name__ in _DRAWN_BY] if len(classes) == 1 else []
    if not names:
        is_document = bool(results) and hasattr(results[0], "mentions")
        hint = "corefsample.summaries.document_links(document) makes one" if is_document else None
        rule = f"must be one of {', '.join(sorted(_DRAWN_BY))}"
        shown = " and ".join(each.__name__ for each in classes) or "none"
        raise ParameterError(f"{rule}, got {shown}", parameter="result", hint=hint)
    path, attribute = _DRAWN_BY[names[0]]
    module, _, name = path.rpartition(".")
    drawn: Any = getattr(result, attribute) if attribute else result
    drawing = getattr(import_module(module), name)(drawn() if callable(drawn) else drawn, **options)
    figure: Figure | SubFigure = drawing.figure if hasattr(drawing, "get_xlim") else drawing  # of axes
    return figure
