"""Scorers that are in the package: their names and files."""

from __future__ import annotations

from importlib import resources

from corefsample.errors import ParameterHint
from corefsample.scorers.protocol import MentionSource

# Files of the shipped scorers by the code of their language and the mentions that they score.
SHIPPED: dict[str, dict[MentionSource, str]] = {
    "en": {"parse": "english.npz", "annotated": "english.npz"},
    "es": {"parse": "spanish.npz", "annotated": "spanish-annotated.npz"},
}
DEFAULT = "en"


def data_file(name: str) -> str:
    """Path of a file that comes with the scorers: a model or the recalibration of its scores."""
    return str(resources.files("corefsample.scorers.log_linear").joinpath("data", name))


def other_scorer(language: str | None) -> ParameterHint:
    """The next step where a scorer is of another language than the documents."""
    if language == DEFAULT:
        return ParameterHint("model", "is left out for the English one of the package")
    if language in SHIPPED:
        return ParameterHint("model", f"{language} takes that of the package")
    return ParameterHint("model", f"names one of the language {language}, which `corefsample train` makes")
