"""Reading and checking the YAML file of a lexicon, version 1."""

from __future__ import annotations

import datetime
import functools
from collections.abc import Collection, Mapping
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Annotated, Literal

import msgspec

from corefsample._checks import shown
from corefsample.errors import InputError
from corefsample.languages._language import ENGLISH
from events._yaml_file import file_bytes, read_yaml, typed
from events.lexicon._content import OF, Alias, Entry, LexiconContent, Title, check_claims, combined, without

SHIPPED = "countries"
SHIPPED_LEXICONS = (SHIPPED, "police", "forces", "leaders", "capitals", "governments", "es/countries")
SHIPPED_OF = {"es": "es/countries"}  # by language; English in others
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


def lexicon_content(path: str) -> LexiconContent:
    """Read a lexicon file, or a shipped lexicon by its name, and combine it with the lexicon that it extends.

    Raises
    ------
    InputError
        If it cannot be read, or breaks a rule of the format.
    """
    return shipped_content(path) if path in SHIPPED_LEXICONS else read_content(path, file_bytes(path))


@functools.cache
def shipped_content(*names: str) -> LexiconContent:
    """Content of lexicons that come with the package, the later ones added to the earlier; "countries" by default."""
    content = _EMPTY
    for name, file in _shipped_files(*names or (SHIPPED,)).items():
        content = _added(f"{name}.yaml", file, content)
    return content


@functools.cache
def _shipped_files(*names: str) -> dict[str, _LexiconFile]:
    """Files by name, each after those that it extends."""
    files: dict[str, _LexiconFile] = {}
    for name in names:
        data = _place(name).read_bytes()
        file = typed(f"{name}.yaml", read_yaml(f"{name}.yaml", data), _LexiconFile)
        files |= _shipped_files(*_extended(file)) | {name: file}
    return files


def _place(name: str) -> Traversable:
    *folder, own = name.split("/")
    if own == SHIPPED:  # the names of countries are a resource of their language
        return resources.files("corefsample.languages").joinpath(folder[0] if folder else ENGLISH, f"{own}.yaml")
    return resources.files("events").joinpath("data", f"{own}.yaml")


def _extended(file: _LexiconFile) -> list[str]:
    return [file.extends] if isinstance(file.extends, str) else file.extends


def read_content(source: str, data: bytes) -> LexiconContent:
    """Read and check a lexicon file.

    If a file extends a shipped lexicon, its own use of an alias replaces every use in the shipped one: an alias
    given to a code is removed from the other codes, from `not_countries` and from `ambiguous`. An entry with a shipped
    code adds aliases to it; its name, kind, from and to replace the shipped ones where they are given (`to: null`
    means no last day).

    Parameters
    ----------
    source
        Name of the file for messages.
    data
        YAML text in UTF-8.

    Raises
    ------
    InputError
        If the file breaks a rule of the format; the place is the file and the entry.
    """
    file = typed(source, read_yaml(source, data), _LexiconFile)
    if file.version != 1:
        raise _invalid(source, "version", "must be 1", file.version)
    return _added(source, file, _base(source, file))


def _added(source: str, file: _LexiconFile, base: LexiconContent) -> LexiconContent:
    """Content of a file combined with that of the lexicons that it extends."""
    own: dict[str, Entry] = {}
    for i, raw in enumerate(file.entries):
        place = f"{source}: entries[{i}] ({raw.code})"
        if raw.code in own or raw.code in file.remove:
            raise _invalid(place, "code", "must not be in another entry or in remove", raw.code)
        own[raw.code] = _entry(place, raw, base.entries.get(raw.code))
    aliases = tuple(_alias(f"{source}: not_countries[{i}]", name) for i, name in enumerate(file.not_countries))
    ambiguous: dict[str, tuple[Alias, tuple[str, ...]]] = {}
    for i, declared in enumerate(file.ambiguous):
        place = f"{source}: ambiguous[{i}] ({declared.alias})"
        alias = _alias(place, declared.alias)
        if alias.key in ambiguous:
            raise _invalid(place, "alias", "must be declared once", declared.alias)
        ambiguous[alias.key] = alias, _codes(place, declared, {*base.entries, *own})
    titles = tuple(
        _title(f"{source}: titles[{i}] ({written})", raw, written, {*base.entries, *own})
        for i, raw in enumerate(file.titles)
        for written in ([raw.title] if isinstance(raw.title, str) else raw.title)
    )
    for first, others in file.related.items():
        for code in (first, *others):
            if code not in {*base.entries, *own}:
                raise _invalid(source, f"related.{first}", "must be codes of entries", code)
    related = {code: frozenset(others) for code, others in file.related.items()}
    counts_as = frozenset[str](file.inner_counts_as) or None
    inner = frozenset(file.inner)
    language = file.language or base.language
    nouns = frozenset(noun.lower() for noun in file.state_nouns)
    content = combined(
        base, LexiconContent(own, aliases, ambiguous, titles, inner, related, counts_as, language, nouns)
    )
    _check_composites(source, own, content)
    kinds = {entry.kind for entry in content.entries.values()}
    for i, kind in enumerate(file.inner):
        if kind not in kinds:
            raise _invalid(source, f"inner[{i}]", f"must be the kind of an entry ({', '.join(sorted(kinds))})", kind)
    check_claims(source, content)
    return content


def _check_composites(source: str, own: Mapping[str, Entry], content: LexiconContent) -> None:
    """Raise if a code has a colon, and is not that of an inner actor of another, with the kind of the inner one."""
    for code, entry in own.items():
        if OF not in code:
            continue
        kinds = [content.entries[part].kind for part in code.split(OF) if part in content.entries]
        if len(kinds) != 2 or [kind in content.inner for kind in kinds] != [False, True] or entry.kind != kinds[1]:
            raise _invalid(source, "code", "with a colon must be ACTOR:INNER and have the kind of INNER", code)


def _title(place: str, raw: _Title, written: str, codes: Collection[str]) -> Title:
    if raw.code is None or raw.code not in codes:
        raise _invalid(place, "code", "must be the code of an entry", raw.code)
    if raw.start and raw.end and raw.start > raw.end:
        raise _invalid(place, "from", f"must not be after to ({raw.end})", str(raw.start))
    return Title(_alias(place, written), raw.code, raw.start, raw.end)


def _base(source: str, file: _LexiconFile) -> LexiconContent:
    """Content that the file starts from: nothing, or shipped lexicons without the removed codes."""
    if not file.extends:
        if file.remove:
            raise _invalid(source, "remove", "needs extends", file.remove)
        if not file.entries:
            raise _invalid(source, "entries", "must have an entry unless the file extends another", file.entries)
        return _EMPTY
    names = _extended(file)
    if not {*names} <= {*SHIPPED_LEXICONS}:
        raise _invalid(source, "extends", f"must be shipped lexicons ({', '.join(SHIPPED_LEXICONS)})", file.extends)
    shipped = shipped_content(*names)
    for i, code in enumerate(file.remove):
        if code not in shipped.entries:
            raise _invalid(source, f"remove[{i}]", "must be a code of the shipped lexicon", code)
    return without(shipped, file.remove)


def _entry(place: str, raw: _Entry, before: Entry | None) -> Entry:
    """One entry with the aliases of the file; other missing fields come from the shipped entry of that code."""
    aliases = tuple(
        _alias(place, written, cased=cased)
        for cased, several in ((False, raw.aliases), (True, raw.cased))
        for written in several
    )
    nouns = tuple(_alias(place, written) for written in raw.nouns)
    if before is None:
        if raw.name is None:
            raise _invalid(place, "name", "is required unless the code is shipped", None)
        if not aliases and not nouns:
            raise _invalid(place, "aliases", "or cased must have an alias", raw.aliases)
        before = Entry(raw.code, raw.name, DEFAULT_KIND, (), None, None)
    start = before.start if raw.start is msgspec.UNSET else raw.start
    end = before.end if raw.end is msgspec.UNSET else raw.end
    if start and end and start > end:
        raise _invalid(place, "from", f"must not be after to ({end})", str(start))
    return Entry(raw.code, raw.name or before.name, raw.kind or before.kind, aliases, start, end, nouns)


def _codes(place: str, declared: _Declaration, known: Collection[str]) -> tuple[str, ...]:
    """Codes of an ambiguous alias, sorted."""
    for i, code in enumerate(declared.codes):
        if code not in known:
            raise _invalid(place, f"codes[{i}]", "must be the code of an entry", code)
    codes = sorted(set(declared.codes))
    if len(codes) < 2:
        raise _invalid(place, "codes", "must be at least two different codes", declared.codes)
    return tuple(codes)


def _alias(place: str, written: str, *, cased: bool = False) -> Alias:
    alias = Alias.of(written, cased=cased)
    if not any(map(str.isalnum, alias.squeezed)):
        raise _invalid(place, "alias", "must contain a letter or a digit", written)
    return alias


def _invalid(place: str, field: str, rule: str, value: object) -> InputError:
    return InputError(f"{field} {rule}, got {shown(value)}", place=place)
