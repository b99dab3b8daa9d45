"""Every value of a YAML file that does not have the type it must have, in words for the people who write such files."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any, NamedTuple

import msgspec

_LIST_TYPES = msgspec.inspect.ListType | msgspec.inspect.VarTupleType


class Fault(NamedTuple):
    """A value that breaks a rule: the path to it ("" for the whole content), the rule, and the value as text."""

    place: str
    rule: str
    found: str

    def __str__(self) -> str:
        return f"{self.rule}, got {self.found}"


def faults(content: object, kind: Any) -> list[Fault]:
    """All values of some content that do not have the type that a structure gives them, in the order of the structure.

    Parameters
    ----------
    content
        What YAML gives: mappings, lists, texts, numbers, booleans, dates and None.
    kind
        A type of msgspec: structures, and lists and mappings of texts, whole numbers and dates.
    """
    return list(_faults(content, msgspec.inspect.type_info(kind), ""))


def shown(value: object) -> str:
    """Represent a value for a message, in one short line."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return f"{value} (YAML reads NO, OFF, YES and ON as booleans: quote them)"
    if isinstance(value, datetime.date):
        return str(value)
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _faults(value: Any, kind: Any, place: str) -> Iterator[Fault]:
    """The faults of a value and of what it contains; `kind` is a type of msgspec.inspect."""
    if not _fits(value, kind):
        yield Fault(place, f"must be {_described(kind)}", shown(value))
        return
    kind = _chosen(kind, value)
    if isinstance(kind, msgspec.inspect.StructType):
        yield from _faults_of_fields(value, kind, place)
    elif isinstance(kind, msgspec.inspect.DictType):
        for key, member in value.items():
            if not _fits(key, kind.key_type):
                yield Fault(place, f"keys must be {_described(kind.key_type)}", shown(key))
            yield from _faults(member, kind.value_type, f"{place}.{key}".lstrip("."))
    elif isinstance(kind, _LIST_TYPES):
        for index, item in enumerate(value):
            yield from _faults(item, kind.item_type, f"{place}[{index}]")


def _faults_of_fields(value: dict[Any, Any], kind: msgspec.inspect.StructType, place: str) -> Iterator[Fault]:
    names = [field.encode_name for field in kind.fields]
    for key in value:
        if key not in names:
            yield Fault(place, f"fields must be among {', '.join(names)}", shown(key))
    for field in kind.fields:
        if field.encode_name in value:
            yield from _faults(value[field.encode_name], field.type, f"{place}.{field.encode_name}".lstrip("."))
        elif field.required:
            yield Fault(place, f"field {field.encode_name!r} is required", _listed(value))


def _listed(keys: Iterable[object]) -> str:
    return ", ".join(map(str, keys)) or "no field"


def _chosen(kind: Any, value: object) -> Any:
    """The type that a value has, of those that it can have; without a description of the type."""
    if isinstance(kind, msgspec.inspect.Metadata):
        return _chosen(kind.type, value)
    if isinstance(kind, msgspec.inspect.UnionType):
        return next(_chosen(each, value) for each in kind.types if _fits(value, each))
    return kind


def _fits(value: object, kind: Any) -> bool:
    """Whether a value itself has a type, whatever it contains."""
    match kind:
        case msgspec.inspect.Metadata():
            return _fits(value, kind.type)
        case msgspec.inspect.UnionType():
            return any(_fits(value, each) for each in kind.types)
        case msgspec.inspect.NoneType():
            return value is None
        case msgspec.inspect.StrType():
            is_long = isinstance(value, str) and len(value) >= (kind.min_length or 0)
            return is_long and (kind.pattern is None or re.search(kind.pattern, str(value)) is not None)
        case msgspec.inspect.IntType():
            return isinstance(value, int) and not isinstance(value, bool)
        case msgspec.inspect.DateType():
            return _is_date(value)
        case msgspec.inspect.StructType():
            return isinstance(value, dict)
        case msgspec.inspect.DictType():
            return isinstance(value, dict) and len(value) >= (kind.min_length or 0)
        case msgspec.inspect.ListType() | msgspec.inspect.VarTupleType():
            return isinstance(value, list) and len(value) >= (kind.min_length or 0)
    return True


def _is_date(value: object) -> bool:
    if isinstance(value, str):
        with suppress(ValueError):
            value = datetime.date.fromisoformat(value)
    return isinstance(value, datetime.date) and not isinstance(value, datetime.datetime)


def _described(kind: Any) -> str:
    """What a value must be, to follow "must be"."""
    match kind:
        case msgspec.inspect.Metadata():
            return str((kind.extra_json_schema or {}).get("description") or _described(kind.type))
        case msgspec.inspect.UnionType():
            several = [_described(each) for each in kind.types if not isinstance(each, msgspec.inspect.NoneType)]
            return " or ".join(several)
        case msgspec.inspect.StrType():
            return "text that is not empty" if kind.min_length else "text"
        case msgspec.inspect.IntType():
            return "a whole number"
        case msgspec.inspect.DateType():
            return "a date such as 1999-12-31"
        case msgspec.inspect.StructType():
            return "a mapping of fields"
        case msgspec.inspect.DictType():
            return "a mapping with at least one key" if kind.min_length else "a mapping"
        case msgspec.inspect.ListType() | msgspec.inspect.VarTupleType():
            return "a list with at least one item" if kind.min_length else "a list"
    return "of another type"
