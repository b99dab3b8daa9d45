"""Hidden Markov models: counts by hand, posteriors by enumeration."""

import math
from typing import Any

import pytest
from expected_errors import error
from hypothesis import given, settings, strategies as st
from references.taggers import CountedHmm
from strategies.tagged import THREE, random_sentences

from corefsample import ParameterError
from corefsample.tagging import ConditionalRandomField, HiddenMarkovModel, TaggedSentence


@settings(max_examples=25)
@given(st.integers(1, 12), st.integers(0, 1000), st.sampled_from([0.01, 0.5, 1.0, 3.0]))
def test_posteriors_are_those_of_enumeration(n: int, seed: int, pseudocount: float) -> None:
    sentences = random_sentences(n, seed)
    reference = CountedHmm([(s.words, s.tags) for s in sentences], pseudocount)
    model = HiddenMarkovModel(pseudocount=pseudocount).fit(sentences)
    words = ["ant", "fox", "unseen", "Bee"][: 1 + seed % 4]
    chain, expected = model.posterior(words), reference.posterior(words)
    assert list(model.tags) == reference.tags
    total = math.fsum(reference.joint(words, tags) for tags in expected)
    assert chain.log_partition == pytest.approx(math.log(total), abs=1e-10)
    for tags, prob in expected.items():
        codes = [model.tags.index(tag) for tag in tags]
        assert chain.log_prob(codes) == pytest.approx(math.log(prob), abs=1e-10)


def test_sentences_share_one_matrix_of_transitions() -> None:
    model = HiddenMarkovModel().fit(THREE)
    assert model.posterior(["the", "dog"]).pairwise is model.posterior(["dog", "barks"]).pairwise


@pytest.mark.parametrize("option", [{"pseudocount": 0.0}, {"pseudocount": math.nan}])
def test_parameters_outside_their_range_are_rejected(option: dict[str, Any]) -> None:
    with error(ParameterError, *option):
        HiddenMarkovModel(**option)


@pytest.mark.parametrize("kind", [HiddenMarkovModel, ConditionalRandomField])
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


def test_a_tagged_sentence_checks_its_words_and_tags() -> None:
    bad: list[Any] = [([], [], "words"), (["a"], ["N", "V"], "tags"), (["a", 3], ["N", "V"], "words")]
    for words, tags, parameter in [*bad, (["a", "b"], ["N", ""], "tags"), (["a"], "N", "tags")]:
        with error(ParameterError, parameter):
            TaggedSentence(words, tags)
