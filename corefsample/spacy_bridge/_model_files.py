"""The model of a spaCy component, in its folder of a saved pipeline and as bytes.

Beside the model stands which model the config named when it was written. A pipeline that is loaded with another name in
its config gets the model of that name, not the one beside.
"""

from __future__ import annotations

import json
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corefsample.errors import InputError

if TYPE_CHECKING:
    from corefsample.mention_ranking import AntecedentModel

__all__ = ["packed_model", "read_model", "unpacked_model", "write_model"]

_MODEL, _RECORD = "model.npz", "record.json"


def write_model(model: AntecedentModel, named: str | None, folder: Path) -> None:
    """Write a model, and how the config names it, into a folder that is made if need be."""
    from corefsample.mention_ranking import save_model

    folder.mkdir(parents=True, exist_ok=True)
    save_model(model, folder / _MODEL, overwrite=True)
    (folder / _RECORD).write_text(json.dumps({"model": named}), encoding="utf-8")


def read_model(folder: Path, named: str | None) -> AntecedentModel | None:
    """Read the model of a folder; None if the config named another when it was written.

    Raises
    ------
    InputError
        If it is not there, or is not of this version.
    """
    from corefsample.mention_ranking import load_model

    try:
        written_for = json.loads((folder / _RECORD).read_text(encoding="utf-8"))["model"]
    except OSError as error:
        raise InputError(f"{folder / _RECORD}: must be readable, got: {error.strerror or error}") from None
    except (ValueError, KeyError, TypeError):
        raise InputError(f"{folder / _RECORD}: must be JSON with model, got something else") from None
    return load_model(folder / _MODEL) if written_for == named else None


def packed_model(model: AntecedentModel, named: str | None) -> bytes:
    """Pack what `write_model` writes."""
    from spacy import util

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_model(model, named, folder)
        return util.to_bytes({part: (folder / part).read_bytes for part in (_MODEL, _RECORD)}, ())


def unpacked_model(content: bytes, named: str | None) -> AntecedentModel | None:
    """Unpack what `packed_model` packed, as `read_model` reads it.

    Raises
    ------
    InputError
        If it is something else, or the model is not of this version.
    """
    from spacy import util

    parts: dict[str, Any] = {}
    try:
        util.from_bytes(content, {part: partial(parts.__setitem__, part) for part in (_MODEL, _RECORD)}, ())
        contents = {part: bytes(parts[part]) for part in (_MODEL, _RECORD)}
    except (ValueError, KeyError, TypeError, AttributeError):
        raise InputError("bytes_data must be of a component corefsample, got something else") from None
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for part, value in contents.items():
            (folder / part).write_bytes(value)
        return read_model(folder, named)
