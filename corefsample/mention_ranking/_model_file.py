"""Model files: a zip of NumPy arrays and a JSON header; loading runs no code from it, there are no pickles.

header.json
    format, version, features (`features_hash`: codes, limits and word lists), templates, scale, provenance.
weights.npy
    int8 (n_buckets,): weight / scale.
vocabulary.npy
    uint32 (n_words,), ascending.

The bytes depend only on the model, not on time or name.
"""

from __future__ import annotations

import io
import json
import os
import struct
import tokenize
import zipfile
import zlib
from typing import Any, NoReturn

import numpy as np

from corefsample._arrays import Floats32, Ints8
from corefsample._checks import shown
from corefsample.errors import InputError, ParameterError
from corefsample.files import PathLike, write_bytes
from corefsample.mention_ranking._model import LARGEST_TABLE, AntecedentModel
from corefsample.mention_ranking.features import TemplateSet, features_hash

FORMAT = "corefsample antecedent model"
VERSION = 1
_LIMITS = {"header.json": 1 << 22, "weights.npy": LARGEST_TABLE + 1024, "vocabulary.npy": 1 << 26}
_LISTS = ("pronoun", "phrase", "new")
_STEPS = 127
_LARGEST_SCALE = float(np.finfo(np.float32).max) / 128
_ZIP_ERRORS = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError, struct.error)


# NumPy reads the header of an array as Python source.
_HEADER_ERRORS = (ValueError, RecursionError, tokenize.TokenError, SyntaxError, TypeError, MemoryError)


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


def save_model(model: AntecedentModel, path: PathLike, *, overwrite: bool = False) -> None:
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
        "features": features_hash(),
        "templates": {name: list(getattr(model.templates, name)) for name in _LISTS},
        "scale": scale,
        "provenance": dict(model.provenance),
    }
    try:
        text = json.dumps(header, ensure_ascii=False, allow_nan=False, indent=1).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise ParameterError(f"must be what JSON can represent, got: {error}", parameter="provenance") from None
    parts = {"header.json": text, "weights.npy": _npy(steps), "vocabulary.npy": _npy(model.vocabulary)}
    write_bytes(path, _zip(parts), overwrite=overwrite)


def _npy(array: np.ndarray) -> bytes:
    stream = io.BytesIO()
    np.lib.format.write_array(stream, array, version=(1, 0), allow_pickle=False)
    return stream.getvalue()


def _zip(parts: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in parts.items():
            entry = zipfile.ZipInfo(name)
            entry.create_system = 3  # the same on every system
            archive.writestr(entry, content, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def load_model(path: PathLike) -> AntecedentModel:
    """Read a model file.

    Raises
    ------
    InputError
        If the file cannot be read, is not a model, is of another version, or has templates or features that this
        version of corefsample does not have.
    """
    place = os.fspath(path)
    try:
        with zipfile.ZipFile(place) as archive:
            parts = {part: _part(archive, part) for part in _LIMITS}
        header = _header(parts["header.json"])
        weights = _array(parts["weights.npy"], np.dtype(np.int8), "weights")
        vocabulary = _array(parts["vocabulary.npy"], np.dtype(np.uint32), "vocabulary")
        templates = TemplateSet(**header["templates"])
        return AntecedentModel(
            weights.astype(np.float32) * np.float32(header["scale"]), vocabulary, templates, header["provenance"]
        )
    except InputError as error:
        raise error.at(place) from None
    except ParameterError as error:
        raise error.as_input_error(place) from None
    except OSError as error:
        raise InputError(f"model file must be readable, got: {error.strerror or error}", place=place) from None
    except _ZIP_ERRORS as error:
        raise InputError(f"must be a {FORMAT}, got an incomplete or damaged zip file: {error}", place=place) from None


def _part(archive: zipfile.ZipFile, part: str) -> bytes:
    if part not in archive.namelist():
        raise InputError(f"must be a {FORMAT}, got a zip file without {part}")
    entry = archive.getinfo(part)
    if entry.file_size > _LIMITS[part]:
        raise InputError(f"{part} must have at most {_LIMITS[part]} bytes, got {entry.file_size}")
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise InputError(f"{part} must be stored or deflated, got compression {entry.compress_type}")
    return archive.read(entry)


def _header(content: bytes) -> dict[str, Any]:
    def fail(field: str, rule: str) -> NoReturn:
        raise InputError(f"{field} must be {rule}, got {shown(header.get(field))}")

    try:
        header = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise InputError(f"header.json must be JSON, got: {error}") from None
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise InputError(f"must be a {FORMAT}, got another format")
    if header.get("version") != VERSION:
        fail("version", str(VERSION))
    if header.get("features") != features_hash():
        raise InputError(
            f"features must be those of this version of corefsample ({features_hash()}), "
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
    return header


def _are_strings(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(line, str) for line in value)


def _array(content: bytes, dtype: np.dtype[Any], field: str) -> np.ndarray:
    """Read an .npy file of one dimension; memory is allocated for the actual content, not by the header."""
    stream = io.BytesIO(content)
    try:
        if np.lib.format.read_magic(stream) != (1, 0):
            raise ValueError("another version of the .npy format")
        shape, _, found = np.lib.format.read_array_header_1_0(stream)
    except _HEADER_ERRORS as error:
        raise InputError(f"{field} must be an .npy file, got: {' '.join(str(error).split())}") from None
    if found != dtype or len(shape) != 1:
        raise InputError(f"{field} must be {dtype} in one dimension, got {len(shape)} of {found}")
    values = content[stream.tell() :]
    if len(values) != shape[0] * dtype.itemsize:
        raise InputError(f"{field} must be {shape[0]} numbers, as its file says, got {len(values)} bytes")
    return np.frombuffer(values, dtype)
