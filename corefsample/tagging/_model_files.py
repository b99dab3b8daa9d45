"""Model files of taggers and classifiers: a zip of NumPy arrays and JSON texts; loading runs no code from it.

header.json
    format, version, kind, features (version of the attributes), parameters (of the constructor).
names.json
    tags, and words or attributes.
*.npy
    The arrays, by the names of the model's fields; those of two dimensions row by row.
"""

from __future__ import annotations

import json
import os
from typing import Any, NamedTuple, TypeGuard

import numpy as np
import numpy.typing as npt

from corefsample._checks import shown
from corefsample.errors import InputError, ParameterError
from corefsample.files import PathLike, json_part, npy_array, npy_bytes, read_archive, write_archive
from corefsample.tagging import _features
from corefsample.tagging._classifiers import LogisticRegression, NaiveBayes, TextWeights
from corefsample.tagging._crf import ConditionalRandomField, LinearWeights
from corefsample.tagging._hmm import HiddenMarkovModel, HmmCounts

Tagger = HiddenMarkovModel | ConditionalRandomField | NaiveBayes | LogisticRegression

FORMAT = "corefsample tagging model"
VERSION = 1
_LARGEST_TEXTS, _LARGEST_ARRAY = 1 << 28, 1 << 32


class _Kind(NamedTuple):
    """What a file of one kind of model contains."""

    model: type[Any]
    content: type[Any]  # dataclass of the fitted model
    fitted: str  # property of the model that returns it
    names: str  # field of words or attributes
    arrays: dict[str, type[Any]]  # and their types
    parameters: tuple[str, ...]


_INT, _FLOAT = np.int64, np.float64
KINDS = {
    "hidden Markov model": _Kind(
        HiddenMarkovModel,
        HmmCounts,
        "counts",
        "words",
        dict.fromkeys(("starts", "ends", "transitions", "indptr", "emitted_by", "emissions"), _INT),
        ("pseudocount", "rare_count"),
    ),
    "conditional random field": _Kind(
        ConditionalRandomField,
        LinearWeights,
        "weights",
        "attributes",
        {"indptr": _INT, "codes": _INT, "weights": _FLOAT, "transitions": _FLOAT},
        ("features", "l2", "max_iterations", "min_count"),
    ),
    "naive Bayes": _Kind(
        NaiveBayes,
        TextWeights,
        "weights",
        "words",
        {"intercepts": _FLOAT, "weights": _FLOAT},
        ("pseudocount", "min_count"),
    ),
    "logistic regression": _Kind(
        LogisticRegression,
        TextWeights,
        "weights",
        "words",
        {"intercepts": _FLOAT, "weights": _FLOAT},
        ("l2", "min_count", "max_iterations"),
    ),
}
# Arrays of two dimensions, which have one column per tag.
_MATRICES = {(HmmCounts, "transitions"), (LinearWeights, "transitions"), (TextWeights, "weights")}


def save_model(model: Tagger, path: PathLike, *, overwrite: bool = False) -> None:
    """Write a fitted model to a file, which appears under its name when it is complete.

    Raises
    ------
    ParameterError
        If the model is not fitted, is of no kind known here, or the file exists and `overwrite` is false.
    OutputError
        If the file cannot be written.
    """
    name = next((name for name, kind in KINDS.items() if type(model) is kind.model), None)
    if name is None:
        known = ", ".join(kind.model.__name__ for kind in KINDS.values())
        raise ParameterError(f"must be one of {known}, got {shown(model)}", parameter="model")
    kind = KINDS[name]
    content = getattr(model, kind.fitted)
    header = {
        "format": FORMAT,
        "version": VERSION,
        "kind": name,
        "features": _features.VERSION,
        "parameters": {parameter: getattr(model, parameter) for parameter in kind.parameters},
    }
    names = {"tags": content.tags, kind.names: getattr(content, kind.names)}
    parts = {"header.json": _json(header), "names.json": _json(names)}
    for field, dtype in kind.arrays.items():
        parts[f"{field}.npy"] = npy_bytes(np.ascontiguousarray(getattr(content, field), dtype).reshape(-1))
    write_archive(path, parts, overwrite=overwrite)


def _json(content: dict[str, Any]) -> bytes:
    return json.dumps(content, indent=1).encode()  # ASCII: a word may contain a lone surrogate


def load_model(path: PathLike) -> Tagger:
    """Read a model file.

    Raises
    ------
    InputError
        If the file cannot be read, is damaged, is not a model, or is of another version.
    """
    header_part = read_archive(path, {"header.json": 1 << 20}, FORMAT)["header.json"]
    try:
        kind, parameters = _header(header_part)
        limits = {"names.json": _LARGEST_TEXTS, **{f"{name}.npy": _LARGEST_ARRAY for name in kind.arrays}}
    except InputError as error:
        raise error.at(os.fspath(path)) from None
    parts = read_archive(path, limits, FORMAT)
    try:
        model = kind.model(**parameters)
        model._with(_content(kind, parts))
    except InputError as error:
        raise error.at(os.fspath(path)) from None
    except ParameterError as error:
        raise error.as_input_error(os.fspath(path)) from None
    loaded: Tagger = model
    return loaded


def _header(content: bytes) -> tuple[_Kind, dict[str, Any]]:
    """Kind and parameters of the model."""
    header = json_part(content, "header.json")
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise InputError(f"must be a {FORMAT}, got another format")
    if header.get("version") != VERSION:
        raise InputError(f"version must be {VERSION}, got {shown(header.get('version'))}")
    if header.get("features") != _features.VERSION:
        found = shown(header.get("features"))
        raise InputError(f"features must be {_features.VERSION}, got {found}", hint="train the model again")
    if not isinstance(header.get("kind"), str) or header["kind"] not in KINDS:
        raise InputError(f"kind must be one of {', '.join(KINDS)}, got {shown(header.get('kind'))}")
    kind, parameters = KINDS[header["kind"]], header.get("parameters")
    if not isinstance(parameters, dict) or set(parameters) != set(kind.parameters):
        raise InputError(f"parameters must be {', '.join(kind.parameters)}, got {shown(parameters)}")
    return kind, parameters


def _content(kind: _Kind, parts: dict[str, bytes]) -> Any:
    """The fitted model's fields, checked."""
    names = json_part(parts["names.json"], "names.json")
    values: dict[str, Any] = {}
    for field in ("tags", kind.names):
        texts = names.get(field) if isinstance(names, dict) else None
        if not _are_names(texts):
            raise InputError(f"{field} must be a list of distinct texts, got {shown(texts)}")
        values[field] = tuple(texts)
    if not values["tags"]:
        raise InputError("tags must be at least one, got none")
    for field, dtype in kind.arrays.items():
        array = npy_array(parts[f"{field}.npy"], dtype, field)
        values[field] = _rows(array, len(values["tags"]), field) if (kind.content, field) in _MATRICES else array
    return kind.content(**values)


def _are_names(values: object) -> TypeGuard[list[str]]:
    return isinstance(values, list) and all(isinstance(one, str) for one in values) and len(set(values)) == len(values)


def _rows(array: npt.NDArray[Any], n_tags: int, field: str) -> npt.NDArray[Any]:
    if array.shape[0] % n_tags:
        raise InputError(f"{field} must be rows of {n_tags}, got {array.shape[0]} numbers")
    return array.reshape(-1, n_tags)
