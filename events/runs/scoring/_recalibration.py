"""The recalibration that scores get: that of the English model, none, or one from a record."""

from __future__ import annotations

from corefsample.errors import ParameterError
from corefsample.files import PathLike
from corefsample.recalibration import Recalibration, chosen_recalibration, read_recalibration


def load_recalibration(path: PathLike | None, model: PathLike | None = None) -> Recalibration | None:
    """Read the recalibration of a model's scores.

    Parameters
    ----------
    path, model
        As for `corefsample.recalibration.chosen_recalibration`.

    Raises
    ------
    InputError
        If the file cannot be read, is not a record of `corefsample recalibrate`, or was fitted to scores that had
        another recalibration already.
    """
    name = chosen_recalibration(path, model)
    if name is None:
        return None
    uncertain = read_recalibration(name)
    try:
        uncertain.is_in("")
    except ParameterError as error:
        raise error.as_input_error(name) from None
    return uncertain.recalibration
