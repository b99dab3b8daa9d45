"""The recalibration that a record of `corefsample recalibrate` contains."""

from __future__ import annotations

import json
import os

from corefsample.errors import InputError, ParameterError
from corefsample.files import PathLike
from corefsample.recalibration import Recalibration
from events._yaml_file import file_bytes


def load_recalibration(path: PathLike) -> Recalibration:
    """Read a temperature and a NEW bias from a record of `corefsample recalibrate`.

    Raises
    ------
    InputError
        If the file cannot be read, or is not such a record.
    """
    name = os.fspath(path)
    try:
        content = json.loads(file_bytes(name))
    except ValueError as error:
        raise InputError(f"file must be JSON, got: {error}", place=name) from None
    if not isinstance(content, dict) or "recalibration" not in content:
        raise InputError("file must be the record of a recalibration, got another", place=name)
    try:
        return Recalibration.from_json(content["recalibration"])
    except ParameterError as error:
        raise error.as_input_error(name) from None
