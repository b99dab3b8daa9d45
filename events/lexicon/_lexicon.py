"""Lexicons: find the names, nouns and titles of countries and other actors among the tokens of a document."""

import datetime
import functools
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import compress, count
from typing import NamedTuple

import numpy as np

from corefsample.errors import ParameterError, did_you_mean, shown
from corefsample.languages._language import ENGLISH
from events.lexicon import _file as file
from events.lexicon._file import OF

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

    def __init__(self, aliases: Iterable[tuple[file.Alias, tuple[Claim, ...]]], *, cased: bool = False) -> None:
        self.claims, self.cuts, self.cased = {}, {}, cased
        for alias, claims in aliases:
            text = alias.squeezed
            self.claims[text] = tuple(sorted({*self.claims.get(text, ()), *claims}))
            self.cuts[text] = self.cuts.get(text, frozenset()) | alias.cuts
        prefixes = {text: {text[:end] for end in (*self.cuts[text], len(text)) if end} for text in self.claims}
        self.beginnings = frozenset[str]().union(*prefixes.values())
        with_code = (prefixes[text] for text, claims in self.claims.items() if claims)
        self.beginnings_with_code = frozenset[str]().union(*with_code)

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


class Beginnings(dict[str, tuple[AliasTable, ...]]):
    """Those of several tables in which an alias could begin with a token; computed once for each token."""

    def __init__(self, *tables: AliasTable) -> None:
        super().__init__()
        self._tables = tables

    def __missing__(self, token: str) -> tuple[AliasTable, ...]:
        if len(self) >= _MOST_TOKENS:  # limits the memory for large vocabularies
            self.clear()
        self[token] = tables = tuple(table for table in self._tables if table.begins(token))
        return tables


@functools.lru_cache(maxsize=_MOST_TOKENS)
def spellings(token: str) -> tuple[str, str]:
    """A token's text in the forms in which cased and folded aliases are compared with it."""
    plain = "".join(file.normalised(token).split())
    return plain, plain.casefold()


@dataclass(frozen=True, slots=True)
class LexiconMatches:
    """Names of actors in one document."""

    codes: dict[int, str]  # code of each matched span, by its head token
    spans: dict[int, tuple[int, int]]  # first token and exclusive end of each matched span, by its head token
    n_ambiguous: int  # number of spans left out because several codes have their alias on the document's date


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
    _nouns: AliasTable
    inner: frozenset[str] = field(default=frozenset())
    related: Mapping[str, frozenset[str]] = field(default_factory=dict)
    inner_counts_as: frozenset[str] = frozenset({file.INNER})
    language: str = ""
    members: Mapping[str, frozenset[str]] = field(default_factory=dict)
    state_nouns: frozenset[str] = frozenset()
    _aliases_begin: Beginnings = field(init=False)
    _nouns_begin: Beginnings = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_aliases_begin", Beginnings(self._folded, self._cased))
        object.__setattr__(self, "_nouns_begin", Beginnings(self._nouns))

    def __repr__(self) -> str:
        return f"Lexicon({self.source!r}, {len(self.names)} codes)"

    @property
    def codes(self) -> tuple[str, ...]:
        """Every code, sorted."""
        return tuple(self.names)

    def name(self, code: str) -> str:
        """Name of the actor with a code; raises ParameterError if the lexicon does not have the code."""
        return self.names[self.require(code)]

    def require(self, code: str, parameter: str = "code") -> str:
        """Return `code` if the lexicon has it; otherwise raise ParameterError with a hint at similar codes."""
        if code in self.names:
            return code
        hint = did_you_mean(code, self.names, self.names) or f"none of {len(self.names)} in {self.source} is similar"
        article = "a country" if self.noun == "countries" else "a"
        raise ParameterError(f"must be {article} code of the lexicon, got {code!r}", parameter=parameter, hint=hint)

    @property
    def noun(self) -> str:
        """Noun for the actors in messages: "countries", or "actors" if the lexicon has actors of other classes."""
        country_kinds = {"country", "territory", "historic", "organisation"}
        return "countries" if country_kinds.issuperset(self.kinds.values()) else "actors"

    @property
    def inner_codes(self) -> frozenset[str]:
        """Codes of actors that are parts of other actors, such as the police."""
        codes = (code for code, kind in self.kinds.items() if kind in self.inner and OF not in code)
        return frozenset(codes) if self.inner else frozenset()

    def countable(self, codes: Collection[str], kinds: Collection[str] | None = None) -> tuple[str, ...]:
        """Codes as which an entity counts that is described as the actors `codes`, sorted.

        By default, codes of all kinds are returned; otherwise only codes of the `kinds`.
        """
        possible = {*codes}
        if file.COMPOSITE in self.inner_counts_as:
            inner = possible & self.inner_codes
            possible.update(f"{outer}{OF}{inner_code}" for outer in possible - inner for inner_code in inner)
        return tuple(sorted(code for code in possible if kinds is None or self.kinds[code.split(OF)[-1]] in kinds))

    def are_distinct(self, codes: Collection[str], other_codes: Collection[str]) -> bool:
        """Whether one entity cannot be described as both sets of actors.

        It can if one set contains the other, up to related actors. Inner actors are parts of others, so inner actors
        are compared with inner actors, and outer with outer ones.
        """
        inner = self.inner_codes
        pairs = (({*codes} & inner, {*other_codes} & inner), ({*codes} - inner, {*other_codes} - inner))
        return any(self._beyond(a, b) and self._beyond(b, a) for a, b in pairs)

    def _beyond(self, codes: set[str], other_codes: set[str]) -> set[str]:
        """Elements of `codes` that are neither in `other_codes` nor related to a code there."""
        close_codes = other_codes.union(*(self.related.get(code, ()) for code in other_codes))
        return {code for code in codes - close_codes if not self.related.get(code, frozenset()) & other_codes}

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
            outside the span; if several tokens have such a head, at the last of them with a letter or digit.
        date
            Date of the document; if None, every code counts as valid.
        lemma
            Lemmas of the tokens. Nouns of the lexicon are compared with the lemmas and texts of tokens; by default,
            with the texts only.

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
        # Few tokens begin an alias, so that the cached tables of distinct tokens avoid most searches.
        searches = [(self._aliases_begin, text)]
        if lemma is not None and self.has_nouns:
            searches.append((self._nouns_begin, lemma))
        starts = {start for begin, words in searches for start in compress(count(), map(begin.__getitem__, words))}
        for start in sorted(starts):
            if start < end:
                continue
            tables = [(table, words) for begin, words in searches for table in begin[words[start]]]
            matches = [match for table, words in tables if (match := table.longest(words, start)) is not None]
            if not matches:
                continue
            if len(matches) == 1 and len(matches[0][1]) == 1 and not matches[0][1][0].dated:  # most names
                end, (claim,) = matches[0]
                head = start if end == start + 1 else _head(text, heads, start, end)
                codes[head], spans[head] = claim.code, (start, end)
                continue
            end = max(match_end for match_end, _ in matches)
            claims = sorted({claim for match_end, of_match in matches if match_end == end for claim in of_match})
            is_shared = len({claim.code for claim in claims}) > 1
            valid = {
                claim.code: None
                for claim in claims
                if date is None or claim.start <= date <= claim.end or not (is_shared or claim.dated)
            }
            if len(valid) == 1:
                head = _head(text, heads, start, end)
                (codes[head],), spans[head] = valid, (start, end)
            n_ambiguous += len(valid) > 1
        return LexiconMatches(codes, spans, n_ambiguous)

    def may_start(self, vocabulary: Sequence[str]) -> np.typing.NDArray[np.bool_]:
        """Whether an alias of a code could begin with each token text of a vocabulary.

        If False for every token of a document, `match` finds neither names nor ambiguous names in the document.

        Returns
        -------
        array of shape (len(vocabulary),), bool
        """
        cased, folded = self._cased.beginnings_with_code, self._folded.beginnings_with_code
        flags = (plain in cased or fold in folded for plain, fold in map(spellings, vocabulary))
        return np.fromiter(flags, np.bool_, len(vocabulary))

    def noun_may_start(self, vocabulary: Sequence[str]) -> np.typing.NDArray[np.bool_]:
        """Whether a noun of the lexicon could begin with each lemma of a vocabulary; see `may_start` for texts."""
        return np.fromiter(map(self._nouns.begins, vocabulary), np.bool_, len(vocabulary))

    @property
    def has_nouns(self) -> bool:
        """Whether any actor is named by nouns."""
        return bool(self._nouns.claims)


def load_lexicon(lexicon: str | os.PathLike[str] | None = None, *, language: str = "") -> Lexicon:
    """Load a lexicon.

    Parameters
    ----------
    lexicon
        Path of a lexicon file (YAML, version 1), or the name of a shipped lexicon: "countries"; "police", which adds
        police and other security forces to the countries; "forces", which distinguishes these forces by country;
        "leaders"; "capitals"; "governments", which contains leaders and capitals; or "es/countries" with Spanish names.
        By default, the lexicon of countries in the language.
    language
        Code of the language of the rules, which determines the default lexicon: "es/countries" for Spanish rules,
        otherwise "countries".

    Raises
    ------
    ParameterError
        If `lexicon` is not a path, or has the form of a shipped lexicon's name and no shipped lexicon has this name.
    InputError
        If the file cannot be read or breaks a rule of the format; the error's place is the file and the entry.

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
            from: 1976-06-27                  # first and last day; omit for no limit
            to: 1997-06-20
          - {code: USA, aliases: [Yankees]}   # one more alias of a shipped code
        not_countries: [G7 chord]             # contains a name, but is not a country
        ambiguous:
          - {alias: Guinean, codes: [GIN, GNB]}
        related: {SUN: [RUS]}                 # an entity may be both, unlike of other actors

    The entries of a file for an alias replace all entries of the shipped lexicon for this alias. An alias of two codes
    that were valid on the same day must be declared ambiguous, with all its codes.
    """
    if lexicon is not None and not isinstance(lexicon, (str, os.PathLike)):
        raise ParameterError(f"must be a path or None, got {shown(lexicon)}", parameter="lexicon")
    path = file.SHIPPED_OF.get(language, file.SHIPPED) if lexicon is None else os.fspath(lexicon)
    if path in file.SHIPPED_LEXICONS:
        return _shipped_lexicon(path)
    if os.sep not in path and "." not in path and not os.path.exists(path):
        rule = f"must be one of {', '.join(file.SHIPPED_LEXICONS)}, or a path to a YAML file, got {path!r}"
        raise ParameterError(rule, parameter="lexicon", hint=did_you_mean(path, file.SHIPPED_LEXICONS))
    return _compiled(path, file.lexicon_content(path))


@functools.cache
def _shipped_lexicon(name: str) -> Lexicon:
    return _compiled(name, file.shipped_content(name))


def _compiled(source: str, definition: file.LexiconContent) -> Lexicon:
    by_code = definition.entries
    entries = [by_code[code] for code in sorted(by_code)]
    counts_as = definition.inner_counts_as or frozenset({file.INNER})
    # Without aliases: every inner actor of every other actor, such as the police of each country
    simple_entries = [entry for entry in entries if OF not in entry.code]
    composites = [
        file.Entry(
            f"{outer.code}{OF}{inner.code}", f"{outer.name}: {inner.name}", inner.kind, (), outer.start, outer.end
        )
        for outer in entries
        for inner in simple_entries
        if file.COMPOSITE in counts_as and inner.kind in definition.inner and outer.kind not in definition.inner
        if f"{outer.code}{OF}{inner.code}" not in by_code
    ]
    aliases: list[tuple[file.Alias, tuple[Claim, ...]]] = [
        *((alias, (_claim(entry),)) for entry in entries for alias in entry.names),
        *((alias, tuple(_claim(by_code[code]) for code in codes)) for alias, codes in definition.ambiguous.values()),
        *((alias, ()) for alias in definition.not_countries),
    ]
    for title in definition.titles:
        is_dated = title.start is not None or title.end is not None
        days = (title.start or datetime.date.min, title.end or datetime.date.max)
        claim = Claim(title.code, *days, dated=True) if is_dated else _claim(by_code[title.code])
        aliases.append((title.alias, (claim,)))
    nouns = [(alias, (_claim(entry),)) for entry in entries for alias in entry.nouns]
    if definition.language in ("", ENGLISH):
        aliases += _plurals(nouns, {alias.key for alias, _ in aliases})
    classes = {
        entry.code: entry.kind
        for entry in simple_entries
        if entry.nouns and (entry.code.casefold() == entry.kind.casefold() or not entry.aliases)
    }
    members: dict[str, frozenset[str]] = {}
    for code, kind in classes.items():
        codes = frozenset(entry.code for entry in simple_entries if entry.kind == kind and entry.code not in classes)
        if codes:
            members[code] = codes
    return Lexicon(
        source,
        {entry.code: entry.name for entry in (*entries, *composites)},
        {entry.code: entry.kind for entry in (*entries, *composites)},
        {entry.code: entry.validity for entry in (*entries, *composites)},
        AliasTable((alias, claims) for alias, claims in aliases if not alias.cased),
        AliasTable(((alias, claims) for alias, claims in aliases if alias.cased), cased=True),
        AliasTable(nouns),
        definition.inner,
        {
            code: definition.related.get(code, frozenset()) | members.get(code, frozenset())
            for code in {*definition.related, *members}
        },
        counts_as,
        definition.language,
        members,
        definition.state_nouns,
    )


def _plurals(
    nouns: Iterable[tuple[file.Alias, tuple[Claim, ...]]], used_keys: Collection[str]
) -> list[tuple[file.Alias, tuple[Claim, ...]]]:
    """Plurals of English nouns, because a lemmatiser leaves "Guerrillas" unchanged if it takes it for a name."""
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
        alias = file.Alias.of(plural)
        if alias.key not in used_keys:
            plurals.append((alias, claims))
    return plurals


def _claim(entry: file.Entry) -> Claim:
    return Claim(entry.code, *entry.validity, dated=False)


def _head(tokens: Sequence[str], heads: Sequence[int], start: int, end: int) -> int:
    candidates = [i for i in range(start, end) if not start <= heads[i] < end]
    words = [i for i in candidates if any(map(str.isalnum, spellings(tokens[i])[0]))]
    # If the heads inside the span form a cycle (readers reject such parses), the last token is as good as any.
    return int((words or candidates or [end - 1])[-1])
