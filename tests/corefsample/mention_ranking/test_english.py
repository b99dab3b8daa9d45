"""The English model that ships: small, ours to ship, and of use on the parses of any scheme."""

from __future__ import annotations

from importlib import resources

import neutral_sentences
import pytest
from references import mention_ranking as reference

import corefsample as cs
from corefsample.mention_ranking import english_model
from corefsample.mention_ranking._english import ENGLISH_GENRES
from corefsample.syntax._mentions import mentions_from_parse


def test_the_model_is_loaded_once_and_is_small() -> None:
    assert english_model() is english_model()
    place = resources.files("corefsample.mention_ranking").joinpath("data", "english.npz")
    assert len(place.read_bytes()) < 1_000_000


def test_the_model_is_of_texts_whose_licence_allows_it() -> None:
    barred = {"bio", "voyage", "fiction", "whow", "essay", "letter", "podcast", "reddit"}
    assert not barred & set(ENGLISH_GENRES)
    assert english_model().provenance


@pytest.mark.parametrize("scheme", ["ud2", "ud1", "clearnlp"])
def test_pronouns_find_the_names_that_they_agree_with(scheme: str) -> None:
    sentences = (neutral_sentences.SENTENCES[name] for name in ("two names", "pronouns"))
    tokens = reference.parsed("\n\n".join(neutral_sentences.notations(sentence)[scheme] for sentence in sentences))
    spans = mentions_from_parse(tokens)
    names = [" ".join(tokens.text[start:end]) for start, end, _ in spans]
    labels = cs.map_clustering(english_model().score(tokens, spans))
    entities = {name: names[label] for name, label in zip(names, labels.tolist(), strict=True)}
    assert (entities["She"], entities["him"]) == ("Mary", "Peter")
