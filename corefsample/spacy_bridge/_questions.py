"""What a user names, a mention or a clustering of a scored Doc, found in its posterior."""

from __future__ import annotations

import numbers
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample.errors import ParameterError
from corefsample.spacy_bridge._state import Content

if TYPE_CHECKING:
    from spacy.tokens import Doc

__all__ = ["clustering_labels", "entity_names", "mention_number"]

Labels = npt.NDArray[np.int32]


def mention_number(content: Content, doc: Doc, mention: Any) -> int:
    """Find a mention; see `DocPosterior.number`."""
    n_mentions = content.distribution.n_mentions
    if isinstance(mention, numbers.Integral) and not isinstance(mention, bool):
        place = int(mention)
        if not 0 <= place < n_mentions:
            raise ParameterError(f"mention must be from 0 to below {n_mentions}, got {place}")
        return place
    if not all(hasattr(mention, name) for name in ("doc", "start", "end")):
        raise ParameterError(f"mention must be a span or a number, got {type(mention).__name__}")
    if mention.doc is not doc:
        raise ParameterError(f"mention must be a span of this Doc, got one of another: {_checks.shown(mention.text)}")
    words = np.searchsorted(content.offsets, (mention.start, mention.end)).tolist()
    number = content.numbers.get(tuple(words))
    if number is None:
        tokens = f"[{mention.start}, {mention.end}]"
        raise ParameterError(f"mention must be one of those scored, got tokens {tokens}: {_checks.shown(mention.text)}")
    return number


def clustering_labels(content: Content, clustering: Any) -> Labels:
    """Label the entities of a clustering; see `DocPosterior.labels`."""
    if isinstance(clustering, str):
        _checks.choice("clustering", clustering, ("map",))
        return content.map_labels
    if isinstance(clustering, numbers.Integral) and not isinstance(clustering, bool):
        sample, n_samples = int(clustering), content.state["n_samples"]
        if not 0 <= sample < n_samples:
            raise ParameterError(f"clustering must be a sample from 0 to below {n_samples}, got {sample}")
        drawn: Labels = content.samples.labels[sample]
        return drawn
    from corefsample.coreference import canonical_labels

    labels = canonical_labels(clustering, name="clustering", n_mentions=content.distribution.n_mentions)
    labels.flags.writeable = False
    return labels


def entity_names(map_labels: Labels, labels: Labels) -> list[str]:
    """Name the entity of each mention; see `DocPosterior.entity_names`.

    Parameters
    ----------
    map_labels, labels
        int (n_mentions,): the first mention of each mention's entity, in the clustering "map" and in the one to name.
    """
    shared = Counter(zip(map_labels.tolist(), labels.tolist(), strict=True))
    numbers_of_map = {first: n for n, first in enumerate(sorted({first for first, _ in shared}), start=1)}
    names: dict[int, str] = {}
    # The largest overlap first; of equal ones the earlier entity of "map", then of the other.
    for mine, its in sorted(shared, key=lambda pair: (-shared[pair], pair)):
        if mine in numbers_of_map and its not in names:
            names[its] = f"E{numbers_of_map.pop(mine)}"
    return [names.get(first, f"M{first}") for first in labels.tolist()]
