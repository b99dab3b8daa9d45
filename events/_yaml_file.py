"""YAML files that users write: read strictly, so that nothing vanishes."""

from __future__ import annotations

import copy
import datetime
import re
from typing import Any, TypeVar

import msgspec

from corefsample.errors import InputError

__all__ = ["read_yaml", "shown", "typed"]

T = TypeVar("T")
Key = str | int


def read_yaml(source: str, data: bytes) -> object:
    """Read YAML, refusing a key that appears twice.

    Parameters
    ----------
    source
        Name of the file, for errors.
    data
        What the file holds, UTF-8.

    Raises
    ------
    InputError
        If it is no YAML: one line of file, line and reason.
    """
    import yaml

    def mapping(loader: Any, node: Any) -> object:
        # YAML would keep the last of two equal keys: the other's content would vanish unseen.
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
        line = f":{error.problem_mark.line + 1}" if error.problem_mark else ""
        raise InputError(f"{source}{line}: must be YAML: {_one_line(error.problem or error.context)}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # ValueError: a date that is none, such as 1999-02-30
        raise InputError(f"{source}: must be YAML in UTF-8: {_one_line(error)}") from error


def _one_line(value: object) -> str:
    return " ".join(str(value).split())


def typed(source: str, content: object, kind: type[T]) -> T:
    """Convert what a YAML file holds to a typed structure.

    Raises
    ------
    InputError
        If it does not fit: file, place, rule and the value found.
    """
    try:
        return msgspec.convert(content, kind)
    except msgspec.ValidationError as error:
        raise InputError(f"{source}: {_located(content, kind, str(error))}") from None


def _located(content: Any, kind: type, message: str) -> str:
    """Add to a message of msgspec the keys that it leaves out ("presets[...]") and the value found."""
    rule, _, where = message.partition(" - at ")
    of_key = where.startswith("`key` in ")
    content = copy.deepcopy(content)
    node, place = content, ""
    for name, index in re.findall(r"\.([\w-]+)|\[(\d+|\.\.\.)\]", where):
        key = name or (_culprit(content, node, kind, message) if index == "..." else int(index))
        node, place = node[key], f"{place}[{key}]" if isinstance(key, int) else f"{place}.{key}"
    if rule.startswith("Object "):  # a field that is unknown or missing: the rule says which
        found = "" if "unknown" in rule else f", got {shown(node)}"
        return f"{place.lstrip('.') or 'file'}: {rule}{found}"
    value = _culprit(content, node, kind, message) if of_key else node
    return f"{place.lstrip('.') or 'file'}: {rule.partition(', got ')[0]}, got {shown(value)}"


def _culprit(content: Any, node: dict[Key, Any], kind: type, message: str) -> Key:
    """Reduce a mapping within the content to the one member that the message is about, and return its key."""
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
    """A value for a message: on one line, and short."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return f"{value} (YAML reads NO, OFF, YES and ON as truth values: put quotes round them)"
    if isinstance(value, datetime.date):
        return str(value)
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
