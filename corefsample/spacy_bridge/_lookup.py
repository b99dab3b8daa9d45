"""Mentions and clusterings of a scored Doc, looked up by what a user passes."""

from __future__ import annotations

import numbers
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from corefsample import _checks
from corefsample._arrays import Ints32
from corefsample.errors import ParameterError
from corefsample.spacy_bridge._state import Content

if TYPE_CHECKING:
    from spacy.tokens import Doc


def mention_number(content: Content, doc: Doc, mention: Any) -> int:
    """Find a mention; see `DocPosterior.number`."""
    n_mentions = content.distribution.n_mentions
    if isinstance(mention, numbers.Integral) and not isinstance(mention, bool):
        index = int(mention)
        if not 0 <= index < n_mentions:
            raise ParameterError(f"must be from 0 to below {n_mentions}, got {index}", parameter="mention")
        return index
    if not all(hasattr(mention, name) for name in ("doc", "start", "end")):
        raise ParameterError(f"must be a span or a number, got {type(mention).__name__}", parameter="mention")
    text = _checks.shown(mention.text)
    if mention.doc is not doc:
        raise ParameterError(f"must be a span of this Doc, got one of another: {text}", parameter="mention")
    words = np.searchsorted(content.offsets, (mention.start, mention.end)).tolist()
    number = content.numbers.get(tuple(words))
    if number is None:
        raise ParameterError(
            f"must be one of those scored, got tokens [{mention.start}, {mention.end}]: {text}", parameter="mention"
        )
    return number


def clustering_labels(content: Content, clustering: Any) -> Ints32:
    """Label the entities of a clustering; see `DocPosterior.labels`."""
    if isinstance(clustering, str):
        _checks.choice("clustering", clustering, ("map",))
        return content.map_labels
    if isinstance(clustering, numbers.Integral) and not isinstance(clustering, bool):
        number, n_samples = int(clustering), content.state["n_samples"]
        if not 0 <= number < n_samples:
            raise ParameterError(f"must be a sample from 0 to below {n_samples}, got {number}", parameter="clustering")
        sample: Ints32 = content.samples.labels[number]
        return sample
    from corefsample.coreference import canonical_labels

    labels = canonical_labels(clustering, name="clustering", n_mentions=content.distribution.n_mentions)
    labels.flags.writeable = False
    return labels


def entity_names(map_labels: Ints32, labels: Ints32) -> list[str]:
    """Name the entity of each mention; see `DocPosterior.entity_names`.

    Parameters
    ----------
    map_labels, labels
        int32 (n_mentions,): the first mention of each mention's entity, in the clustering "map" and in the one to
        name.
    """
    overlaps = Counter(zip(map_labels.tolist(), labels.tolist(), strict=True))
    unused_numbers = {first: n for n, first in enumerate(sorted({first for first, _ in overlaps}), start=1)}
    names: dict[int, str] = {}
    # The largest overlap first; among equal ones the earlier entity of "map", then of the other clustering.
    for map_entity, entity in sorted(overlaps, key=lambda pair: (-overlaps[pair], pair)):
        if map_entity in unused_numbers and entity not in names:
            names[entity] = f"E{unused_numbers.pop(map_entity)}"
    return [names.get(first, f"M{first}") for first in labels.tolist()]
