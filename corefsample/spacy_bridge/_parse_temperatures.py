"""Temperatures at which the samples of known pipelines' parses are calibrated."""

from __future__ import annotations

from typing import TYPE_CHECKING

from corefsample.errors import ParameterError

if TYPE_CHECKING:
    from spacy.language import Language

# Of the best Brier score on GUM's dev part, by `corefsample calibrate-parses --words 300`: see docs/parses.md.
PARSE_TEMPERATURES = {"en_gum_ud": 1.62, "en_core_web_sm": 1.54}
OTHERS = 1.58  # the mean of both: no measurement


def parse_temperature(nlp: Language) -> float:
    """Temperature for samples of a pipeline's parses.

    Fitted for en_gum_ud and en_core_web_sm, also where a word is added to the name of the package; for others the mean
    of both, for which nothing was measured. `corefsample calibrate-parses` fits that of any pipeline to a treebank.

    Parameters
    ----------
    nlp
        A pipeline; its language and name are compared.
    """
    meta = getattr(nlp, "meta", None)
    if not isinstance(meta, dict):
        raise ParameterError(f"must be a spaCy pipeline, got {type(nlp).__name__}", parameter="nlp")
    name = f"{meta.get('lang')}_{meta.get('name')}"
    for known, temperature in PARSE_TEMPERATURES.items():
        if name == known or name.startswith(f"{known}_"):
            return temperature
    return OTHERS
