"""Reading and checking the YAML file of a lexicon, version 1."""

from __future__ import annotations

import datetime
import functools
import re
from collections.abc import Collection, Mapping
from importlib import resources
from typing import Any

from corefsample.errors import InputError
from events._yaml_file import file_bytes, read_yaml, shown
from events.lexicon._content import Alias, Entry, LexiconContent, check_claims, combined, without

__all__ = ["SHIPPED", "lexicon_content", "read_content", "shipped_content"]

SHIPPED = "countries"
KINDS = ("country", "territory", "historic", "organisation")
_LISTS = ("remove", "entries", "not_countries", "ambiguous")


def lexicon_content(path: str) -> LexiconContent:
    """Read a lexicon file and combine it with the lexicon that it extends.

    Raises
    ------
    InputError
        If it cannot be read, or breaks a rule of the format.
    """
    return read_content(path, file_bytes(path), shipped_content())


@functools.cache
def shipped_content() -> LexiconContent:
    """Content of the lexicon that comes with the package."""
    file = resources.files("events") / "data" / "countries.yaml"
    return read_content("countries.yaml", file.read_bytes(), None)


def read_content(source: str, data: bytes, shipped: LexiconContent | None) -> LexiconContent:
    """Read and check a lexicon file.

    If a file extends the shipped lexicon, its own use of an alias replaces every use in the shipped one: an alias
    given to a code is removed from the other codes, from `not_countries` and from `ambiguous`. An entry with a shipped
    code adds aliases to it; its name, kind, from and to replace the shipped ones where they are given (`to: null`
    means no last day).

    Parameters
    ----------
    source
        Name of the file for messages.
    data
        YAML text in UTF-8.
    shipped
        The content that `extends: countries` starts from; None forbids it.

    Raises
    ------
    InputError
        If the file breaks a rule of the format; the place is the file and the entry.
    """
    top = _mapping(source, read_yaml(source, data), {"version"}, {"name", "extends", *_LISTS})
    if type(top["version"]) is not int or top["version"] != 1:
        raise _invalid(source, "version", "must be 1", top["version"])
    _text(source, "name", top.get("name", SHIPPED))
    removed, entries, names_of_none, declared = (_list(source, field, top) for field in _LISTS)
    base = _base(source, top, removed, shipped)
    own: dict[str, Entry] = {}
    for i, raw in enumerate(entries):
        entry = _entry(f"{source}: entries[{i}]", raw, base.entries, {*own, *removed})
        own[entry.code] = entry
    aliases = tuple(_alias(source, f"not_countries[{i}]", raw) for i, raw in enumerate(names_of_none))
    ambiguous: dict[str, tuple[Alias, tuple[str, ...]]] = {}
    for i, raw in enumerate(declared):
        alias, codes = _declaration(f"{source}: ambiguous[{i}]", raw, {*base.entries, *own})
        if alias.key in ambiguous:
            raise _invalid(f"{source}: ambiguous[{i}]", "alias", "must be declared once", alias.written)
        ambiguous[alias.key] = (alias, codes)
    content = combined(base, LexiconContent(own, aliases, ambiguous))
    check_claims(source, content)
    return content


def _base(source: str, top: Mapping[str, Any], removed: list[Any], shipped: LexiconContent | None) -> LexiconContent:
    """Content that the file starts from: nothing, or the shipped lexicon without the removed codes."""
    if "extends" not in top:
        if removed:
            raise _invalid(source, "remove", "needs extends", removed)
        if not top.get("entries"):
            raise _invalid(source, "entries", "must have an entry unless the file extends another", top.get("entries"))
        return LexiconContent({}, (), {})
    if shipped is None or top["extends"] != SHIPPED:
        raise _invalid(source, "extends", f"must be {SHIPPED!r}, the shipped lexicon", top["extends"])
    for i, code in enumerate(removed):
        if _text(source, f"remove[{i}]", code) not in shipped.entries:
            raise _invalid(source, f"remove[{i}]", "must be a code of the shipped lexicon", code)
    return without(shipped, removed)


def _entry(place: str, raw: object, base: Mapping[str, Entry], taken: Collection[str]) -> Entry:
    """One entry with the aliases of the file; other missing fields come from the shipped entry of that code."""
    fields = _mapping(place, raw, {"code"}, {"name", "kind", "aliases", "cased", "from", "to"})
    code = _text(place, "code", fields["code"])
    if not re.fullmatch(r"[^\s,>]+", code):
        raise _invalid(place, "code", "must not contain white space, a comma or '>'", code)
    if code in taken:
        raise _invalid(place, "code", "must not be in another entry or in remove", code)
    place = f"{place} ({code})"
    aliases = tuple(
        _alias(place, f"{field}[{i}]", written, cased=field == "cased")
        for field in ("aliases", "cased")
        for i, written in enumerate(_list(place, field, fields))
    )
    if code not in base:
        if "name" not in fields:
            raise _invalid(place, "name", "is required unless the code is shipped", None)
        if not aliases:
            raise _invalid(place, "aliases", "or cased must have an alias", fields.get("aliases"))
    before = base.get(code, Entry(code, "", KINDS[0], (), None, None))
    kind = fields.get("kind", before.kind)
    if kind not in KINDS:
        raise _invalid(place, "kind", f"must be one of {', '.join(KINDS)}", kind)
    start = _date(place, "from", fields["from"]) if "from" in fields else before.start
    end = _date(place, "to", fields["to"]) if "to" in fields else before.end
    if start and end and start > end:
        raise _invalid(place, "from", f"must not be after to ({end})", str(start))
    return Entry(code, _text(place, "name", fields.get("name", before.name)), kind, aliases, start, end)


def _declaration(place: str, raw: object, known: Collection[str]) -> tuple[Alias, tuple[str, ...]]:
    """One ambiguous alias and its codes, sorted."""
    fields = _mapping(place, raw, {"alias", "codes"}, set())
    alias = _alias(place, "alias", fields["alias"])
    place = f"{place} ({alias.written})"
    codes = [_text(place, f"codes[{i}]", code) for i, code in enumerate(_list(place, "codes", fields))]
    for i, code in enumerate(codes):
        if code not in known:
            raise _invalid(place, f"codes[{i}]", "must be the code of an entry", code)
    if len(set(codes)) < 2:
        raise _invalid(place, "codes", "must be at least two different codes", codes)
    return alias, tuple(sorted(set(codes)))


def _mapping(place: str, value: object, needed: set[str], optional: set[str]) -> dict[str, Any]:
    keys = ", ".join(sorted(needed | optional))
    if not isinstance(value, dict):
        raise InputError(f"must be a mapping with keys of {keys}, got {shown(value)}", place=place)
    for key in value:
        if key not in needed | optional:
            raise InputError(f"key must be one of {keys}, got {shown(key)}", place=place)
    for key in sorted(needed - value.keys()):
        raise _invalid(place, key, "is required", value)
    return value


def _list(place: str, field: str, fields: Mapping[str, Any]) -> list[Any]:
    value = fields.get(field, [])
    if not isinstance(value, list):
        raise _invalid(place, field, "must be a list", value)
    return list(value)


def _alias(place: str, field: str, value: object, *, cased: bool = False) -> Alias:
    alias = Alias.of(_text(place, field, value), cased=cased)
    if not any(map(str.isalnum, alias.squeezed)):
        raise _invalid(place, field, "must contain a letter or a digit", value)
    return alias


def _text(place: str, field: str, value: object) -> str:
    if not isinstance(value, str) or not value or value != value.strip():
        raise _invalid(place, field, "must be text, not empty, without surrounding white space", value)
    return value


def _date(place: str, field: str, value: object) -> datetime.date | None:
    if value is None:
        return None
    if isinstance(value, str) and re.fullmatch(r"\d{4}-\d\d-\d\d", value, re.ASCII):
        try:
            return datetime.date.fromisoformat(value)
        except ValueError:
            pass
    if isinstance(value, datetime.datetime) or not isinstance(value, datetime.date):
        raise _invalid(place, field, "must be a full date such as 1991-12-26", value)
    return value


def _invalid(place: str, field: str, rule: str, value: object) -> InputError:
    return InputError(f"{field} {rule}, got {shown(value)}", place=place)
