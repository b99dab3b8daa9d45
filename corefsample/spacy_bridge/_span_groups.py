"""Clusterings of a Doc's mentions as groups of its spans, `Doc.spans`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from spacy.tokens import Doc, Span, SpanGroup


def labelled_spans(spans: Iterable[Span], labels: Iterable[str]) -> list[Span]:
    """Copy spans and give each its label."""
    from spacy.tokens import Span

    return [Span(span.doc, span.start, span.end, label=label) for span, label in zip(spans, labels, strict=True)]


def write_group(doc: Doc, key: str, spans: list[Span], clustering: Any, **attributes: str) -> SpanGroup:
    """Write spans as the group ``doc.spans[key]``.

    Its attribute "clustering" is the clustering's name, such as "map", or the number of the sample; it is
    absent if the clustering was an array.
    """
    from spacy.tokens import SpanGroup

    attrs: dict[str, Any] = {}
    if isinstance(clustering, str):
        attrs["clustering"] = clustering
    elif np.ndim(clustering) == 0:
        attrs["clustering"] = int(clustering)
    doc.spans[key] = SpanGroup(doc, name=key, spans=spans, attrs=attrs | attributes)
    group: SpanGroup = doc.spans[key]
    return group
