"""Model files: what is written comes back; other files raise an error of one line and run nothing."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from expected_errors import error
from strategies.tagged import random_sentences

from corefsample import InputError, OutputError, ParameterError
from corefsample.tagging import ConditionalRandomField, HiddenMarkovModel, TaggedSentence, load_tagger, save_tagger

pytest.importorskip("pycrfsuite")

MODELS: list[Any] = [
    HiddenMarkovModel(pseudocount=0.25, rare_count=1).fit(random_sentences(30)),
    ConditionalRandomField(l2=0.5, max_iterations=20).fit(random_sentences(30)),
    ConditionalRandomField(features="advanced", min_count=2, max_iterations=5).fit(random_sentences(30)),
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A good file."""
    save_tagger(MODELS[0], tmp_path / "model.zip")
    return tmp_path / "model.zip"


def parts_of(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def rewrite(path: Path, **parts: bytes | None) -> None:
    """Change parts of a file; None leaves one out."""
    remaining = {**parts_of(path), **{name.replace("__", "."): content for name, content in parts.items()}}
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in remaining.items():
            if content is not None:
                archive.writestr(name, content)


def npy(values: Any) -> bytes:
    stream = io.BytesIO()
    np.save(stream, np.asarray(values))
    return stream.getvalue()


def error_of(path: Path) -> str:
    with pytest.raises(InputError) as caught:
        load_tagger(path)
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith(f"{path}: ")
    return message.removeprefix(f"{path}: ")


@pytest.mark.parametrize("model", MODELS, ids=lambda model: repr(model)[:30])
def test_a_model_comes_back(model: Any, tmp_path: Path) -> None:
    save_tagger(model, tmp_path / "model.zip")
    again = load_tagger(tmp_path / "model.zip")
    assert repr(again) == repr(model)
    assert again.tags == model.tags
    for words in (["ant", "Bee", "unseen"], ["w1"]):
        np.testing.assert_array_equal(again.posterior(words).marginals(), model.posterior(words).marginals())
        assert again.posterior(words).log_partition == model.posterior(words).log_partition


def test_bytes_depend_only_on_the_model(path: Path, tmp_path: Path) -> None:
    save_tagger(HiddenMarkovModel(pseudocount=0.25, rare_count=1).fit(random_sentences(30)), tmp_path / "again.zip")
    assert (tmp_path / "again.zip").read_bytes() == path.read_bytes()


def test_words_of_any_characters_come_back(tmp_path: Path) -> None:
    words = ["\ud800", "a\0b", "naïve", '"', "\n"]
    model = HiddenMarkovModel().fit([TaggedSentence(words, ["X"] * len(words))])
    save_tagger(model, tmp_path / "model.zip")
    again: Any = load_tagger(tmp_path / "model.zip")
    assert again.counts.words == tuple(sorted(words))


# --- other files -------------------------------------------------------------------------------------------


def with_header(path: Path, **fields: Any) -> None:
    header = {**json.loads(parts_of(path)["header.json"]), **fields}
    rewrite(path, header__json=json.dumps(header).encode())


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"version": 2}, "version must be 1, got 2"),
        ({"format": "corefsample antecedent model"}, "must be a corefsample tagging model, got another format"),
        ({"features": 99}, "features must be 1, got 99 (train the model again)"),
        ({"kind": "perceptron"}, "kind must be one of"),
        ({"kind": ["hidden Markov model"]}, "kind must be one of"),
        ({"parameters": {"pseudocount": 1.0}}, "parameters must be pseudocount, rare_count, got {'pseudocount': 1.0}"),
        ({"parameters": {"pseudocount": -1.0, "rare_count": 0}}, "pseudocount must be above 0, got -1.0"),
        ({"parameters": None}, "parameters must be pseudocount, rare_count, got None"),
    ],
)
def test_a_header_of_another_version_or_kind_is_rejected(path: Path, fields: dict[str, Any], message: str) -> None:
    with_header(path, **fields)
    assert error_of(path).startswith(message)


@pytest.mark.parametrize(
    ("part", "content", "message"),
    [
        ("header__json", b"{", "header.json must be JSON, got: "),
        ("names__json", b"[]", "tags must be a list of distinct texts, got None"),
        ("names__json", b'{"tags": [], "words": []}', "tags must be at least one, got none"),
        ("names__json", b'{"tags": ["A", "A"], "words": []}', "tags must be a list of distinct texts, got ['A', 'A']"),
        ("names__json", b'{"tags": ["A"], "words": [3]}', "words must be a list of distinct texts, got [3]"),
        ("starts__npy", b"x", "starts must be an .npy file, got: "),
        ("starts__npy", npy([1.0]), "starts must be int64 in one dimension, got 1 of float64"),
        ("starts__npy", npy([1, 2]), "starts must have shape (3,), got 2 numbers"),
        ("starts__npy", npy([1, 2, -1]), "starts must be finite numbers, counts and places at least 0"),
        ("transitions__npy", npy([1, 2, 3]), "transitions must have shape (3, 3), got 3 numbers"),
        ("indptr__npy", npy([0, 1]), "indptr must describe "),
        ("starts__npy", None, "must be a corefsample tagging model, got a zip file without starts.npy"),
    ],
)
def test_parts_that_break_their_rules_are_rejected(path: Path, part: str, content: bytes, message: str) -> None:
    rewrite(path, **{part: content})
    assert error_of(path).startswith(message)


def test_weights_that_are_not_finite_are_rejected(path: Path) -> None:
    save_tagger(MODELS[1], path, overwrite=True)
    weights = MODELS[1].weights.weights.copy()
    weights[-1] = np.nan
    rewrite(path, weights__npy=npy(weights))
    assert error_of(path).startswith("weights must be finite numbers")
    rewrite(path, weights__npy=npy(weights[:0]))
    assert error_of(path).startswith("indptr must describe")


def test_tags_of_words_must_exist(path: Path) -> None:
    codes = MODELS[0].counts.emitted_by.copy()
    codes[1] = 3
    rewrite(path, emitted_by__npy=npy(codes))
    assert error_of(path) == "emitted_by must lie in 0 to 2, got 3"


@pytest.mark.parametrize("part", ["starts.npy", "emissions.npy", "indptr.npy"])
def test_arrays_may_be_as_long_as_the_texts_allow(path: Path, part: str) -> None:
    before = parts_of(path)
    rewrite(path, **{part.replace(".", "__"): npy(np.zeros(1 << 20, np.int64))})
    with error(InputError, place="model.zip") as found:
        load_tagger(path)
    assert f"{part} must have at most" in str(found.value)
    assert before[part] != parts_of(path)[part]


def test_a_model_that_could_not_be_read_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("corefsample.tagging._model_files._LARGEST", 1000)
    with error(ParameterError, "model"):
        save_tagger(MODELS[0], tmp_path / "model.zip")


# --- writing -----------------------------------------------------------------------------------------------


def test_an_existing_file_is_replaced_only_on_request(path: Path, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="output must not exist, got a file"):
        save_tagger(MODELS[1], path)
    save_tagger(MODELS[1], path, overwrite=True)
    assert type(load_tagger(path)) is ConditionalRandomField
    with pytest.raises(OutputError, match="make the folder"):
        save_tagger(MODELS[0], tmp_path / "none" / "model.zip")
    assert error_of(tmp_path / "none.zip") == "model file must be readable, got: No such file or directory"


def test_only_fitted_models_of_ours_can_be_saved(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=r"^HiddenMarkovModel must be fitted before it is used$"):
        save_tagger(HiddenMarkovModel(), tmp_path / "model.zip")
    with pytest.raises(ParameterError, match=r"^model must be one of HiddenMarkovModel, .*, got 3$"):
        save_tagger(3, tmp_path / "model.zip")  # type: ignore[arg-type]
