"""What a lexicon holds: aliases, codes with their validity, and the rules by which two files combine."""

from __future__ import annotations

import datetime
import unicodedata
from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from corefsample.errors import InputError

__all__ = ["Alias", "Entry", "LexiconContent", "check_claims", "laid_over", "normalised", "without"]

_PLAIN = str.maketrans(
    dict.fromkeys("‘’‛ʼ′´", "'") | dict.fromkeys("‐‑‒–−", "-") | dict.fromkeys("\u00ad\u200b\u2060\ufeff", "")
)


def normalised(text: str) -> str:
    """Text in NFKC, with plain apostrophes and hyphens and without invisible characters."""
    return text if text.isascii() else unicodedata.normalize("NFKC", text.translate(_PLAIN))


@dataclass(frozen=True, slots=True)
class Alias:
    """One way to write a name, as documents are compared with it."""

    written: str  # as in the file
    cased: bool  # False: upper and lower case are one
    squeezed: str  # normalised, without white space, and case-folded unless cased
    cuts: frozenset[int]  # offsets in `squeezed` where one token may end and the next begin
    key: str  # squeezed and case-folded: aliases of different keys never match the same text

    @classmethod
    def of(cls, written: str, *, cased: bool = False) -> Alias:
        """Squeeze a name; tokens may meet at its white space and beside its punctuation, never in a word."""
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


@dataclass(frozen=True, slots=True)
class Entry:
    """One code, the names that it goes by, and the days on which it was valid."""

    code: str
    name: str
    kind: str
    aliases: tuple[Alias, ...]
    start: datetime.date | None  # first day; None: from the beginning of time
    end: datetime.date | None  # last day; None: to the end of it

    @property
    def validity(self) -> tuple[datetime.date, datetime.date]:
        """First and last day on which the code was valid."""
        return self.start or datetime.date.min, self.end or datetime.date.max

    def overlaps(self, other: Entry) -> bool:
        """Whether both were valid on some day."""
        return max(self.validity[0], other.validity[0]) <= min(self.validity[1], other.validity[1])


@dataclass(frozen=True, slots=True)
class LexiconContent:
    """What a lexicon's file says, laid over what it extends."""

    entries: Mapping[str, Entry]  # by code
    not_countries: tuple[Alias, ...]  # some share a key: "Korean Airlines", "Korean Air Lines"
    ambiguous: Mapping[str, tuple[Alias, tuple[str, ...]]]  # by key: the alias and its codes, sorted


def without(content: LexiconContent, removed: Collection[str]) -> LexiconContent:
    """The content without some codes; an ambiguous alias of which one code is left is ambiguous no more."""
    ambiguous = {}
    for key, (alias, codes) in content.ambiguous.items():
        left = tuple(code for code in codes if code not in removed)
        if left:
            ambiguous[key] = (alias, left)
    entries = {code: entry for code, entry in content.entries.items() if code not in removed}
    return LexiconContent(entries, content.not_countries, ambiguous)


def laid_over(base: LexiconContent, own: LexiconContent) -> LexiconContent:
    """A file's content over the one that it extends, which loses every alias that the file speaks of.

    An entry of `own` replaces that of `base` with its code, but keeps its aliases.
    """
    spoken = defaultdict[str, list[tuple[Alias, str | None]]](list)
    for entry in own.entries.values():
        for alias in entry.aliases:
            spoken[alias.key].append((alias, entry.code))
    for alias in (*own.not_countries, *(alias for alias, _ in own.ambiguous.values())):
        spoken[alias.key].append((alias, None))

    def kept(entry: Entry) -> tuple[Alias, ...]:
        return tuple(
            alias
            for alias in entry.aliases
            if not any(entry.code != code and alias.meets(said) for said, code in spoken.get(alias.key, ()))
        )

    entries = {code: replace(entry, aliases=kept(entry)) for code, entry in base.entries.items()}
    for code, entry in own.entries.items():
        before = entries[code].aliases if code in entries else ()
        entries[code] = replace(entry, aliases=(*before, *entry.aliases))
    return LexiconContent(
        entries,
        (*(alias for alias in base.not_countries if alias.key not in spoken), *own.not_countries),
        {key: declared for key, declared in base.ambiguous.items() if key not in spoken} | dict(own.ambiguous),
    )


def check_claims(source: str, content: LexiconContent) -> None:
    """Refuse an undeclared alias of two codes valid on one day, and contradictions between the lists.

    An alias declared ambiguous is held by all of its listed codes, whether their entries repeat it or not,
    and may stand in no other entry. An alias under `not_countries` is held by none.
    """
    claims = defaultdict[str, list[tuple[Alias, Entry]]](list)
    for entry in content.entries.values():
        for alias in entry.aliases:
            claims[alias.key].append((alias, entry))
    for key, (alias, codes) in content.ambiguous.items():
        for _, entry in claims.pop(key, ()):
            if entry.code not in codes:
                found = f"{', '.join(codes)} without {entry.code}"
                rule = "codes must list every code that has the alias"
                raise InputError(f"{source}: ambiguous {alias.written!r}: {rule}, got {found}")
    for alias in content.not_countries:
        holders = {entry.code for _, entry in claims.get(alias.key, ())}
        if alias.key in content.ambiguous:
            holders.update(content.ambiguous[alias.key][1])
        if holders:
            found = ", ".join(sorted(holders))
            raise InputError(
                f"{source}: not_countries {alias.written!r}: must not be an alias of a code too, got {found}"
            )
    for claimed in claims.values():
        for i, (alias, entry) in enumerate(claimed):
            for other, rival in claimed[:i]:
                if rival.code != entry.code and alias.meets(other) and entry.overlaps(rival):
                    found = f"{rival.code} and {entry.code}"
                    rule = "must be of one code on any day or be declared under ambiguous"
                    raise InputError(f"{source}: alias {alias.written!r}: {rule}, got {found}")
