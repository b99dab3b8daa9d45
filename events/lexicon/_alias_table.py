"""Aliases as the tokens of documents are compared with them."""

from __future__ import annotations

import datetime
import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from events.lexicon._content import Alias, normalised

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


class AliasTable:
    """Squeezed aliases with their owners, and the prefixes of aliases at which a token may end.

    Parameters
    ----------
    aliases
        With the codes that have them.
    cased
        Whether tokens are compared as they are written; otherwise case-folded.
    """

    __slots__ = ("_spelling", "beginnings", "owners")

    def __init__(self, aliases: Iterable[tuple[Alias, tuple[Claim, ...]]], *, cased: bool = False) -> None:
        self._spelling = 0 if cased else 1  # which of the `spellings` of a token
        self.owners: dict[str, _Owners] = {}
        for alias, codes in aliases:
            before = self.owners.get(alias.squeezed, _Owners((), frozenset()))
            self.owners[alias.squeezed] = _Owners(tuple(sorted({*before.codes, *codes})), before.cuts | alias.cuts)
        self.beginnings = self._beginnings(self.owners)

    @staticmethod
    def _beginnings(owners: Mapping[str, _Owners]) -> frozenset[str]:
        return frozenset(text[:end] for text, one in owners.items() for end in (*one.cuts, len(text)) if end)

    def country_beginnings(self) -> frozenset[str]:
        """The prefixes of aliases that some code has."""
        return self._beginnings({text: one for text, one in self.owners.items() if one.codes})

    def begins(self, token: str) -> bool:
        """Whether an alias could begin with a token."""
        return spellings(token)[self._spelling] in self.beginnings

    def longest(self, tokens: Sequence[str], start: int) -> tuple[int, tuple[Claim, ...]] | None:
        """End and claims of the longest alias that begins at a token, or None.

        Tokens of white space are skipped inside an alias, and never end one.
        """
        run, end, n_tokens = spellings(tokens[start])[self._spelling], start + 1, len(tokens)
        boundaries: list[int] = []
        longest = None
        while run in self.beginnings:
            owners = self.owners.get(run)
            if owners is not None and owners.cuts.issuperset(boundaries):
                longest = end, owners.codes
            text = ""
            while not text and end < n_tokens:
                text = spellings(tokens[end])[self._spelling]
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
