"""Model files: a zip of NumPy arrays and a JSON header; nothing in it is run, nothing is unpickled.

header.json
    format, version, features (hash of atoms and word lists), templates, scale, provenance.
weights.npy
    int8 (n_buckets,): weight / scale.
vocabulary.npy
    uint32 (n_words,), ascending.

The bytes depend on the model alone: no time, no name.
"""

from __future__ import annotations

import io
import json
import os
import secrets
import struct
import zipfile
import zlib
from typing import Any

import numpy as np
import numpy.typing as npt

from corefsample._checks import shown
from corefsample.errors import InputError, OutputError, ParameterError
from corefsample.mention_ranking._model import LARGEST_TABLE, AntecedentModel
from corefsample.mention_ranking.features import TemplateSet, features_hash

__all__ = ["FORMAT", "VERSION", "load_model", "on_grid", "save_model"]

FORMAT = "corefsample antecedent model"
VERSION = 1
_LIMITS = {"header.json": 1 << 22, "weights.npy": LARGEST_TABLE + 1024, "vocabulary.npy": 1 << 26}
_LISTS = ("pronoun", "phrase", "new")
_STEPS = 127
_LARGEST_SCALE = float(np.finfo(np.float32).max) / 128
_ZIP_ERRORS = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError, struct.error)


def on_grid(weights: npt.NDArray[np.float32]) -> tuple[npt.NDArray[np.int8], float]:
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
    # A 127th of 127 scales may be the next number up or down: the scale that gives the weights back is theirs.
    for near in (scale, np.nextafter(scale, np.float32(0.0)), np.nextafter(scale, np.float32(np.inf))):
        if near > 0 and np.isfinite(near):
            steps = _steps(weights, near)
            if np.array_equal(steps.astype(np.float32) * near, weights):
                return steps, float(near)
    return _steps(weights, scale), float(scale)


def _steps(weights: npt.NDArray[np.float32], scale: np.float32) -> npt.NDArray[np.int8]:
    steps: npt.NDArray[np.int8] = np.clip(np.rint(weights / scale), -_STEPS, _STEPS).astype(np.int8)
    return steps


def save_model(model: AntecedentModel, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
    """Write a model to a new file; it appears under its name when it is whole.

    Weights are rounded to 8 bits; those that `train` gives are so already, and come back as they were.

    Raises
    ------
    ParameterError
        If the file exists and overwrite is not said, or JSON cannot hold the provenance.
    OutputError
        If the file cannot be written.
    """
    name = os.fspath(path)
    if os.path.isdir(name):
        raise ParameterError(f"{name}: output must be a file, got a folder")
    if os.path.exists(name) and not overwrite:
        raise ParameterError(f"{name}: output must not exist (overwrite replaces it), got a file")
    content = _content(model)
    partial = os.path.join(os.path.dirname(name), f".partial-{secrets.token_hex(8)}")
    try:
        with open(partial, "xb") as file:
            file.write(content)
        os.replace(partial, name)
    except OSError as error:
        raise OutputError(f"{name}: output must be writable, got: {error.strerror or error}") from None
    finally:
        if os.path.exists(partial):
            os.unlink(partial)


def _content(model: AntecedentModel) -> bytes:
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
        raise ParameterError(f"provenance must be what JSON can hold, got: {error}") from None
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        _add(archive, "header.json", text)
        for name, array in (("weights.npy", steps), ("vocabulary.npy", model.vocabulary)):
            stream = io.BytesIO()
            np.lib.format.write_array(stream, array, version=(1, 0), allow_pickle=False)
            _add(archive, name, stream.getvalue())
    return buffer.getvalue()


def _add(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    entry = zipfile.ZipInfo(name)
    entry.create_system = 3  # the same on every system
    archive.writestr(entry, content, zipfile.ZIP_DEFLATED)


def load_model(path: str | os.PathLike[str]) -> AntecedentModel:
    """Read a model file.

    Raises
    ------
    InputError
        If the file cannot be read, is no model, is of another version, or has templates or features that this
        version of corefsample does not read.
    """
    name = os.fspath(path)
    try:
        with zipfile.ZipFile(name) as archive:
            parts = {part: _part(archive, part, name) for part in _LIMITS}
    except InputError:
        raise
    except OSError as error:
        raise InputError(f"{name}: model file must be readable, got: {error.strerror or error}") from None
    except _ZIP_ERRORS as error:
        raise InputError(f"{name}: must be a {FORMAT}, got no whole zip file: {error}") from None
    header = _header(parts["header.json"], name)
    weights = _array(parts["weights.npy"], np.dtype(np.int8), "weights", name)
    vocabulary = _array(parts["vocabulary.npy"], np.dtype(np.uint32), "vocabulary", name)
    try:
        templates = TemplateSet(**header["templates"])
        return AntecedentModel(
            weights.astype(np.float32) * np.float32(header["scale"]), vocabulary, templates, header["provenance"]
        )
    except ParameterError as error:
        raise InputError(f"{name}: {error}") from None


def _part(archive: zipfile.ZipFile, part: str, name: str) -> bytes:
    try:
        entry = archive.getinfo(part)
    except KeyError:
        raise InputError(f"{name}: must be a {FORMAT}, got a zip file without {part}") from None
    if entry.file_size > _LIMITS[part]:
        raise InputError(f"{name}: {part} must have at most {_LIMITS[part]} bytes, got {entry.file_size}")
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise InputError(f"{name}: {part} must be stored or deflated, got compression {entry.compress_type}")
    return archive.read(entry)


def _header(content: bytes, name: str) -> dict[str, Any]:
    try:
        header = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{name}: header.json must be JSON, got: {error}") from None
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise InputError(f"{name}: must be a {FORMAT}, got another format")
    if header.get("version") != VERSION:
        raise InputError(f"{name}: version must be {VERSION}, got {shown(header.get('version'))}")
    if header.get("features") != features_hash():
        raise InputError(
            f"{name}: features must be those of this version of corefsample ({features_hash()}), "
            f"got {shown(header.get('features'))}: train the model anew"
        )
    lists, scale = header.get("templates"), header.get("scale")
    if not isinstance(lists, dict) or set(lists) != set(_LISTS) or not all(map(_are_strings, lists.values())):
        raise InputError(f"{name}: templates must be lists of strings ({', '.join(_LISTS)}), got {shown(lists)}")
    if not isinstance(scale, float) or not 0.0 < scale <= _LARGEST_SCALE:
        raise InputError(f"{name}: scale must be a number above 0, got {shown(scale)}")
    if not isinstance(header.get("provenance"), dict):
        raise InputError(f"{name}: provenance must be an object, got {shown(header.get('provenance'))}")
    return header


def _are_strings(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(line, str) for line in value)


def _array(content: bytes, dtype: np.dtype[Any], field: str, name: str) -> npt.NDArray[Any]:
    """Read an .npy file of one dimension; nothing is allocated that the content does not hold."""
    stream = io.BytesIO(content)
    try:
        if np.lib.format.read_magic(stream) != (1, 0):
            raise ValueError("another version of the .npy format")
        shape, _, found = np.lib.format.read_array_header_1_0(stream)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{name}: {field} must be an .npy file, got: {' '.join(str(error).split())}") from None
    if found != dtype or len(shape) != 1:
        raise InputError(f"{name}: {field} must be {dtype} in one dimension, got {len(shape)} of {found}")
    values = content[stream.tell() :]
    if len(values) != shape[0] * dtype.itemsize:
        raise InputError(f"{name}: {field} must be {shape[0]} numbers, as its file says, got {len(values)} bytes")
    return np.frombuffer(values, dtype)
