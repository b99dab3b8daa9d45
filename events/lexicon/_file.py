"""The YAML file of a lexicon, version 1: names of actors, how they are read, checked and combined."""

from __future__ import annotations

import datetime
import functools
import unicodedata
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Annotated, Literal

import msgspec

from corefsample.errors import InputError, shown
from corefsample.languages._language import ENGLISH
from events._yaml_file import file_bytes, read_yaml, typed

SHIPPED = "countries"
SHIPPED_LEXICONS = (SHIPPED, "police", "forces", "leaders", "capitals", "governments", "es/countries")
SHIPPED_OF = {"es": "es/countries"}  # default lexicon by language; other languages have the English one
# What the police of a country can count as: police (inner), police of it (composite), the country (outer).
OF, INNER, COMPOSITE, OUTER = ":", "inner", "composite", "outer"
Text = Annotated[str, msgspec.Meta(pattern=r"^\S(.*\S)?$")]
Day = datetime.date | msgspec.UnsetType | None

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


_EMPTY = LexiconContent({}, (), {})


class _Entry(msgspec.Struct, forbid_unknown_fields=True, rename={"start": "from", "end": "to"}):
    code: Annotated[str, msgspec.Meta(pattern=r"^(?!-$)[^\s,>]+$")]
    name: Text | None = None
    kind: Annotated[str, msgspec.Meta(pattern=r"^[^\W\d_][\w-]*$")] | None = None
    aliases: list[Text] = []
    cased: list[Text] = []
    nouns: list[Text] = []
    start: Day = msgspec.UNSET
    end: Day = msgspec.UNSET


class _Title(msgspec.Struct, forbid_unknown_fields=True, rename={"start": "from", "end": "to"}):
    title: Text | list[Text]
    office: Text | None = None  # for readers
    code: str | None = None
    start: datetime.date | None = None
    end: datetime.date | None = None


class _Declaration(msgspec.Struct, forbid_unknown_fields=True):
    alias: Text
    codes: list[str]


class _LexiconFile(msgspec.Struct, forbid_unknown_fields=True):
    version: int
    name: Text = SHIPPED
    language: str = ""
    extends: str | list[str] = []
    remove: list[str] = []
    entries: list[_Entry] = []
    titles: list[_Title] = []
    inner: list[str] = []
    inner_counts_as: list[Literal["inner", "composite", "outer"]] = []
    related: dict[str, list[str]] = {}
    state_nouns: list[str] = []
    not_countries: list[Text] = []
    ambiguous: list[_Declaration] = []


@functools.cache
def shipped_content(*names: str) -> LexiconContent:
    """Content of shipped lexicons, each added to the ones before it; without names, content of "countries"."""
    lexicon = _EMPTY
    for name, file in _shipped_files(*names or (SHIPPED,)).items():
        lexicon = _added(f"{name}.yaml", file, lexicon)
    return lexicon


@functools.cache
def _shipped_files(*names: str) -> dict[str, _LexiconFile]:
    """Shipped lexicon files by name, each after the files that it extends."""
    files: dict[str, _LexiconFile] = {}
    for name in names:
        data = _resource(name).read_bytes()
        file = typed(f"{name}.yaml", read_yaml(f"{name}.yaml", data), _LexiconFile)
        files |= _shipped_files(*_extended(file)) | {name: file}
    return files


def _resource(name: str) -> Traversable:
    *folder, stem = name.split("/")
    if stem == SHIPPED:  # the names of countries are a resource of their language
        return resources.files("corefsample.languages").joinpath(folder[0] if folder else ENGLISH, f"{stem}.yaml")
    return resources.files("events").joinpath("data", f"{stem}.yaml")


def _extended(file: _LexiconFile) -> list[str]:
    return [file.extends] if isinstance(file.extends, str) else file.extends


def lexicon_content(path: str) -> LexiconContent:
    """Read a lexicon file, or a shipped lexicon by its name, and combine it with the lexicons that it extends.

    If a file extends a shipped lexicon, its use of an alias replaces every use in the shipped lexicon: an alias that
    the file assigns to a code is removed from the other codes, from `not_countries` and from `ambiguous`. An entry with
    a shipped code adds aliases to this code; the name, kind, from and to of the entry replace the shipped values (`to:
    null` means no last day).

    Raises
    ------
    InputError
        If the file cannot be read, or breaks a rule of the format; the place is the file and the entry.
    """
    if path in SHIPPED_LEXICONS:
        return shipped_content(path)
    file = typed(path, read_yaml(path, file_bytes(path)), _LexiconFile)
    if file.version != 1:
        raise _invalid(path, "version", "must be 1", file.version)
    return _added(path, file, _base(path, file))


def _added(source: str, file: _LexiconFile, base: LexiconContent) -> LexiconContent:
    """Content of a file combined with that of the lexicons that it extends."""
    entries: dict[str, Entry] = {}
    for i, raw in enumerate(file.entries):
        location = f"{source}: entries[{i}] ({raw.code})"
        if raw.code in entries or raw.code in file.remove:
            raise _invalid(location, "code", "must not be in another entry or in remove", raw.code)
        entries[raw.code] = _entry(location, raw, base.entries.get(raw.code))
    codes = {*base.entries, *entries}
    ambiguous: dict[str, tuple[Alias, tuple[str, ...]]] = {}
    for i, declaration in enumerate(file.ambiguous):
        location = f"{source}: ambiguous[{i}] ({declaration.alias})"
        alias = _alias(location, declaration.alias)
        if alias.key in ambiguous:
            raise _invalid(location, "alias", "must be declared once", declaration.alias)
        for k, code in enumerate(declaration.codes):
            if code not in codes:
                raise _invalid(location, f"codes[{k}]", "must be the code of an entry", code)
        if len(set(declaration.codes)) < 2:
            raise _invalid(location, "codes", "must be at least two different codes", declaration.codes)
        ambiguous[alias.key] = alias, tuple(sorted(set(declaration.codes)))
    titles: list[Title] = []
    for i, title in enumerate(file.titles):
        for written in [title.title] if isinstance(title.title, str) else title.title:
            location = f"{source}: titles[{i}] ({written})"
            if title.code is None or title.code not in codes:
                raise _invalid(location, "code", "must be the code of an entry", title.code)
            _require_order(location, title.start, title.end)
            titles.append(Title(_alias(location, written), title.code, title.start, title.end))
    for key, related_codes in file.related.items():
        for code in (key, *related_codes):
            if code not in codes:
                raise _invalid(source, f"related.{key}", "must be codes of entries", code)
    extension = LexiconContent(
        entries,
        tuple(_alias(f"{source}: not_countries[{i}]", name) for i, name in enumerate(file.not_countries)),
        ambiguous,
        tuple(titles),
        frozenset(file.inner),
        {code: frozenset(related_codes) for code, related_codes in file.related.items()},
        frozenset[str](file.inner_counts_as) or None,
        file.language,
        frozenset(noun.lower() for noun in file.state_nouns),
    )
    lexicon = _combined(base, extension)
    for code, entry in entries.items():
        if OF in code:  # a code with a colon is ACTOR:INNER, for an inner actor INNER of an ACTOR
            kinds = [lexicon.entries[actor].kind for actor in code.split(OF) if actor in lexicon.entries]
            if len(kinds) != 2 or [kind in lexicon.inner for kind in kinds] != [False, True] or entry.kind != kinds[1]:
                raise _invalid(source, "code", "with a colon must be ACTOR:INNER and have the kind of INNER", code)
    kinds_of_entries = sorted({entry.kind for entry in lexicon.entries.values()})
    for i, kind in enumerate(file.inner):
        if kind not in kinds_of_entries:
            rule = f"must be the kind of an entry ({', '.join(kinds_of_entries)})"
            raise _invalid(source, f"inner[{i}]", rule, kind)
    _check_claims(source, lexicon)
    return lexicon


def _base(source: str, file: _LexiconFile) -> LexiconContent:
    """Content that a file extends: nothing, or shipped lexicons without the codes that the file removes."""
    if not file.extends:
        if file.remove:
            raise _invalid(source, "remove", "needs extends", file.remove)
        if not file.entries:
            raise _invalid(source, "entries", "must have an entry unless the file extends another", file.entries)
        return _EMPTY
    names = _extended(file)
    if not {*names} <= {*SHIPPED_LEXICONS}:
        raise _invalid(source, "extends", f"must be shipped lexicons ({', '.join(SHIPPED_LEXICONS)})", file.extends)
    lexicon = shipped_content(*names)
    for i, code in enumerate(file.remove):
        if code not in lexicon.entries:
            raise _invalid(source, f"remove[{i}]", "must be a code of the shipped lexicon", code)
    removed = {*file.remove}
    remaining_codes = {
        key: (alias, tuple(code for code in codes if code not in removed))
        for key, (alias, codes) in lexicon.ambiguous.items()
    }
    return replace(
        lexicon,
        entries={code: entry for code, entry in lexicon.entries.items() if removed.isdisjoint((code, *code.split(OF)))},
        ambiguous={key: pair for key, pair in remaining_codes.items() if pair[1]},
        titles=tuple(title for title in lexicon.titles if title.code not in removed),
        related={code: codes - removed for code, codes in lexicon.related.items() if code not in removed},
    )


def _entry(location: str, raw: _Entry, shipped_entry: Entry | None) -> Entry:
    """One entry of a file, whose missing fields, except its aliases, come from the shipped entry of the code."""
    aliases = tuple(
        _alias(location, written, cased=cased)
        for cased, names in ((False, raw.aliases), (True, raw.cased))
        for written in names
    )
    nouns = tuple(_alias(location, written) for written in raw.nouns)
    if shipped_entry is None:
        if raw.name is None:
            raise _invalid(location, "name", "is required unless the code is shipped", None)
        if not aliases and not nouns:
            raise _invalid(location, "aliases", "or cased must have an alias", raw.aliases)
        shipped_entry = Entry(raw.code, raw.name, "country", (), None, None)
    start = shipped_entry.start if raw.start is msgspec.UNSET else raw.start
    end = shipped_entry.end if raw.end is msgspec.UNSET else raw.end
    _require_order(location, start, end)
    return Entry(raw.code, raw.name or shipped_entry.name, raw.kind or shipped_entry.kind, aliases, start, end, nouns)


def _require_order(location: str, start: datetime.date | None, end: datetime.date | None) -> None:
    if start and end and start > end:
        raise _invalid(location, "from", f"must not be after to ({end})", str(start))


def _alias(location: str, written: str, *, cased: bool = False) -> Alias:
    alias = Alias.of(written, cased=cased)
    if not any(map(str.isalnum, alias.squeezed)):
        raise _invalid(location, "alias", "must contain a letter or a digit", written)
    return alias


def _invalid(location: str, field: str, rule: str, value: object) -> InputError:
    return InputError(f"{field} {rule}, got {shown(value)}", place=location)


def _combined(base: LexiconContent, extension: LexiconContent) -> LexiconContent:
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


def _check_claims(source: str, lexicon: LexiconContent) -> None:
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
