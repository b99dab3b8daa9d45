"""Strict reading of YAML files that users write."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, TypeVar

import msgspec

from corefsample.errors import InputError
from corefsample.files._paths import PathLike
from corefsample.files._reading import ReadProgress, open_bytes
from events._yaml_faults import faults, shown

__all__ = ["file_bytes", "first_of", "read_yaml", "shown", "typed"]

T = TypeVar("T")

_MOST_NAMED = 4  # faults of a file in one message


def file_bytes(path: PathLike) -> bytes:
    """Content of a file that a user names.

    Raises
    ------
    InputError
        If it cannot be read.
    """
    with open_bytes(os.fspath(path), ReadProgress()) as stream:
        content: bytes = stream.read()
    return content


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
        found = faults(content, kind)
        if not found:
            raise InputError(f"must have the structure of such a file, got: {error}", place=source) from None
        errors = [InputError(str(each), place=f"{source}: {each.place or 'file'}") for each in found]
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
