"""Reading and checking the YAML file of a lexicon, version 1."""

from __future__ import annotations

import datetime
import functools
from collections.abc import Collection, Mapping
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Annotated, Literal

import msgspec

from corefsample.errors import InputError, shown
from corefsample.languages._language import ENGLISH
from events._yaml_file import file_bytes, read_yaml, typed
from events.lexicon._entries import OF, Alias, Entry, LexiconContent, Title, check_claims, combined, without

SHIPPED = "countries"
SHIPPED_LEXICONS = (SHIPPED, "police", "forces", "leaders", "capitals", "governments", "es/countries")
SHIPPED_OF = {"es": "es/countries"}  # default lexicon by language; other languages have the English one
DEFAULT_KIND = "country"
_EMPTY = LexiconContent({}, (), {})
Text = Annotated[str, msgspec.Meta(pattern=r"^\S(.*\S)?$")]
Day = datetime.date | msgspec.UnsetType | None


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
    not_countries = tuple(_alias(f"{source}: not_countries[{i}]", name) for i, name in enumerate(file.not_countries))
    ambiguous: dict[str, tuple[Alias, tuple[str, ...]]] = {}
    for i, declaration in enumerate(file.ambiguous):
        location = f"{source}: ambiguous[{i}] ({declaration.alias})"
        alias = _alias(location, declaration.alias)
        if alias.key in ambiguous:
            raise _invalid(location, "alias", "must be declared once", declaration.alias)
        ambiguous[alias.key] = alias, _codes(location, declaration, {*base.entries, *entries})
    titles = tuple(
        _title(f"{source}: titles[{i}] ({written})", raw, written, {*base.entries, *entries})
        for i, raw in enumerate(file.titles)
        for written in ([raw.title] if isinstance(raw.title, str) else raw.title)
    )
    for key, related_codes in file.related.items():
        for code in (key, *related_codes):
            if code not in {*base.entries, *entries}:
                raise _invalid(source, f"related.{key}", "must be codes of entries", code)
    related = {code: frozenset(related_codes) for code, related_codes in file.related.items()}
    counts_as = frozenset[str](file.inner_counts_as) or None
    inner = frozenset(file.inner)
    nouns = frozenset(noun.lower() for noun in file.state_nouns)
    lexicon = combined(
        base, LexiconContent(entries, not_countries, ambiguous, titles, inner, related, counts_as, file.language, nouns)
    )
    _check_composites(source, entries, lexicon)
    kinds = {entry.kind for entry in lexicon.entries.values()}
    for i, kind in enumerate(file.inner):
        if kind not in kinds:
            raise _invalid(source, f"inner[{i}]", f"must be the kind of an entry ({', '.join(sorted(kinds))})", kind)
    check_claims(source, lexicon)
    return lexicon


def _check_composites(source: str, entries: Mapping[str, Entry], lexicon: LexiconContent) -> None:
    """Raise if a code with a colon is not ACTOR:INNER, for an inner actor INNER of an ACTOR, with the kind of INNER."""
    for code, entry in entries.items():
        if OF not in code:
            continue
        kinds = [lexicon.entries[actor].kind for actor in code.split(OF) if actor in lexicon.entries]
        if len(kinds) != 2 or [kind in lexicon.inner for kind in kinds] != [False, True] or entry.kind != kinds[1]:
            raise _invalid(source, "code", "with a colon must be ACTOR:INNER and have the kind of INNER", code)


def _title(location: str, raw: _Title, written: str, codes: Collection[str]) -> Title:
    if raw.code is None or raw.code not in codes:
        raise _invalid(location, "code", "must be the code of an entry", raw.code)
    if raw.start and raw.end and raw.start > raw.end:
        raise _invalid(location, "from", f"must not be after to ({raw.end})", str(raw.start))
    return Title(_alias(location, written), raw.code, raw.start, raw.end)


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
    return without(lexicon, file.remove)


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
        shipped_entry = Entry(raw.code, raw.name, DEFAULT_KIND, (), None, None)
    start = shipped_entry.start if raw.start is msgspec.UNSET else raw.start
    end = shipped_entry.end if raw.end is msgspec.UNSET else raw.end
    if start and end and start > end:
        raise _invalid(location, "from", f"must not be after to ({end})", str(start))
    return Entry(raw.code, raw.name or shipped_entry.name, raw.kind or shipped_entry.kind, aliases, start, end, nouns)


def _codes(location: str, declared: _Declaration, entry_codes: Collection[str]) -> tuple[str, ...]:
    """Codes of an ambiguous alias, sorted; raises InputError if one is unknown, or if they are fewer than two."""
    for i, code in enumerate(declared.codes):
        if code not in entry_codes:
            raise _invalid(location, f"codes[{i}]", "must be the code of an entry", code)
    codes = sorted(set(declared.codes))
    if len(codes) < 2:
        raise _invalid(location, "codes", "must be at least two different codes", declared.codes)
    return tuple(codes)


def _alias(location: str, written: str, *, cased: bool = False) -> Alias:
    alias = Alias.of(written, cased=cased)
    if not any(map(str.isalnum, alias.squeezed)):
        raise _invalid(location, "alias", "must contain a letter or a digit", written)
    return alias


def _invalid(location: str, field: str, rule: str, value: object) -> InputError:
    return InputError(f"{field} {rule}, got {shown(value)}", place=location)
