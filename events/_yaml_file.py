"""Strict reading of YAML files that users write."""

from __future__ import annotations

import copy
import datetime
import os
import re
from typing import Any, TypeVar

import msgspec

from corefsample.errors import InputError
from corefsample.files import PathLike, ReadProgress, open_bytes

T = TypeVar("T")
Key = str | int


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
        If a value breaks a rule; the place is the file and the path to the value.
    """
    try:
        return msgspec.convert(content, kind)
    except msgspec.ValidationError as error:
        rule, where = _located(content, kind, str(error))
        raise InputError(rule, place=f"{source}: {where}") from None


def _located(content: Any, kind: type, message: str) -> tuple[str, str]:
    """Rule with the value found, and the path to the value, from a message of msgspec.

    msgspec gives both in the message only, without the value and with "[...]" for the keys of mappings.
    """
    rule, _, where = message.partition(" - at ")
    of_key = where.startswith("`key` in ")
    content = copy.deepcopy(content)
    node, place = content, ""
    for name, index in re.findall(r"\.([\w-]+)|\[(\d+|\.\.\.)\]", where):
        key = name or (_culprit(content, node, kind, message) if index == "..." else int(index))
        node, place = node[key], f"{place}[{key}]" if isinstance(key, int) else f"{place}.{key}"
    if rule.startswith("Object "):  # the rule names the unknown or missing field
        found = "" if "unknown" in rule else f", got {shown(node)}"
        return f"{rule}{found}", place.lstrip(".") or "file"
    value = _culprit(content, node, kind, message) if of_key else node
    return f"{rule.partition(', got ')[0]}, got {shown(value)}", place.lstrip(".") or "file"


def _culprit(content: Any, node: dict[Key, Any], kind: type, message: str) -> Key:
    """Find the member of a mapping that the message is about by converting one member at a time; return its key."""
    members = dict(node)
    for key, value in members.items():
        node.clear()
        node[key] = value
        try:
            msgspec.convert(content, kind)
        except msgspec.ValidationError as error:
            if str(error) == message:
                break
    return key


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
