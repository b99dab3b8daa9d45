"""The link marginals of one document, entity by entity: what its heat map and its network show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample.coreference import link_marginals, map_clustering
from corefsample.documents import ScoredDocument
from corefsample.links import Unannotated, gold_codes

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["DocumentLinks", "EntitySource", "document_links"]

EntitySource = Literal["map", "gold"]
ENTITY_SOURCES: tuple[EntitySource, ...] = ("map", "gold")


@dataclass(frozen=True, slots=True, eq=False)
class DocumentLinks:
    """Mentions of one document in the order of their entities, with the probability of each link; arrays read-only.

    Attributes
    ----------
    doc_id
        The document.
    source
        Whose entities order the mentions: "map" or "gold".
    mentions
        int32 (n_mentions,): the mentions' indices in the document, entity by entity, entities by their first mention.
    texts
        Words of each of these mentions; "mention 7" where the document has no tokens.
    entities
        int64 (n_mentions,): entity of each, from 0, never falling.
    marginals
        float64 (n_mentions, n_mentions) in [0, 1]: exact probability that two of these mentions corefer.
    """

    doc_id: str
    source: EntitySource
    mentions: npt.NDArray[np.int32]
    texts: tuple[str, ...]
    entities: npt.NDArray[np.int64]
    marginals: npt.NDArray[np.float64]

    def __post_init__(self) -> None:
        for array in (self.mentions, self.entities, self.marginals):
            array.flags.writeable = False

    @property
    def n_mentions(self) -> int:
        """Number of mentions shown."""
        return int(self.mentions.shape[0])

    @property
    def bounds(self) -> npt.NDArray[np.int64]:
        """Where each entity begins, and the end of the last: int64 (n_entities + 1,)."""
        return np.searchsorted(self.entities, np.arange(int(self.entities.max(initial=-1)) + 2))

    def to_frame(self) -> pd.DataFrame:
        """Tidy table, one row a pair of mentions.

        Columns: doc_id; first, second (indices in the document, first < second); first_text, second_text;
        first_entity, second_entity; probability.
        """
        import pandas as pd

        a, b = np.triu_indices(self.n_mentions, 1)
        swapped = self.mentions[a] > self.mentions[b]
        first, second = np.where(swapped, b, a), np.where(swapped, a, b)
        texts = np.array(self.texts, object)
        return pd.DataFrame(
            {
                "doc_id": self.doc_id,
                "first": self.mentions[first],
                "second": self.mentions[second],
                "first_text": texts[first],
                "second_text": texts[second],
                "first_entity": self.entities[first],
                "second_entity": self.entities[second],
                "probability": self.marginals[first, second],
            }
        )


def document_links(
    document: ScoredDocument, *, by: EntitySource = "map", smallest: int = 1, unannotated: Unannotated = "skip"
) -> DocumentLinks:
    """List a document's mentions entity by entity, with the exact probability of each link.

    Parameters
    ----------
    document
        With gold, to go by gold; with tokens, to have the mentions' words.
    by
        Whose entities: "map", those of every mention's likeliest antecedent (`corefsample.map_clustering`), or "gold".
    smallest
        Leave out mentions whose entity has fewer mentions than this, at least 1.
    unannotated
        What a mention without a gold entity is: see `corefsample.links.gold_codes`. Those skipped are left out.

    Returns
    -------
    DocumentLinks
        Without a mention, if none is left.

    Raises
    ------
    ParameterError
        If an option breaks its rule, or there is no gold to go by.

    Examples
    --------
    >>> from corefsample import AntecedentDistribution
    >>> spans = [[0, 1, 0], [1, 2, 1], [2, 3, 2]]
    >>> antecedents = AntecedentDistribution.from_lists([[], [], [0]], [[], [], [3.0]])
    >>> document_links(ScoredDocument("d", spans, antecedents)).mentions.tolist()
    [0, 2, 1]
    """
    _checks.choice("by", by, ENTITY_SOURCES)
    _checks.whole("smallest", smallest, 1)
    labels = gold_codes(document, unannotated) if by == "gold" else map_clustering(document.antecedents)
    sizes = np.bincount(labels[labels >= 0], minlength=1)
    kept = np.flatnonzero((labels >= 0) & (sizes[labels] >= smallest))
    # Labels and gold codes both rise by first mention, so the sort puts entities in that order.
    order = kept[np.argsort(labels[kept], kind="stable")]
    _, entities = np.unique(labels[order], return_inverse=True)
    texts = tuple(
        f"mention {mention}" if document.tokens is None else document.mention_text(mention)
        for mention in order.tolist()
    )
    marginals = link_marginals(document.antecedents)[np.ix_(order, order)]
    return DocumentLinks(document.doc_id, by, order.astype(np.int32), texts, entities.astype(np.int64), marginals)
