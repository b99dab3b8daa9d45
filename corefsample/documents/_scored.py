"""One document with its pre-scored mentions: what a reader yields and a writer takes."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample.coreference import AntecedentDistribution
from corefsample.documents import _faults
from corefsample.errors import ParameterError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ScoredDocument", "Tokens", "checked_mentions"]

STRING_COLUMNS = ("text", "lemma", "upos", "dep")
INTEGER_COLUMNS = ("head", "sent")
FIELDS = ("version", "doc_id", "date", "mentions", "antecedents", "scores", "tokens", "gold")


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
            array = _checks.integers_32(f"tokens.{name}", getattr(self, name))
            array.flags.writeable = False
            object.__setattr__(self, name, array)
        n_tokens = len(self.text)
        for name in (*STRING_COLUMNS, *INTEGER_COLUMNS):
            if name in self.extra:
                raise ParameterError(f"tokens.extra must hold further lists alone, got {name!r}")
        columns = {name: getattr(self, name) for name in (*STRING_COLUMNS[1:], *INTEGER_COLUMNS)}
        for name, column in {**columns, **self.extra}.items():
            if len(column) != n_tokens:
                raise ParameterError(f"tokens.{name} must be as long as tokens.text ({n_tokens}), got {len(column)}")
        fault = _faults.parse_fault(self.head, self.sent)
        if fault is not None:
            raise ParameterError(fault)

    @classmethod
    def _of_valid(cls, **columns: Any) -> Self:
        """Build from columns that are known to keep the rules, without looking again."""
        tokens = object.__new__(cls)
        for name, column in columns.items():
            object.__setattr__(tokens, name, column)
        return tokens

    def __len__(self) -> int:
        return len(self.text)

    def to_frame(self) -> pd.DataFrame:
        """Tidy table, one row a token: token, text, lemma, upos, head, dep, sent, and each further list by its name."""
        import pandas as pd

        names = ("text", "lemma", "upos", "head", "dep", "sent")
        columns = {name: getattr(self, name) for name in names}
        listed = {name: list(column) for name, column in {**columns, **self.extra}.items()}
        return pd.DataFrame({"token": np.arange(len(self)), **listed})

    def sentences(self) -> dict[int, tuple[int, int]]:
        """Token bounds (start, end exclusive) of each sentence number that occurs."""
        numbers, starts = np.unique(self.sent, return_index=True)
        ends = [*starts[1:].tolist(), len(self)][: len(starts)]
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
        mentions = _mention_array(self.mentions)
        mentions.flags.writeable = False
        object.__setattr__(self, "mentions", mentions)
        n_mentions = mentions.shape[0]
        if self.antecedents.n_mentions != n_mentions:
            raise ParameterError(
                f"antecedents must have one list a mention ({n_mentions}), got {self.antecedents.n_mentions}"
            )
        if self.gold is not None and len(self.gold) != n_mentions:
            raise ParameterError(f"gold must have one entry a mention ({n_mentions}), got {len(self.gold)}")
        for i, entity in enumerate(() if self.gold is None else self.gold):
            if entity is not None and (not isinstance(entity, (int, str)) or isinstance(entity, bool)):
                raise ParameterError(f"gold[{i}] must be a whole number, a string or None, got {entity!r}")
        dated = isinstance(self.date, datetime.date) and not isinstance(self.date, datetime.datetime)
        if self.date is not None and not dated:
            raise ParameterError(f"date must be a datetime.date, got {self.date!r}")
        for name in FIELDS:
            if name in self.metadata:
                raise ParameterError(f"metadata must hold what is no other field, got {name!r}")
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

    def to_frame(self) -> pd.DataFrame:
        """Tidy table, one row a mention: doc_id, mention, start, end, head, new_prob; text with tokens; gold with gold.

        The candidates are in ``antecedents.to_frame()``, the tokens in ``tokens.to_frame()``.
        """
        import pandas as pd

        columns: dict[str, Any] = {"doc_id": [self.doc_id] * self.n_mentions, "mention": np.arange(self.n_mentions)}
        columns |= {name: self.mentions[:, c] for c, name in enumerate(("start", "end", "head"))}
        columns["new_prob"] = self.antecedents.new_probs
        if self.tokens is not None:
            columns["text"] = [self.mention_text(i) for i in range(self.n_mentions)]
        if self.gold is not None:
            columns["gold"] = np.array([*self.gold, None], object)[:-1]  # 1 and "1" stay apart
        return pd.DataFrame(columns)


def _mention_array(mentions: npt.ArrayLike) -> npt.NDArray[np.int32]:
    """Return a new int32 array (n_mentions, 3), or refuse what is none."""
    try:
        given = np.asarray(mentions)
    except ValueError:
        raise ParameterError("mentions must have three numbers each, got lists of unlike length") from None
    if given.size == 0:
        return np.zeros((0, 3), np.int32)
    if given.ndim != 2 or given.shape[1] != 3:
        raise ParameterError(f"mentions must have three numbers each, got an array of shape {given.shape}")
    return _checks.integers_32("mentions", given.ravel()).reshape(-1, 3)


def checked_mentions(mentions: npt.ArrayLike, n_tokens: int) -> npt.NDArray[np.int32]:
    """Return the mentions of a document as a new int32 array (n_mentions, 3), or raise ParameterError."""
    array = _mention_array(mentions)
    fault = _faults.mention_fault(array, n_tokens)
    if fault is not None:
        raise ParameterError(fault)
    return array
