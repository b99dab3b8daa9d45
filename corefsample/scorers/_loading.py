"""Scorers by name or path."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, cast

from corefsample import _checks
from corefsample.files._paths import PathLike
from corefsample.languages._language import Language
from corefsample.scorers.log_linear import _training
from corefsample.scorers.log_linear._model import AntecedentModel, load_model
from corefsample.scorers.log_linear.features._templates import TemplateSet
from corefsample.scorers.protocol import (
    DEFAULT,
    MENTION_SOURCES,
    SHIPPED,
    AntecedentScorer,
    MentionDocument,
    MentionSource,
    data_file,
)


def scorer_file(name: PathLike | None = None, mentions: MentionSource = "parse") -> str:
    """Path of the file of a scorer, given its name, or the path itself."""
    text = DEFAULT if name is None else os.fspath(name)
    if text not in SHIPPED:
        return text
    return data_file(SHIPPED[text][mentions])


def load_scorer(name: PathLike | None = None, mentions: MentionSource = "parse") -> AntecedentScorer:
    """Load a scorer; those of the package are loaded once per process.

    Their scores are as they were trained. `corefsample score` and the spaCy component recalibrate them: see
    `read_recalibration`.

    Parameters
    ----------
    name
        Path of a file that `corefsample train` made, or "en" (the default) or "es" for a scorer of the package.
    mentions
        Origin of the mentions that the scorer will score: "parse" (the default), found in a parse, or "annotated". The
        package has one Spanish scorer for each origin. A file and "en" are for both.

    Raises
    ------
    InputError
        If the file cannot be read, is not a scorer's, is of another version, or has features that this version of
        corefsample does not have.
    """
    text = DEFAULT if name is None else _checks.path("name", name)
    file = scorer_file(text, mentions)
    return _of_package(file) if text in SHIPPED else load_model(file)


_of_package = cache(load_model)


def load_scorers(name: PathLike | None = None) -> dict[MentionSource, AntecedentScorer]:
    """Load the scorers of a name for either kind of mentions; a file is read once."""
    files = {source: scorer_file(name, source) for source in MENTION_SOURCES}
    scorers = {file: load_scorer(name, source) for source, file in reversed(files.items())}
    return {source: scorers[file] for source, file in files.items()}


def scorer_record(name: PathLike | None = None) -> dict[str, str]:
    """Name or path of a scorer, and the SHA-256 checksum of its files, for records."""
    files = dict.fromkeys(scorer_file(name, source) for source in MENTION_SOURCES)
    data = b"".join(Path(file).read_bytes() for file in files)
    path = "the English model of the package" if name is None else os.fspath(name)
    return {"path": path, "sha256": hashlib.sha256(data).hexdigest()}


def train_scorer(documents: Sequence[MentionDocument], **options: Any) -> AntecedentScorer:
    """Train a scorer: see `corefsample.scorers.log_linear._training.train`."""
    return _training.train(documents, **options)


def feature_templates(lists: Mapping[str, Sequence[str]]) -> Any:
    """Templates of features by the names of their lists, for `train_scorer`; raise ParameterError if one is wrong."""
    return TemplateSet.of(lists)


def retrain(
    scorer: AntecedentScorer, documents: Sequence[MentionDocument], language: Language, scheme: str | None
) -> AntecedentScorer:
    """Train a scorer with the same options on other documents."""
    return _training.retrain(cast("AntecedentModel", scorer), documents, language=language, scheme=scheme)
