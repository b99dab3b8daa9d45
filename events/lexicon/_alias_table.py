"""Aliases as the tokens of documents are compared with them."""

from __future__ import annotations

import datetime
import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
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

    __slots__ = ("_cased", "beginnings", "continued", "owners")

    def __init__(self, aliases: Iterable[tuple[Alias, tuple[Claim, ...]]], *, cased: bool = False) -> None:
        self._cased = cased
        self.owners: dict[str, _Owners] = {}
        for alias, codes in aliases:
            before = self.owners.get(alias.squeezed, _Owners((), frozenset()))
            self.owners[alias.squeezed] = _Owners(tuple(sorted({*before.codes, *codes})), before.cuts | alias.cuts)
        self.beginnings = self._beginnings(self.owners)
        # Where another token of the same alias may follow.
        self.continued = frozenset(
            text[:cut] for text, one in self.owners.items() for cut in one.cuts if 0 < cut < len(text)
        )

    @staticmethod
    def _beginnings(owners: Mapping[str, _Owners]) -> frozenset[str]:
        return frozenset(text[:end] for text, one in owners.items() for end in (*one.cuts, len(text)) if end)

    def country_beginnings(self) -> frozenset[str]:
        """The prefixes of aliases that some code has."""
        return self._beginnings({text: one for text, one in self.owners.items() if one.codes})

    def _form(self, token: str) -> str:
        plain, folded = spellings(token)
        return plain if self._cased else folded

    def begins(self, token: str) -> bool:
        """Whether an alias could begin with a token."""
        return self._form(token) in self.beginnings

    def alone(self, token: str, after: str) -> tuple[Claim, ...] | None:
        """Claims of the longest alias that begins at a token, if that is the token alone.

        None if more tokens may belong to it; `after` is the next token.
        """
        form = self._form(token)
        if form in self.continued:
            following = self._form(after)
            if not following or form + following in self.beginnings:
                return None
        owners = self.owners.get(form) if form else None
        return () if owners is None else owners.codes

    def longest(self, tokens: Sequence[str], start: int) -> tuple[int, tuple[Claim, ...]] | None:
        """End and claims of the longest alias that begins at a token, or None.

        Tokens of white space are skipped inside an alias, and never end one.
        """
        if not self.begins(tokens[start]):
            return None
        run, boundaries, longest = "", [], None
        for end in range(start, len(tokens)):
            text = self._form(tokens[end])
            if text:
                if run:
                    boundaries.append(len(run))
                run += text
                if run not in self.beginnings:
                    break
                owners = self.owners.get(run)
                if owners is not None and owners.cuts.issuperset(boundaries):
                    longest = end + 1, owners.codes
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


class LoneNames(dict[tuple[str, str], tuple[Claim, ...] | None]):
    """By a token and the next one: claims of the aliases, of several tables, that are the first token alone.

    None where more tokens may belong to an alias. Each pair of tokens is looked up once.
    """

    def __init__(self, *tables: AliasTable) -> None:
        super().__init__()
        self._tables = tables

    def __missing__(self, tokens: tuple[str, str]) -> tuple[Claim, ...] | None:
        if len(self) >= _MOST_TOKENS:
            self.clear()
        several = [table.alone(*tokens) for table in self._tables]
        claims = [each for each in several if each is not None]
        self[tokens] = result = tuple(sorted({*chain(*claims)})) if len(claims) == len(several) else None
        return result


@functools.lru_cache(maxsize=_MOST_TOKENS)
def spellings(token: str) -> tuple[str, str]:
    """A token's text in the forms in which cased and folded aliases are compared with it."""
    plain = "".join(normalised(token).split())
    return plain, plain.casefold()
