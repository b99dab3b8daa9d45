"""The encoder: vectors of words and sentences against a plain computation, and what it rejects."""

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from expected_errors import error
from references import events as er
from references.encoders import PIECES, write_encoder

from corefsample import InputError, ParameterError
from events import load_rules
from events.matching import _trigger_model as tm
from events.matching._encoder import SentenceEncoder, load_encoder
from events.matching._matching import ParseReading, RuleReading, rule_words

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
    # Words beyond the length of the tokenizer have none.
    vectors = SentenceEncoder(write_encoder(tmp_path / "short", table, longest=3)).vectors(words[:3])
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
    np.testing.assert_array_equal(loaded.of_vectors, of_vectors)
    for encoder in (folders[1], ""):
        with error(InputError, place=path):
            tm.load_trigger_model(path, encoder)
    with error(InputError):  # the weights of the package are for another encoder
        tm.with_trigger_model(load_rules("kill"), "words", folders[0])
    with error(ParameterError, parameter="triggers"):
        tm.with_trigger_model(load_rules("kill"), "rules", folders[0])
    assert loaded.checksum.endswith(load_encoder(folders[0]).checksum)


RULE = """{name: shooting, trigger: {lemma: [fire]}, event: [], presets: {asserted: {unless: [negated]}}, examples: [
 {expect: {asserted: [event]}, parse: "1 gunmen gunman NOUN 2 nsubj\\n2 fired fire VERB 0 root\\n3 at fire NOUN 2 obj"},
 {expect: {asserted: []}, parse: "1 not not PART 2 advmod\\n2 fired fire VERB 0 root"}]}"""


def test_the_predicate_most_like_the_examples_reports_the_event_of_a_users_rule(
    tmp_path: Path, table: npt.NDArray[np.float32]
) -> None:
    """In a sentence without a trigger the likeliest predicate, from .1; none where negated. The example is a verb's."""
    folder = str(write_encoder(tmp_path / "e", table))
    rows, weights = {tm.feature_hash("bias"): 0}, np.zeros((1, 2), np.float32)
    of_encoder = load_encoder(folder), np.zeros((6, 2), np.float32), b"", np.array([-1.0, 4.0], np.float32)
    vocabulary = frozenset(["ship", "gun"])
    tm.TriggerModel(("attack",), rows, weights, frozenset(), "", *of_encoder, vocabulary).save(tmp_path / "m.npz")
    (tmp_path / "shooting.yaml").write_text(RULE, encoding="utf-8")
    rule = tm.with_trigger_model(load_rules(tmp_path / "shooting.yaml"), str(tmp_path / "m.npz"), folder)
    first, other = "a/DET>2:det ship=ship/VERB>0:root gun=gun/NOUN>2:obj", "not/PART>2:advmod gun=gun/VERB>0:root"
    trigger, unlikely = "ship=ship/VERB>0:root fired=fire/VERB>1:ccomp", "ship=ship/VERB>0:root"
    tokens = er.scored(er.json_document("d", "1999-01-05", [first, other, trigger, unlikely], {})).tokens
    assert tokens is not None
    parse = ParseReading(tokens, np.zeros((0, 3), np.int32), "ud2", rule_words([rule]))
    chances = RuleReading(parse, rule).chances
    assert tm.without_trigger_model(rule) == load_rules(tmp_path / "shooting.yaml")

    def vector(piece: int, *pieces: int) -> npt.NDArray[np.float64]:
        """Of a word of one piece, and of its sentence."""
        return np.concatenate([unit(each) for each in (table[piece], table[[*pieces]].mean(axis=0))])

    cosines = [vector(*pieces) @ unit(vector(3, 1, 2, 3, 4)) for pieces in ((6, 5, 6, 1), (1, 5, 6, 1), (6, 6))]
    ship, gun, alone = (1.0 / (1.0 + np.exp(1.0 - 4.0 * cosine)) for cosine in cosines)
    assert alone < 0.1 < ship < gun
    # The trigger of the rule has the shared score 0.
    assert chances == pytest.approx({2: gun, 4: 0.0, 6: 0.5}, abs=1e-5)


@pytest.mark.skipif(not SHIPPED.exists(), reason="needs ../shared/models/all-MiniLM-L6-v2")
def test_the_weights_of_the_package_fit_the_shared_encoder() -> None:
    rule = tm.with_trigger_model(load_rules("kill"), "words", str(SHIPPED))
    model = tm.load_trigger_model(rule.trigger_model, rule.encoder)
    assert model.of_vectors.shape == (768, len(model.types) + 1)
    assert model.similarity[1] > 0.0
