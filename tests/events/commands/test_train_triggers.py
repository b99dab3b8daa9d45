"""`corefsample train-triggers`: from texts with answers to a model, and to P that predicates report events."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from expected_errors import error
from references.encoders import write_encoder
from references.scoring import tiny_pipeline

from corefsample import InputError, ParameterError
from events import load_rules
from events.commands.train_triggers import TrainTriggersOptions, run_train_triggers
from events.matching import _trigger_model as tm
from events.triggers._nearest_texts import compressed_texts, nearest_texts

TEXTS = [
    *("Rebels [attacked|attack|Rebels] the town.", "Iran [attacked|attack|Iran] quietly.", "Rain left."),
    *("The army [attacked|attack|The army] Homs.", "They [left|exit|They] quietly.", "Iraq [left|exit|Iraq] a town."),
    *("They said.", "Rebels said a town.", "Rebels [attacked|!attack] quietly.", "The army [left|exit|The army] Homs."),
]
EXIT = """
name: exit
trigger: {lemma: [leave]}
presets:
  asserted: {described: [head], roles: {agent: [subject]}}
"""


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    (tmp_path / "texts.txt").write_text("\n".join(TEXTS), encoding="utf-8")
    (tmp_path / "exit.yaml").write_text(EXIT, encoding="utf-8")
    return tmp_path / "texts.txt"


@pytest.fixture
def pipeline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.syspath_prepend(tmp_path)
    return tiny_pipeline(tmp_path, f"tiny_{tmp_path.name.replace('-', '_')}")


def test_ten_texts_give_a_model_of_a_shipped_type_and_of_an_own_one(texts: Path, pipeline: str) -> None:
    paths = [str(texts.with_name(name)) for name in ("a.npz", "b.npz")]
    for path in paths:
        options = TrainTriggersOptions(out=path, pipeline=(pipeline,), rule=(str(texts.with_name("exit.yaml")),))
        summary = run_train_triggers(texts, options)
    assert Path(paths[0]).read_bytes() == Path(paths[1]).read_bytes()
    assert summary["types"] == {"attack": 3, "exit": 3}
    assert summary["n_texts"] == 10
    rule = tm.with_trigger_model(load_rules(texts.with_name("exit.yaml")), paths[0])
    assert (rule.event_type, rule.trigger_model) == ("exit", paths[0])
    texts.with_name("exit.yaml").write_text(EXIT.replace("exit", "kill"), encoding="utf-8")
    assert tm.with_trigger_model(load_rules(texts.with_name("exit.yaml")), "words").event_type == tm.ANY_TYPE
    model = summary.result
    assert model.lemmas == {"attack", "leave"}
    # Inverse document frequencies in bits among the 8 texts with one of these lemmas: left 1; the, quietly 1.415;
    # rebels, town, army, homs 2; they, iraq, a, rain 3. Of the words shared with the sentence (6.415), over those of
    # both: 3 / 12.4, 2.4 / 10.4, 1 / 9.4, 1 / 10.8; and 5.4 / 7.4 in a text without the lemma.
    nearest = nearest_texts(tm.load_trigger_model(paths[0]), {"leave"}, ["Rebels", "left", "the", "town", "."], 5)
    assert [(each.text, each.types) for each in nearest] == [
        *(("Iraq left a town.", ("exit",)), ("The army left Homs.", ("exit",)), ("Rain left.", ())),
        *(("They left quietly.", ("exit",)), ("Rebels attacked the town.", ("attack",))),
    ]
    of_two = compressed_texts(["They attacked and left."] * 2, ["attack", "leave"], np.eye(2) > 0.0, model.lemmas)
    types = [nearest_texts(replace(model, texts=of_two), {lemma}, ["left"])[0].types for lemma in ("leave", "go")]
    assert types == [(model.types[1],), model.types[:2]]
    # "left" reports in three of four texts, and its rule says so: its weights are for "exit", not for "attack".
    weights = model.weights[model.rows[tm.feature_hash("l=leave")]]
    assert weights[model.types.index("exit")] > 0 > weights[model.types.index("attack")]


def test_vectors_of_an_encoder_are_features(texts: Path, pipeline: str) -> None:
    pytest.importorskip("onnxruntime")
    table = np.random.default_rng(1).normal(size=(8, 3)).astype(np.float32)
    encoder = write_encoder(texts.with_name("encoder"), table)
    rule = (str(texts.with_name("exit.yaml")),)
    out = str(texts.with_name("a.npz"))
    options = TrainTriggersOptions(out=out, pipeline=(pipeline,), rule=rule, encoder=str(encoder))
    summary = run_train_triggers(texts, options)
    assert summary["encoder"] == summary.result.encoder.checksum
    assert np.abs(summary.result.of_vectors).max(axis=0).min() > 0.01
    loaded = tm.load_trigger_model(options.out, str(encoder))
    assert loaded.types == ("attack", "exit")
    assert loaded.vocabulary == {"attack", "leave", "say", "town", "army", "rebels"}  # verbs and nouns of the pipeline
    np.testing.assert_array_equal(loaded.similarity, summary.result.similarity)


def test_texts_without_an_event_or_too_few_and_a_rule_of_another_type_are_rejected(texts: Path, pipeline: str) -> None:
    options = TrainTriggersOptions(out=str(texts.with_name("a.npz")), pipeline=(pipeline,))
    texts.write_text("Rain fell.\nA film [killed|!kill] time.\n", encoding="utf-8")
    with error(InputError, place=str(texts)):
        run_train_triggers(texts, options)
    texts.write_text(TEXTS[1], encoding="utf-8")
    with error(ParameterError, parameter="texts"):
        run_train_triggers(texts, options)
    with error(ParameterError, parameter="rule"):
        run_train_triggers(texts, replace(options, rule=(str(texts.with_name("exit.yaml")),)))
