"""The encoder: vectors of words and sentences against a plain computation, and what it rejects."""

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from expected_errors import error
from references.encoders import PIECES, write_encoder

from corefsample import InputError, ParameterError
from events import load_rules
from events.matching import _trigger_model as tm
from events.matching._encoder import SentenceEncoder, load_encoder

pytest.importorskip("tokenizers")
pytest.importorskip("onnxruntime")

SHIPPED = Path(__file__).resolve().parents[4] / "shared" / "models" / "all-MiniLM-L6-v2"


@pytest.fixture
def table() -> npt.NDArray[np.float32]:
    return np.random.default_rng(0).normal(size=(len(PIECES), 3)).astype(np.float32)


def unit(vector: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    return np.asarray(vector / np.sqrt(sum(x * x for x in vector)))


def test_a_word_has_the_mean_of_its_pieces_and_the_mean_of_all_pieces(
    tmp_path: Path, table: npt.NDArray[np.float32]
) -> None:
    encoder = SentenceEncoder(write_encoder(tmp_path / "e", table))
    words = ["gunmen", "fired", "at", "ships"]
    pieces = [[1, 2], [3], [4], [6, 7]]
    sentence = unit(np.mean([table[k] for word in pieces for k in word], axis=0, dtype=np.float64))
    vectors = encoder.vectors(words)
    for vector, of_word in zip(vectors, pieces, strict=True):
        mean = unit(np.mean([table[k] for k in of_word], axis=0, dtype=np.float64))
        np.testing.assert_allclose(vector, [*mean, *sentence], atol=1e-6)


def test_words_beyond_the_length_of_the_tokenizer_have_no_vector(
    tmp_path: Path, table: npt.NDArray[np.float32]
) -> None:
    encoder = SentenceEncoder(write_encoder(tmp_path / "e", table, longest=3))
    vectors = encoder.vectors(["gunmen", "fired", "at"])
    np.testing.assert_allclose(np.linalg.norm(vectors[:, :3], axis=1), [1.0, 1.0, 0.0], atol=1e-6)
    np.testing.assert_allclose(vectors[:, 3:], [unit(table[[1, 2, 3]].mean(axis=0, dtype=np.float64))] * 3, atol=1e-6)


def test_a_folder_without_an_onnx_file_or_with_a_broken_one_is_rejected(tmp_path: Path) -> None:
    with error(InputError, place=str(tmp_path)):
        SentenceEncoder(tmp_path)
    (tmp_path / "m.onnx").write_bytes(b"none")
    with error(InputError, place=str(tmp_path)):
        SentenceEncoder(tmp_path)
    (tmp_path / "tokenizer.json").write_text("{}")
    with error(InputError, place=str(tmp_path / "m.onnx")):
        SentenceEncoder(tmp_path)


def test_a_model_is_used_only_with_the_encoder_of_its_fit(tmp_path: Path, table: npt.NDArray[np.float32]) -> None:
    folders = [str(write_encoder(tmp_path / name, table + k)) for k, name in enumerate("ab")]
    of_vectors = np.ones((6, 2), np.float32)
    rows, weights = {tm.feature_hash("bias"): 0}, np.ones((1, 2), np.float32)
    fitted = tm.TriggerModel(("attack",), rows, weights, frozenset(["fire"]), "", load_encoder(folders[0]), of_vectors)
    path = str(tmp_path / "m.npz")
    fitted.save(path)
    loaded = tm.load_trigger_model(path, folders[0])
    assert loaded is not None
    np.testing.assert_array_equal(loaded.of_vectors, of_vectors)
    for encoder in (folders[1], ""):
        with error(InputError, place=path):
            tm.load_trigger_model(path, encoder)
    with error(InputError):  # the weights of the package are for another encoder
        tm.with_trigger_model(load_rules("kill"), "words", folders[0])
    with error(ParameterError, parameter="triggers"):
        tm.with_trigger_model(load_rules("kill"), "rules", folders[0])
    assert loaded.checksum.endswith(load_encoder(folders[0]).checksum)


@pytest.mark.skipif(not SHIPPED.exists(), reason="needs ../shared/models/all-MiniLM-L6-v2")
def test_the_weights_of_the_package_fit_the_shared_encoder() -> None:
    rule = tm.with_trigger_model(load_rules("kill"), "words", str(SHIPPED))
    model = tm.load_trigger_model(rule.trigger_model, rule.encoder)
    assert model is not None
    assert model.encoder is not None
    assert model.of_vectors.shape == (768, len(model.types) + 1)
    vectors = model.encoder.vectors(["Gunmen", "shot", "nine", "farmers", "."])
    np.testing.assert_allclose(np.linalg.norm(vectors.reshape(5, 2, 384), axis=2), 1.0, atol=1e-5)
