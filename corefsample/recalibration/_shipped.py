"""Records of recalibrations by name or path, and those of the models of the package."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from typing import Any

from corefsample import _checks
from corefsample.documents._scored import ScoredDocument
from corefsample.errors import ParameterError
from corefsample.files._contents import read_json
from corefsample.files._paths import PathLike
from corefsample.recalibration._uncertain import UncertainRecalibration
from corefsample.scorers import load_scorer, score_documents
from corefsample.scorers._names import data_file
from corefsample.scorers.protocol import MENTION_SOURCES, MentionDocument, MentionSource

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
    """Which recalibration the scores of a model get.

    Parameters
    ----------
    choice
        One of `SHIPPED`, "none", a path, or None for the default: "english" and "spanish" for the models of the
        package, and none for other models.
    model
        Path of the model, or "en" or "es" for one of the package; None: the English one.
    mentions
        That are scored: what people marked is more often in an entity with others than what a parse has, so "english"
        is "english-annotated" for annotated mentions, and "spanish" is none.

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
    """Name for `read_recalibration`; None for None and for "none"."""
    text = None if name is None else os.fspath(name)
    return None if text == NO_RECALIBRATION else text


def recalibration_file(name: PathLike) -> str:
    """Path of a record: those of the models of the package have names, others are paths already."""
    text = os.fspath(name)
    if text not in SHIPPED:
        return text
    return data_file(f"{text}.recalibration.json")


def read_recalibration(path: PathLike) -> UncertainRecalibration:
    """Read the record that `corefsample recalibrate` writes.

    Parameters
    ----------
    path
        The file; or "english", "english-annotated" or "spanish" for those of the models of the package.

    Raises
    ------
    InputError
        If the file cannot be read, or is not such a record.
    """
    name = recalibration_file(path)
    content = read_json(name, _MOST_MIB)
    try:
        return UncertainRecalibration.from_json(content)
    except ParameterError as error:
        raise error.as_input_error(name) from None


_of_package = cache(read_recalibration)


def english_recalibration(mentions: MentionSource = "parse") -> UncertainRecalibration:
    """The recalibration of the English model of the package; read once per process.

    Fitted to the documents that the model was trained on, each scored by a model without its genre.

    Parameters
    ----------
    mentions
        Of documents: found in the parse, or annotated.
    """
    _checks.choice("mentions", mentions, MENTION_SOURCES)
    return _of_package(chosen_recalibration(ENGLISH, mentions=mentions) or "")


@lru_cache(maxsize=64)
def known_recalibration(applied: str) -> UncertainRecalibration | None:
    """The recalibration of the package that scores have had, with its uncertainty; None if they had none or others.

    Parameters
    ----------
    applied
        What they have had, as `Recalibration.applied_to` returns it.
    """
    if not applied:
        return None
    of_package = map(_of_package, SHIPPED)
    return next((each for each in of_package if applied == each.recalibration.fingerprint()), None)


def score_english(
    documents: Iterable[MentionDocument],
    *,
    recalibrated: bool = True,
    mentions: MentionSource = "annotated",
    **options: Any,
) -> Iterator[ScoredDocument]:
    """Score documents with the English model of the package, as `corefsample score` does.

    Parameters
    ----------
    documents
        As of `corefsample.scorers.score_documents`.
    recalibrated
        Whether to apply the model's recalibration (`english_recalibration`); otherwise the scores are as the model
        gives them.
    mentions
        As of `score_documents`; the recalibration is that of such mentions.
    **options
        min_prob, scheme and tally of `score_documents`.

    Raises
    ------
    ParameterError
        As `score_documents` does.
    """
    scored = score_documents(load_scorer(), documents, mentions=mentions, **options)
    if not recalibrated:
        return scored
    return map(english_recalibration(mentions).recalibration.apply_document, scored)
