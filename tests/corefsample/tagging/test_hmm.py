"""Hidden Markov models: counts by hand, posteriors by enumeration."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from expected_errors import error
from hypothesis import given, settings
from hypothesis import strategies as st
from references.taggers import CountedHmm
from strategies.tagged import THREE, random_sentences

from corefsample import ParameterError
from corefsample.tagging import (
    ConditionalRandomField,
    HiddenMarkovModel,
    LogisticRegression,
    NaiveBayes,
    TaggedSentence,
)


def test_probabilities_by_hand() -> None:
    # THREE has tags D N V and words barks, dog, the, so K = 3 and V = 3; pseudocount 1.
    model = HiddenMarkovModel().fit(THREE)
    assert model.tags == ("D", "N", "V")
    # The word "the" alone, with tag D. Start: 2 of 3 sentences begin with D, (2 + 1) / (3 + 3) = 1/2.
    # D occurs twice, always before N, so its end has (0 + 1) / (2 + 4) = 1/6; it emits "the" twice of 2:
    # (2 + 1) / (2 + 4) = 1/2. Together 1/24.
    # N: start (1 + 1) / 6 = 1/3; N occurs 3 times and ends 1 sentence: (1 + 1) / (3 + 4) = 2/7; it never emits "the":
    # 1 / (3 + 4) = 1/7. Together 2/147.
    # V: start 1/6; occurs twice and ends both: (2 + 1) / (2 + 4) = 1/2; "the" 1 / (2 + 4) = 1/6. Together 1/72.
    joint = np.array([1 / 24, 2 / 147, 1 / 72])
    chain = model.posterior(["the"])
    np.testing.assert_allclose(np.exp(chain.log_partition), joint.sum(), rtol=1e-13)
    np.testing.assert_allclose(chain.marginals()[0], joint / joint.sum(), rtol=1e-13)


def test_an_unknown_word_has_the_pseudocount_alone_with_every_tag() -> None:
    # N occurs 3 times and V twice; with V = 3 known words, P(unknown | N) = .5 / (3 + .5 * 4), P(. | V) = .5 / (2 + 2).
    model = HiddenMarkovModel(pseudocount=0.5).fit(THREE)
    np.testing.assert_allclose(np.exp(model.emission_scores(["cat"]))[0], [0.5 / 4.0, 0.5 / 5.0, 0.5 / 4.0], rtol=1e-13)


def test_rare_words_count_as_unknown_words() -> None:
    # Each word of THREE but "cat" occurs twice or more. With rare_count 1, V = 3, and unknown words have the count 1
    # with N, which occurs 4 times: (1 + 1) / (4 + 4).
    model = HiddenMarkovModel(rare_count=1).fit([*THREE, TaggedSentence(["cat"], ["N"])])
    assert model.counts.words == ("barks", "dog", "the")
    for word in ("cat", "cow"):
        assert math.exp(model.emission_scores([word])[0, 1]) == pytest.approx(1 / 4, rel=1e-13)


@settings(max_examples=25)
@given(st.integers(1, 12), st.integers(0, 1000), st.sampled_from([0.01, 0.5, 1.0, 3.0]), st.integers(0, 2))
def test_posteriors_are_those_of_enumeration(n: int, seed: int, pseudocount: float, rare_count: int) -> None:
    sentences = random_sentences(n, seed)
    reference = CountedHmm([(s.words, s.tags) for s in sentences], pseudocount, rare_count)
    model = HiddenMarkovModel(pseudocount=pseudocount, rare_count=rare_count).fit(sentences)
    words = ["ant", "fox", "unseen", "Bee"][: 1 + seed % 4]
    chain, expected = model.posterior(words), reference.posterior(words)
    assert list(model.tags) == reference.tags
    total = math.fsum(reference.joint(words, tags) for tags in expected)
    assert chain.log_partition == pytest.approx(math.log(total), abs=1e-10)
    for tags, prob in expected.items():
        codes = [model.tags.index(tag) for tag in tags]
        assert chain.log_prob(codes) == pytest.approx(math.log(prob), abs=1e-10)


def test_probabilities_of_all_texts_of_a_length_sum_to_the_probability_of_the_length() -> None:
    # P(end after 2 words), by the words: 3 known ones and the unknown one make a complete vocabulary.
    model = HiddenMarkovModel().fit(THREE)
    vocabulary = [*model.counts.words, "<unknown>"]
    total = sum(math.exp(model.posterior(words).log_partition) for words in itertools.product(vocabulary, repeat=2))
    reference = CountedHmm([(s.words, s.tags) for s in THREE], 1.0)
    ends = [
        reference.start(one) * reference.step(one, two) * reference.step(two, "<end>")
        for one, two in itertools.product("DNV", repeat=2)
    ]
    assert total == pytest.approx(sum(ends), rel=1e-12)


def test_sentences_share_one_matrix_of_transitions() -> None:
    model = HiddenMarkovModel().fit(THREE)
    assert model.posterior(["the", "dog"]).pairwise is model.posterior(["dog", "barks"]).pairwise


@pytest.mark.parametrize("option", [{"pseudocount": 0.0}, {"pseudocount": math.nan}, {"rare_count": -1}])
def test_parameters_outside_their_range_are_rejected(option: dict[str, Any]) -> None:
    with error(ParameterError, *option):
        HiddenMarkovModel(**option)


@pytest.mark.parametrize("kind", [HiddenMarkovModel, ConditionalRandomField, NaiveBayes, LogisticRegression])
@pytest.mark.parametrize("use", [lambda model: model.posterior(["a"]), lambda model: model.tags])
def test_a_model_must_be_fitted_before_use(kind: Any, use: Any) -> None:
    with pytest.raises(ParameterError, match=rf"^{kind.__name__} must be fitted before it is used$"):
        use(kind())


@pytest.mark.parametrize("words", [[], "the dog"])
def test_words_that_are_no_sentence_are_rejected(words: Any) -> None:
    with error(ParameterError, "words"):
        HiddenMarkovModel().fit(THREE).posterior(words)


@pytest.mark.parametrize("sentences", [[], [THREE[0], (["a"], ["N"])]])
def test_training_data_must_be_tagged_sentences(sentences: list[Any]) -> None:
    with error(ParameterError, "sentences"):
        HiddenMarkovModel().fit(sentences)


@pytest.mark.parametrize(
    ("words", "tags", "message"),
    [
        ([], [], "words must be at least one, got none"),
        (["a"], ["N", "V"], "tags must be one per word, got 2 for 1 words"),
        (["a", 3], ["N", "V"], "words must be text, got 3 at [1]"),
        (["a", "b"], ["N", ""], "tags must not be empty, got '' at [1]"),
        (["a"], "N", "tags must be a sequence of texts, got 'N'"),
    ],
)
def test_a_tagged_sentence_checks_its_words_and_tags(words: Any, tags: Any, message: str) -> None:
    with pytest.raises(ParameterError) as caught:
        TaggedSentence(words, tags)
    assert str(caught.value) == message
