"""Conditional random fields: the chain is CRFsuite's model, to its last digit."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from expected_errors import error
from strategies.tagged import THREE, random_sentences

from corefsample import InputError, ParameterError
from corefsample._lazy import install_hint
from corefsample.tagging import ConditionalRandomField, TaggedSentence, _crf as module
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


@pytest.mark.parametrize("option", [{"features": "best"}, {"l2": -1.0}, {"max_iterations": 0}])
def test_parameters_outside_their_range_are_rejected(option: dict[str, Any]) -> None:
    with error(ParameterError, *option):
        ConditionalRandomField(**option)


def test_a_file_of_another_kind_is_no_crfsuite_model(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^must be a CRFsuite model of version 100, got b'PK"):
        read_crfsuite(b"PK" + bytes(100))
