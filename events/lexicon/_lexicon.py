"""Lexicons: find the names, nouns and titles of countries and other actors among the tokens of a document."""

from __future__ import annotations

import datetime
import difflib
import functools
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import compress

import numpy as np
import numpy.typing as npt

from corefsample._checks import shown
from corefsample.errors import ParameterError
from corefsample.languages._language import ENGLISH
from events.lexicon._content import (
    COMPOSITE,
    INNER,
    OF,
    Alias,
    AliasTable,
    Beginnings,
    Claim,
    Entry,
    LexiconContent,
    spellings,
)
from events.lexicon._file import (
    SHIPPED,
    SHIPPED_LEXICONS,
    SHIPPED_OF,
    lexicon_content,
    shipped_content,
)


@dataclass(frozen=True, slots=True)
class LexiconMatches:
    """Names of actors in one document."""

    codes: dict[int, str]  # by head token of a matched span
    spans: dict[int, tuple[int, int]]  # by the same keys: first token and end (exclusive) of the span
    n_ambiguous: int  # spans left out because several codes have their alias on the document's date


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Lexicon:
    """Names of countries and other actors, and how the tokens of a document match them.

    An alias matches a run of whole tokens whose texts, joined without white space, spell it, so "U.S." is found as one
    token and as "U." "S.". A token may end where the alias has white space or beside its punctuation, but not inside a
    word: "I" "ran" is not Iran, "to" "go" is not Togo, "U" "S" is not US. Both sides are compared in NFKC with plain
    apostrophes and hyphens. Case is ignored, except for the aliases that the file lists as cased. Matching goes from
    left to right and takes the longest alias; matches never overlap. A name listed under `not_countries` matches its
    tokens and names no country.

    If several codes have an alias, those that are valid on the document's date are candidates. One candidate is the
    match, several are ambiguous, and none is no match. An alias of a single code names it on any date: a text of 2010
    can mention Yugoslavia. A title with dates names its code on these days only.

    A noun matches the lemmas of tokens too, and in English texts that are its plural: "policeman" matches "policemen".

    Attributes
    ----------
    source
        Path of the file, or the name of a shipped lexicon.
    names
        Name of each actor, by its code, in the order of codes.
    kinds
        Class of each actor, by its code: "country", "territory", "historic", "organisation", or another word that the
        file defines.
    validity
        First and last day on which each actor was valid, by its code.
    inner
        Classes whose actors are part of other actors, as the police of a country are.
    related
        Codes that are not distinct from a code, by this code: the successors of a state, the territories of a country.
    inner_counts_as
        Actors as which an inner actor of another actor counts, such as the police of a country: any of "inner" (the
        police), "composite" (the police of this country, with the code GBR:POLICE) and "outer" (the country).
    language
        Code of the language of the names; "" if the file does not declare it.
    members
        Codes of the named actors of each class, by the code of the class, such as REBEL. Words of the class can stand
        for one of them. A class has its kind as its code, in upper or lower case, or has nouns and no other names.
    state_nouns
        Lemmas, such as "army" and "government", that can stand for the only country that a text names if they have a
        definite article.
    """

    source: str
    names: Mapping[str, str]
    kinds: Mapping[str, str]
    validity: Mapping[str, tuple[datetime.date, datetime.date]]
    _folded: AliasTable
    _cased: AliasTable
    _starts: tuple[frozenset[str], frozenset[str]]
    _nouns: AliasTable | None = None
    inner: frozenset[str] = field(default=frozenset())
    related: Mapping[str, frozenset[str]] = field(default_factory=dict)
    inner_counts_as: frozenset[str] = frozenset({INNER})
    language: str = ""
    members: Mapping[str, frozenset[str]] = field(default_factory=dict)
    state_nouns: frozenset[str] = frozenset()
    _aliases_begin: Beginnings = field(init=False)
    _nouns_begin: Beginnings = field(init=False)

    def __post_init__(self) -> None:
        nouns = () if self._nouns is None else (self._nouns,)
        object.__setattr__(self, "_aliases_begin", Beginnings(self._folded, self._cased))
        object.__setattr__(self, "_nouns_begin", Beginnings(*nouns))

    def __repr__(self) -> str:
        return f"Lexicon({self.source!r}, {len(self.names)} codes)"

    @property
    def codes(self) -> tuple[str, ...]:
        """Every code, sorted."""
        return tuple(self.names)

    def name(self, code: str) -> str:
        """Name of the actor with a code; ParameterError for an unknown code."""
        return self.names[self.require(code)]

    def require(self, code: str) -> str:
        """Return the code, or raise ParameterError with a hint at similar codes."""
        if code in self.names:
            return code
        known = {name.casefold(): each for each, name in self.names.items()}
        known |= {each.casefold(): each for each in self.names}
        close = [known[each] for each in difflib.get_close_matches(str(code).casefold(), known, cutoff=0.65)]
        meant = " or ".join(f"{near} ({self.names[near]})" for near in dict.fromkeys(close))
        hint = f"did you mean {meant}?" if meant else f"none of {len(self.names)} in {self.source} is similar"
        article = "a country" if self.noun == "countries" else "a"
        raise ParameterError(f"must be {article} code of the lexicon, got {code!r}", parameter="code", hint=hint)

    @property
    def noun(self) -> str:
        """Noun for the actors in messages: "countries", or "actors" if the lexicon has actors of other classes."""
        of_countries = {"country", "territory", "historic", "organisation"}
        return "countries" if of_countries.issuperset(self.kinds.values()) else "actors"

    @property
    def inner_codes(self) -> frozenset[str]:
        """Codes of actors that are parts of others."""
        several = (code for code, kind in self.kinds.items() if kind in self.inner and OF not in code)
        return frozenset(several) if self.inner else frozenset()

    @property
    def has_stand_ins(self) -> bool:
        """Whether any word can stand for an actor that a text names elsewhere."""
        return bool(self.members or self.state_nouns)

    def countable(self, codes: Collection[str], kinds: Collection[str] | None = None) -> tuple[str, ...]:
        """Codes as which entities count that are described as some of these actors, of these kinds; sorted."""
        possible = {*codes}
        if COMPOSITE in self.inner_counts_as:
            inner = possible & self.inner_codes
            possible.update(f"{outer}{OF}{each}" for outer in possible - inner for each in inner)
        return tuple(sorted(code for code in possible if kinds is None or self.kinds[code.split(OF)[-1]] in kinds))

    def are_distinct(self, one: Collection[str], other: Collection[str]) -> bool:
        """Whether an entity cannot be described as both sets of actors.

        It can if one set has all of the other, up to related actors. Inner actors are parts of others, so the two
        kinds are compared each by itself.
        """
        inner = self.inner_codes
        kinds = (({*one} & inner, {*other} & inner), ({*one} - inner, {*other} - inner))
        return any(self._beyond(first, second) and self._beyond(second, first) for first, second in kinds)

    def _beyond(self, one: set[str], other: set[str]) -> set[str]:
        """Codes of a set that are neither in the other nor related to one there."""
        near = other.union(*(self.related.get(code, ()) for code in other))
        return {code for code in one - near if not self.related.get(code, frozenset()) & other}

    def match(
        self,
        text: Sequence[str],
        heads: Sequence[int],
        date: datetime.date | None,
        lemma: Sequence[str] | None = None,
    ) -> LexiconMatches:
        """Find the names of actors in one document.

        Parameters
        ----------
        text
            Texts of the document's n_tokens tokens.
        heads
            Offset of each token's syntactic head, negative for a root. A span is reported at the token whose head is
            outside the span; of several, at the last one with a letter or digit.
        date
            Date of the document; None counts every code as valid.
        lemma
            Lemmas of the tokens, with which nouns of the lexicon are compared too. By default, nouns are compared with
            the texts of tokens only.

        Raises
        ------
        ParameterError
            If `heads` is not as long as `text`.
        """
        if len(heads) != len(text):
            raise ParameterError(f"must have one offset per token ({len(text)}), got {len(heads)}", parameter="heads")
        codes: dict[int, str] = {}
        spans: dict[int, tuple[int, int]] = {}
        n_ambiguous = end = 0
        for start in self._possible_starts(text, lemma):
            if start < end:
                continue
            end, claims = self._longest(text, lemma, start)
            valid = self._valid(claims, date)
            if len(valid) == 1:
                head = _head(text, heads, start, end)
                codes[head], spans[head] = valid[0], (start, end)
            n_ambiguous += len(valid) > 1
        return LexiconMatches(codes, spans, n_ambiguous)

    def may_start(self, vocabulary: Sequence[str]) -> npt.NDArray[np.bool_]:
        """Whether an alias of a code could begin with each of these token texts.

        If False for every token of a document, `match` finds nothing in it, nor anything ambiguous.

        Returns
        -------
        array of shape (len(vocabulary),), bool
        """
        cased, folded = self._starts
        found = (plain in cased or fold in folded for plain, fold in map(spellings, vocabulary))
        return np.fromiter(found, np.bool_, len(vocabulary))

    def noun_may_start(self, vocabulary: Sequence[str]) -> npt.NDArray[np.bool_]:
        """Whether a noun could begin with each of these lemmas, as `may_start` for texts."""
        beginnings = frozenset[str]() if self._nouns is None else self._nouns.beginnings
        found = (spellings(lemma)[1] in beginnings for lemma in vocabulary)
        return np.fromiter(found, np.bool_, len(vocabulary))

    @property
    def has_nouns(self) -> bool:
        """Whether any actor is named by nouns."""
        return self._nouns is not None

    def _possible_starts(self, text: Sequence[str], lemma: Sequence[str] | None) -> Sequence[int]:
        """Tokens at which an alias, including one without a code, may begin, in order."""
        # Few tokens begin an alias: each is looked up once for a vocabulary, and only these are spelled out.
        starts = list(compress(range(len(text)), map(self._aliases_begin.__getitem__, text)))
        if self._nouns is None or lemma is None:
            return starts
        return sorted({*starts, *compress(range(len(lemma)), map(self._nouns_begin.__getitem__, lemma))})

    def _longest(self, text: Sequence[str], lemma: Sequence[str] | None, start: int) -> tuple[int, tuple[Claim, ...]]:
        """End and claims of the longest alias at a token; without an alias, the token itself and no claim."""
        several = [self._folded.longest(text, start), self._cased.longest(text, start)]
        if self._nouns is not None and lemma is not None:
            several.append(self._nouns.longest(lemma, start))
        found = [each for each in several if each is not None]
        if len(found) < 2:
            return found[0] if found else (start + 1, ())
        end = max(each_end for each_end, _ in found)
        claims = {claim for each_end, claimed in found if each_end == end for claim in claimed}
        return end, tuple(sorted(claims))

    @staticmethod
    def _valid(claims: tuple[Claim, ...], date: datetime.date | None) -> tuple[str, ...]:
        """Codes of the claims that hold on a date."""
        if not claims:
            return ()
        if len(claims) == 1:
            ((code, start, end, dated),) = claims
            return () if dated and date is not None and not start <= date <= end else (code,)
        if date is not None:
            several = len({claim.code for claim in claims}) > 1
            claims = tuple(
                claim for claim in claims if claim.start <= date <= claim.end or not (several or claim.dated)
            )
        return tuple(dict.fromkeys(claim.code for claim in claims))


def load_lexicon(lexicon: str | os.PathLike[str] | None = None, *, language: str = "") -> Lexicon:
    """Load a lexicon.

    Parameters
    ----------
    lexicon
        Path of a lexicon file (YAML, version 1), or the name of a shipped lexicon: "countries" (also for None),
        "police", which adds police and other security forces to the countries, "forces", which tells these apart by
        country, "leaders", "capitals", "governments", which is both, or "es/countries" with Spanish names.
    language
        Code of the language of the rules, which determines the default lexicon: "es/countries" for Spanish rules,
        otherwise "countries".

    Raises
    ------
    ParameterError
        If `lexicon` is not a path, or has the form of a shipped lexicon's name although no such lexicon is shipped.
    InputError
        If the file cannot be read or breaks a rule of the format; the place is the file and the entry.

    Notes
    -----
    A file extends a shipped lexicon, or several in a list; without `extends` it starts empty::

        version: 1
        extends: countries
        remove: [JEY]                         # shipped codes to leave out
        entries:
          - code: X-G7                        # any text without white space, comma or ">"
            name: Group of Seven
            kind: organisation                # its class, any word; country by default
            aliases: [Group of Seven, G-7]    # in upper or lower case
            cased: [G7]                       # only as written
            from: 1976-06-27                  # first and last day; omit where there is no limit
            to: 1997-06-20
          - {code: USA, aliases: [Yankees]}   # one more alias of a shipped code
        not_countries: [G7 chord]             # contains a name, but is not a country
        ambiguous:
          - {alias: Guinean, codes: [GIN, GNB]}
        related: {SUN: [RUS]}                 # an entity may be both, unlike of other actors

    What a file says about an alias replaces everything that the shipped lexicon says about it. An alias of two codes
    that were valid on the same day must be declared ambiguous, with all its codes.
    """
    if lexicon is not None and not isinstance(lexicon, (str, os.PathLike)):
        raise ParameterError(f"must be a path or None, got {shown(lexicon)}", parameter="lexicon")
    path = SHIPPED_OF.get(language, SHIPPED) if lexicon is None else os.fspath(lexicon)
    if path in SHIPPED_LEXICONS:
        return _shipped_lexicon(path)
    if os.sep not in path and "." not in path and not os.path.exists(path):
        names = ", ".join(SHIPPED_LEXICONS)
        raise ParameterError(f"must be one of {names}, or a path to a YAML file, got {path!r}", parameter="lexicon")
    return _compiled(path, lexicon_content(path))


@functools.cache
def _shipped_lexicon(name: str) -> Lexicon:
    return _compiled(name, shipped_content(name))


def _compiled(source: str, content: LexiconContent) -> Lexicon:
    entries = [content.entries[code] for code in sorted(content.entries)]
    counts_as = content.inner_counts_as or frozenset({INNER})
    composites = _composites(entries, content.inner) if COMPOSITE in counts_as else []
    owned: list[tuple[Alias, tuple[Claim, ...]]] = [
        *((alias, (_claim(entry),)) for entry in entries for alias in entry.names),
        *((alias, tuple(_claim(content.entries[c]) for c in codes)) for alias, codes in content.ambiguous.values()),
        *((alias, ()) for alias in content.not_countries),
    ]
    for title in content.titles:
        dated = title.start is not None or title.end is not None
        days = (title.start or datetime.date.min, title.end or datetime.date.max)
        claim = Claim(title.code, *days, dated=True) if dated else _claim(content.entries[title.code])
        owned.append((title.alias, (claim,)))
    nouns = [(alias, (_claim(entry),)) for entry in entries for alias in entry.nouns]
    if content.language in ("", ENGLISH):
        owned += _plurals(nouns, {alias.key for alias, _ in owned})
    folded = AliasTable.of((alias, codes) for alias, codes in owned if not alias.cased)
    cased = AliasTable.of(((alias, codes) for alias, codes in owned if alias.cased), cased=True)
    members = _members(entries)
    return Lexicon(
        source,
        {entry.code: entry.name for entry in (*entries, *composites)},
        {entry.code: entry.kind for entry in (*entries, *composites)},
        {entry.code: entry.validity for entry in (*entries, *composites)},
        folded,
        cased,
        (cased.country_beginnings(), folded.country_beginnings()),
        AliasTable.of(nouns) if nouns else None,
        content.inner,
        {
            code: content.related.get(code, frozenset()) | members.get(code, frozenset())
            for code in {*content.related, *members}
        },
        counts_as,
        content.language,
        members,
        content.state_nouns,
    )


def _members(entries: Sequence[Entry]) -> dict[str, frozenset[str]]:
    """By code of a class the codes of the named actors of its kind."""
    own = [entry for entry in entries if OF not in entry.code]
    classes = {
        entry.code: entry.kind
        for entry in own
        if entry.nouns and (entry.code.casefold() == entry.kind.casefold() or not entry.aliases)
    }
    named = {
        code: frozenset(entry.code for entry in own if entry.kind == kind and entry.code not in classes)
        for code, kind in classes.items()
    }
    return {code: codes for code, codes in named.items() if codes}


def _composites(entries: Sequence[Entry], inner: Collection[str]) -> list[Entry]:
    """Every inner actor of every other, without names in texts."""
    known = {entry.code for entry in entries}
    several = ((one, other) for one in entries for other in entries if one.kind not in inner and other.kind in inner)
    return [
        Entry(f"{one.code}{OF}{other.code}", f"{one.name}: {other.name}", other.kind, (), one.start, one.end)
        for one, other in several
        if OF not in other.code and f"{one.code}{OF}{other.code}" not in known
    ]


def _plurals(
    nouns: Iterable[tuple[Alias, tuple[Claim, ...]]], taken: Collection[str]
) -> list[tuple[Alias, tuple[Claim, ...]]]:
    """Plurals of English nouns: texts match where a lemmatiser leaves "Guerrillas", and takes it for a name."""
    plurals = []
    for noun, claims in nouns:
        word = noun.written.lower()
        if word.endswith("man"):
            plural = f"{word[:-2]}en"
        elif word.endswith(("s", "x", "ch", "sh", "z")):
            plural = f"{word}es"
        elif word.endswith("y") and word[-2:-1] not in "aeiou":
            plural = f"{word[:-1]}ies"
        else:
            plural = f"{word}s"
        alias = Alias.of(plural)
        if alias.key not in taken:
            plurals.append((alias, claims))
    return plurals


def _claim(entry: Entry) -> Claim:
    return Claim(entry.code, *entry.validity, dated=False)


def _head(tokens: Sequence[str], heads: Sequence[int], start: int, end: int) -> int:
    outside = [i for i in range(start, end) if not start <= heads[i] < end]
    words = [i for i in outside if any(map(str.isalnum, spellings(tokens[i])[0]))]
    # If the heads inside the span form a cycle (readers reject such parses), the last token is as good as any.
    return int((words or outside or [end - 1])[-1])
