"""Content of lexicons (entries, titles and their aliases), and tables that look aliases up in texts."""

from __future__ import annotations

import datetime
import functools
import unicodedata
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

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

    def meets(self, alias: Alias) -> bool:
        """Whether some text matches both this alias and `alias`."""
        return self.key == alias.key and (not (self.cased and alias.cased) or self.squeezed == alias.squeezed)


def _in_word(char: str) -> bool:
    return char.isalnum() or unicodedata.category(char).startswith("M")


_MOST_TOKENS = 1 << 16  # limit of the caches of tokens


class Claim(NamedTuple):
    """A code that has an alias, and the days on which the code was valid; `dated` claims hold on these days only."""

    code: str
    start: datetime.date
    end: datetime.date
    dated: bool


@dataclass(init=False, slots=True, eq=False)
class AliasTable:
    """Squeezed aliases with the codes that have them, and the prefixes of aliases at which a token may end.

    Attributes
    ----------
    claims
        Codes that have an alias, by the squeezed alias; none if the alias is a name of something else.
    cuts
        Offsets in a squeezed alias where tokens may meet, by the alias.
    cased
        Whether tokens are compared as they are written; if False, they are case-folded first.
    beginnings
        Prefixes of aliases at which a token may end.
    beginnings_with_code
        Prefixes of those aliases that some code has.
    """

    claims: dict[str, tuple[Claim, ...]]
    cuts: dict[str, frozenset[int]]
    cased: bool
    beginnings: frozenset[str]
    beginnings_with_code: frozenset[str]

    def __init__(self, aliases: Iterable[tuple[Alias, tuple[Claim, ...]]], *, cased: bool = False) -> None:
        self.claims, self.cuts, self.cased = {}, {}, cased
        for alias, claims in aliases:
            text = alias.squeezed
            self.claims[text] = tuple(sorted({*self.claims.get(text, ()), *claims}))
            self.cuts[text] = self.cuts.get(text, frozenset()) | alias.cuts
        self.beginnings = self._prefixes(self.claims)
        self.beginnings_with_code = self._prefixes(text for text, claims in self.claims.items() if claims)

    def _prefixes(self, texts: Iterable[str]) -> frozenset[str]:
        return frozenset(text[:end] for text in texts for end in (*self.cuts[text], len(text)) if end)

    def _spelled(self, token: str) -> str:
        plain, folded = spellings(token)
        return plain if self.cased else folded

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
            if run in self.claims and self.cuts[run].issuperset(boundaries):
                longest = end, self.claims[run]
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
    start: datetime.date | None  # first day of validity; None is no limit
    end: datetime.date | None  # last day of validity; None is no limit
    nouns: tuple[Alias, ...] = ()  # matched with texts and with lemmas

    @property
    def names(self) -> tuple[Alias, ...]:
        """Aliases and nouns."""
        return (*self.aliases, *self.nouns)

    @property
    def validity(self) -> tuple[datetime.date, datetime.date]:
        """First and last day on which the code was valid."""
        return self.start or datetime.date.min, self.end or datetime.date.max


@dataclass(frozen=True, slots=True)
class Title:
    """A title that stands for a code on the days from `start` to `end`; None is no limit."""

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
    related: Mapping[str, frozenset[str]] = field(default_factory=dict)  # by code: codes that one entity may also have
    inner_counts_as: frozenset[str] | None = None  # some of INNER, COMPOSITE, OUTER; None if the file declares none
    language: str = ""  # code of the language of the names; "" if the file declares none
    state_nouns: frozenset[str] = frozenset()  # lemmas that can stand for the only country of a text


# What the police of a country can count as: police (inner), police of it (composite), the country (outer).
OF, INNER, COMPOSITE, OUTER = ":", "inner", "composite", "outer"


def without(lexicon: LexiconContent, removed: Collection[str]) -> LexiconContent:
    """Return the lexicon without the `removed` codes, which are also removed from ambiguous aliases."""
    ambiguous = {}
    for key, (alias, codes) in lexicon.ambiguous.items():
        remaining = tuple(code for code in codes if code not in removed)
        if remaining:
            ambiguous[key] = (alias, remaining)
    entries = {code: entry for code, entry in lexicon.entries.items() if not {code, *code.split(OF)} & {*removed}}
    titles = tuple(title for title in lexicon.titles if title.code not in removed)
    related = {code: codes.difference(removed) for code, codes in lexicon.related.items() if code not in removed}
    return replace(lexicon, entries=entries, ambiguous=ambiguous, titles=titles, related=related)


def combined(base: LexiconContent, extension: LexiconContent) -> LexiconContent:
    """Combine the content of a file with the content that it extends, which loses every alias that the file names.

    An entry of `extension` replaces the entry of `base` with the same code, and keeps the aliases of that entry.
    """
    redefined = defaultdict[str, list[tuple[Alias, str | None]]](list)
    for entry in extension.entries.values():
        for alias in entry.names:
            redefined[alias.key].append((alias, entry.code))
    for title in extension.titles:
        redefined[title.alias.key].append((title.alias, title.code))
    for alias in (*extension.not_countries, *(alias for alias, _ in extension.ambiguous.values())):
        redefined[alias.key].append((alias, None))

    def remaining(aliases: tuple[Alias, ...], code: str) -> tuple[Alias, ...]:
        def is_redefined(alias: Alias) -> bool:
            return any(code != new_code and alias.meets(new) for new, new_code in redefined.get(alias.key, ()))

        return tuple(alias for alias in aliases if not is_redefined(alias))

    entries = {
        code: replace(entry, aliases=remaining(entry.aliases, code), nouns=remaining(entry.nouns, code))
        for code, entry in base.entries.items()
    }
    for code, entry in extension.entries.items():
        if code in entries:
            aliases, nouns = entries[code].aliases, entries[code].nouns
            entry = replace(entry, aliases=(*aliases, *entry.aliases), nouns=(*nouns, *entry.nouns))
        entries[code] = entry
    return LexiconContent(
        entries,
        (*(alias for alias in base.not_countries if alias.key not in redefined), *extension.not_countries),
        {**{key: pair for key, pair in base.ambiguous.items() if key not in redefined}, **extension.ambiguous},
        (*(title for title in base.titles if remaining((title.alias,), title.code)), *extension.titles),
        base.inner | extension.inner,
        {**base.related, **extension.related},
        base.inner_counts_as if extension.inner_counts_as is None else extension.inner_counts_as,
        extension.language or base.language,
        base.state_nouns | extension.state_nouns,
    )


def check_claims(source: str, lexicon: LexiconContent) -> None:
    """Raise if two codes valid on one day share an undeclared alias, or if the lists contradict each other.

    An alias declared ambiguous belongs to all of its listed codes, whether or not their entries repeat it, and may
    be in no other entry. An alias under `not_countries` belongs to no code.
    """
    claims = defaultdict[str, list[tuple[Alias, Entry]]](list)
    for entry in lexicon.entries.values():
        for alias in entry.names:
            claims[alias.key].append((alias, entry))
    for title in lexicon.titles:
        title_entry = replace(lexicon.entries[title.code], start=title.start, end=title.end)
        claims[title.alias.key].append((title.alias, title_entry))
    for key, (alias, codes) in lexicon.ambiguous.items():
        for _, entry in claims.pop(key, ()):
            if entry.code not in codes:
                rule = f"codes must list every code that has the alias, got {', '.join(codes)} without {entry.code}"
                raise InputError(rule, place=f"{source}: ambiguous {alias.written!r}")
    for alias in lexicon.not_countries:
        holders = {entry.code for _, entry in claims.get(alias.key, ())}
        if alias.key in lexicon.ambiguous:
            holders.update(lexicon.ambiguous[alias.key][1])
        if holders:
            rule = f"must not be an alias of a code as well, got {', '.join(sorted(holders))}"
            raise InputError(rule, place=f"{source}: not_countries {alias.written!r}")
    for claims_of_key in claims.values():
        for i, (alias, entry) in enumerate(claims_of_key):
            for rival_alias, rival in claims_of_key[:i]:
                (start, end), (rival_start, rival_end) = entry.validity, rival.validity
                share_days = max(start, rival_start) <= min(end, rival_end)
                if rival.code != entry.code and share_days and alias.meets(rival_alias):
                    rule = "must belong to one code on any day or be declared under ambiguous"
                    message = f"{rule}, got {rival.code} and {entry.code}"
                    raise InputError(message, place=f"{source}: alias {alias.written!r}")
