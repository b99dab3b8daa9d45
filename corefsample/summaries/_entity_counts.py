"""The number of entities in one document: its exact distribution, and the numbers of single clusterings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from corefsample._arrays import Floats
from corefsample.coreference._exact import entity_count_pmf, map_clustering
from corefsample.documents._scored import ScoredDocument
from corefsample.links._pairs import Unannotated, gold_codes
from corefsample.summaries._document_links import require_document

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, eq=False)
class EntityCountPosterior:
    """Posterior distribution of the number of entities in one document.

    Attributes
    ----------
    doc_id
        The document.
    pmf
        float64 (n_mentions + 1,) in [0, 1], read-only: entry c is P(c entities).
    mean, sd
        Mean and standard deviation of this distribution.
    map_count
        Number of entities by every mention's likeliest antecedent.
    gold_count
        Number of annotated entities; None without gold, or if the entity of a mention is unknown.
    """

    doc_id: str
    pmf: Floats
    mean: float
    sd: float
    map_count: int
    gold_count: int | None

    def __post_init__(self) -> None:
        self.pmf.flags.writeable = False

    def __repr__(self) -> str:
        counts = f"map_count={self.map_count}, gold_count={self.gold_count}, n_mentions={self.n_mentions}"
        return f"EntityCountPosterior(doc_id={self.doc_id!r}, mean={self.mean:.1f}, sd={self.sd:.1f}, {counts})"

    @property
    def n_mentions(self) -> int:
        """Number of mentions, which is the largest possible number of entities."""
        return int(self.pmf.shape[0]) - 1

    def to_frame(self) -> pd.DataFrame:
        """Tidy table, one row per number of entities: doc_id, n_entities, probability."""
        import pandas as pd

        return pd.DataFrame({"doc_id": self.doc_id, "n_entities": np.arange(self.pmf.size), "probability": self.pmf})


def entity_count_posterior(document: ScoredDocument, *, unannotated: Unannotated = "skip") -> EntityCountPosterior:
    """Distribution of the number of entities in a document, exactly, and the numbers of MAP and gold.

    An entity is counted by its first mention, so the number is a sum of independent Bernoulli(P(a_i = NEW)).

    Parameters
    ----------
    document
        With gold if the gold count is needed.
    unannotated
        How to treat a mention without a gold entity: "skip", as unknown, and there is no gold count; or "single", as
        an entity of its own.

    Raises
    ------
    ParameterError
        If it is no document, or `unannotated` is neither of the two.

    Examples
    --------
    >>> from corefsample import AntecedentDistribution
    >>> antecedents = AntecedentDistribution.from_lists([[], [0]], [[], [0.0]])
    >>> posterior = entity_count_posterior(ScoredDocument("d", [[0, 1, 0], [1, 2, 1]], antecedents))
    >>> posterior.pmf.tolist(), posterior.mean, posterior.map_count
    ([0.0, 0.5, 0.5], 1.5, 2)
    """
    require_document(document)
    new = document.antecedents.new_probs
    gold_count = None
    if document.gold is not None:
        codes = gold_codes(document, unannotated)
        gold_count = None if (codes < 0).any() else len(np.unique(codes))
    return EntityCountPosterior(
        doc_id=document.doc_id,
        pmf=entity_count_pmf(document.antecedents),
        mean=float(new.sum()),
        sd=float(np.sqrt((new * (1.0 - new)).sum())),
        map_count=len(np.unique(map_clustering(document.antecedents))),
        gold_count=gold_count,
    )
