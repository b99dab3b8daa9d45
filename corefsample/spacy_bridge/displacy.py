"""Clusterings drawn by displaCy: mentions coloured by entity, with the same colour in all clusterings of a Doc."""

from __future__ import annotations

import colorsys
from collections import Counter
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample._checks import shown
from corefsample.errors import ParameterError
from corefsample.spacy_bridge._posterior import drawn_parses, posterior_of

if TYPE_CHECKING:
    from spacy.tokens import Doc, Span

__all__ = ["STYLES", "clustering_markup", "displacy_input", "displacy_options", "parses_markup", "side_by_side_markup"]

Style = Literal["span", "ent"]
Clustering = npt.ArrayLike | Literal["map"]
STYLES: tuple[Style, ...] = ("span", "ent")
_GOLDEN_ANGLE = 0.6180339887498949  # as a fraction of a turn: successive hues are far apart for any number of them
_LIGHTNESS = (0.82, 0.74, 0.90)  # black text is easy to read on each

# displaCy's own shading is as high as the line spacing, and higher on lines without plain text.
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
    """Input of displacy.render with manual=True for one clustering of a scored Doc.

    Parameters
    ----------
    doc
        A scored Doc, or a Span of one, of which only the tokens inside are drawn.
    clustering
        "map", the number of a sample, or labels, as for `DocPosterior.labels`.
    style
        "span" draws nested mentions below each other; "ent" shades the text, and leaves out mentions inside others.
    min_size
        Entities of fewer mentions are left out; mentions outside the part that is drawn count too.
    sentences
        First sentence of a Doc to draw, and the one past the last, from 0. None: all of them.

    Returns
    -------
    dict
        text, title, settings, and spans with tokens ("span") or ents ("ent"). A mention's label is its entity's name,
        as `DocPosterior.entity_names` gives it.

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
    spans = [
        _displacy_span(part, span, name)
        for span, name in zip(posterior.mentions, names, strict=True)
        if sizes[name] >= min_size and part.start < span.end and span.start < part.end
    ]
    settings = {"lang": part.doc.lang_, "direction": _direction(part)}
    common = {"text": part.text_with_ws, "title": None, "settings": settings}
    if style == "span":
        return {**common, "spans": spans, "tokens": [token.text for token in part]}
    return {**common, "ents": _outermost(spans)}


def displacy_options(doc: Doc | Span, *, style: Style = "span") -> dict[str, Any]:
    """Options of displacy.render: colours, and for the style "ent" a template whose lines do not overlap.

    Parameters
    ----------
    doc
        A scored Doc, or a Span of one.
    style
        As for `displacy_input`.

    Returns
    -------
    dict
        colors: one for each name that an entity can have in any clustering; those of the largest entities of "map"
        differ most. template ("ent").

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
        As for `displacy_input`.
    page
        Whether to make a complete page.

    Returns
    -------
    str
        HTML; in a notebook, IPython.display.HTML shows it.

    Raises
    ------
    ParameterError
        As for `displacy_input`.
    """
    from spacy import displacy

    content = displacy_input(doc, clustering, style=style, min_size=min_size, sentences=sentences)
    options = displacy_options(doc, style=style)
    return displacy.render(content, style=style, manual=True, options=options, page=page, jupyter=False)


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
    """Draw several clusterings of a scored Doc as columns: a mention whose colour changes is uncertain.

    Parameters
    ----------
    doc, style, min_size, sentences, page
        As for `clustering_markup`.
    clusterings
        At least one, each as for `displacy_input`.
    titles
        One per clustering; None: "Likeliest antecedents", "Sample 0", or "Clustering 3" for a third given by labels.

    Returns
    -------
    str
        HTML; columns that do not fit beside each other are placed below each other.

    Raises
    ------
    ParameterError
        As for `displacy_input`, and if there is no clustering, or not one title for each.
    """
    if isinstance(clusterings, str) or not len(clusterings):
        raise ParameterError(f"must be a list of at least one, got {shown(clusterings)}", parameter="clusterings")
    if titles is None:
        titles = [_title(place, each) for place, each in enumerate(clusterings, start=1)]
    if isinstance(titles, str) or len(titles) != len(clusterings):
        raise ParameterError(
            f"must be as many as clusterings ({len(clusterings)}), got {shown(titles)}", parameter="titles"
        )
    columns = "".join(
        _COLUMN.format(
            title=escape(title),
            content=clustering_markup(doc, each, style=style, min_size=min_size, sentences=sentences),
        )
        for title, each in zip(titles, clusterings, strict=True)
    )
    content = _COLUMNS.format(content=columns).strip()
    return _page(doc, content) if page else content


def parses_markup(doc: Doc, sentence: int = 0, *, most: int = 3, compact: bool = True, page: bool = False) -> str:
    """Draw the parses of one sentence, each with its share of the drawn parses.

    Parses of the Doc that agree on the sentence are one.

    Parameters
    ----------
    doc
        A Doc that was scored with `n_parses`.
    sentence
        Number of the sentence, from 0.
    most
        Number of parses to draw, the most frequent first.
    compact, page
        displaCy's square arrows; whether to make a complete page.

    Returns
    -------
    str
        HTML; in a notebook, IPython.display.HTML shows it.

    Raises
    ------
    ParameterError
        If no parses were drawn, or there is no such sentence.
    """
    from spacy import displacy

    part = _part(doc, (sentence, sentence + 1))
    _checks.whole("most", most, 1)
    shares: Counter[tuple[tuple[int, str], ...]] = Counter()
    spans: dict[tuple[tuple[int, str], ...], Span] = {}
    for share, posterior in drawn_parses(posterior_of(doc)):
        span = posterior.doc[part.start : part.end]
        arcs = tuple((token.head.i, token.dep_) for token in span)
        shares[arcs] += share  # type: ignore[assignment]
        spans.setdefault(arcs, span)
    content = "".join(
        _COLUMN.format(
            title=f"{share:.2f}",
            content=displacy.render(spans[arcs], style="dep", options={"compact": compact}, jupyter=False),
        )
        for arcs, share in shares.most_common(most)
    ).strip()
    return _page(doc, content) if page else content


def _title(place: int, clustering: Any) -> str:
    if isinstance(clustering, str):
        return "Likeliest antecedents"
    return f"Sample {clustering}" if np.ndim(clustering) == 0 else f"Clustering {place}"


def _page(doc: Doc | Span, content: str) -> str:
    from spacy.displacy.templates import TPL_PAGE

    markup: str = TPL_PAGE.format(content=content, lang=doc.doc.lang_, dir=_direction(doc))
    return markup.strip()


def _direction(doc: Doc | Span) -> str:
    """Writing direction of a Doc, "ltr" or "rtl"."""
    return str(doc.doc.vocab.writing_system.get("direction", "ltr"))


def _part(doc: Any, sentences: tuple[int, int] | None) -> Span:
    """Tokens to draw."""
    if not hasattr(doc, "doc") or not hasattr(doc, "sents"):
        raise ParameterError(f"must be a Doc or a Span, got {type(doc).__name__}", parameter="doc")
    if sentences is None:
        return doc[0 : len(doc)]  # type: ignore[no-any-return]
    if doc.doc is not doc:
        raise ParameterError("must be left out where doc is a Span", parameter="sentences")
    if not doc.has_annotation("SENT_START"):
        raise ParameterError("must have sentences, got none", parameter="doc", hint="the pipeline needs a parser")
    spans = list(doc.sents)
    bounds = _checks.integers("sentences", sentences).tolist()
    if len(bounds) != 2 or not 0 <= bounds[0] < bounds[1] <= len(spans):
        raise ParameterError(
            f"must be the first sentence and the one past the last, within 0 and {len(spans)}, got {sentences!r}",
            parameter="sentences",
        )
    return doc[spans[bounds[0]].start : spans[bounds[1] - 1].end]  # type: ignore[no-any-return]


def _displacy_span(part: Span, span: Span, label: str) -> dict[str, Any]:
    """Describe a mention, or what of it lies in the part."""
    inside = part.doc[max(span.start, part.start) : min(span.end, part.end)]
    return {
        "start": inside.start_char - part.start_char,
        "end": inside.end_char - part.start_char,
        "start_token": inside.start - part.start,
        "end_token": inside.end - part.start,
        "label": label,
    }


def _outermost(spans: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Spans that do not overlap any before them; the spans are sorted by start, then longest first."""
    outermost: list[dict[str, Any]] = []
    for span in spans:
        if not outermost or span["start"] >= outermost[-1]["end"]:
            outermost.append(span)
    return outermost


def _colour(number: int) -> str:
    """Light colour of this number, as #rrggbb."""
    hue = (number * _GOLDEN_ANGLE) % 1.0
    channels = colorsys.hls_to_rgb(hue, _LIGHTNESS[number % len(_LIGHTNESS)], 0.75)
    return "#" + "".join(f"{round(channel * 255):02x}" for channel in channels)
