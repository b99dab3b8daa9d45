"""The recalibration that a record of `corefsample recalibrate` contains."""

from __future__ import annotations

from corefsample.files import PathLike
from corefsample.recalibration import Recalibration, read_recalibration

NO_RECALIBRATION = "none"


def load_recalibration(path: PathLike) -> Recalibration | None:
    """Read a recalibration from a record of `corefsample recalibrate`; None for the name "none".

    Raises
    ------
    InputError
        If the file cannot be read, or is not such a record.
    """
    return None if path == NO_RECALIBRATION else read_recalibration(path).recalibration
