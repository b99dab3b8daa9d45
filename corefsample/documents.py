"""One document with its pre-scored mentions: what a reader yields and a writer takes."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from corefsample import _checks, _faults
from corefsample.antecedents import AntecedentDistribution
from corefsample.errors import ParameterError

__all__ = ["ScoredDocument", "Tokens"]

STRING_COLUMNS = ("text", "lemma", "upos", "dep")
INTEGER_COLUMNS = ("head", "sent")


@dataclass(frozen=True, slots=True, eq=False)
class Tokens:
    """The tokens of a document and their dependency parse; every field has n_tokens entries.

    Attributes
    ----------
    text, lemma, upos, dep
        Words, lemmas, universal parts of speech and dependency labels.
    head
        int32 (n_tokens,): the token's syntactic head as an offset in the document, -1 for a root.
    sent
        int32 (n_tokens,): the token's sentence, from 0, never falling.
    extra
        Further lists by name (xpos, feats, space_after), kept as they came.
    """

    text: Sequence[str]
    lemma: Sequence[str]
    upos: Sequence[str]
    dep: Sequence[str]
    head: npt.NDArray[np.int32]
    sent: npt.NDArray[np.int32]
    extra: Mapping[str, Sequence[Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in INTEGER_COLUMNS:
            array = _checks.integers(f"tokens.{name}", getattr(self, name)).astype(np.int32)
            array.flags.writeable = False
            object.__setattr__(self, name, array)
        n_tokens = len(self.text)
        columns = {name: getattr(self, name) for name in (*STRING_COLUMNS[1:], *INTEGER_COLUMNS)}
        for name, column in {**columns, **self.extra}.items():
            if len(column) != n_tokens:
                raise ParameterError(f"tokens.{name} must be as long as tokens.text ({n_tokens}), got {len(column)}")
        fault = _faults.parse_fault(self.head, self.sent)
        if fault is not None:
            raise ParameterError(fault)

    def __len__(self) -> int:
        return len(self.text)

    def sentences(self) -> dict[int, tuple[int, int]]:
        """Token bounds (start, end exclusive) of each sentence number that occurs."""
        numbers, starts = np.unique(self.sent, return_index=True)
        ends = [*starts[1:].tolist(), len(self)]
        return {int(s): (int(a), int(b)) for s, a, b in zip(numbers, starts, ends, strict=True)}


@dataclass(frozen=True, slots=True, eq=False)
class ScoredDocument:
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
        Everything else the file said of the document.

    Raises
    ------
    ParameterError
        On construction, if a field breaks its rule.
    """

    doc_id: str
    mentions: npt.NDArray[np.int32]
    antecedents: AntecedentDistribution
    date: datetime.date | None = None
    tokens: Tokens | None = None
    gold: Sequence[int | str | None] | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.doc_id, str) or not self.doc_id:
            raise ParameterError(f"doc_id must be a non-empty string, got {self.doc_id!r}")
        mentions = np.array(self.mentions, dtype=np.int32).reshape(-1, 3)
        mentions.flags.writeable = False
        object.__setattr__(self, "mentions", mentions)
        n_mentions = mentions.shape[0]
        if self.antecedents.n_mentions != n_mentions:
            raise ParameterError(
                f"antecedents must have one list a mention ({n_mentions}), got {self.antecedents.n_mentions}"
            )
        if self.gold is not None and len(self.gold) != n_mentions:
            raise ParameterError(f"gold must have one entry a mention ({n_mentions}), got {len(self.gold)}")
        fault = _faults.mention_fault(mentions, None if self.tokens is None else len(self.tokens))
        if fault is not None:
            raise ParameterError(fault)

    @property
    def n_mentions(self) -> int:
        """Number of mentions."""
        return int(self.mentions.shape[0])

    def mention_text(self, mention: int) -> str:
        """Words of one mention, joined by blanks."""
        if self.tokens is None:
            raise ParameterError(f"doc_id {self.doc_id!r}: tokens must be there for the text of a mention, got none")
        start, end, _ = self.mentions[mention]
        return " ".join(self.tokens.text[start:end])
