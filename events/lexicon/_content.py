"""What lexicons contain: entries, titles and their aliases; and tables to look aliases up in texts."""

from __future__ import annotations

import datetime
import functools
import unicodedata
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Self

from corefsample.errors import InputError

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


@dataclass(frozen=True, slots=True)
class Entry:
    """One code with its aliases and the days on which it was valid."""

    code: str
    name: str
    kind: str
    aliases: tuple[Alias, ...]
    start: datetime.date | None  # first day; None: no limit
    end: datetime.date | None  # last day; None: no limit
    nouns: tuple[Alias, ...] = ()  # matched with texts and with lemmas

    @property
    def names(self) -> tuple[Alias, ...]:
        """Aliases and nouns."""
        return (*self.aliases, *self.nouns)

    @property
    def validity(self) -> tuple[datetime.date, datetime.date]:
        """First and last day on which the code was valid."""
        return self.start or datetime.date.min, self.end or datetime.date.max

    def overlaps(self, other: Entry) -> bool:
        """Whether some day lies in the validity of both."""
        return max(self.validity[0], other.validity[0]) <= min(self.validity[1], other.validity[1])


@dataclass(frozen=True, slots=True)
class Title:
    """A title that stands for a code, only on the days from `start` to `end` where these are given."""

    alias: Alias
    code: str
    start: datetime.date | None
    end: datetime.date | None


@dataclass(frozen=True, slots=True)
class LexiconContent:
    """Content of a lexicon file, combined with the lexicon that it extends."""

    entries: Mapping[str, Entry]  # by code
    not_countries: tuple[Alias, ...]  # some share a key: "Korean Airlines", "Korean Air Lines"
    ambiguous: Mapping[str, tuple[Alias, tuple[str, ...]]]  # by key: the alias and its codes, sorted
    titles: tuple[Title, ...] = ()
    inner: frozenset[str] = frozenset()  # kinds whose actors are parts of others
    related: Mapping[str, frozenset[str]] = field(default_factory=dict)  # by code, those an entity may have beside it
    inner_counts_as: frozenset[str] | None = None  # of INNER, COMPOSITE and OUTER; None: not said
    language: str = ""  # code of the language of the names; "" where nothing says it
    state_nouns: frozenset[str] = frozenset()  # lemmas that can stand for the only country of a text


# What the police of a country can count as: police (inner), police of it (composite), the country (outer).
OF, INNER, COMPOSITE, OUTER = ":", "inner", "composite", "outer"


def without(content: LexiconContent, removed: Collection[str]) -> LexiconContent:
    """Return the content without some codes; an alias declared ambiguous keeps the codes that are left."""
    ambiguous = {}
    for key, (alias, codes) in content.ambiguous.items():
        left = tuple(code for code in codes if code not in removed)
        if left:
            ambiguous[key] = (alias, left)
    entries = {code: entry for code, entry in content.entries.items() if not {code, *code.split(OF)} & {*removed}}
    titles = tuple(title for title in content.titles if title.code not in removed)
    related = {code: codes.difference(removed) for code, codes in content.related.items() if code not in removed}
    return replace(content, entries=entries, ambiguous=ambiguous, titles=titles, related=related)


def combined(base: LexiconContent, own: LexiconContent) -> LexiconContent:
    """Combine a file's own content with the content that it extends, which loses every alias that the file names.

    An entry of `own` replaces the entry of `base` with the same code, and its aliases are added to those of `base`.
    """
    redefined = defaultdict[str, list[tuple[Alias, str | None]]](list)
    for entry in own.entries.values():
        for alias in entry.names:
            redefined[alias.key].append((alias, entry.code))
    for title in own.titles:
        redefined[title.alias.key].append((title.alias, title.code))
    for alias in (*own.not_countries, *(alias for alias, _ in own.ambiguous.values())):
        redefined[alias.key].append((alias, None))

    def remaining(aliases: tuple[Alias, ...], code: str) -> tuple[Alias, ...]:
        return tuple(
            alias
            for alias in aliases
            if not any(code != other_code and alias.meets(other) for other, other_code in redefined.get(alias.key, ()))
        )

    entries = {
        code: replace(entry, aliases=remaining(entry.aliases, code), nouns=remaining(entry.nouns, code))
        for code, entry in base.entries.items()
    }
    for code, entry in own.entries.items():
        if code in entries:
            before = entries[code]
            entry = replace(entry, aliases=(*before.aliases, *entry.aliases), nouns=(*before.nouns, *entry.nouns))
        entries[code] = entry
    return LexiconContent(
        entries,
        (*(alias for alias in base.not_countries if alias.key not in redefined), *own.not_countries),
        {key: declared for key, declared in base.ambiguous.items() if key not in redefined} | dict(own.ambiguous),
        (*(title for title in base.titles if remaining((title.alias,), title.code)), *own.titles),
        base.inner | own.inner,
        {**base.related, **own.related},
        base.inner_counts_as if own.inner_counts_as is None else own.inner_counts_as,
        own.language or base.language,
        base.state_nouns | own.state_nouns,
    )


def check_claims(source: str, content: LexiconContent) -> None:
    """Raise if two codes valid on one day share an undeclared alias, or if the lists contradict each other.

    An alias declared ambiguous belongs to all of its listed codes, whether or not their entries repeat it, and may
    be in no other entry. An alias under `not_countries` belongs to no code.
    """
    claims = defaultdict[str, list[tuple[Alias, Entry]]](list)
    for entry in content.entries.values():
        for alias in entry.names:
            claims[alias.key].append((alias, entry))
    for title in content.titles:
        dated = replace(content.entries[title.code], start=title.start, end=title.end)
        claims[title.alias.key].append((title.alias, dated))
    for key, (alias, codes) in content.ambiguous.items():
        for _, entry in claims.pop(key, ()):
            if entry.code not in codes:
                found = f"{', '.join(codes)} without {entry.code}"
                rule = "codes must list every code that has the alias"
                raise InputError(f"{rule}, got {found}", place=f"{source}: ambiguous {alias.written!r}")
    for alias in content.not_countries:
        holders = {entry.code for _, entry in claims.get(alias.key, ())}
        if alias.key in content.ambiguous:
            holders.update(content.ambiguous[alias.key][1])
        if holders:
            found = ", ".join(sorted(holders))
            place = f"{source}: not_countries {alias.written!r}"
            raise InputError(f"must not be an alias of a code as well, got {found}", place=place)
    for claimed in claims.values():
        for i, (alias, entry) in enumerate(claimed):
            for other, rival in claimed[:i]:
                if rival.code != entry.code and alias.meets(other) and entry.overlaps(rival):
                    found = f"{rival.code} and {entry.code}"
                    rule = "must belong to one code on any day or be declared under ambiguous"
                    raise InputError(f"{rule}, got {found}", place=f"{source}: alias {alias.written!r}")
