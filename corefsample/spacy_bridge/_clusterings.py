"""Clusterings of a scored Doc, by name, by the number of a sample or as labels, and names of their entities."""

from __future__ import annotations

import numbers
from collections import Counter
from typing import TYPE_CHECKING, Literal, cast, get_args

import numpy.typing as npt

from corefsample import _checks
from corefsample._arrays import Ints32
from corefsample.errors import ParameterError
from corefsample.spacy_bridge._state import Content

if TYPE_CHECKING:
    from corefsample.summaries._losses import Loss

ClusteringName = Literal["map", "binder", "vi", "vi-bound", "nvi", "ari", "muc", "b3", "lea", "conll"]
CLUSTERING_NAMES: tuple[ClusteringName, ...] = get_args(ClusteringName)


def labels_of(clustering: npt.ArrayLike | ClusteringName, content: Content) -> Ints32:
    """Label the entities of a clustering: int32 (n_mentions,), read-only, as `DocPosterior.labels` describes."""
    if isinstance(clustering, str):
        _checks.choice("clustering", clustering, CLUSTERING_NAMES)
        return content.map_labels if clustering == "map" else content.estimate(cast("Loss", clustering))
    if isinstance(clustering, numbers.Integral) and not isinstance(clustering, bool):
        number, n_samples = int(clustering), int(content.state["n_samples"])
        if not 0 <= number < n_samples:
            raise ParameterError(f"must be a sample from 0 to below {n_samples}, got {number}", parameter="clustering")
        labels: Ints32 = content.samples.labels[number]
        return labels
    from corefsample.coreference._exact import canonical_labels

    labels = canonical_labels(clustering, name="clustering", n_mentions=content.distribution.n_mentions)
    labels.flags.writeable = False
    return labels


def names_by_overlap(map_labels: Ints32, labels: Ints32) -> tuple[str, ...]:
    """Name each mention's entity in one clustering after the entities of "map", as `DocPosterior.entity_names` does."""
    overlaps = Counter(zip(map_labels.tolist(), labels.tolist(), strict=True))
    unused_numbers = {first: n for n, first in enumerate(sorted({first for first, _ in overlaps}), start=1)}
    names: dict[int, str] = {}
    # The largest overlap first; among equal ones the earlier entity of "map", then of the other clustering.
    for map_entity, entity in sorted(overlaps, key=lambda pair: (-overlaps[pair], pair)):
        if map_entity in unused_numbers and entity not in names:
            names[entity] = f"E{unused_numbers.pop(map_entity)}"
    return tuple(names.get(first, f"M{first}") for first in labels.tolist())
