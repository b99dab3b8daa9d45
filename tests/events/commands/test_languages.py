"""Languages on the command line: which are compared, out-of-fold scores, and rules in another language."""

import dataclasses
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from command_line import Calls
from expected_errors import error
from references import events as er, scoring as sr

from corefsample import InputError, ParameterError, ScoredDocument, read_documents, write_documents
from corefsample.documents._annotated import NOTES_FIELD, AnnotatedDocument
from corefsample.recalibration import read_recalibration
from corefsample.scorers import load_scorer, score_documents
from corefsample.scorers._loading import scorer_file
from corefsample.scorers.log_linear._training import train
from corefsample.scorers.protocol import MENTION_SOURCES, MentionSource
from events import EventCounter, load_lexicon, load_rules
from events.commands import ScoreOptions, run_score
from events.evidence._rule_set import RuleSet
from events.runs._training_corpora import folds_of

QUICK: dict[str, Any] = {"epochs": 1, "bits": 8, "orders": 1, "l2": 0.02}


@pytest.fixture(scope="module")
def documents() -> list[AnnotatedDocument]:
    return sr.short_documents(7)


@pytest.fixture
def spanish(tmp_path: Path, documents: list[AnnotatedDocument]) -> Path:
    path = tmp_path / "es.npz"
    train(documents[:3], language="es", **QUICK).save(path)
    return path


# --- comparison --------------------------------------------------------------------------------------------


def test_train_has_the_documents_language(call: Calls, tmp_path: Path, documents: list[AnnotatedDocument]) -> None:
    options = ("--epochs", 1, "--bits", 8, "--orders", 1, "--held-out-share", 0)
    path = sr.corpus_file(tmp_path / "ru_news-train.conllu", documents)
    status, out, _ = call("train", path, "--out", tmp_path / "ru.npz", *options)
    assert (status, "Language: ru (resources: none)." in out) == (0, True)
    assert load_scorer(tmp_path / "ru.npz").language.code == "ru"
    line = call.refused("train", path, "--out", tmp_path / "m.npz", "--language", "es", *options, status=2)
    assert "--language must be that of all documents, got es and ru" in line


def test_foreign_documents_must_say_their_language(
    call: Calls, tmp_path: Path, documents: list[AnnotatedDocument]
) -> None:
    def foreign(document: AnnotatedDocument) -> AnnotatedDocument:
        text = [f"{word}ski" for word in document.tokens.text]
        return dataclasses.replace(document, tokens=dataclasses.replace(document.tokens, text=text))

    path = sr.corpus_file(tmp_path / "corpus.conllu", map(foreign, documents))
    line = call.refused("train", path, "--out", tmp_path / "m.npz", status=2)
    assert "--language is required: the documents do not declare their language" in line
    status, out, err = call("score", path, "--out", tmp_path / "s.jsonl")
    assert (status, "Words: the model knows" in out, "of the first texts, the model knows" in err) == (0, True, False)


def test_scores_of_the_spanish_model_have_its_recalibration(call: Calls, tmp_path: Path, gold: Path) -> None:
    out, options = tmp_path / "s.jsonl", {"model": "es", "mentions": "parse", "overwrite": True}
    run_score(gold, ScoreOptions(out=out, recalibration="none", **options))
    plain = list(read_documents(out))
    assert not any("recalibration" in document.metadata for document in plain)
    status, screen, _ = call("score", gold, "--out", out, "--model", "es", "--mentions", "parse", "--overwrite")
    assert (status, "Recalibrated (the Spanish model's recalibration" in screen) == (0, True)
    change = read_recalibration("spanish").recalibration
    for document, expected in zip(read_documents(out), map(change.apply_document, plain), strict=True):
        assert document.metadata == expected.metadata
        assert document.antecedents.scores.tolist() == expected.antecedents.scores.tolist()
    with error(InputError, place="english"):
        run_score(gold, ScoreOptions(out=out, recalibration="english", **options))
    # Annotated mentions have a model of their own, which is calibrated without one.
    assert run_score(gold, ScoreOptions(out=out, **options | {"mentions": "annotated"}))["recalibration"] is None


# --- out-of-fold scores ------------------------------------------------------------------------------------


def test_documents_are_scored_by_a_model_without_their_fold(tmp_path: Path, gold: Path, spanish: Path) -> None:
    run = run_score(gold, ScoreOptions(out=tmp_path / "s.jsonl", model=str(spanish), folds=3))
    found = list(read_documents(tmp_path / "s.jsonl"))
    from corefsample import read_corefud

    documents = list(read_corefud(gold))
    assert [document.doc_id for document in found] == [document.doc_id for document in documents]
    folds = folds_of((document.doc_id for document in documents), 3)
    for document, scored in zip(documents, found, strict=True):
        seen = [other for other in documents if folds[other.doc_id] != folds[document.doc_id]]
        (expected,) = score_documents(train(seen, language="es", **QUICK), [document])
        assert scored.antecedents.scores.tolist() == expected.antecedents.scores.tolist()
        notes = {NOTES_FIELD: scored.metadata[NOTES_FIELD]}
        assert scored.metadata == {**document.metadata, **notes, "lang": "es"}
    assert (run["n_documents"], run["n_seen"], run["recalibration"]) == (7, 0, None)
    record = json.loads((tmp_path / "s.jsonl.scoring.json").read_text())
    assert (record["model"]["folds"], record["model"]["language"]) == (3, "es")


@pytest.mark.parametrize("mentions", MENTION_SOURCES)
def test_the_spanish_model_of_the_package_is_that_of_the_mentions(
    tmp_path: Path, gold: Path, documents: list[AnnotatedDocument], mentions: MentionSource
) -> None:
    model = load_scorer("es", mentions)
    assert model.recipe["mentions"] == ("both" if mentions == "parse" else "annotated")
    run_score(
        gold, ScoreOptions(out=tmp_path / "s.jsonl", model="es", mentions=mentions, recalibration="none", min_prob=0.0)
    )
    written = read_documents(tmp_path / "s.jsonl")
    for scored, expected in zip(
        written, score_documents(model, documents, mentions=mentions, min_prob=0.0), strict=True
    ):
        assert scored.antecedents.scores.tolist() == expected.antecedents.scores.tolist()
    record = json.loads((tmp_path / "s.jsonl.scoring.json").read_text())["model"]
    both = b"".join(Path(scorer_file("es", source)).read_bytes() for source in MENTION_SOURCES)
    assert (record["provenance"], record["sha256"]) == (model.provenance, hashlib.sha256(both).hexdigest())


@pytest.mark.parametrize("options", [{"folds": 8}, {"folds": 3, "pipeline": "x"}])
def test_folds_that_cannot_be(options: dict[str, Any], tmp_path: Path, gold: Path, spanish: Path) -> None:
    name = "folds" if len(options) == 1 else next(name for name in options if name != "folds")
    with error(ParameterError, name):
        run_score(gold, ScoreOptions(out=tmp_path / "s.jsonl", model=str(spanish), **options))


def test_recalibrate_rejects_documents_of_the_training(call: Calls, tmp_path: Path, gold: Path, spanish: Path) -> None:
    status, out, _ = call("score", gold, "--model", spanish, "--out", tmp_path / "s.jsonl")
    assert (status, "3 documents were in the training of the model" in out) == (0, True)
    line = call.refused("recalibrate", tmp_path / "s.jsonl", tmp_path / "s.jsonl", "--out", tmp_path / "r.jsonl")
    assert "got 3 of 7 documents with in_training_data (`corefsample score CORPUS --folds 5 --out FILE`" in line


def test_a_recalibration_is_for_documents_of_its_language(
    call: Calls, tmp_path: Path, gold: Path, spanish: Path
) -> None:
    call("score", gold, "--model", spanish, "--folds", 2, "--out", tmp_path / "s.jsonl")
    documents = list(read_documents(tmp_path / "s.jsonl"))
    others = [dataclasses.replace(each, doc_id=f"o{each.doc_id}", metadata={"lang": "ru"}) for each in documents]
    write_documents(others, tmp_path / "o.jsonl")
    fit = ("--form", "global", "--objective", "likelihood", "--folds", 2, "--resamples", 2)
    gold = tmp_path / "s.jsonl"
    call.good("recalibrate", gold, gold, "--out", tmp_path / "r.jsonl", *fit)
    assert json.loads((tmp_path / "r.jsonl.recalibration.json").read_text())["language"] == "es"
    line = call.refused("recalibrate", gold, tmp_path / "o.jsonl", "--out", tmp_path / "x.jsonl", *fit)
    assert "must be in the language of the fit (es), got ru" in line


# --- rules and lexicons ------------------------------------------------------------------------------------


def attacked(doc_id: str, **metadata: Any) -> ScoredDocument:
    """Rusia atacó Georgia, or the same in English."""
    sentence = "Rusia/PROPN>2:nsubj atacó=atacar/VERB>0:root Georgia/PROPN>2:obj"
    return dataclasses.replace(er.scored(er.json_document(doc_id, "2008-08-08", [sentence])), metadata=metadata)


def test_documents_of_another_language_than_the_rule_are_an_error() -> None:
    counter, spanish = EventCounter(load_rules("attack")), attacked("b", lang="es")
    for count in (counter.add, lambda one: counter.update([attacked("a"), one, attacked("c", lang="en")])):
        with error(InputError, place="doc_id 'b'") as found:
            count(spanish)
        assert "language must be that of the rules and the lexicon (en), got es" in found.value.message


def test_rules_and_lexicon_must_be_of_one_language() -> None:
    with error(InputError) as found:
        RuleSet.of(load_rules("es/attack"), load_lexicon("police"))
    assert "got attack of es, police of en" in found.value.message
    assert RuleSet.of(load_rules("es/arrest")).lexicon.source == "es/countries"
    assert RuleSet.of(load_rules("arrest")).language == "en"


@pytest.mark.parametrize("command", ["events", "explain", "doctor"])
def test_a_spanish_rule_has_the_spanish_lexicon_by_default(command: str, call: Calls, tmp_path: Path) -> None:
    write_documents([attacked("a", lang="es")], tmp_path / "s.jsonl")
    out = ("--out", tmp_path / "run", "--no-pictures") if command == "events" else ()
    text = call.good(command, tmp_path / "s.jsonl", "--rule", "es/attack", *out)
    found = (tmp_path / "run" / "counts.csv").read_text() if command == "events" else text
    assert "RUS" in found


def test_doctor_says_the_languages_of_a_corpus_and_compares_them(call: Calls, tmp_path: Path) -> None:
    write_documents([attacked("a", lang="es"), attacked("b")], tmp_path / "s.jsonl")
    status, out, _ = call("doctor", tmp_path / "s.jsonl")
    # Of six words the English model knows Georgia, twice.
    assert (status, "es 1, not said 1" in out) == (0, True)
    status, _, err = call("doctor", tmp_path / "s.jsonl", "--rule", "attack")
    assert status == 3
    assert "documents must be in the language of the rule and the lexicon (en), got 1 of es" in err
    assert call("doctor", tmp_path / "s.jsonl", "--rule", "es/attack")[0] == 0
