"""Clusterings as groups of spans of a Doc."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from corefsample import _checks
from corefsample.errors import ParameterError
from corefsample.spacy_bridge._settings import own_groups

if TYPE_CHECKING:
    from spacy.tokens import Span, SpanGroup

    from corefsample.spacy_bridge._posterior import DocPosterior

__all__ = ["add_clustering", "add_clusters", "labelled_spans", "write_groups"]


def labelled_spans(posterior: DocPosterior, clustering: Any) -> list[Span]:
    """Every mention with its entity as its label; see `DocPosterior.entity_names`."""
    from spacy.tokens import Span

    return [
        Span(posterior.doc, span.start, span.end, label=name)
        for span, name in zip(posterior.mentions, posterior.entity_names(clustering), strict=True)
    ]


def add_clustering(posterior: DocPosterior, clustering: Any, key: str) -> SpanGroup:
    """Write one group; see `DocPosterior.add_clustering`."""
    from spacy.tokens import SpanGroup

    spans = labelled_spans(posterior, clustering)
    group = SpanGroup(posterior.doc, name=_named("key", key), spans=spans, attrs=_attributes(clustering))
    posterior.doc.spans[key] = group
    return group


def add_clusters(posterior: DocPosterior, clustering: Any, prefix: str, min_size: int) -> tuple[SpanGroup, ...]:
    """Write a group an entity; see `DocPosterior.add_clusters`."""
    from spacy.tokens import SpanGroup

    _named("prefix", prefix)
    _checks.whole("min_size", min_size, 1)
    members: dict[str, list[Span]] = {}
    for span in labelled_spans(posterior, clustering):
        members.setdefault(span.label_, []).append(span)
    groups: list[SpanGroup] = []
    for entity, spans in members.items():
        if len(spans) >= min_size:
            key = f"{prefix}_{len(groups) + 1}"
            attrs = {**_attributes(clustering), "entity": entity}
            posterior.doc.spans[key] = SpanGroup(posterior.doc, name=key, spans=spans, attrs=attrs)
            groups.append(posterior.doc.spans[key])
    return tuple(groups)


def write_groups(posterior: DocPosterior, spans_key: str, sample_groups: int) -> None:
    """Write the groups of the component, and take away those of an earlier run."""
    doc, mine = posterior.doc, own_groups(spans_key)
    for key in [key for key in doc.spans if mine.fullmatch(key)]:
        del doc.spans[key]
    add_clustering(posterior, "map", f"{spans_key}_map")
    add_clusters(posterior, "map", f"{spans_key}_clusters", min_size=2)
    for sample in range(sample_groups):
        add_clustering(posterior, sample, f"{spans_key}_sample_{sample}")


def _named(parameter: str, value: object) -> str:
    if not isinstance(value, str) or not value:
        raise ParameterError(f"{parameter} must be a string that is not empty, got {value!r}")
    return value


def _attributes(clustering: Any) -> dict[str, Any]:
    """What of a clustering's name a group can keep: "map", or the number of the sample."""
    if isinstance(clustering, str):
        return {"clustering": clustering}
    return {"clustering": int(clustering)} if np.ndim(clustering) == 0 else {}
