"""The model and the recalibration of a spaCy component, in its folder of a saved pipeline and as bytes.

A second file has the recalibration, and records which model and which recalibration the config named when they were
written. A pipeline that is loaded with another name in its config uses the one of that name, not the saved one.
"""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import corefsample as cs
from corefsample.errors import InputError, ParameterError
from corefsample.files._atomic import write_bytes

if TYPE_CHECKING:
    from corefsample.recalibration._uncertain import UncertainRecalibration
    from corefsample.spacy_bridge._settings import Settings

_MODEL, _RECORD = "model.npz", "record.json"


class Saved(NamedTuple):
    """What a saved component has: its model and its recalibration.

    The model is None if the config names another one now; `has_recalibration` is false if the config names another
    recalibration, and the recalibration is None if the component had none.
    """

    model: cs.scorers.AntecedentModel | None
    recalibration: UncertainRecalibration | None
    has_recalibration: bool


def write_model(
    model: cs.scorers.AntecedentModel, recalibration: UncertainRecalibration | None, settings: Settings, folder: Path
) -> None:
    """Write a model and a recalibration, with their names in the config, into a folder, which is made if missing."""
    folder.mkdir(parents=True, exist_ok=True)
    cs.scorers.save_model(model, folder / _MODEL, overwrite=True)
    content = None if recalibration is None else recalibration.to_json()
    record: dict[str, Any] = {
        "model": settings.model,
        "recalibration": {"path": settings.named_recalibration, "content": content},
    }
    write_bytes(folder / _RECORD, json.dumps(record).encode(), overwrite=True)


def read_model(folder: Path, settings: Settings) -> Saved:
    """Read the model and the recalibration of a folder.

    Raises
    ------
    InputError
        If a file is missing, or is not of this version.
    """
    record = folder / _RECORD
    recalibration = None
    try:
        content = json.loads(record.read_text(encoding="utf-8"))
        saved_path, saved = content["model"], content.get("recalibration")
        # Without the field it was saved by an earlier version, without a recalibration.
        if saved is None:
            has_recalibration = settings.recalibration is None
        else:
            has_recalibration = saved["path"] == settings.named_recalibration
            if has_recalibration and saved["content"] is not None:
                recalibration = _recalibration(saved["content"])
    except OSError as error:
        raise InputError(f"must be readable, got: {error.strerror or error}", place=str(record)) from None
    except ParameterError as error:
        raise error.as_input_error(str(record)) from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise InputError("must be JSON with model, got something else", place=str(record)) from None
    model = cs.scorers.load_model(folder / _MODEL) if saved_path == settings.model else None
    return Saved(model, recalibration, has_recalibration)


def _recalibration(content: dict[str, Any]) -> UncertainRecalibration:
    """A recalibration with its uncertainty, which earlier versions did not save."""
    from corefsample.recalibration._uncertain import UncertainRecalibration

    if "recalibration" in content:
        return UncertainRecalibration.from_json(content)
    return UncertainRecalibration(cs.Recalibration.from_json(content))


def packed(folder: Path) -> bytes:
    """Return the files of a saved component as bytes."""
    from spacy import util

    return util.to_bytes({file: (folder / file).read_bytes for file in (_MODEL, _RECORD)}, ())


def unpack(content: bytes, folder: Path) -> None:
    """Write the files of a saved component from the bytes of `packed` into a folder.

    Raises
    ------
    InputError
        If they are something else.
    """
    from spacy import util

    files: dict[str, Any] = {}
    try:
        util.from_bytes(content, {file: partial(files.__setitem__, file) for file in (_MODEL, _RECORD)}, ())
        for file in (_MODEL, _RECORD):
            (folder / file).write_bytes(files[file])
    except (ValueError, KeyError, TypeError, AttributeError):
        raise InputError("must be of a component corefsample, got something else", parameter="bytes_data") from None
