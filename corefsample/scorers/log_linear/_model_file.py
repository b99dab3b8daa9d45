"""Model files: a zip of NumPy arrays and a JSON header; loading runs no code from it, there are no pickles.

header.json
    format, version, language (its code, and its resources unless they are of the package), features (`features_hash`:
    codes, limits and resources), templates, scale, provenance.
weights.npy
    int8 (n_buckets,): weight / scale.
vocabulary.npy
    uint32 (n_words,), ascending.

The bytes depend only on the model, not on time or name.
"""

from __future__ import annotations

import json
import os
from importlib import resources
from typing import Any, NoReturn

import numpy as np

from corefsample._arrays import Floats32, Ints8
from corefsample._checks import shown
from corefsample.errors import InputError, ParameterError
from corefsample.files._archives import npy_array, npy_bytes, read_archive, write_archive
from corefsample.files._contents import parsed_json
from corefsample.files._paths import PathLike
from corefsample.languages._language import Language
from corefsample.scorers.log_linear._model import LARGEST_TABLE, SHIPPED_MODELS, AntecedentModel, MentionSource
from corefsample.scorers.log_linear.features._encoding import features_hash
from corefsample.scorers.log_linear.features._templates import TemplateSet

FORMAT = "corefsample antecedent model"
VERSION = 1
_LIMITS = {"header.json": 1 << 22, "weights.npy": LARGEST_TABLE + 1024, "vocabulary.npy": 1 << 26}
_LISTS = ("pronoun", "phrase", "new")
_STEPS = 127
_LARGEST_SCALE = float(np.finfo(np.float32).max) / 128


def on_grid(weights: Floats32) -> tuple[Ints8, float]:
    """Round weights to multiples of a scale, 127 of which make the largest.

    Weights that are such multiples already stay as they are.

    Returns
    -------
    array of shape (n_buckets,), int8
        The multiples.
    float
        The scale, above 0; a float32.
    """
    scale = np.float32(np.abs(weights).max(initial=0.0) / _STEPS) or np.float32(1.0)
    # A 127th of 127 scales may be the next number up or down: take the scale that gives the weights back.
    for near in (scale, np.nextafter(scale, np.float32(0.0)), np.nextafter(scale, np.float32(np.inf))):
        if near > 0 and np.isfinite(near):
            steps = _steps(weights, near)
            if np.array_equal(steps.astype(np.float32) * near, weights):
                return steps, float(near)
    return _steps(weights, scale), float(scale)


def rounded(weights: Floats32) -> Floats32:
    """Weights as a model file gives them back."""
    steps, scale = on_grid(weights)
    return steps.astype(np.float32) * np.float32(scale)


def _steps(weights: Floats32, scale: np.float32) -> Ints8:
    steps: Ints8 = np.clip(np.rint(weights / scale), -_STEPS, _STEPS).astype(np.int8)
    return steps


def save_antecedent_model(model: AntecedentModel, path: PathLike, *, overwrite: bool = False) -> None:
    """Write a model to a file, which appears under its name when it is complete.

    Weights are rounded to 8 bits; those of `train` are so already and come back unchanged.

    Raises
    ------
    ParameterError
        If the file exists and `overwrite` is false, or JSON cannot represent the provenance.
    OutputError
        If the file cannot be written.
    """
    steps, scale = on_grid(model.weights)
    header = {
        "format": FORMAT,
        "version": VERSION,
        "language": model.language.to_json(),
        "features": features_hash(model.language),
        "templates": {name: list(getattr(model.templates, name)) for name in _LISTS},
        "scale": scale,
        "provenance": dict(model.provenance),
    }
    try:
        text = json.dumps(header, ensure_ascii=False, allow_nan=False, indent=1).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise ParameterError(f"must be what JSON can represent, got: {error}", parameter="provenance") from None
    parts = {"header.json": text, "weights.npy": npy_bytes(steps), "vocabulary.npy": npy_bytes(model.vocabulary)}
    write_archive(path, parts, overwrite=overwrite)


def model_file(name: PathLike, mentions: MentionSource = "parse") -> str:
    """Path of a model: those of other languages that are in the package have codes, others are paths already."""
    text = os.fspath(name)
    if text not in SHIPPED_MODELS:
        return text
    return str(resources.files("corefsample.scorers.log_linear").joinpath("data", SHIPPED_MODELS[text][mentions]))


def load_antecedent_model(path: PathLike, mentions: MentionSource = "parse") -> AntecedentModel:
    """Read a model file.

    Parameters
    ----------
    path
        The file; or "es" for the Spanish model of the package.
    mentions
        That it will score: for annotated mentions the package has another Spanish model. A file is for either.

    Raises
    ------
    InputError
        If the file cannot be read, is not a model, is of another version, or has templates or features that this
        version of corefsample does not have.
    """
    path = model_file(path, mentions)
    parts = read_archive(path, _LIMITS, FORMAT)
    try:
        header, language = _header(parts["header.json"])
        weights = npy_array(parts["weights.npy"], np.int8, "weights")
        vocabulary = npy_array(parts["vocabulary.npy"], np.uint32, "vocabulary")
        templates = TemplateSet(**header["templates"])
        return AntecedentModel(
            weights.astype(np.float32) * np.float32(header["scale"]),
            vocabulary,
            templates,
            header["provenance"],
            language,
        )
    except InputError as error:
        raise error.at(os.fspath(path)) from None
    except ParameterError as error:
        raise error.as_input_error(os.fspath(path)) from None


def _header(content: bytes) -> tuple[dict[str, Any], Language]:
    def fail(field: str, rule: str) -> NoReturn:
        raise InputError(f"{field} must be {rule}, got {shown(header.get(field))}")

    header = parsed_json(content, "header.json")
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise InputError(f"must be a {FORMAT}, got another format")
    if header.get("version") != VERSION:
        fail("version", str(VERSION))
    language = Language.from_json(header.get("language"))
    if header.get("features") != features_hash(language):
        raise InputError(
            f"features must be those of this version of corefsample ({features_hash(language)}), "
            f"got {shown(header.get('features'))}",
            hint="train the model again",
        )
    lists, scale = header.get("templates"), header.get("scale")
    if not isinstance(lists, dict) or set(lists) != set(_LISTS) or not all(map(_are_strings, lists.values())):
        fail("templates", f"lists of strings ({', '.join(_LISTS)})")
    if not isinstance(scale, float) or not 0.0 < scale <= _LARGEST_SCALE:
        fail("scale", "a number above 0")
    if not isinstance(header.get("provenance"), dict):
        fail("provenance", "an object")
    return header, language


def _are_strings(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(line, str) for line in value)
