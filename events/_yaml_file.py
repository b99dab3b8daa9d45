"""YAML files that users write: read strictly, so that nothing vanishes."""

from __future__ import annotations

from typing import Any

from corefsample.errors import InputError

__all__ = ["read_yaml"]


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
