"""One document with its pre-scored mentions: what a reader yields and a writer takes."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from corefsample._arrays import Ints32
from corefsample._checks import shown
from corefsample._lazy import pd
from corefsample.coreference._antecedents import AntecedentDistribution, require_distribution
from corefsample.coreference._exact import map_clustering
from corefsample.documents._base import BaseDocument, require_one_each
from corefsample.documents._parses import Parse, parses_fault
from corefsample.documents._tokens import Tokens, counted
from corefsample.documents._viewer import antecedent_hints, marked_text
from corefsample.errors import ParameterError


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ScoredDocument(BaseDocument):
    """A document, its mentions, and the distribution over their antecedents.

    A document may have several weighted parses: see `of_parses`.

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
    parses
        Empty, or the parses of the document where there are several. Tokens, mentions, antecedents and gold are then
        those of the first one, which `corefsample score` makes the parse that the pipeline gives by itself.

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
    parses: tuple[Parse, ...] = ()

    def __post_init__(self) -> None:
        self._check_common_fields()
        require_distribution(self.antecedents)
        require_one_each("antecedents", self.antecedents.n_mentions, "mention", self.n_mentions, "list")
        if self.parses:
            self._check_parses()
        if self.gold is None:
            return
        require_one_each("gold", len(self.gold), "mention", self.n_mentions)
        for i, entity in enumerate(self.gold):
            if entity is not None and (not isinstance(entity, (int, str)) or isinstance(entity, bool)):
                raise ParameterError(f"gold[{i}] must be a whole number, a string or None, got {entity!r}")

    def _check_parses(self) -> None:
        """Raise unless the fields of the document are those of its first parse, and all parses have its words."""
        first = self.parses[0]
        same = self.tokens is first.tokens and self.antecedents is first.antecedents
        if not same or not np.array_equal(self.mentions, first.mentions):
            rule = "parses[0] must have the tokens, mentions and antecedents of the document, got others"
            raise ParameterError(rule, hint="ScoredDocument.of_parses makes a document of parses")
        if "parses" in self.metadata:
            raise ParameterError("must contain no field of the document, got 'parses'", parameter="metadata")
        fault = parses_fault([parse.tokens.text for parse in self.parses], [parse.weight for parse in self.parses])
        if fault is not None:
            raise ParameterError(fault)

    @classmethod
    def of_parses(
        cls,
        doc_id: str,
        parses: Sequence[Parse],
        *,
        date: datetime.date | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Self:
        """A document with weighted parses; one parse makes a document like any other.

        Parameters
        ----------
        doc_id, date, metadata
            As of `ScoredDocument`.
        parses
            At least one, all of the same words. The first gives the document's own tokens, mentions, antecedents and
            gold; its weight may be 0.

        Raises
        ------
        ParameterError
            If there is no parse, no weight above 0, or a parse of other words.
        """
        if not parses or not all(isinstance(parse, Parse) for parse in parses):
            raise ParameterError(f"must be at least one Parse, got {shown(parses)}", parameter="parses")
        first, several = parses[0], tuple(parses) if len(parses) > 1 else ()
        fields = (first.mentions, first.antecedents, date, first.tokens, first.gold, metadata or {}, several)
        return cls(doc_id, *fields)

    @property
    def n_parses(self) -> int:
        """Number of parses."""
        return max(1, len(self.parses))

    def with_parse(self, parse: int) -> ScoredDocument:
        """The document with one of its parses alone.

        Raises
        ------
        ParameterError
            If there is no such parse.
        """
        if not 0 <= parse < self.n_parses:
            raise ParameterError(
                f"must be below the number of parses ({self.n_parses}), got {parse}", parameter="parse"
            )
        if not self.parses:
            return self
        one = self.parses[parse]
        fields = (one.mentions, one.antecedents, self.date, one.tokens, one.gold, self.metadata)
        return ScoredDocument(self.doc_id, *fields)

    def _marked_text(self) -> str:
        """Entities by likeliest antecedents, and on hover the antecedents of a mention."""
        if self.tokens is None:
            return ""
        hints = antecedent_hints(self.tokens, self.mentions, self.antecedents)
        return marked_text(self.tokens, self.mentions, map_clustering(self.antecedents).tolist(), hints)

    def _facts(self) -> list[str]:
        facts = [*BaseDocument._facts(self), counted(self.antecedents.n_candidates, "candidate antecedent")]
        facts += ["gold entities"] if self.gold is not None else []
        return facts + ([counted(len(self.parses), "parse")] if self.parses else [])

    def to_frame(self) -> pd.DataFrame:
        """Tidy table, one row per mention: doc_id, mention, start, end, head, new_prob, text (with tokens), gold.

        The candidates are in ``antecedents.to_frame()``, the tokens in ``tokens.to_frame()``.
        """
        columns = self._mention_columns()
        columns["new_prob"] = self.antecedents.new_probs
        if self.tokens is not None:
            columns["text"] = [self.mention_text(i) for i in range(self.n_mentions)]
        if self.gold is not None:
            columns["gold"] = np.array([*self.gold, None], object)[:-1]  # 1 and "1" stay apart
        return pd.DataFrame(columns)
