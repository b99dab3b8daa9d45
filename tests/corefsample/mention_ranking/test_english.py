"""The English model that ships: small, ours to ship, and of use on the parses of any scheme."""

from __future__ import annotations

from importlib import resources

from corefsample.mention_ranking import english_model
from corefsample.mention_ranking._english import ENGLISH_GENRES


def test_the_model_is_loaded_once_and_is_small() -> None:
    assert english_model() is english_model()
    place = resources.files("corefsample.mention_ranking").joinpath("data", "english.npz")
    assert len(place.read_bytes()) < 1_000_000


def test_the_model_is_of_texts_whose_licence_allows_it() -> None:
    barred = {"bio", "voyage", "fiction", "whow", "essay", "letter", "podcast", "reddit"}
    assert not barred & set(ENGLISH_GENRES)
    assert english_model().provenance
