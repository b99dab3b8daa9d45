"""The tokens of a document and their dependency parse."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from corefsample import _checks
from corefsample._arrays import ByValue, HtmlTable, Ints32, pd
from corefsample.documents._faults import parse_faults
from corefsample.errors import ParameterError

STRING_COLUMNS = ("text", "lemma", "upos", "dep")
INTEGER_COLUMNS = ("head", "sent")
TOKEN_COLUMNS = (*STRING_COLUMNS, *INTEGER_COLUMNS)
EMPTY_COLUMN = "empty"  # further list: form of an empty node ("_"), a token without text; "" of words
WRITTEN = "written"  # further list: words as the document has them, where another case of them was parsed
SPEAKER = "speaker"  # further list: who says each token, by any name; one of NO_SPEAKER where no speaker is named
NO_SPEAKER = ("", "-", "_")
_SHOWN_WORDS = 8


def counted(number: int, noun: str, plural: str = "") -> str:
    """Number and noun, in the plural unless the number is 1."""
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Tokens(ByValue, HtmlTable):
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
        Further lists by name (xpos, feats, space_after, speaker), unchanged.

    Raises
    ------
    ParameterError
        On construction, if lists differ in length, heads do not form trees, or sentences are not in order.
    """

    text: Sequence[str]
    lemma: Sequence[str]
    upos: Sequence[str]
    dep: Sequence[str]
    head: Ints32
    sent: Ints32
    extra: Mapping[str, Sequence[Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in INTEGER_COLUMNS:
            array = _checks.integers_32(f"tokens.{name}", getattr(self, name))
            array.flags.writeable = False
            object.__setattr__(self, name, array)
        for name in TOKEN_COLUMNS:
            if name in self.extra:
                raise ParameterError(f"tokens.extra must contain further lists only, got {name!r}")
        for name, column in {**{name: getattr(self, name) for name in TOKEN_COLUMNS}, **self.extra}.items():
            if len(column) != len(self):
                raise ParameterError(f"tokens.{name} must be as long as tokens.text ({len(self)}), got {len(column)}")
        for fault in parse_faults(np.array([0, len(self)], np.int64), self.head, self.sent).values():
            raise ParameterError(fault)

    @classmethod
    def from_valid(cls, **columns: Any) -> Self:
        """Build from all fields, which are known to satisfy the rules, without checking them again."""
        tokens = object.__new__(cls)
        for name, column in columns.items():
            object.__setattr__(tokens, name, column)
        return tokens

    def with_valid(self, **columns: Any) -> Self:
        """Tokens with other columns, which are known to satisfy the rules."""
        return self.from_valid(**{name: getattr(self, name) for name in Tokens.__slots__} | columns)

    @property
    def written(self) -> Sequence[str]:
        """Words as they are written in the document; in `text`, capitals may have been rewritten for the parser."""
        return self.extra.get(WRITTEN, self.text)

    @property
    def is_unparsed(self) -> bool:
        """True if no token has a dependency label."""
        return set(self.dep) <= {"_", ""}

    def __len__(self) -> int:
        return len(self.text)

    def __repr__(self) -> str:
        words = " ".join(self.text[:_SHOWN_WORDS]) + (" ..." if len(self) > _SHOWN_WORDS else "")
        extra = f", extra {', '.join(self.extra)}" if self.extra else ""
        return f"Tokens({self.size_in_words()}: {words!r}{extra})"

    def size_in_words(self) -> str:
        """Numbers of tokens and sentences: "3 tokens in 1 sentence"."""
        return f"{counted(len(self), 'token')} in {counted(len(np.unique(self.sent)), 'sentence')}"

    def to_frame(self) -> pd.DataFrame:
        """Tidy table, one row per token: token, text, lemma, upos, head, dep, sent, and the further lists."""
        names = ("text", "lemma", "upos", "head", "dep", "sent")
        columns = {name: getattr(self, name) for name in names}
        listed = {name: list(column) for name, column in {**columns, **self.extra}.items()}
        return pd.DataFrame({"token": np.arange(len(self)), **listed})

    def sentences(self) -> dict[int, tuple[int, int]]:
        """Dict from each sentence number that occurs to the token bounds (start, end exclusive) of the sentence."""
        sent = self.sent
        if not len(sent):
            return {}
        starts = [0, *(np.flatnonzero(sent[1:] != sent[:-1]) + 1).tolist()]  # sentences are in order
        return dict(zip(sent[starts].tolist(), zip(starts, [*starts[1:], len(sent)], strict=True), strict=True))


def span_head(heads: Sequence[int], start: int, end: int, depths: Sequence[int] | None = None) -> int:
    """Token of a span whose own syntactic head lies outside the span.

    If several tokens qualify, it is the first of them; with `depths` it is the one nearest to the root of its tree, and
    the first of these. Corpora and adapters use the first rule. Spans of a spaCy Doc use the second, as spaCy's
    ``Span.root`` does.

    Parameters
    ----------
    heads
        Syntactic head of each token of the document, -1 for a root; they form trees.
    start, end
        Token offsets of the span, end exclusive; it has at least one token.
    depths
        Number of links from each token up to its root. By default the first token is chosen.

    Examples
    --------
    >>> heads = [1, -1, 1, 4, 2]
    >>> span_head(heads, 2, 5), span_head(heads, 3, 5), span_head([2, 0, -1], 1, 3)
    (2, 4, 1)
    >>> span_head([2, 0, -1], 1, 3, depths=[1, 2, 0])
    2
    """
    outside = (token for token in range(start, end) if not start <= heads[token] < end)
    return next(outside) if depths is None else min(outside, key=depths.__getitem__)
