"""Model files of taggers: a zip of NumPy arrays and JSON texts; loading runs no code from it.

header.json
    format, version, kind, features (version of the attributes), parameters (of the constructor).
names.json
    tags, and words or attributes.
*.npy
    The arrays, by the names of the model's fields; those of two dimensions row by row.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import Field, fields
from typing import Any

import numpy as np

from corefsample import _checks
from corefsample._checks import shown
from corefsample.errors import InputError, ParameterError
from corefsample.files._archives import npy_array, npy_bytes, read_archive, write_archive
from corefsample.files._contents import parsed_json
from corefsample.files._paths import PathLike
from corefsample.tagging._crf import FEATURES_VERSION, ConditionalRandomField
from corefsample.tagging._hmm import HiddenMarkovModel
from corefsample.tagging._sentences import TrainedModel

Tagger = HiddenMarkovModel | ConditionalRandomField

FORMAT = "corefsample tagging model"
VERSION = 1
_LARGEST_TEXTS, _LARGEST = 1 << 26, 1 << 30  # bytes of names.json, and of all arrays
_NPY_HEADER = 1 << 10


KINDS: dict[str, type[TrainedModel[Any]]] = {
    "hidden Markov model": HiddenMarkovModel,
    "conditional random field": ConditionalRandomField,
}
_TYPES = {"Ints": np.int64, "Floats": np.float64}


def _fields(kind: type[TrainedModel[Any]]) -> tuple[list[str], list[Field[Any]]]:
    """Names of the fields of texts, and the fields of arrays."""
    every = fields(kind._content_type)
    return [each.name for each in every if each.type not in _TYPES], [each for each in every if each.type in _TYPES]


def save_tagger(model: Tagger, path: PathLike, *, overwrite: bool = False) -> None:
    """Write a fitted model to a file, which appears under its name when it is complete.

    Parameters
    ----------
    model
        Fitted tagger of this package.
    path
        Path of the new file.
    overwrite
        True if an existing file is replaced; by default it is an error.

    Raises
    ------
    ParameterError
        If the model is not fitted, not a tagger of this package, or larger than a file of it may be; or if the file
        exists and `overwrite` is false.
    OutputError
        If the file cannot be written.
    """
    name = next((name for name, kind in KINDS.items() if type(model) is kind), None)
    if name is None:
        kinds = ", ".join(kind.__name__ for kind in KINDS.values())
        raise ParameterError(f"must be one of {kinds}, got {shown(model)}", parameter="model")
    parameters = model._fitted()
    names, arrays = _fields(type(model))
    header = {
        "format": FORMAT,
        "version": VERSION,
        "kind": name,
        "features": FEATURES_VERSION,
        "parameters": model._parameters(),
    }
    texts = {field: getattr(parameters, field) for field in names}
    files = {"header.json": _json(header), "names.json": _json(texts)}
    for array_field in arrays:
        values = np.ascontiguousarray(getattr(parameters, array_field.name), _TYPES[str(array_field.type)])
        files[f"{array_field.name}.npy"] = npy_bytes(values.reshape(-1))
    if len(files["names.json"]) > _LARGEST_TEXTS or sum(map(len, files.values())) > _LARGEST:
        rule = f"must have at most {_LARGEST >> 20} MiB of numbers and {_LARGEST_TEXTS >> 20} MiB of texts"
        raise ParameterError(f"{rule}, got more", parameter="model")
    write_archive(path, files, overwrite=overwrite)


def _json(fields: dict[str, Any]) -> bytes:
    return json.dumps(fields, indent=1).encode()  # ASCII: a word may contain a lone surrogate


def load_tagger(path: PathLike) -> Tagger:
    """Read a model file.

    Parameters
    ----------
    path
        Path of a file that `save_tagger` wrote.

    Raises
    ------
    InputError
        If the file cannot be read, is damaged, is not a model, or is of another version.
    """
    path = _checks.path("path", path)

    def read_member(name: str, limit: int) -> bytes:
        return read_archive(path, {name: limit}, FORMAT)[name]

    try:
        kind, parameters = _header(read_member("header.json", 1 << 20))
        model: Any = kind(**parameters)
        model._with(_content(kind, read_member))
    except InputError as error:
        raise error if error.place else error.at(path) from None
    except ParameterError as error:
        raise error.as_input_error(path) from None
    loaded: Tagger = model
    return loaded


def _header(data: bytes) -> tuple[type[TrainedModel[Any]], dict[str, Any]]:
    """Kind and parameters of the model."""
    header = parsed_json(data, "header.json")
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise InputError(f"must be a {FORMAT}, got another format")
    if header.get("version") != VERSION:
        raise InputError(f"version must be {VERSION}, got {shown(header.get('version'))}")
    if header.get("features") != FEATURES_VERSION:
        version = shown(header.get("features"))
        raise InputError(f"features must be {FEATURES_VERSION}, got {version}", hint="train the model again")
    if not isinstance(header.get("kind"), str) or header["kind"] not in KINDS:
        raise InputError(f"kind must be one of {', '.join(KINDS)}, got {shown(header.get('kind'))}")
    kind, parameters = KINDS[header["kind"]], header.get("parameters")
    if not isinstance(parameters, dict) or set(parameters) != set(kind._parameter_names()):
        raise InputError(f"parameters must be {', '.join(kind._parameter_names())}, got {shown(parameters)}")
    return kind, parameters


def _content(kind: type[TrainedModel[Any]], read_member: Callable[[str, int], bytes]) -> Any:
    """Checked fields of the fitted model; `read_member` reads a file of the archive, up to a number of bytes."""
    texts = parsed_json(read_member("names.json", _LARGEST_TEXTS), "names.json")
    names, arrays = _fields(kind)
    values: dict[str, Any] = {}
    for field in names:
        names_of_field = texts.get(field) if isinstance(texts, dict) else None
        if (
            not isinstance(names_of_field, list)
            or not all(isinstance(name, str) for name in names_of_field)
            or len({*names_of_field}) < len(names_of_field)
        ):
            raise InputError(f"{field} must be a list of distinct texts, got {shown(names_of_field)}")
        values[field] = tuple(names_of_field)
    if not values["tags"]:
        raise InputError("tags must be at least one, got none")
    # Without a shape: one number for each text, or for each text and tag.
    left, most = _LARGEST, (max(map(len, values.values())) + 2) * len(values["tags"])
    for array_field in arrays:
        shape = tuple(len(values[axis]) for axis in array_field.metadata.get("axes", ()))
        size = math.prod(shape) if shape else most
        file = read_member(f"{array_field.name}.npy", min(8 * size + _NPY_HEADER, left))
        left -= len(file)
        array = npy_array(file, _TYPES[str(array_field.type)], array_field.name)
        if not np.isfinite(array).all() or (array.dtype == np.int64 and (array < 0).any()):
            raise InputError(f"{array_field.name} must be finite numbers, counts and places at least 0")
        if shape and array.size != math.prod(shape):
            raise InputError(f"{array_field.name} must have shape {shape}, got {array.size} numbers")
        values[array_field.name] = array.reshape(shape or -1)
    return kind._content_type(**values)
