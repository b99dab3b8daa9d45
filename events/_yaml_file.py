"""Strict reading of YAML files that users write."""

import re
from typing import Any, TypeVar

import msgspec

from corefsample.errors import InputError, did_you_mean
from corefsample.files._paths import PathLike
from corefsample.files._reading import one_line, read_whole

T = TypeVar("T")
_MOST_MIB = 8  # limit of a file's size; parsed YAML takes a hundred times more memory, and a lexicon has 50 kB
_BOOLEANS = "YAML reads NO, OFF, YES and ON as booleans: quote them"

# Words and types in the messages of msgspec, as a writer of YAML calls them.
_WORDS = {"Expected": "must be", " of length >= 1": " that is not empty", "Invalid RFC3339 encoded": "must be a"}
_TYPES = {"object": "a mapping", "array": "a list", "str": "text", "int": "a whole number", "bool": "true or false"}


def file_bytes(path: PathLike) -> bytes:
    """Bytes of a YAML file of a user; raises InputError if the file cannot be read or is larger than 8 MiB."""
    return read_whole(path, _MOST_MIB)


def read_yaml(source: str, data: bytes) -> object:
    """Read YAML; a key that appears twice is an error.

    Parameters
    ----------
    source
        Name of the file, for error messages.
    data
        Content of the file, UTF-8.

    Raises
    ------
    InputError
        If the content is not YAML in UTF-8, or if a key appears twice in a mapping; the error's place is the file and,
        if known, the line.
    """
    import yaml

    def mapping(loader: Any, node: Any) -> object:
        # YAML keeps the last of two equal keys, and the value of the first key would be lost silently.
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
        location = f"{source}: line {error.problem_mark.line + 1}" if error.problem_mark else source
        raise InputError(f"must be YAML, got: {error.problem or error.context}", place=location) from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # ValueError: an impossible date such as 1999-02-30
        raise InputError(f"must be YAML in UTF-8, got: {one_line(error)}", place=source) from None


def _fields_at(kind: Any, path: str) -> list[str]:
    """Names of the fields of the structure at a path, such as ``presets[...].defaults`` or ``frames[0]``."""
    kinds = [msgspec.inspect.type_info(kind)]
    for step in re.findall(r"\[|\w+", re.sub(r"\[[^]]*\]", "[", path)):
        if step == "[":
            kinds = [getattr(each, "value_type", getattr(each, "item_type", each)) for each in kinds]
        else:
            kinds = [f.type for each in kinds for f in getattr(each, "fields", ()) if f.encode_name == step]
        kinds = [member for each in kinds for member in getattr(each, "types", (each,))]  # of unions
    return [f.encode_name for each in kinds for f in getattr(each, "fields", ())]


def typed(source: str, tree: object, kind: type[T]) -> T:
    """Convert the content of a YAML file to a typed structure.

    Raises
    ------
    InputError
        If a value has another type than `kind` requires; the error has as place the file and the path to the value, in
        which ``[...]`` stands for a key.
    """
    try:
        return msgspec.convert(tree, kind)
    except msgspec.ValidationError as error:
        rule, _, path = str(error).partition(" - at ")
        location = path.replace("`", "").removeprefix("$").lstrip(".")
        hint = _BOOLEANS if "got `bool`" in rule else None
        if rule.startswith("Object"):
            name = rule.split("`")[1]
            if "unknown" in rule:
                rule, hint = f"unknown field {name}", did_you_mean(name, _fields_at(kind, location))
            else:
                rule = f"field {name} is required, got none"
        for words, plain in _WORDS.items():
            rule = rule.replace(words, plain)
        rule = re.sub(r"`([^`]+)`", lambda match: " or ".join(_TYPES.get(t, t) for t in match[1].split(" | ")), rule)
        raise InputError(rule, place=f"{source}: {location}" if location else source, hint=hint) from None
