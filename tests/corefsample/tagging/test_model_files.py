"""Model files: what is written comes back; other files raise an error of one line and run nothing."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from strategies.tagged import random_sentences

from corefsample import InputError, OutputError, ParameterError
from corefsample.tagging import ConditionalRandomField, HiddenMarkovModel, TaggedSentence, load_tagger, save_tagger

pytest.importorskip("pycrfsuite")

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
