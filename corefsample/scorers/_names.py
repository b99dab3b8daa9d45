"""Scorers that are in the package: their names and files."""

from __future__ import annotations

from importlib import resources

from corefsample.errors import ParameterHint
from corefsample.scorers.protocol import MentionSource

# By the code of the language: the folder of the kind of scorer, and its files by the mentions that they score.
SHIPPED: dict[str, tuple[str, dict[MentionSource, str]]] = {
    "en": ("log_linear", {"parse": "english.npz", "annotated": "english.npz"}),
    "es": ("log_linear", {"parse": "spanish.npz", "annotated": "spanish-annotated.npz"}),
}
DEFAULT = "en"
TRAINED = "log_linear"  # the kind of files that are given by their paths, and that `corefsample train` makes


def data_file(name: str, kind: str = TRAINED) -> str:
    """Path of a file that comes with a kind of scorer: a model or the recalibration of its scores."""
    return str(resources.files(f"corefsample.scorers.{kind}").joinpath("data", name))


def other_scorer(language: str | None) -> ParameterHint:
    """The next step where a scorer is of another language than the documents."""
    if language == DEFAULT:
        return ParameterHint("model", "is left out for the English one of the package")
    if language in SHIPPED:
        return ParameterHint("model", f"{language} takes that of the package")
    return ParameterHint("model", f"names one of the language {language}, which `corefsample train` makes")
