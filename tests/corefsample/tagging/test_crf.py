"""Conditional random fields: the chain is CRFsuite's model, to its last digit."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from expected_errors import error
from strategies.tagged import THREE, random_sentences

from corefsample import InputError, OutputError, ParameterError
from corefsample._lazy import install_hint
from corefsample.tagging import (
    ConditionalRandomField,
    HiddenMarkovModel,
    TaggedSentence,
    _crf as module,
    load_tagger,
    save_tagger,
)
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


# --- model files --------------------------------------------------------------------------------------------


MODELS: list[Any] = [
    HiddenMarkovModel(pseudocount=0.25).fit(random_sentences(30)),
    ConditionalRandomField(l2=0.5, max_iterations=20).fit(random_sentences(30)),
    ConditionalRandomField(features="advanced", max_iterations=5).fit(random_sentences(30)),
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A good file."""
    save_tagger(MODELS[0], tmp_path / "model.npz")
    return tmp_path / "model.npz"


def rewrite(path: Path, **parts: Any) -> None:
    """Change arrays of a file; None leaves one out."""
    with np.load(path) as archive:
        arrays = {**archive, **parts}
    np.savez(path, **{name: array for name, array in arrays.items() if array is not None})


def error_of(path: Path) -> str:
    with pytest.raises(InputError) as caught:
        load_tagger(path)
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith(f"{path}: ")
    return message.removeprefix(f"{path}: ")


@pytest.mark.parametrize("model", MODELS, ids=lambda model: repr(model)[:30])
def test_a_model_comes_back(model: Any, tmp_path: Path) -> None:
    save_tagger(model, tmp_path / "model.npz")
    again = load_tagger(tmp_path / "model.npz")
    assert repr(again) == repr(model)
    assert again.tags == model.tags
    for words in (["ant", "Bee", "unseen"], ["w1"]):
        np.testing.assert_array_equal(again.posterior(words).marginals(), model.posterior(words).marginals())
        assert again.posterior(words).log_partition == model.posterior(words).log_partition


def test_bytes_depend_only_on_the_model(path: Path, tmp_path: Path) -> None:
    save_tagger(HiddenMarkovModel(pseudocount=0.25).fit(random_sentences(30)), tmp_path / "again.npz")
    assert (tmp_path / "again.npz").read_bytes() == path.read_bytes()


def test_words_of_any_characters_come_back(tmp_path: Path) -> None:
    words = ["\ud800", "a\0b", "naïve", '"', "\n"]
    model = HiddenMarkovModel().fit([TaggedSentence(words, ["X"] * len(words))])
    save_tagger(model, tmp_path / "model.npz")
    again: Any = load_tagger(tmp_path / "model.npz")
    assert again.fitted.texts == tuple(sorted(words))


# --- other files -------------------------------------------------------------------------------------------


def with_header(path: Path, **fields: Any) -> None:
    with np.load(path) as archive:
        header = {**json.loads(str(archive["header"])), **fields}
    rewrite(path, header=np.array(json.dumps(header)))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"version": 1}, "version must be 3, got 1 (train the model again)"),
        ({"format": "corefsample antecedent model"}, "format must be corefsample tagging model, got "),
        ({"features": 99}, "features must be 1, got 99 (train the model again)"),
        ({"kind": "perceptron"}, "kind must be one of"),
        ({"kind": ["hidden Markov model"]}, "kind must be one of"),
        ({"parameters": {}}, "parameters must be pseudocount, got {}"),
        ({"parameters": {"pseudocount": -1.0}}, "pseudocount must be above 0, got -1.0"),
        ({"parameters": None}, "parameters must be pseudocount, got None"),
        ({"tags": None}, "tags must be a list of distinct texts, at least 1, got None"),
        ({"tags": []}, "tags must be a list of distinct texts, at least 1, got []"),
        ({"texts": ["A", "A"]}, "texts must be a list of distinct texts, at least 0, got ['A', 'A']"),
    ],
)
def test_a_header_that_breaks_a_rule_is_rejected(path: Path, fields: dict[str, Any], message: str) -> None:
    with_header(path, **fields)
    assert error_of(path).startswith(message)


@pytest.mark.parametrize(
    ("array", "values", "message"),
    [
        ("header", None, "format must be corefsample tagging model, got None"),
        ("header", np.array("{"), "header must be JSON, got: "),
        ("starts", np.array([1.0, 2.0]), "starts must be finite float64 of shape (3,)"),
        ("starts", np.array([1.0, 2.0, np.nan]), "starts must be finite float64 of shape (3,)"),
        ("starts", np.array(["x", object()], object), "must be a corefsample tagging model, got an incomplete"),
        ("transitions", np.array([1.0, 2.0, 3.0]), "transitions must be finite float64 of shape (3, 3)"),
        ("indptr", np.array([0, 1]), "indptr must be finite int64 of shape "),
        ("indptr", np.zeros(len(MODELS[0].fitted.texts) + 1, np.int64), "indptr must describe "),
        ("codes", np.full(len(MODELS[0].fitted.codes), 3), "codes must lie in 0 to 2, got 3"),
    ],
)
def test_arrays_that_break_their_rules_are_rejected(path: Path, array: str, values: Any, message: str) -> None:
    rewrite(path, **{array: values})
    assert error_of(path).startswith(message)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"\x93NUMPY", b"text"])
def test_a_file_of_another_kind_is_rejected(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    assert error_of(path).startswith("must be a corefsample tagging model, got an incomplete, damaged or other file")
    np.save(path.with_suffix(".npy"), np.zeros(2))
    assert "must be a corefsample tagging model" in error_of(path.with_suffix(".npy"))


# --- writing -----------------------------------------------------------------------------------------------


def test_an_existing_file_is_replaced_only_on_request(path: Path, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="output must not exist, got a file"):
        save_tagger(MODELS[1], path)
    save_tagger(MODELS[1], path, overwrite=True)
    assert type(load_tagger(path)) is ConditionalRandomField
    with pytest.raises(OutputError, match="make the folder"):
        save_tagger(MODELS[0], tmp_path / "none" / "model.npz")
    assert error_of(tmp_path / "none.npz") == "model file must be readable, got: No such file or directory"


def test_only_fitted_models_of_ours_can_be_saved(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=r"^HiddenMarkovModel must be fitted before it is used$"):
        save_tagger(HiddenMarkovModel(), tmp_path / "model.npz")
    with pytest.raises(ParameterError, match=r"^model must be one of HiddenMarkovModel, .*, got 3$"):
        save_tagger(3, tmp_path / "model.npz")  # type: ignore[arg-type]
