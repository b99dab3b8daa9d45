"""Aliases, the spellings of names, and the tables in which the tokens of documents are looked up among them."""

from __future__ import annotations

import datetime
import functools
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Self

_PLAIN = str.maketrans(
    dict.fromkeys("‘’‛ʼ′´", "'") | dict.fromkeys("‐‑‒–−", "-") | dict.fromkeys("\u00ad\u200b\u2060\ufeff", "")
)


def normalised(text: str) -> str:
    """Text in NFKC, with plain apostrophes and hyphens and without invisible characters."""
    return text if text.isascii() else unicodedata.normalize("NFKC", text.translate(_PLAIN))


@dataclass(frozen=True, slots=True)
class Alias:
    """One spelling of a name, in the form in which it is compared with documents."""

    written: str  # as in the file
    cased: bool  # whether upper and lower case differ
    squeezed: str  # normalised, without white space, case-folded unless cased
    cuts: frozenset[int]  # offsets in `squeezed` where one token may end and the next begin
    key: str  # squeezed and case-folded; aliases with different keys never match the same text

    @classmethod
    def of(cls, written: str, *, cased: bool = False) -> Alias:
        """Make an alias; a token may end at white space of the name and beside its punctuation, not inside a word."""
        text = normalised(written) if cased else normalised(written).casefold()
        squeezed = ""
        cuts = set()
        for char in text:
            if char.isspace():
                cuts.add(len(squeezed))
                continue
            if squeezed and not (_in_word(char) and _in_word(squeezed[-1])):
                cuts.add(len(squeezed))
            squeezed += char
        return cls(written, cased, squeezed, frozenset(cuts), squeezed.casefold())

    def meets(self, other: Alias) -> bool:
        """Whether some text matches both."""
        return self.key == other.key and (not (self.cased and other.cased) or self.squeezed == other.squeezed)


def _in_word(char: str) -> bool:
    return char.isalnum() or unicodedata.category(char).startswith("M")


_MOST_TOKENS = 1 << 16  # whose forms are kept


class Claim(NamedTuple):
    """A code that has an alias, from one day to another; `dated` claims hold on these days only."""

    code: str
    start: datetime.date
    end: datetime.date
    dated: bool


@dataclass(frozen=True, slots=True)
class _Owners:
    """The codes that have an alias; none if the alias is a name of something else."""

    codes: tuple[Claim, ...]
    cuts: frozenset[int]  # offsets in the squeezed alias where tokens may meet


@dataclass(frozen=True, slots=True, eq=False)
class AliasTable:
    """Squeezed aliases with their owners, and the prefixes of aliases at which a token may end.

    Attributes
    ----------
    owners, beginnings
        By squeezed alias the codes that have it, and the prefixes.
    cased
        Whether tokens are compared as they are written; otherwise case-folded.
    """

    owners: Mapping[str, _Owners]
    cased: bool
    beginnings: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "beginnings", self._beginnings(self.owners))

    @classmethod
    def of(cls, aliases: Iterable[tuple[Alias, tuple[Claim, ...]]], *, cased: bool = False) -> Self:
        """Table of aliases with the codes that have them."""
        owners: dict[str, _Owners] = {}
        for alias, codes in aliases:
            before = owners.get(alias.squeezed, _Owners((), frozenset()))
            owners[alias.squeezed] = _Owners(tuple(sorted({*before.codes, *codes})), before.cuts | alias.cuts)
        return cls(owners, cased)

    def _spelled(self, token: str) -> str:
        plain, folded = spellings(token)
        return plain if self.cased else folded

    @staticmethod
    def _beginnings(owners: Mapping[str, _Owners]) -> frozenset[str]:
        return frozenset(text[:end] for text, one in owners.items() for end in (*one.cuts, len(text)) if end)

    def country_beginnings(self) -> frozenset[str]:
        """The prefixes of aliases that some code has."""
        return self._beginnings({text: one for text, one in self.owners.items() if one.codes})

    def begins(self, token: str) -> bool:
        """Whether an alias could begin with a token."""
        return self._spelled(token) in self.beginnings

    def longest(self, tokens: Sequence[str], start: int) -> tuple[int, tuple[Claim, ...]] | None:
        """End and claims of the longest alias that begins at a token, or None.

        Tokens of white space are skipped inside an alias, and never end one.
        """
        run, end, n_tokens = self._spelled(tokens[start]), start + 1, len(tokens)
        boundaries: list[int] = []
        longest = None
        while run in self.beginnings:
            owners = self.owners.get(run)
            if owners is not None and owners.cuts.issuperset(boundaries):
                longest = end, owners.codes
            text = ""
            while not text and end < n_tokens:
                text = self._spelled(tokens[end])
                end += 1
            if not text:
                break
            boundaries.append(len(run))
            run += text
        return longest


class Beginnings(dict[str, bool]):
    """Whether an alias of one of several tables could begin with a token; computed once for each token."""

    def __init__(self, *tables: AliasTable) -> None:
        super().__init__()
        self._tables = tables

    def __missing__(self, token: str) -> bool:
        if len(self) >= _MOST_TOKENS:  # limits the memory for large vocabularies
            self.clear()
        self[token] = begins = any(table.begins(token) for table in self._tables)
        return begins


@functools.lru_cache(maxsize=_MOST_TOKENS)
def spellings(token: str) -> tuple[str, str]:
    """A token's text in the forms in which cased and folded aliases are compared with it."""
    plain = "".join(normalised(token).split())
    return plain, plain.casefold()
