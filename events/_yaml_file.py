"""Strict reading of YAML files that users write: every value that is not of its type is named, in their words."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any, NamedTuple, TypeVar

import msgspec

from corefsample.errors import InputError
from corefsample.files._contents import read_whole
from corefsample.files._paths import PathLike

T = TypeVar("T")
_MOST_MIB = 8  # of a file; its content takes a hundred times that, and the countries of the world 50 kB
_MOST_NAMED = 4  # faults of a file in one message


def file_bytes(path: PathLike) -> bytes:
    """Content of a YAML file that a user names; raise InputError if it cannot be read or is too large."""
    return read_whole(path, _MOST_MIB)


def read_yaml(source: str, data: bytes) -> object:
    """Read YAML; a key that appears twice is an error.

    Parameters
    ----------
    source
        Name of the file, for errors.
    data
        Content of the file, UTF-8.

    Raises
    ------
    InputError
        If it is not YAML; the place is the file and the line.
    """
    import yaml

    def mapping(loader: Any, node: Any) -> object:
        # YAML keeps the last of two equal keys and would silently lose the content of the other.
        keys = [getattr(key, "value", None) for key, _ in node.value]
        for i, (key, _) in enumerate(node.value):
            if keys[i] in keys[:i]:
                raise yaml.MarkedYAMLError(problem=f"key {keys[i]!r} appears twice", problem_mark=key.start_mark)
        return loader.construct_mapping(node, deep=True)

    loader: Any = type("StrictLoader", (getattr(yaml, "CSafeLoader", yaml.SafeLoader),), {})
    loader.add_constructor("tag:yaml.org,2002:map", mapping)
    try:
        return yaml.load(data, loader)
    except yaml.MarkedYAMLError as error:
        place = f"{source}: line {error.problem_mark.line + 1}" if error.problem_mark else source
        raise InputError(f"must be YAML, got: {_one_line(error.problem or error.context)}", place=place) from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # ValueError: an impossible date such as 1999-02-30
        raise InputError(f"must be YAML in UTF-8, got: {_one_line(error)}", place=source) from None


def _one_line(value: object) -> str:
    return " ".join(str(value).split())


def typed(source: str, content: object, kind: type[T]) -> T:
    """Convert the content of a YAML file to a typed structure.

    Raises
    ------
    InputError
        If a value breaks a rule; the place is the file and the path to the value. Of several such values the message
        is about the first, and says where the others are.
    """
    try:
        return msgspec.convert(content, kind)
    except msgspec.ValidationError as error:
        found = _faults(content, msgspec.inspect.type_info(kind), "")
        errors = [InputError(message, place=f"{source}: {place or 'file'}") for place, message in found]
        if not errors:
            raise InputError(f"must have the structure of such a file, got: {error}", place=source) from None
        raise first_of(source, errors) from None


def first_of(source: str, errors: Sequence[InputError]) -> InputError:
    """The first of several errors of the file `source`, with the places of the others in it."""
    first, *others = errors
    if not others:
        return first
    places = list(dict.fromkeys((each.place or "").removeprefix(source).lstrip(": ") or "file" for each in others))
    named = ", ".join(places[:_MOST_NAMED]) + (", ..." if len(places) > _MOST_NAMED else "")
    count = "1 more fault" if len(others) == 1 else f"{len(others)} more faults"
    return InputError(f"{first.message}; and {count} in the file: {named}", place=first.place, hint=first.hint)


_Fault = tuple[str, str]  # path to a value that breaks a rule ("" for the whole content), and what is wrong
_LIST_TYPES = msgspec.inspect.ListType, msgspec.inspect.VarTupleType


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


def _faults(value: Any, kind: Any, place: str) -> Iterator[_Fault]:
    """The faults of a value and of what it contains; `kind` is a type of msgspec.inspect."""
    if not _fits(value, kind):
        yield place, f"must be {_described(kind)}, got {shown(value)}"
        return
    kind = _chosen(kind, value)
    if isinstance(kind, msgspec.inspect.StructType):
        yield from _faults_of_fields(value, kind, place)
    elif isinstance(kind, msgspec.inspect.DictType):
        for key, member in value.items():
            if not _fits(key, kind.key_type):
                yield place, f"keys must be {_described(kind.key_type)}, got {shown(key)}"
            yield from _faults(member, kind.value_type, f"{place}.{key}".lstrip("."))
    elif isinstance(kind, _LIST_TYPES):
        for index, item in enumerate(value):
            yield from _faults(item, kind.item_type, f"{place}[{index}]")


def _faults_of_fields(value: dict[Any, Any], kind: msgspec.inspect.StructType, place: str) -> Iterator[_Fault]:
    names = [field.encode_name for field in kind.fields]
    for key in value:
        if key not in names:
            yield place, f"fields must be among {', '.join(names)}, got {shown(key)}"
    for field in kind.fields:
        if field.encode_name in value:
            yield from _faults(value[field.encode_name], field.type, f"{place}.{field.encode_name}".lstrip("."))
        elif field.required:
            found = ", ".join(map(str, value)) or "no field"
            yield place, f"field {field.encode_name!r} is required, got {found}"


def _chosen(kind: Any, value: object) -> Any:
    """The type that a value has, of those that it can have; without a description of the type."""
    if isinstance(kind, msgspec.inspect.Metadata):
        return _chosen(kind.type, value)
    if isinstance(kind, msgspec.inspect.UnionType):
        return next(_chosen(each, value) for each in kind.types if _fits(value, each))
    return kind


def _is_date(value: object) -> bool:
    if isinstance(value, str):
        with suppress(ValueError):
            value = datetime.date.fromisoformat(value)
    return isinstance(value, datetime.date) and not isinstance(value, datetime.datetime)


class _Kind(NamedTuple):
    """What a value must be, to follow "must be", and what else where it has a shortest length."""

    fits: Callable[[Any], bool]
    described: str
    not_empty: str = ""


_LIST = _Kind(lambda value: isinstance(value, list), "a list", " with at least one item")
_KINDS: dict[type, _Kind] = {
    msgspec.inspect.NoneType: _Kind(lambda value: value is None, "nothing"),
    msgspec.inspect.StrType: _Kind(lambda value: isinstance(value, str), "text", " that is not empty"),
    msgspec.inspect.BoolType: _Kind(lambda value: isinstance(value, bool), "true or false"),
    msgspec.inspect.IntType: _Kind(lambda value: type(value) is int, "a whole number"),
    msgspec.inspect.DateType: _Kind(_is_date, "a date such as 1999-12-31"),
    msgspec.inspect.StructType: _Kind(lambda value: isinstance(value, dict), "a mapping of fields"),
    msgspec.inspect.DictType: _Kind(lambda value: isinstance(value, dict), "a mapping", " with at least one key"),
    **dict.fromkeys(_LIST_TYPES, _LIST),
}
_OTHER = _Kind(lambda value: True, "of another type")


def _fits(value: Any, kind: Any) -> bool:
    """Whether a value itself has a type, whatever it contains."""
    if isinstance(kind, msgspec.inspect.Metadata):
        return _fits(value, kind.type)
    if isinstance(kind, msgspec.inspect.UnionType):
        return any(_fits(value, each) for each in kind.types)
    if not _KINDS.get(type(kind), _OTHER).fits(value):
        return False
    shortest, pattern = getattr(kind, "min_length", None), getattr(kind, "pattern", None)
    return (not shortest or len(value) >= shortest) and (pattern is None or re.search(pattern, value) is not None)


def _described(kind: Any) -> str:
    """What a value must be, to follow "must be"."""
    if isinstance(kind, msgspec.inspect.Metadata):
        return str((kind.extra_json_schema or {}).get("description") or _described(kind.type))
    if isinstance(kind, msgspec.inspect.UnionType):
        return " or ".join(_described(each) for each in kind.types if not isinstance(each, msgspec.inspect.NoneType))
    known = _KINDS.get(type(kind), _OTHER)
    return known.described + (known.not_empty if getattr(kind, "min_length", None) else "")
