"""The number of entities in one document: its exact law, beside what single answers say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from corefsample.coreference import entity_count_pmf, map_clustering
from corefsample.documents import ScoredDocument
from corefsample.links import Unannotated, gold_codes

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["EntityCountLaw", "entity_count_law"]


@dataclass(frozen=True, slots=True, eq=False)
class EntityCountLaw:
    """Law of the number of entities in one document.

    Attributes
    ----------
    doc_id
        The document.
    pmf
        float64 (n_mentions + 1,) in [0, 1], read-only: entry c is P(c entities).
    mean, sd
        Of this law.
    map_count
        Entities by every mention's likeliest antecedent.
    gold_count
        Annotated entities; None without gold, or where some mention's entity is not known.
    """

    doc_id: str
    pmf: npt.NDArray[np.float64]
    mean: float
    sd: float
    map_count: int
    gold_count: int | None

    def __post_init__(self) -> None:
        self.pmf.flags.writeable = False

    @property
    def n_mentions(self) -> int:
        """Number of mentions, the most entities there can be."""
        return int(self.pmf.shape[0]) - 1

    def to_frame(self) -> pd.DataFrame:
        """Tidy table, one row a number of entities: doc_id, n_entities, probability."""
        import pandas as pd

        return pd.DataFrame({"doc_id": self.doc_id, "n_entities": np.arange(self.pmf.size), "probability": self.pmf})


def entity_count_law(document: ScoredDocument, *, unannotated: Unannotated = "skip") -> EntityCountLaw:
    """Law of the number of entities in a document, exactly, beside the counts of MAP and gold.

    An entity is counted by its first mention, so the number is a sum of independent Bernoulli(P(a_i = NEW)).

    Parameters
    ----------
    document
        With gold, to have the gold count.
    unannotated
        What a mention without a gold entity is: "skip", unknown, so that there is no gold count; or "single", an
        entity of its own.

    Raises
    ------
    ParameterError
        If `unannotated` is neither of the two.

    Examples
    --------
    >>> from corefsample import AntecedentDistribution
    >>> antecedents = AntecedentDistribution.from_lists([[], [0]], [[], [0.0]])
    >>> law = entity_count_law(ScoredDocument("d", [[0, 1, 0], [1, 2, 1]], antecedents))
    >>> law.pmf.tolist(), law.mean, law.map_count
    ([0.0, 0.5, 0.5], 1.5, 2)
    """
    new = document.antecedents.new_probs
    gold_count = None
    if document.gold is not None:
        codes = gold_codes(document, unannotated)
        gold_count = None if (codes < 0).any() else len(np.unique(codes))
    return EntityCountLaw(
        doc_id=document.doc_id,
        pmf=entity_count_pmf(document.antecedents),
        mean=float(new.sum()),
        sd=float(np.sqrt((new * (1.0 - new)).sum())),
        map_count=len(np.unique(map_clustering(document.antecedents))),
        gold_count=gold_count,
    )
