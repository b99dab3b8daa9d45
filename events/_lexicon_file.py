"""The YAML file of a lexicon, version 1: read, checked, and laid over the shipped one."""

from __future__ import annotations

import datetime
import re
import unicodedata
from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any, NoReturn

from corefsample.errors import InputError

__all__ = ["Alias", "Entry", "LexiconContent", "normalised", "read_content"]

KINDS = ("country", "territory", "historic", "organisation")
SHIPPED = "countries"

_PLAIN = str.maketrans(
    dict.fromkeys("‘’‛ʼ′´", "'") | dict.fromkeys("‐‑‒–−", "-") | dict.fromkeys("\u00ad\u200b\u2060\ufeff", "")
)


def normalised(text: str) -> str:
    """Text in NFKC with plain apostrophes and hyphens, white space kept."""
    if text.isascii():
        return text
    return unicodedata.normalize("NFKC", text.translate(_PLAIN))


@dataclass(frozen=True, slots=True)
class Alias:
    """One way to write a name, as documents are compared with it."""

    written: str  # as in the file
    cased: bool  # False: upper and lower case are one
    squeezed: str  # normalised, without white space, and case-folded unless cased
    cuts: frozenset[int]  # offsets in `squeezed` where a token may end before the alias does
    key: str  # squeezed and case-folded: aliases of different keys never match the same text

    @classmethod
    def of(cls, written: str, *, cased: bool = False) -> Alias:
        """Squeeze an alias; tokens may meet at its white space and beside its punctuation, never in a word."""
        squeezed, cuts = "", set()
        for char in normalised(written) if cased else normalised(written).casefold():
            if char.isspace() or (squeezed and not (_in_word(char) and _in_word(squeezed[-1]))):
                cuts.add(len(squeezed))
            squeezed += "" if char.isspace() else char
        return cls(written, cased, squeezed, frozenset(cuts), squeezed.casefold())

    def meets(self, other: Alias) -> bool:
        """Whether some text matches both."""
        return self.key == other.key and (not (self.cased and other.cased) or self.squeezed == other.squeezed)


@dataclass(frozen=True, slots=True)
class Entry:
    """One code, the names that it goes by, and the days on which it was valid."""

    code: str
    name: str
    kind: str
    aliases: tuple[Alias, ...]
    start: datetime.date | None  # first day, None: always was
    end: datetime.date | None  # last day, None: still is

    def overlaps(self, other: Entry) -> bool:
        """Whether some day lies in both validities."""
        first = max(self.start or datetime.date.min, other.start or datetime.date.min)
        return first <= min(self.end or datetime.date.max, other.end or datetime.date.max)


@dataclass(frozen=True, slots=True)
class LexiconContent:
    """What a lexicon's file says, after what it extends."""

    entries: Mapping[str, Entry]
    not_countries: Mapping[str, Alias]  # by key
    ambiguous: Mapping[str, tuple[Alias, tuple[str, ...]]]  # by key


def read_content(source: str, data: bytes, shipped: LexiconContent | None) -> LexiconContent:
    """Read and check the bytes of a lexicon file.

    What a file that extends the shipped lexicon says of an alias replaces all that the shipped one says of it:
    an alias given to a code leaves the other codes, `not_countries` and `ambiguous`. An entry with a shipped
    code adds aliases to it, and its name, kind, from and to replace the shipped ones where given.

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
    top = _mapping(
        source,
        _yaml(source, data),
        {"version"},
        {"name", "extends", "remove", "entries", "not_countries", "ambiguous"},
    )
    if type(top["version"]) is not int or top["version"] != 1:
        _refuse(source, "version", "must be 1", top["version"])
    _text(source, "name", top.get("name", SHIPPED))
    base = LexiconContent({}, {}, {})
    if "extends" in top:
        if shipped is None or top["extends"] != SHIPPED:
            _refuse(source, "extends", f"must be {SHIPPED!r}, the shipped lexicon", top["extends"])
        base = shipped
    elif "remove" in top or not top.get("entries"):
        field, rule = ("remove", "needs extends") if "remove" in top else ("entries", "must hold an entry")
        _refuse(source, field, rule, top.get(field))
    removed = [_text(source, f"remove[{i}]", code) for i, code in enumerate(_list(source, "remove", top))]
    for i, code in enumerate(removed):
        if code not in base.entries:
            _refuse(source, f"remove[{i}]", "must be a code of the shipped lexicon", code)
    base = _without(base, removed)
    own: dict[str, Entry] = {}
    for i, raw in enumerate(_list(source, "entries", top)):
        entry = _entry(f"{source}: entries[{i}]", raw, base.entries, {*own, *removed})
        own[entry.code] = entry
    nothing = [
        _alias(source, f"not_countries[{i}]", raw)
        for i, raw in enumerate(_list(source, "not_countries", top))
    ]
    codes = {*base.entries, *own}
    declared: dict[str, tuple[Alias, tuple[str, ...]]] = {}
    for i, raw in enumerate(_list(source, "ambiguous", top)):
        alias, holders = _declaration(f"{source}: ambiguous[{i}]", raw, codes)
        if alias.key in declared:
            _refuse(f"{source}: ambiguous[{i}]", "alias", "must be declared once", alias.written)
        declared[alias.key] = (alias, holders)
    content = _laid_over(base, LexiconContent(own, {alias.key: alias for alias in nothing}, declared))
    _check(source, content)
    return content


def _entry(place: str, raw: object, base: Mapping[str, Entry], taken: Collection[str]) -> Entry:
    """One entry as it stands in the file, its gaps filled from the shipped entry of that code."""
    fields = _mapping(place, raw, {"code"}, {"name", "kind", "aliases", "cased", "from", "to"})
    code = _text(place, "code", fields["code"])
    if not re.fullmatch(r"[^\s,>]+", code):
        _refuse(place, "code", "must hold no white space, comma or '>'", code)
    if code in taken:
        _refuse(place, "code", "must appear once, and not in remove", code)
    place = f"{place} ({code})"
    shipped = base.get(code)
    aliases = tuple(
        _alias(place, f"{field}[{i}]", written, cased=field == "cased")
        for field in ("aliases", "cased")
        for i, written in enumerate(_list(place, field, fields))
    )
    if shipped is None:
        if "name" not in fields:
            _refuse(place, "name", "is needed with a code that is not shipped", None)
        if not aliases:
            _refuse(place, "aliases", "or cased must hold an alias", fields.get("aliases"))
        shipped = Entry(code, "", KINDS[0], (), None, None)
    kind = fields.get("kind", shipped.kind)
    if kind not in KINDS:
        _refuse(place, "kind", f"must be one of {', '.join(KINDS)}", kind)
    start = _date(place, "from", fields["from"]) if "from" in fields else shipped.start
    end = _date(place, "to", fields["to"]) if "to" in fields else shipped.end
    if start and end and start > end:
        _refuse(place, "from", f"must not be after to, which is {end}", str(start))
    return Entry(code, _text(place, "name", fields.get("name", shipped.name)), kind, aliases, start, end)


def _declaration(place: str, raw: object, known: Collection[str]) -> tuple[Alias, tuple[str, ...]]:
    fields = _mapping(place, raw, {"alias", "codes"}, set())
    alias = _alias(place, "alias", fields["alias"])
    place = f"{place} ({alias.written})"
    codes = [_text(place, f"codes[{i}]", code) for i, code in enumerate(_list(place, "codes", fields))]
    for i, code in enumerate(codes):
        if code not in known:
            _refuse(place, f"codes[{i}]", "must be a code of an entry", code)
    if len(set(codes)) < 2:
        _refuse(place, "codes", "must be two different codes or more", codes)
    return alias, tuple(sorted(set(codes)))


def _without(content: LexiconContent, removed: Collection[str]) -> LexiconContent:
    """The content after its codes are removed: an ambiguous alias of which one code stays is that code's."""
    entries = {code: entry for code, entry in content.entries.items() if code not in removed}
    ambiguous = {}
    for key, (alias, holders) in content.ambiguous.items():
        left = tuple(code for code in holders if code in entries)
        if len(left) > 1:
            ambiguous[key] = (alias, left)
        elif left:
            entry = entries[left[0]]
            entries[left[0]] = replace(entry, aliases=(*entry.aliases, alias))
    return LexiconContent(entries, content.not_countries, ambiguous)


def _laid_over(base: LexiconContent, own: LexiconContent) -> LexiconContent:
    """The file's content over the shipped one, which loses every alias that the file speaks of."""
    spoken = defaultdict[str, list[tuple[Alias, str | None]]](list)
    for entry in own.entries.values():
        for alias in entry.aliases:
            spoken[alias.key].append((alias, entry.code))
    for alias in (*own.not_countries.values(), *(alias for alias, _ in own.ambiguous.values())):
        spoken[alias.key].append((alias, None))

    def kept(entry: Entry) -> tuple[Alias, ...]:
        return tuple(
            alias
            for alias in entry.aliases
            if not any(entry.code != code and alias.meets(said) for said, code in spoken.get(alias.key, ()))
        )

    entries = {code: replace(entry, aliases=kept(entry)) for code, entry in base.entries.items()}
    for code, entry in own.entries.items():
        shipped = entries[code].aliases if code in entries else ()
        entries[code] = replace(entry, aliases=(*shipped, *entry.aliases))
    return LexiconContent(
        entries,
        {key: alias for key, alias in base.not_countries.items() if key not in spoken}
        | dict(own.not_countries),
        {key: both for key, both in base.ambiguous.items() if key not in spoken} | dict(own.ambiguous),
    )


def _check(source: str, content: LexiconContent) -> None:
    """Refuse an alias of two codes on one day unless it is declared, and contradictions between the lists."""
    claims = defaultdict[str, list[tuple[Alias, Entry]]](list)
    for entry in content.entries.values():
        for alias in entry.aliases:
            claims[alias.key].append((alias, entry))
    for key, alias in content.not_countries.items():
        codes = sorted(
            {entry.code for _, entry in claims.get(key, ())} | {*content.ambiguous.get(key, ("", ()))[1]}
        )
        if codes:
            _refuse(
                source,
                f"not_countries: {alias.written!r}",
                "must not be an alias of a code",
                ", ".join(codes),
            )
    for key, claimed in claims.items():
        if key in content.ambiguous:
            alias, holders = content.ambiguous[key]
            for code in sorted({entry.code for _, entry in claimed} - {*holders}):
                rule = "must list every code that has the alias"
                _refuse(
                    source,
                    f"ambiguous ({alias.written}): codes",
                    rule,
                    f"{', '.join(holders)} without {code}",
                )
            continue
        for i, (alias, entry) in enumerate(claimed):
            for other, rival in claimed[:i]:
                if rival.code != entry.code and alias.meets(other) and entry.overlaps(rival):
                    rule = "must be of one code on any day, or declared ambiguous"
                    _refuse(source, f"alias {alias.written!r}", rule, f"{rival.code} and {entry.code}")


def _yaml(source: str, data: bytes) -> object:
    import yaml

    def mapping(loader: Any, node: Any) -> dict[Any, Any]:
        # YAML would keep the last of two equal keys, and a list of aliases would vanish unseen.
        keys = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
        for i, (key, _) in enumerate(node.value):
            if getattr(key, "value", None) in keys[:i]:
                raise yaml.MarkedYAMLError(
                    problem=f"key {key.value!r} appears twice", problem_mark=key.start_mark
                )
        built: dict[Any, Any] = loader.construct_mapping(node, deep=True)
        return built

    loader: Any = type("LexiconLoader", (getattr(yaml, "CSafeLoader", yaml.SafeLoader),), {})
    loader.add_constructor("tag:yaml.org,2002:map", mapping)
    try:
        return yaml.load(data, loader)
    except yaml.MarkedYAMLError as error:
        line = f":{error.problem_mark.line + 1}" if error.problem_mark else ""
        raise InputError(
            f"{source}{line}: must be YAML: {_one_line(error.problem or error.context)}"
        ) from error
    except (yaml.YAMLError, ValueError) as error:  # ValueError: a date that is none, such as 1999-02-30
        raise InputError(f"{source}: must be YAML in UTF-8: {_one_line(error)}") from error


def _mapping(place: str, value: object, needed: set[str], optional: set[str]) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InputError(
            f"{place}: must be a mapping of {', '.join(sorted(needed | optional))}, got {_shown(value)}"
        )
    for key in value:
        if key not in needed | optional:
            known = ", ".join(sorted(needed | optional))
            raise InputError(f"{place}: key {_shown(key)} is unknown; the keys are {known}{_quoting(key)}")
    for key in sorted(needed - value.keys()):
        raise InputError(f"{place}: {key} is needed, got {_shown(value)}")
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
    if not isinstance(value, str) or not value.strip():
        _refuse(place, field, "must be non-empty text", value)
    return value.strip()


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
    raise InputError(f"{place}: {field} {rule}, got {_shown(value)}{_quoting(value)}")


def _shown(value: object) -> str:
    if value is None:
        return "nothing"
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _quoting(value: object) -> str:
    if isinstance(value, bool):
        return " (YAML reads NO, ON, YES and OFF as false and true: put it in quotes)"
    return ""


def _one_line(value: object) -> str:
    return " ".join(str(value).split())


def _in_word(char: str) -> bool:
    return char.isalnum() or unicodedata.category(char).startswith("M")
