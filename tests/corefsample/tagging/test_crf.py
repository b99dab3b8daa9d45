"""Tagger models: a random field is CRFsuite's to its last digit; hidden Markov models by hand and by enumeration."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from expected_errors import error
from hypothesis import given, settings, strategies as st
from references.taggers import CountedHmm
from strategies.tagged import THREE, random_sentences

from corefsample import InputError, ParameterError
from corefsample._lazy import install_hint
from corefsample.tagging import ConditionalRandomField, HiddenMarkovModel, TaggedSentence, _crf as module
from corefsample.tagging._crf import advanced_attributes, basic_attributes, read_crfsuite, shape

crfsuite = pytest.importorskip("pycrfsuite")


class Trained:
    """A model of ours beside CRFsuite's tagger, of the same file."""

    def __init__(self, features: Any, monkeypatch: pytest.MonkeyPatch, **options: Any) -> None:
        contents = []

        def remembered(content: bytes) -> Any:
            contents.append(content)
            return read_crfsuite(content)

        monkeypatch.setattr(module, "read_crfsuite", remembered)
        self.model = ConditionalRandomField(features=features, **options).fit(random_sentences(60))
        (self.content,) = contents
        self.tagger = crfsuite.Tagger()
        self.tagger.open_inmemory(self.content)
        self.attributes = {"basic": basic_attributes, "advanced": advanced_attributes}[features]

    def set(self, words: list[str]) -> None:
        self.tagger.set(crfsuite.ItemSequence(self.attributes(words)))


@pytest.fixture(params=["basic", "advanced"])
def trained(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Trained:
    return Trained(request.param, monkeypatch, l2=0.1)


SENTENCES = [
    ["ant"],
    ["ant", "Bee", "fox"],
    ["never", "seen", "dö-g", "#elk"],
    [str(word) for word in np.random.default_rng(1).choice(["ant", "Bee", "cat7", "zebra"], 40)],
]


@pytest.mark.parametrize("words", SENTENCES, ids=len)
def test_marginals_are_those_of_crfsuite(trained: Trained, words: list[str]) -> None:
    trained.set(words)
    expected = [[trained.tagger.marginal(tag, place) for tag in trained.model.tags] for place in range(len(words))]
    np.testing.assert_allclose(trained.model.posterior(words).marginals(), expected, rtol=0, atol=1e-9)


def test_a_transition_that_training_lacks_has_the_weight_0() -> None:
    model = ConditionalRandomField().fit(THREE)  # V is always last
    assert model.tags == ("D", "N", "V")
    np.testing.assert_array_equal(model.fitted.transitions[2], 0.0)
    assert model.fitted.transitions[0, 1] > 0.0


def test_advanced_attributes_by_hand() -> None:
    assert shape("ABCDEFg1234567") == "XXXXxdddd"  # long runs are cut
    assert advanced_attributes(["A", "Mid-1990s"])[1] == [
        *("w=Mid-1990s", "lower=mid-1990s", "-1=a", "-2=<1>", "+1=</1>", "+2=</2>"),
        *("-1,0=a mid-1990s", "0,+1=mid-1990s </1>", "shape=Xxx-ddddx", "classes=Xx-dx", "length=9"),
        *("prefix=m", "prefix=mi", "prefix=mid", "prefix=mid-"),
        *("suffix=s", "suffix=0s", "suffix=90s", "suffix=990s"),
    ]


def test_words_that_crfsuite_cannot_store_do_not_become_others() -> None:
    sentence = TaggedSentence(["a\0b", "\ud800", "a"], ["X", "Y", "Z"])
    model = ConditionalRandomField(l2=0.01).fit([sentence] * 5)
    assert [model.tags[code] for code in model.posterior(sentence.words).map()] == ["X", "Y", "Z"]


# --- bad input ---------------------------------------------------------------------------------------------


def test_without_crfsuite_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pycrfsuite", None)
    with pytest.raises(ParameterError) as caught:
        ConditionalRandomField().fit(THREE)
    assert caught.value.message == "python-crfsuite must be installed, got no module pycrfsuite"
    assert caught.value.hint == install_hint("tagging")


@pytest.mark.parametrize(
    ("model", "option"),
    [
        *((ConditionalRandomField, option) for option in ({"features": "best"}, {"l2": -1.0}, {"max_iterations": 0})),
        *((HiddenMarkovModel, option) for option in ({"pseudocount": 0.0}, {"pseudocount": math.nan})),
    ],
)
def test_parameters_outside_their_range_are_rejected(model: type, option: dict[str, Any]) -> None:
    with error(ParameterError, *option):
        model(**option)


def test_a_file_of_another_kind_is_no_crfsuite_model(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^must be a CRFsuite model of version 100, got b'PK"):
        read_crfsuite(b"PK" + bytes(100))


# --- hidden markov models ---------------------------------------------------------------------------------


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
