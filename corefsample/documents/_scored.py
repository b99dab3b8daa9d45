"""One document with its pre-scored mentions: what a reader yields and a writer takes."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from corefsample._arrays import Ints32
from corefsample.coreference import AntecedentDistribution, require_distribution
from corefsample.documents._base import BaseDocument
from corefsample.documents._tokens import Tokens, counted
from corefsample.errors import ParameterError

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ScoredDocument(BaseDocument):
    """A document, its mentions, and the distribution over their antecedents.

    Attributes
    ----------
    doc_id
        Not empty, unique in the corpus.
    mentions
        int32 (n_mentions, 3), read-only: token offsets start, end (exclusive) and head of each mention, sorted by
        start, then longest first.
    antecedents
        Distribution over antecedents of these mentions.
    date
        Needed by events.
    tokens
        Needed by events.
    gold
        The annotated entity of each mention (None: not annotated), or None.
    metadata
        All other fields of the document in its file.

    Raises
    ------
    ParameterError
        On construction, if a field breaks its rule.
    """

    doc_id: str
    mentions: Ints32
    antecedents: AntecedentDistribution
    date: datetime.date | None = None
    tokens: Tokens | None = None
    gold: Sequence[int | str | None] | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._check_common_fields()
        require_distribution(self.antecedents)
        wanted, found = self.n_mentions, self.antecedents.n_mentions
        if found != wanted:
            raise ParameterError(f"must have one list per mention ({wanted}), got {found}", parameter="antecedents")
        if self.gold is None:
            return
        if len(self.gold) != wanted:
            raise ParameterError(f"must have one entry per mention ({wanted}), got {len(self.gold)}", parameter="gold")
        for i, entity in enumerate(self.gold):
            if entity is not None and (not isinstance(entity, (int, str)) or isinstance(entity, bool)):
                raise ParameterError(f"gold[{i}] must be a whole number, a string or None, got {entity!r}")

    def _facts(self) -> list[str]:
        candidates = counted(self.antecedents.n_candidates, "candidate antecedent")
        return [*BaseDocument._facts(self), candidates, *(["gold entities"] if self.gold is not None else [])]

    def to_frame(self) -> pd.DataFrame:
        """Tidy table, one row per mention: doc_id, mention, start, end, head, new_prob, text (with tokens), gold.

        The candidates are in ``antecedents.to_frame()``, the tokens in ``tokens.to_frame()``.
        """
        import pandas as pd

        columns = self._mention_columns()
        columns["new_prob"] = self.antecedents.new_probs
        if self.tokens is not None:
            columns["text"] = [self.mention_text(i) for i in range(self.n_mentions)]
        if self.gold is not None:
            columns["gold"] = np.array([*self.gold, None], object)[:-1]  # 1 and "1" stay apart
        return pd.DataFrame(columns)
