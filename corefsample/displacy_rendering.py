"""Clusterings in displaCy: mentions coloured by entity."""

from __future__ import annotations

import colorsys
from collections import Counter
from typing import TYPE_CHECKING, Any, Literal

import numpy.typing as npt

from corefsample import _checks
from corefsample._spacy_groups import labelled_spans
from corefsample._spacy_posterior import posterior_of

if TYPE_CHECKING:
    from spacy.tokens import Doc

__all__ = ["STYLES", "clustering_markup", "displacy_input", "displacy_options"]

Style = Literal["span", "ent"]
STYLES: tuple[Style, ...] = ("span", "ent")
_GOLDEN_ANGLE = 0.6180339887498949  # of a turn: however many hues there are, neighbours are far apart
_LIGHTNESS = (0.82, 0.74, 0.90)  # black text is easy to read on each


def displacy_input(
    doc: Doc, clustering: npt.ArrayLike | Literal["map"] = "map", *, style: Style = "span", min_size: int = 2
) -> dict[str, Any]:
    """What displacy.render takes with manual=True, of one clustering of a scored Doc.

    Parameters
    ----------
    doc
        Scored by the component corefsample.
    clustering
        "map", the number of a sample, or labels, as of `DocPosterior.labels`.
    style
        "span" draws nested mentions below each other; "ent" shades the text, and leaves out mentions inside others.
    min_size
        Entities of fewer mentions are left out.

    Returns
    -------
    dict
        text, title, settings, and spans with tokens ("span") or ents ("ent"). A mention's label is its entity: E1,
        E2, ... by first mention, entities left out included.

    Raises
    ------
    ParameterError
        If the Doc was not scored, or there is no such style or clustering.
    """
    _checks.choice("style", style, STYLES)
    _checks.whole("min_size", min_size, 1)
    spans = labelled_spans(posterior_of(doc), clustering)
    sizes = Counter(span.label_ for span in spans)
    drawn = [
        {
            "start": span.start_char,
            "end": span.end_char,
            "start_token": span.start,
            "end_token": span.end,
            "label": span.label_,
        }
        for span in spans
        if sizes[span.label_] >= min_size
    ]
    settings = {"lang": doc.lang_, "direction": doc.vocab.writing_system.get("direction", "ltr")}
    common: dict[str, Any] = {"text": doc.text, "title": None, "settings": settings}
    if style == "span":
        return {**common, "spans": drawn, "tokens": [token.text for token in doc]}
    return {**common, "ents": _outermost(drawn)}


def displacy_options(doc: Doc, clustering: npt.ArrayLike | Literal["map"] = "map") -> dict[str, Any]:
    """Options of displacy.render with a colour an entity: the largest entities have the colours farthest apart."""
    sizes = Counter(span.label_ for span in labelled_spans(posterior_of(doc), clustering))
    colours = {label: _colour(place) for place, (label, _) in enumerate(sizes.most_common())}
    return {"colors": colours}


def clustering_markup(
    doc: Doc,
    clustering: npt.ArrayLike | Literal["map"] = "map",
    *,
    style: Style = "span",
    min_size: int = 2,
    page: bool = False,
) -> str:
    """Draw one clustering of a scored Doc as HTML, mentions coloured by entity.

    Parameters
    ----------
    doc, clustering, style, min_size
        As of `displacy_input`.
    page
        Whether to make a whole page of it.

    Returns
    -------
    str
        HTML; in a notebook, IPython.display.HTML shows it.

    Raises
    ------
    ParameterError
        As of `displacy_input`.
    """
    from spacy import displacy

    drawn = displacy_input(doc, clustering, style=style, min_size=min_size)
    options = displacy_options(doc, clustering)
    return displacy.render(drawn, style=style, manual=True, options=options, page=page, jupyter=False)


def _outermost(drawn: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Spans that overlap none before them; they come by start, then longest first."""
    kept: list[dict[str, Any]] = []
    for span in drawn:
        if not kept or span["start"] >= kept[-1]["end"]:
            kept.append(span)
    return kept


def _colour(place: int) -> str:
    """Light colour number `place`, as #rrggbb."""
    hue = (place * _GOLDEN_ANGLE) % 1.0
    channels = colorsys.hls_to_rgb(hue, _LIGHTNESS[place % len(_LIGHTNESS)], 0.75)
    return "#" + "".join(f"{round(channel * 255):02x}" for channel in channels)
