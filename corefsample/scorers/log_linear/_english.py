"""The English model that ships with the package; data/README.md says what it was trained on, and how."""

from __future__ import annotations

from functools import cache
from importlib import resources

from corefsample.scorers.log_linear._model import AntecedentModel
from corefsample.scorers.log_linear._model_file import load_antecedent_model

# GUM's genres whose texts are CC BY or in the public domain: what the model may be trained on.
ENGLISH_GENRES = ("academic", "conversation", "court", "interview", "news", "speech", "textbook", "vlog")


@cache
def english_model() -> AntecedentModel:
    """Load the English model once per process.

    Its scores are as it was trained; `corefsample score` and the spaCy component recalibrate them, as
    `score_english` does.

    Raises
    ------
    InputError
        If the model file of the package is not of this version.
    """
    place = resources.files("corefsample.scorers.log_linear").joinpath("data", "english.npz")
    with resources.as_file(place) as path:
        return load_antecedent_model(path)
