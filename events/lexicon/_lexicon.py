"""The country lexicon: which tokens of a document are a country's words, and which country's."""

from __future__ import annotations

import datetime
import difflib
import functools
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from corefsample._checks import shown
from corefsample.errors import ParameterError
from events.lexicon._content import Alias, LexiconContent, normalised
from events.lexicon._file import SHIPPED, lexicon_content, shipped_content

__all__ = ["Lexicon", "LexiconMatches", "load_lexicon"]


@dataclass(frozen=True, slots=True)
class LexiconMatches:
    """The country words of one document."""

    codes: dict[int, str]  # head token of a matched span -> code
    spans: dict[int, tuple[int, int]]  # the same keys -> the span's tokens, end exclusive
    n_ambiguous: int  # spans left out because several codes hold their alias at the document's date


@dataclass(frozen=True, slots=True)
class _Held:
    """Who holds an alias; no code at all is a name that is no country."""

    codes: tuple[str, ...]
    cuts: frozenset[int]  # offsets in the squeezed alias where tokens may meet


class _Table:
    """Squeezed aliases, and the beginnings of them after which a token may end."""

    __slots__ = ("beginnings", "held")

    def __init__(self, aliases: Iterable[tuple[Alias, tuple[str, ...]]]) -> None:
        self.held: dict[str, _Held] = {}
        for alias, codes in aliases:
            before = self.held.get(alias.squeezed, _Held((), frozenset()))
            self.held[alias.squeezed] = _Held(tuple(sorted({*before.codes, *codes})), before.cuts | alias.cuts)
        self.beginnings = self._beginnings(self.held)

    @staticmethod
    def _beginnings(held: Mapping[str, _Held]) -> frozenset[str]:
        return frozenset(text[:end] for text, one in held.items() for end in (*one.cuts, len(text)) if end)

    def country_beginnings(self) -> frozenset[str]:
        """The beginnings of aliases that some code holds."""
        return self._beginnings({text: one for text, one in self.held.items() if one.codes})

    def longest(self, texts: Sequence[str], start: int) -> tuple[int, tuple[str, ...]] | None:
        """End and holders of the longest alias that begins at a token, or None.

        Empty texts (tokens of white space) are passed over inside an alias, and never end one.
        """
        if texts[start] not in self.beginnings:
            return None
        run, met, found = "", [], None
        for end in range(start, len(texts)):
            if texts[end]:
                if run:
                    met.append(len(run))
                run += texts[end]
                if run not in self.beginnings:
                    break
                held = self.held.get(run)
                if held is not None and held.cuts.issuperset(met):
                    found = end + 1, held.codes
        return found


@dataclass(frozen=True, slots=True, eq=False)
class Lexicon:
    """Names of countries, and the rule by which a document's tokens match them.

    An alias matches a run of whole tokens whose texts, put together without white space, spell it; so
    "U.S." is found as one token and as "U." "S.". Tokens may meet where the alias has white space or beside
    its punctuation, but not inside of a word: "I" "ran" is not Iran, "to" "go" not Togo, "U" "S" not US.
    Both sides are compared in NFKC with plain apostrophes and hyphens; upper and lower case are one, except
    for the aliases that the file lists as cased. The leftmost match goes first and the longest wins;
    matches never overlap. A name listed under `not_countries` takes its tokens and names nothing.

    Dates choose between the codes that hold an alias: those valid on the document's date are left. One of
    them is the match, several are ambiguous, none is no match. An alias of a single code names it at any
    date: text of 2010 can speak of Yugoslavia.

    Attributes
    ----------
    source
        Path of the file, or "countries" for the shipped lexicon.
    names
        Code to name, in the order of codes.
    kinds
        Code to "country", "territory", "historic" or "organisation".
    """

    source: str
    names: Mapping[str, str] = field(repr=False)
    kinds: Mapping[str, str] = field(repr=False)
    _validity: Mapping[str, tuple[datetime.date, datetime.date]] = field(repr=False)
    _folded: _Table = field(repr=False)
    _cased: _Table = field(repr=False)
    _starts: tuple[frozenset[str], frozenset[str]] = field(repr=False)

    @property
    def codes(self) -> tuple[str, ...]:
        """Every code, sorted."""
        return tuple(self.names)

    def name(self, code: str) -> str:
        """Name of the country with a code; ParameterError for an unknown code."""
        return self.names[self.require(code)]

    def require(self, code: str) -> str:
        """Return the code, or raise ParameterError with what it may have meant."""
        if code in self.names:
            return code
        text = str(code)
        by_name = {name.casefold(): known for known, name in self.names.items()}
        close = [
            *(known for known in (text.upper(), f"X-{text.upper()}") if known in self.names),
            *self.match([text], [-1], None).codes.values(),
            *(by_name[name] for name in difflib.get_close_matches(text.casefold(), by_name, n=2, cutoff=0.75)),
            *difflib.get_close_matches(text.upper(), self.names, n=3),
        ]
        meant = " or ".join(f"{near} ({self.names[near]})" for near in list(dict.fromkeys(close))[:3])
        hint = f"did you mean {meant}?" if meant else f"none of {len(self.names)} in {self.source} is like it"
        raise ParameterError(f"unknown country code {code!r}: {hint}")

    def match(self, text: Sequence[str], heads: Sequence[int], date: datetime.date | None) -> LexiconMatches:
        """Find the country words of one document.

        Parameters
        ----------
        text
            Texts of the document's n_tokens tokens.
        heads
            n_tokens offsets of the tokens' syntactic heads, negative for a root. A span counts at the token
            whose head lies outside of it; of several, at the last that holds a letter or digit.
        date
            Date of the document; None counts every code as valid.

        Raises
        ------
        ParameterError
            If `heads` is not as long as `text`.
        """
        if len(heads) != len(text):
            raise ParameterError(f"heads must have one offset a token, got {len(heads)} for {len(text)} tokens")
        pairs = [_spellings(token) for token in text]
        plain, folded = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
        codes: dict[int, str] = {}
        spans: dict[int, tuple[int, int]] = {}
        n_ambiguous = end = 0
        for start in [t for t, pair in enumerate(pairs) if self._begins(*pair)]:
            if start < end:
                continue
            end, holders = self._longest(plain, folded, start)
            valid = self._valid(holders, date)
            if len(valid) == 1:
                head = _head(plain, heads, start, end)
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
        found = (plain in cased or fold in folded for plain, fold in map(_spellings, vocabulary))
        return np.fromiter(found, np.bool_, len(vocabulary))

    def _begins(self, plain: str, folded: str) -> bool:
        """Whether any alias, also one that no code holds, could begin with a token."""
        return folded in self._folded.beginnings or plain in self._cased.beginnings

    def _longest(self, plain: Sequence[str], folded: Sequence[str], start: int) -> tuple[int, tuple[str, ...]]:
        """End and holders of the longest alias at a token, or the token alone, held by no code."""
        found = self._folded.longest(folded, start)
        cased = self._cased.longest(plain, start)
        if found is None or cased is None:
            return found or cased or (start + 1, ())
        if found[0] == cased[0]:
            return found[0], tuple(sorted({*found[1], *cased[1]}))
        return max(found, cased)

    def _valid(self, holders: tuple[str, ...], date: datetime.date | None) -> tuple[str, ...]:
        if len(holders) < 2 or date is None:
            return holders
        return tuple(c for c in holders if self._validity[c][0] <= date <= self._validity[c][1])


def load_lexicon(source: str | os.PathLike[str] | None = None) -> Lexicon:
    """Load a lexicon.

    Parameters
    ----------
    source
        Path of a lexicon file (YAML, version 1); None, or its name, is the shipped lexicon of countries.

    Notes
    -----
    A file extends the shipped lexicon, or starts from nothing without `extends`::

        version: 1
        extends: countries
        remove: [JEY]                         # shipped codes to leave out
        entries:
          - code: X-G7                        # any text without white space, comma or ">"
            name: Group of Seven
            kind: organisation                # or country (the default), territory, historic
            aliases: [Group of Seven, G-7]    # in any case
            cased: [G7]                       # only as written
            from: 1976-06-27                  # first and last day; leave out what is open
            to: 1997-06-20
          - {code: USA, aliases: [Yankees]}   # one more alias of a shipped code
        not_countries: [G7 chord]             # holds a name and names something else
        ambiguous:
          - {alias: Guinean, codes: [GIN, GNB]}

    What a file says of an alias replaces all that the shipped lexicon says of it. An alias of two codes that were
    valid on one day must be declared ambiguous, with all its codes.

    Raises
    ------
    ParameterError
        If `source` is no path.
    InputError
        If the file cannot be read or breaks a rule of the format: one line of file, entry, rule and value.
    """
    if source is not None and not isinstance(source, (str, os.PathLike)):
        raise ParameterError(f"lexicon must be a path or None, got {shown(source)}")
    if source is None or os.fspath(source) == SHIPPED:
        return _shipped_lexicon()
    path = os.fspath(source)
    return _compiled(path, lexicon_content(path))


@functools.cache
def _shipped_lexicon() -> Lexicon:
    return _compiled(SHIPPED, shipped_content())


def _compiled(source: str, content: LexiconContent) -> Lexicon:
    entries = [content.entries[code] for code in sorted(content.entries)]
    held = [
        *((alias, (entry.code,)) for entry in entries for alias in entry.aliases),
        *content.ambiguous.values(),
        *((alias, ()) for alias in content.not_countries),
    ]
    folded = _Table((alias, codes) for alias, codes in held if not alias.cased)
    cased = _Table((alias, codes) for alias, codes in held if alias.cased)
    return Lexicon(
        source,
        {entry.code: entry.name for entry in entries},
        {entry.code: entry.kind for entry in entries},
        {entry.code: entry.validity for entry in entries},
        folded,
        cased,
        (cased.country_beginnings(), folded.country_beginnings()),
    )


@functools.lru_cache(maxsize=1 << 16)
def _spellings(token: str) -> tuple[str, str]:
    """A token's text as cased and as folded aliases are compared with it."""
    plain = "".join(normalised(token).split())
    return plain, plain.casefold()


def _head(texts: Sequence[str], heads: Sequence[int], start: int, end: int) -> int:
    outside = [i for i in range(start, end) if not start <= heads[i] < end]
    words = [i for i in outside if any(map(str.isalnum, texts[i]))]
    # Heads in a circle inside of the span are no tree; readers refuse them, and the last token will do here.
    return int((words or outside or [end - 1])[-1])
