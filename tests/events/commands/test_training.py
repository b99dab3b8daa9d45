"""corefsample train: selection of documents, choice of penalty, provenance of the model, errors."""

import dataclasses
import json
import math
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import Calls
from hypothesis import given, strategies as st
from references import scoring as sr

from corefsample import read_corefud
from corefsample.documents._annotated import AnnotatedDocument
from corefsample.scorers import load_scorer
from corefsample.scorers._loading import held_out_ids
from corefsample.scorers.log_linear._training import train
from events.commands.train import TrainOptions, run_train

QUICK: dict[str, Any] = {"epochs": 1, "bits": 8, "min_count": 2, "orders": 1}


@pytest.fixture(scope="module")
def documents() -> list[AnnotatedDocument]:
    return sr.short_documents(12)


# --- which documents ---------------------------------------------------------------------------------------


def test_conditions_select_documents_of_both_corpora(tmp_path: Path, documents: list[AnnotatedDocument]) -> None:
    corpus = sr.corpus_file(tmp_path / "train.conllu", documents[:9])
    held_out = sr.corpus_file(tmp_path / "dev.conllu", documents[9:])
    options = partial(TrainOptions, where=["genre=news,court"], **QUICK)
    run = run_train(corpus, options(out=tmp_path / "m.npz", held_out=held_out))
    assert (run["n_documents"], run["n_held_out"], run["n_not_selected"]) == (6, 2, 4)
    selected = [d for d in read_corefud(corpus) if d.metadata["genre"] != "bio"]
    others = [d for d in read_corefud(held_out) if d.metadata["genre"] != "bio"]
    expected = train(selected, held_out=others, l2=(0.02, 0.05), **QUICK)
    assert np.array_equal(load_scorer(tmp_path / "m.npz").weights, expected.weights)
    record = json.loads(Path(run["record"]).read_text())
    assert record["documents"] == [d.doc_id for d in selected]
    assert record["held_out"] == [d.doc_id for d in others]


# --- held out ----------------------------------------------------------------------------------------------


def test_a_refit_trains_on_all_documents_with_the_chosen_penalty_and_passes(tmp_path: Path, gold: Path) -> None:
    options = partial(TrainOptions, held_out_share=0.3, l2=(0.01, 3.0), epochs=2, bits=8, min_count=2)
    plain = run_train(gold, options(out=tmp_path / "plain.npz"))
    run = run_train(gold, options(out=tmp_path / "m.npz", refit=True))
    record = json.loads(Path(run["record"]).read_text())
    by_name = {document.doc_id: document for document in read_corefud(gold)}
    every = [by_name[name] for name in record["documents"] + record["held_out"]]
    assert len(every) == run["n_documents"] == 12
    expected = train(every, l2=plain["l2"], epochs=plain["epoch"], bits=8, min_count=2)
    assert np.array_equal(run.result.weights, expected.weights)
    assert (run["l2"], run["epoch"]) == (plain["l2"], plain["epoch"])
    assert run["held_out"] == plain["held_out"]
    assert run.result.provenance["chosen_on"]["loss"] == plain["held_out"]["loss"]


# --- provenance --------------------------------------------------------------------------------


def test_the_provenance_of_a_model_names_no_folder(tmp_path: Path, gold: Path) -> None:
    options = partial(TrainOptions, attribution="Texts by A, CC BY", where=["genre=*"], **QUICK)
    run_train(gold, options(out=tmp_path / "m.npz"))
    provenance = load_scorer(tmp_path / "m.npz").provenance
    assert provenance["attribution"] == "Texts by A, CC BY"
    assert provenance["corpora"][0]["path"] == "corpus.conllu"
    assert provenance["where"] == ["genre=*"]
    assert (provenance["n_documents"], provenance["n_held_out"]) == (10, 2)
    assert str(tmp_path) not in json.dumps(provenance)
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["corpus.conllu", "m.npz", "m.npz.training.json"]


# --- errors ---------------------------------------------------------------------------------------


def test_corpora_need_gold_here(call: Calls, tmp_path: Path, gold: Path, documents: list[AnnotatedDocument]) -> None:
    bare = [dataclasses.replace(d, doc_id=f"bare{i}", mentions=[], entities=[]) for i, d in enumerate(documents[:2])]  # type: ignore[arg-type]
    empty = sr.corpus_file(tmp_path / "bare.conllu", bare)
    for inputs in ((empty,), (gold, empty)):
        line = call.refused("train", *inputs, "--out", tmp_path / "m.npz")
        assert (
            line == f"corefsample: {empty}: a corpus must have annotated entities to train on, got none in 2 documents"
        )
    mixed = sr.corpus_file(tmp_path / "mixed.conllu", [*documents, *bare])
    assert run_train(mixed, TrainOptions(out=tmp_path / "m.npz", **QUICK))["n_without_gold"] == 2


def test_a_document_of_no_scheme_is_rejected(call: Calls, tmp_path: Path, documents: list[AnnotatedDocument]) -> None:
    strange = dataclasses.replace(documents[0].tokens, dep=["head"] * len(documents[0].tokens))
    bad = dataclasses.replace(documents[0], doc_id="odd", tokens=strange)
    corpus = sr.corpus_file(tmp_path / "corpus.conllu", [*documents, bad])
    out = tmp_path / "m.npz"
    line = call.refused("train", corpus, "--out", out)
    assert line.startswith(f"corefsample: {corpus}: document 13: doc_id 'odd': tokens.dep must fit a dependency scheme")
    arguments = ("--on-error", "quarantine", "--bits", 8, "--epochs", 1, "--l2", 0.1)
    status, text, err = call("train", corpus, "--out", out, *arguments)
    assert (status, err, "1 bad document set aside\n" in text) == (0, "", True)
    assert json.loads(Path(f"{out}.quarantine.jsonl").read_text())["doc_id"] == "odd"


# --- documents that are held out of a training ------------------------------------------------------------


@given(st.sets(st.text(min_size=1, max_size=5), min_size=2, max_size=30), st.floats(0.01, 0.4), st.randoms())
def test_held_out_documents_depend_only_on_names_and_seed(names: set[str], share: float, random: Any) -> None:
    order = sorted(names)
    held_out = held_out_ids(order, share, seed=3)
    assert len(held_out) == math.ceil(share * len(names))
    assert held_out <= names
    random.shuffle(order)
    assert held_out_ids(order, share, seed=3) == held_out
