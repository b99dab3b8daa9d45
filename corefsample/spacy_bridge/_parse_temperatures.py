"""Temperatures at which the samples of known pipelines' parses are calibrated."""

from __future__ import annotations

from typing import TYPE_CHECKING

from corefsample.errors import ParameterError

if TYPE_CHECKING:
    from spacy.language import Language

# Temperatures fitted by `corefsample calibrate-parses`: see docs/parses.md.
PARSE_TEMPERATURES = {"en_gum_ud": 1.5}
OTHERS = 1.5


def parse_temperature(nlp: Language) -> float:
    """Temperature for samples of a pipeline's parses: fitted for a known pipeline, else that of en_gum_ud."""
    meta = getattr(nlp, "meta", None)
    if not isinstance(meta, dict):
        raise ParameterError(f"must be a spaCy pipeline, got {type(nlp).__name__}", parameter="nlp")
    return PARSE_TEMPERATURES.get(f"{meta.get('lang')}_{meta.get('name')}", OTHERS)
