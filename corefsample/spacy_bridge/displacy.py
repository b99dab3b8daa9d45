"""Clusterings in displaCy: mentions coloured by entity, one entity alike in all clusterings of a Doc."""

from __future__ import annotations

import colorsys
from collections import Counter
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample.errors import ParameterError
from corefsample.spacy_bridge._posterior import posterior_of

if TYPE_CHECKING:
    from spacy.tokens import Doc, Span

__all__ = ["STYLES", "clustering_markup", "displacy_input", "displacy_options", "side_by_side_markup"]

Style = Literal["span", "ent"]
Clustering = npt.ArrayLike | Literal["map"]
STYLES: tuple[Style, ...] = ("span", "ent")
_GOLDEN_ANGLE = 0.6180339887498949  # of a turn: however many hues there are, neighbours are far apart
_LIGHTNESS = (0.82, 0.74, 0.90)  # black text is easy to read on each

# displaCy's own shading is as high as its lines are apart, and where a line of it has no plain text, higher.
_SHADED = """\
<mark class="entity" style="background: {bg}; color: #000; padding: 0.2em 0.3em; margin: 0 0.1em; line-height: inherit;
 border-radius: 0.35em; -webkit-box-decoration-break: clone; box-decoration-break: clone">{text}<span
 style="font-size: 0.7em; font-weight: bold; margin-inline-start: 0.4em">{label}{kb_link}</span></mark>\
"""
_COLUMN = """
<div style="min-width: 0"><div style="font-weight: bold">{title}</div>{content}</div>
"""
_COLUMNS = """
<div class="clusterings" style="display: grid; gap: 0.5em 1.5em; text-align: start;
 grid-template-columns: repeat(auto-fit, minmax(13em, 1fr))">{content}</div>
"""


def displacy_input(
    doc: Doc | Span,
    clustering: Clustering = "map",
    *,
    style: Style = "span",
    min_size: int = 2,
    sentences: tuple[int, int] | None = None,
) -> dict[str, Any]:
    """What displacy.render takes with manual=True, of one clustering of a scored Doc.

    Parameters
    ----------
    doc
        Scored; of a Span of such a Doc, its tokens alone are drawn, and of mentions across its ends what lies within.
    clustering
        "map", the number of a sample, or labels, as of `DocPosterior.labels`.
    style
        "span" draws nested mentions below each other; "ent" shades the text, and leaves out mentions inside others.
    min_size
        Entities of fewer mentions are left out; mentions outside of the part that is drawn count too.
    sentences
        Of a Doc: the first sentence to draw, and the one before which to end, from 0. None: all of them.

    Returns
    -------
    dict
        text, title, settings, and spans with tokens ("span") or ents ("ent"). A mention's label is its entity's name,
        alike in all clusterings: see `DocPosterior.entity_names`.

    Raises
    ------
    ParameterError
        If the Doc was not scored, or there is no such style, clustering or sentence.
    """
    _checks.choice("style", style, STYLES)
    _checks.whole("min_size", min_size, 1)
    part = _part(doc, sentences)
    posterior = posterior_of(part.doc)
    names = posterior.entity_names(clustering)
    sizes = Counter(names)
    drawn = [
        _drawn(part, span, name)
        for span, name in zip(posterior.mentions, names, strict=True)
        if sizes[name] >= min_size and part.start < span.end and span.start < part.end
    ]
    direction = part.doc.vocab.writing_system.get("direction", "ltr")
    common = {"text": part.text_with_ws, "title": None, "settings": {"lang": part.doc.lang_, "direction": direction}}
    if style == "span":
        return {**common, "spans": drawn, "tokens": [token.text for token in part]}
    return {**common, "ents": _outermost(drawn)}


def displacy_options(doc: Doc | Span, *, style: Style = "span") -> dict[str, Any]:
    """Options of displacy.render: colours, and for the style "ent" lines that keep apart.

    Parameters
    ----------
    doc
        Scored, or a Span of such a Doc.
    style
        As of `displacy_input`.

    Returns
    -------
    dict
        colors: of each name that an entity can have, whatever the clustering; the largest entities of "map" have those
        farthest apart. template ("ent").

    Raises
    ------
    ParameterError
        If the Doc was not scored, or there is no such style.
    """
    _checks.choice("style", style, STYLES)
    posterior = posterior_of(doc.doc)
    by_size = [name for name, _ in Counter(posterior.entity_names("map")).most_common()]
    others = [f"M{mention}" for mention in range(posterior.n_mentions)]
    colours = {name: _colour(place) for place, name in enumerate([*by_size, *others])}
    return {"colors": colours, **({"template": _SHADED} if style == "ent" else {})}


def clustering_markup(
    doc: Doc | Span,
    clustering: Clustering = "map",
    *,
    style: Style = "span",
    min_size: int = 2,
    sentences: tuple[int, int] | None = None,
    page: bool = False,
) -> str:
    """Draw one clustering of a scored Doc as HTML, mentions coloured by entity.

    Parameters
    ----------
    doc, clustering, style, min_size, sentences
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

    drawn = displacy_input(doc, clustering, style=style, min_size=min_size, sentences=sentences)
    options = displacy_options(doc, style=style)
    return displacy.render(drawn, style=style, manual=True, options=options, page=page, jupyter=False)


def side_by_side_markup(
    doc: Doc | Span,
    clusterings: Sequence[Clustering] = ("map", 0, 1),
    *,
    titles: Sequence[str] | None = None,
    style: Style = "ent",
    min_size: int = 2,
    sentences: tuple[int, int] | None = None,
    page: bool = False,
) -> str:
    """Draw several clusterings of a scored Doc as columns: what changes its colour from one to the next is open.

    Parameters
    ----------
    doc, style, min_size, sentences, page
        As of `clustering_markup`.
    clusterings
        At least one, each as of `displacy_input`.
    titles
        One a clustering; None: "Likeliest antecedents", "Sample 0", and "Clustering 3" for the third, given by labels.

    Returns
    -------
    str
        HTML; where the columns do not fit beside each other, they go below each other.

    Raises
    ------
    ParameterError
        As of `displacy_input`, and if there is no clustering, or not a title for each.
    """
    if isinstance(clusterings, str) or not len(clusterings):
        raise ParameterError(f"clusterings must be at least one, in a list, got {_checks.shown(clusterings)}")
    heads = [_title(place, each) for place, each in enumerate(clusterings, start=1)] if titles is None else titles
    if isinstance(heads, str) or len(heads) != len(clusterings):
        raise ParameterError(f"titles must be as many as clusterings ({len(clusterings)}), got {_checks.shown(heads)}")
    columns = "".join(
        _COLUMN.format(
            title=escape(head),
            content=clustering_markup(doc, each, style=style, min_size=min_size, sentences=sentences),
        )
        for head, each in zip(heads, clusterings, strict=True)
    )
    content = _COLUMNS.format(content=columns).strip()
    return _page(doc, content) if page else content


def _title(place: int, clustering: Any) -> str:
    if isinstance(clustering, str):
        return "Likeliest antecedents"
    return f"Sample {clustering}" if np.ndim(clustering) == 0 else f"Clustering {place}"


def _page(doc: Doc | Span, content: str) -> str:
    from spacy.displacy.templates import TPL_PAGE

    direction = doc.doc.vocab.writing_system.get("direction", "ltr")
    markup: str = TPL_PAGE.format(content=content, lang=doc.doc.lang_, dir=direction)
    return markup.strip()


def _part(doc: Any, sentences: tuple[int, int] | None) -> Span:
    """Tokens to draw."""
    if not hasattr(doc, "doc") or not hasattr(doc, "sents"):
        raise ParameterError(f"doc must be a Doc or a Span, got {type(doc).__name__}")
    if sentences is None:
        part: Span = doc[0 : len(doc)]
        return part
    if doc.doc is not doc:
        raise ParameterError("sentences must be left out where doc is a Span, which is a part already")
    if not doc.has_annotation("SENT_START"):
        raise ParameterError("doc must have sentences to choose from, got none: the pipeline needs a parser")
    bounds = [(each.start, each.end) for each in doc.sents]
    given = _checks.integers("sentences", sentences).tolist()
    if len(given) != 2 or not 0 <= given[0] < given[1] <= len(bounds):
        raise ParameterError(
            f"sentences must be the first and the one to end before, within 0 and {len(bounds)}, got {sentences!r}"
        )
    chosen: Span = doc[bounds[given[0]][0] : bounds[given[1] - 1][1]]
    return chosen


def _drawn(part: Span, span: Span, label: str) -> dict[str, Any]:
    """Draw a mention, or what of it lies in the part."""
    inside = part.doc[max(span.start, part.start) : min(span.end, part.end)]
    return {
        "start": inside.start_char - part.start_char,
        "end": inside.end_char - part.start_char,
        "start_token": inside.start - part.start,
        "end_token": inside.end - part.start,
        "label": label,
    }


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
