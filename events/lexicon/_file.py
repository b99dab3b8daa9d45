"""The YAML file of a lexicon, version 1: read, and checked field by field."""

from __future__ import annotations

import datetime
import functools
import re
from collections.abc import Collection, Mapping
from importlib import resources
from pathlib import Path
from typing import Any, NoReturn

from corefsample.errors import InputError
from events._yaml_file import read_yaml, shown
from events.lexicon._content import Alias, Entry, LexiconContent, check_claims, laid_over, without

__all__ = ["SHIPPED", "lexicon_content", "read_content", "shipped_content"]

SHIPPED = "countries"
KINDS = ("country", "territory", "historic", "organisation")
_LISTS = ("remove", "entries", "not_countries", "ambiguous")


def lexicon_content(path: str) -> LexiconContent:
    """What a lexicon file says, with what it extends.

    Raises
    ------
    InputError
        If it cannot be read, or as `read_content`.
    """
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise InputError(f"{path}: the lexicon cannot be read: {error.strerror}") from error
    return read_content(path, data, shipped_content())


@functools.cache
def shipped_content() -> LexiconContent:
    """What the lexicon that comes with the package says."""
    file = resources.files("events") / "data" / "countries.yaml"
    return read_content("countries.yaml", file.read_bytes(), None)


def read_content(source: str, data: bytes, shipped: LexiconContent | None) -> LexiconContent:
    """Read and check a lexicon file.

    What a file that extends the shipped lexicon says of an alias replaces all that the shipped one says of
    it: an alias given to a code leaves the other codes, `not_countries` and `ambiguous`. An entry with a
    shipped code adds aliases to it; its name, kind, from and to replace the shipped ones where given (`to:
    null` opens the end).

    Parameters
    ----------
    source
        Name of the file for messages.
    data
        YAML text in UTF-8.
    shipped
        What `extends: countries` starts from; None forbids it.

    Raises
    ------
    InputError
        For whatever breaks a rule of the format, in one line.
    """
    top = _mapping(source, read_yaml(source, data), {"version"}, {"name", "extends", *_LISTS})
    if type(top["version"]) is not int or top["version"] != 1:
        _refuse(source, "version", "must be 1", top["version"])
    _text(source, "name", top.get("name", SHIPPED))
    removed, entries, nothing, declared = (_list(source, field, top) for field in _LISTS)
    base = _base(source, top, removed, shipped)
    own: dict[str, Entry] = {}
    for i, raw in enumerate(entries):
        entry = _entry(f"{source}: entries[{i}]", raw, base.entries, {*own, *removed})
        own[entry.code] = entry
    aliases = tuple(_alias(source, f"not_countries[{i}]", raw) for i, raw in enumerate(nothing))
    ambiguous: dict[str, tuple[Alias, tuple[str, ...]]] = {}
    for i, raw in enumerate(declared):
        alias, codes = _declaration(f"{source}: ambiguous[{i}]", raw, {*base.entries, *own})
        if alias.key in ambiguous:
            _refuse(f"{source}: ambiguous[{i}]", "alias", "must be declared once", alias.written)
        ambiguous[alias.key] = (alias, codes)
    content = laid_over(base, LexiconContent(own, aliases, ambiguous))
    check_claims(source, content)
    return content


def _base(source: str, top: Mapping[str, Any], removed: list[Any], shipped: LexiconContent | None) -> LexiconContent:
    """What the file starts from: nothing, or the shipped lexicon without the codes removed."""
    if "extends" not in top:
        if removed:
            _refuse(source, "remove", "needs extends", removed)
        if not top.get("entries"):
            _refuse(source, "entries", "must hold an entry unless the file extends another", top.get("entries"))
        return LexiconContent({}, (), {})
    if shipped is None or top["extends"] != SHIPPED:
        _refuse(source, "extends", f"must be {SHIPPED!r}, the shipped lexicon", top["extends"])
    for i, code in enumerate(removed):
        if _text(source, f"remove[{i}]", code) not in shipped.entries:
            _refuse(source, f"remove[{i}]", "must be a code of the shipped lexicon", code)
    return without(shipped, removed)


def _entry(place: str, raw: object, base: Mapping[str, Entry], taken: Collection[str]) -> Entry:
    """One entry with the aliases of the file, its other gaps filled from the shipped entry of that code."""
    fields = _mapping(place, raw, {"code"}, {"name", "kind", "aliases", "cased", "from", "to"})
    code = _text(place, "code", fields["code"])
    if not re.fullmatch(r"[^\s,>]+", code):
        _refuse(place, "code", "must hold no white space, comma or '>'", code)
    if code in taken:
        _refuse(place, "code", "must be in no other entry and not in remove", code)
    place = f"{place} ({code})"
    aliases = tuple(
        _alias(place, f"{field}[{i}]", written, cased=field == "cased")
        for field in ("aliases", "cased")
        for i, written in enumerate(_list(place, field, fields))
    )
    if code not in base:
        if "name" not in fields:
            _refuse(place, "name", "is needed unless the code is shipped", None)
        if not aliases:
            _refuse(place, "aliases", "or cased must hold an alias", fields.get("aliases"))
    before = base.get(code, Entry(code, "", KINDS[0], (), None, None))
    kind = fields.get("kind", before.kind)
    if kind not in KINDS:
        _refuse(place, "kind", f"must be one of {', '.join(KINDS)}", kind)
    start = _date(place, "from", fields["from"]) if "from" in fields else before.start
    end = _date(place, "to", fields["to"]) if "to" in fields else before.end
    if start and end and start > end:
        _refuse(place, "from", f"must not be after to ({end})", str(start))
    return Entry(code, _text(place, "name", fields.get("name", before.name)), kind, aliases, start, end)


def _declaration(place: str, raw: object, known: Collection[str]) -> tuple[Alias, tuple[str, ...]]:
    """One ambiguous alias and its codes, sorted."""
    fields = _mapping(place, raw, {"alias", "codes"}, set())
    alias = _alias(place, "alias", fields["alias"])
    place = f"{place} ({alias.written})"
    codes = [_text(place, f"codes[{i}]", code) for i, code in enumerate(_list(place, "codes", fields))]
    for i, code in enumerate(codes):
        if code not in known:
            _refuse(place, f"codes[{i}]", "must be the code of an entry", code)
    if len(set(codes)) < 2:
        _refuse(place, "codes", "must be two or more different codes", codes)
    return alias, tuple(sorted(set(codes)))


def _mapping(place: str, value: object, needed: set[str], optional: set[str]) -> dict[str, Any]:
    keys = ", ".join(sorted(needed | optional))
    if not isinstance(value, dict):
        raise InputError(f"{place}: must be a mapping with keys of {keys}, got {shown(value)}")
    for key in value:
        if key not in needed | optional:
            raise InputError(f"{place}: key must be one of {keys}, got {shown(key)}")
    for key in sorted(needed - value.keys()):
        raise InputError(f"{place}: {key} is needed, got {shown(value)}")
    return value


def _list(place: str, field: str, fields: Mapping[str, Any]) -> list[Any]:
    value = fields.get(field, [])
    if not isinstance(value, list):
        _refuse(place, field, "must be a list", value)
    return list(value)


def _alias(place: str, field: str, value: object, *, cased: bool = False) -> Alias:
    alias = Alias.of(_text(place, field, value), cased=cased)
    if not any(map(str.isalnum, alias.squeezed)):
        _refuse(place, field, "must hold a letter or a digit", value)
    return alias


def _text(place: str, field: str, value: object) -> str:
    if not isinstance(value, str) or not value or value != value.strip():
        _refuse(place, field, "must be text, not empty, without white space around it", value)
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
        _refuse(place, field, "must be a full date such as 1991-12-26", value)
    return value


def _refuse(place: str, field: str, rule: str, value: object) -> NoReturn:
    raise InputError(f"{place}: {field} {rule}, got {shown(value)}")
