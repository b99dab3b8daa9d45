"""The model of a spaCy component, in its folder of a saved pipeline and as bytes.

A second file records which model the config named when the model was written. A pipeline that is loaded with another
name in its config uses the model of that name, not the saved one.
"""

from __future__ import annotations

import json
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corefsample.errors import InputError
from corefsample.files import write_bytes

if TYPE_CHECKING:
    from corefsample.mention_ranking import AntecedentModel

_MODEL, _RECORD = "model.npz", "record.json"


def write_model(model: AntecedentModel, model_path: str | None, folder: Path) -> None:
    """Write a model, and the path of it that the config names, into a folder, which is made if it is missing."""
    from corefsample.mention_ranking import save_model

    folder.mkdir(parents=True, exist_ok=True)
    save_model(model, folder / _MODEL, overwrite=True)
    write_bytes(folder / _RECORD, json.dumps({"model": model_path}).encode(), overwrite=True)


def read_model(folder: Path, model_path: str | None) -> AntecedentModel | None:
    """Read the model of a folder; None if the config named another model when it was written.

    Raises
    ------
    InputError
        If a file is missing, or is not of this version.
    """
    from corefsample.mention_ranking import load_model

    record = folder / _RECORD
    try:
        saved_path = json.loads(record.read_text(encoding="utf-8"))["model"]
    except OSError as error:
        raise InputError(f"must be readable, got: {error.strerror or error}", place=str(record)) from None
    except (ValueError, KeyError, TypeError):
        raise InputError("must be JSON with model, got something else", place=str(record)) from None
    return load_model(folder / _MODEL) if saved_path == model_path else None


def packed_model(model: AntecedentModel, model_path: str | None) -> bytes:
    """Return the files of `write_model` as bytes."""
    from spacy import util

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_model(model, model_path, folder)
        return util.to_bytes({file: (folder / file).read_bytes for file in (_MODEL, _RECORD)}, ())


def unpacked_model(content: bytes, model_path: str | None) -> AntecedentModel | None:
    """Read the bytes of `packed_model` as `read_model` reads a folder.

    Raises
    ------
    InputError
        If they are something else, or the model is not of this version.
    """
    from spacy import util

    files: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        try:
            util.from_bytes(content, {file: partial(files.__setitem__, file) for file in (_MODEL, _RECORD)}, ())
            for file in (_MODEL, _RECORD):
                (folder / file).write_bytes(files[file])
        except (ValueError, KeyError, TypeError, AttributeError):
            raise InputError("must be of a component corefsample, got something else", parameter="bytes_data") from None
        return read_model(folder, model_path)
