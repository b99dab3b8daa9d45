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
import zipfile
import zlib
from typing import Any

import numpy as np
import numpy.typing as npt

from corefsample.errors import InputError, OutputError, ParameterError
from corefsample.mention_ranking.features import features_hash
from corefsample.mention_ranking.model import LARGEST_TABLE, AntecedentModel
from corefsample.mention_ranking.templates import TemplateSet

__all__ = ["FORMAT", "VERSION", "load_model", "on_grid", "save_model"]

FORMAT = "corefsample antecedent model"
VERSION = 1
_LIMITS = {"header.json": 1 << 22, "weights.npy": LARGEST_TABLE + 1024, "vocabulary.npy": 1 << 26}
_STEPS = 127


def on_grid(weights: npt.NDArray[np.float32]) -> tuple[npt.NDArray[np.int8], float]:
    """Round weights to multiples of a scale, 127 of which make the largest.

    Returns
    -------
    array of shape (n_buckets,), int8
        The multiples.
    float
        The scale, above 0.
    """
    scale = float(np.float32(np.abs(weights).max(initial=0.0) / _STEPS)) or 1.0
    return np.rint(weights / scale).astype(np.int8), scale


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
        "templates": {name: list(getattr(model.templates, name)) for name in ("pronoun", "phrase", "new")},
        "scale": scale,
        "provenance": dict(model.provenance),
    }
    try:
        text = json.dumps(header, ensure_ascii=False, allow_nan=False, indent=1)
    except (TypeError, ValueError) as error:
        raise ParameterError(f"provenance must be what JSON can hold, got: {error}") from None
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        archive.writestr(zipfile.ZipInfo("header.json"), text.encode(), zipfile.ZIP_DEFLATED)
        for name, array in (("weights.npy", steps), ("vocabulary.npy", model.vocabulary)):
            stream = io.BytesIO()
            np.lib.format.write_array(stream, array, version=(1, 0), allow_pickle=False)
            archive.writestr(zipfile.ZipInfo(name), stream.getvalue(), zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


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
    except OSError as error:
        raise InputError(f"{name}: model file must be readable, got: {error.strerror or error}") from None
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise InputError(f"{name}: must be a {FORMAT}, got no whole zip file: {error}") from None
    header = _header(parts["header.json"], name)
    try:
        templates = TemplateSet(**header["templates"])
        weights = _array(parts["weights.npy"], np.dtype(np.int8), "weights", name)
        vocabulary = _array(parts["vocabulary.npy"], np.dtype(np.uint32), "vocabulary", name)
        scale = np.float32(header["scale"])
        return AntecedentModel(weights.astype(np.float32) * scale, vocabulary, templates, header["provenance"])
    except (ParameterError, TypeError, ValueError, AttributeError) as error:
        text = " ".join(str(error).split())
        raise InputError(f"{name}: {text}") from None


def _part(archive: zipfile.ZipFile, part: str, name: str) -> bytes:
    try:
        size = archive.getinfo(part).file_size
    except KeyError:
        raise InputError(f"{name}: must be a {FORMAT}, got a zip file without {part}") from None
    if size > _LIMITS[part]:
        raise InputError(f"{name}: {part} must have at most {_LIMITS[part]} bytes, got {size}")
    return archive.read(part)


def _header(content: bytes, name: str) -> dict[str, Any]:
    try:
        header = json.loads(content)
    except ValueError as error:
        raise InputError(f"{name}: header.json must be JSON, got: {error}") from None
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise InputError(f"{name}: must be a {FORMAT}, got another format")
    if header.get("version") != VERSION:
        raise InputError(f"{name}: version must be {VERSION}, got {header.get('version')!r}")
    if header.get("features") != features_hash():
        raise InputError(
            f"{name}: features must be those of this version of corefsample ({features_hash()}), "
            f"got {header.get('features')!r}: train the model anew"
        )
    for field in ("templates", "scale", "provenance"):
        if field not in header:
            raise InputError(f"{name}: header.json must have {field}, got none")
    return header


def _array(content: bytes, dtype: np.dtype[Any], field: str, name: str) -> npt.NDArray[Any]:
    array = np.lib.format.read_array(io.BytesIO(content), allow_pickle=False)
    if array.dtype != dtype or array.ndim != 1:
        raise InputError(f"{name}: {field} must be {dtype} in one dimension, got {array.ndim} of {array.dtype}")
    return np.asarray(array)
