"""Model files of taggers: NumPy's .npz; loading runs no code from it.

"header" is a JSON text: format, version, kind, features (version of the attributes), parameters (of the constructor),
and texts (tags, and words or attributes). The arrays have the names of the model's fields.
"""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from dataclasses import fields
from typing import Any

import numpy as np

from corefsample import _checks
from corefsample._arrays import Floats, Ints
from corefsample.errors import InputError, ParameterError, shown
from corefsample.files._atomic import write_bytes
from corefsample.files._paths import PathLike
from corefsample.files._reading import one_line, parsed_json
from corefsample.tagging._crf import FEATURES_VERSION, ConditionalRandomField
from corefsample.tagging._hmm import HiddenMarkovModel
from corefsample.tagging._sentences import TrainedModel

Tagger = HiddenMarkovModel | ConditionalRandomField

FORMAT = "corefsample tagging model"
VERSION = 2
KINDS: dict[str, type[TrainedModel[Any]]] = {
    "hidden Markov model": HiddenMarkovModel,
    "conditional random field": ConditionalRandomField,
}
_TYPES = {"Ints": np.int64, "Floats": np.float64}
# AttributeError: a single array.
_DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, ValueError, AttributeError, TypeError)


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
        If the model is not fitted or not a tagger of this package, or the file exists and `overwrite` is false.
    OutputError
        If the file cannot be written.
    """
    kind = next((name for name, each in KINDS.items() if type(model) is each), None)
    if kind is None:
        kinds = ", ".join(each.__name__ for each in KINDS.values())
        raise ParameterError(f"must be one of {kinds}, got {shown(model)}", parameter="model")
    content = model._fitted()
    values = {field.name: getattr(content, field.name) for field in fields(content)}
    arrays = {name: value for name, value in values.items() if isinstance(value, np.ndarray)}
    header = {
        "format": FORMAT,
        "version": VERSION,
        "kind": kind,
        "features": FEATURES_VERSION,
        "parameters": model._parameters(),
        "texts": {name: value for name, value in values.items() if name not in arrays},
    }
    buffer = io.BytesIO()
    parts: dict[str, Any] = {"header": np.array(json.dumps(header)), **arrays}  # ASCII: words may have lone surrogates
    np.savez_compressed(buffer, **parts)
    write_bytes(path, buffer.getvalue(), overwrite=overwrite)


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
    try:
        with open(path, "rb") as stream, np.load(stream, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
    except OSError as error:
        reason = f"model file must be readable, got: {error.strerror or error}"
        raise InputError(reason, place=path) from None
    except _DAMAGED as error:
        reason = f"must be a {FORMAT}, got an incomplete, damaged or other file: {one_line(error)}"
        raise InputError(reason, place=path) from None
    try:
        kind, parameters, texts = _header(str(arrays.pop("header", "{}")))
        model: Any = kind(**parameters)
        model._with(_content(kind, texts, arrays))
    except InputError as error:
        raise error.at(path) from None
    except ParameterError as error:
        raise error.as_input_error(path) from None
    loaded: Tagger = model
    return loaded


def _header(text: str) -> tuple[type[TrainedModel[Any]], dict[str, Any], dict[str, Any]]:
    """Kind, parameters and texts of the model."""
    header = parsed_json(text, "header")
    for name, value in (("format", FORMAT), ("version", VERSION), ("features", FEATURES_VERSION)):
        if not isinstance(header, dict) or header.get(name) != value:
            value_of_file = shown(header.get(name) if isinstance(header, dict) else header)
            raise InputError(f"{name} must be {value}, got {value_of_file}", hint="train the model again")
    kind, parameters, texts = (header.get(name) for name in ("kind", "parameters", "texts"))
    if not isinstance(kind, str) or kind not in KINDS:
        raise InputError(f"kind must be one of {', '.join(KINDS)}, got {shown(kind)}")
    names = KINDS[kind]._parameter_names()
    if not isinstance(parameters, dict) or set(parameters) != set(names) or not isinstance(texts, dict):
        raise InputError(f"parameters must be {', '.join(names)}, got {shown(parameters)}")
    return KINDS[kind], parameters, texts


def _content(kind: type[TrainedModel[Any]], texts: dict[str, Any], arrays: dict[str, Ints | Floats]) -> Any:
    """Checked fields of the fitted model."""
    values: dict[str, Any] = {}
    for field in fields(kind._content_type):
        name, dtype = field.name, _TYPES.get(str(field.type))
        if dtype is None:
            value = texts.get(name)
            least = 1 if name == "tags" else 0
            if not isinstance(value, list) or len(value) < least or len({*map(str, value)}) < len(value):
                raise InputError(f"{name} must be a list of distinct texts, at least {least}, got {shown(value)}")
            values[name] = tuple(map(str, value))
            continue
        array = arrays.get(name, np.empty(0))
        # A dimension for each kind of text that the field says; otherwise `require_rows` checks the number.
        shape = tuple(len(values[axis]) for axis in field.metadata.get("axes", ())) or (array.size,)
        is_good = array.dtype == dtype and array.shape == shape and np.isfinite(array).all()
        if not is_good or (dtype is np.int64 and (array < 0).any()):
            rule = f"{name} must be finite {dtype.__name__} of shape {shape}, counts and places at least 0"
            raise InputError(f"{rule}, got {array.dtype} of shape {array.shape}")
        values[name] = array
    return kind._content_type(**values)
