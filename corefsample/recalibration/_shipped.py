"""Records of recalibrations by name or path, and those of the models of the package."""

from __future__ import annotations

import os
from functools import cache

from corefsample import _checks
from corefsample.errors import ParameterError
from corefsample.files._paths import PathLike
from corefsample.files._reading import read_json
from corefsample.recalibration._uncertain import UncertainRecalibration
from corefsample.scorers.protocol import MentionSource, data_file

ENGLISH, SPANISH, NO_RECALIBRATION = "english", "spanish", "none"
_OF_MODELS = {None: ENGLISH, "en": ENGLISH, "es": SPANISH}  # by the model's name; None: the default
# For annotated mentions; the Spanish model of these is calibrated better without one.
_ANNOTATED: dict[str | None, str | None] = {ENGLISH: "english-annotated", SPANISH: None}
SHIPPED = {  # names, and what they are
    ENGLISH: "the English model's recalibration",
    "english-annotated": "the English model's recalibration for annotated mentions",
    SPANISH: "the Spanish model's recalibration",
}


def chosen_recalibration(
    choice: PathLike | None, model: PathLike | None = None, mentions: MentionSource = "parse"
) -> str | None:
    """Name of the recalibration that is applied to the scores of a model.

    Parameters
    ----------
    choice
        One of `SHIPPED`, "none" or a path. By default, "english" and "spanish" for the shipped models, and no
        recalibration for other models.
    model
        Path of the model, or "en" or "es" for a shipped model. By default, the English model.
    mentions
        Source of the scored mentions. Annotated mentions corefer more often than mentions from a parse, so with
        "annotated", "english" is replaced by "english-annotated", and "spanish" by no recalibration.

    Returns
    -------
    str or None
        Name for `read_recalibration`, or None for no recalibration.
    """
    name = named_recalibration(choice)
    if choice is None:
        name = _OF_MODELS.get(None if model is None else os.fspath(model))
    return _ANNOTATED.get(name, name) if mentions == "annotated" else name


_MOST_MIB = 16  # of a record: a thousand refits with offsets by kind take half a MiB


def named_recalibration(name: PathLike | None) -> str | None:
    """Name or path for `read_recalibration`; None if the argument is None or "none"."""
    text = None if name is None else os.fspath(name)
    return None if text == NO_RECALIBRATION else text


def recalibration_file(name: PathLike) -> str:
    """Path of the record with one of the names of `SHIPPED`; any other argument is a path and returned as it is."""
    text = _checks.path("path", name)
    if text not in SHIPPED:
        return text
    return data_file(f"{text}.recalibration.json")


def read_recalibration(path: PathLike) -> UncertainRecalibration:
    """Read the record that `corefsample recalibrate` writes.

    Parameters
    ----------
    path
        Path of the record; or "english", "english-annotated" or "spanish" for a record of the shipped models.

    Raises
    ------
    InputError
        If the file cannot be read, or is not a record of a recalibration.
    """
    name = recalibration_file(path)
    record = read_json(name, _MOST_MIB)
    try:
        return UncertainRecalibration.from_json(record)
    except ParameterError as error:
        raise error.as_input_error(name) from None


@cache
def _by_fingerprint() -> dict[str, UncertainRecalibration]:
    records = map(read_recalibration, SHIPPED)
    return {record.recalibration.fingerprint(): record for record in records}


def known_recalibration(applied: str) -> UncertainRecalibration | None:
    """The shipped recalibration that was applied to scores, with its uncertainty; None for any other, or for several.

    Parameters
    ----------
    applied
        Fingerprints of the recalibrations of the scores, as `Recalibration.applied_to` returns them; "" for none.
    """
    return _by_fingerprint().get(applied) if applied else None
