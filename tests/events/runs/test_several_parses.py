"""Runs over documents with several parses: the numbers of the counter, and what their tables say."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq
import pytest
from expected_errors import error
from references import events as er
from references import parses as pr
from run_cases import CountOptions, count_events

from corefsample import InputError, read_documents
from corefsample.recalibration import read_recalibration
from events import EventCounter
from events.commands import run_calibrate
from events.runs.counting._options import EventsResult

OPTIONS = CountOptions(n_samples=80, compare=("USA", "IRQ"), partition_size=7, threads=1)
PARSE_COLUMNS = ["n_parses", "parse_variance", "coreference_variance", "parses", "trigger_parses"]


def documents() -> list[dict[str, Any]]:
    """Thirty documents; every third has one parse."""
    made = []
    for number in range(3):
        for n, each in enumerate(er.corpus()):
            document = {**each, "doc_id": f"{each['doc_id']} of round {number}"}
            made.append(document if n % 3 == 2 else pr.with_other_parses(document, (5, 1, 2 + number)))
    return made


def run(inputs: Any, out: Path, **changed: Any) -> EventsResult:
    workers = {"workers": changed.pop("workers")} if "workers" in changed else {}
    return count_events(inputs, out, dataclasses.replace(OPTIONS, **changed), pictures=False, **workers)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return er.write_lines(tmp_path_factory.mktemp("corpus") / "news.jsonl", documents())


@pytest.fixture(scope="module")
def reference(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("reference") / "run"
    assert run(corpus, out, partition_size=1000).n_partitions == 1
    return out


def test_a_run_has_the_numbers_of_the_counter(corpus: Path, reference: Path) -> None:
    counter = EventCounter(n_samples=OPTIONS.n_samples)
    counter.update(read_documents(corpus))
    evidence = pd.read_parquet(reference / "evidence.parquet")
    expected = counter.evidence()
    order = ["date", "doc_id", "actor"]
    expected = expected.sort_values(order).reset_index(drop=True)
    found = evidence.sort_values(order).reset_index(drop=True)
    for name in ("doc_id", "actor", "probability", *PARSE_COLUMNS):
        assert found[name].tolist() == expected[name].tolist()
    assert {1, 3} == set(found["n_parses"])
    assert (found["parse_variance"] > 0).any()
    counts = pd.read_parquet(reference / "counts.parquet")
    assert counts["mean"].tolist() == counter.counts().to_frame()["mean"].tolist()


@pytest.mark.parametrize("uncertainty", ["none", "fit", "domain"])
def test_a_recalibrated_run_has_the_numbers_of_the_counter(corpus: Path, tmp_path: Path, uncertainty: Any) -> None:
    # That of the English model has offsets by kind, and a parse has mentions and kinds of its own.
    recalibration = read_recalibration("english")
    run(corpus, tmp_path / "run", recalibration="english", uncertainty=uncertainty)
    counter = EventCounter(n_samples=OPTIONS.n_samples, recalibration=recalibration, uncertainty=uncertainty)
    counter.update(read_documents(corpus))
    counts, expected = pd.read_parquet(tmp_path / "run" / "counts.parquet"), counter.counts().to_frame()
    for name in ("actor", "mean", "sd", "lower", "upper", "one_best", "uncertainty"):
        assert counts[name].tolist() == expected[name].tolist()
    plain = EventCounter(n_samples=OPTIONS.n_samples)
    plain.update(read_documents(corpus))
    assert counts["mean"].tolist() != plain.counts().to_frame()["mean"].tolist()


def test_a_mixture_is_recalibrated_parse_by_parse(corpus: Path) -> None:
    change = read_recalibration("english").recalibration
    assert change.offsets is not None
    n_parses = 0
    for document in read_documents(corpus):
        changed = change.apply_document(document)
        for k in range(document.n_parses):
            alone = document.with_parse(k)
            own = changed.with_parse(k).antecedents
            assert own.scores.tolist() == change.apply_document(alone).antecedents.scores.tolist()
            n_parses += 1
    assert n_parses > 30


def test_runs_of_one_parse_have_the_columns_of_before(tmp_path: Path) -> None:
    run(er.write_lines(tmp_path / "one.jsonl", er.corpus()), tmp_path / "run")
    names = pq.read_schema(tmp_path / "run" / "evidence.parquet").names
    assert not set(PARSE_COLUMNS) & set(names)


def test_documents_parquet_has_the_first_parse_of_each(corpus: Path, reference: Path) -> None:
    given = {document.doc_id: document for document in read_documents(corpus)}
    for document in read_documents(reference / "documents.parquet"):
        assert document.n_parses == 1
        assert document.tokens is not None
        own = given[document.doc_id].tokens
        assert own is not None
        assert list(document.tokens.dep) == list(own.dep)


def test_commands_for_one_parse_say_so(corpus: Path) -> None:
    with error(InputError, place="line 1: doc_id"):
        run_calibrate(corpus)


def test_a_parse_with_labels_of_no_scheme_is_named(tmp_path: Path) -> None:
    document = pr.with_other_parses(er.corpus()[0], (1, 1))
    tokens = document["parses"][1]["tokens"]
    tokens["dep"] = ["strange"] * len(tokens["dep"])
    with pytest.raises(InputError, match=r"parses\[1\]: "):
        run(er.write_lines(tmp_path / "bad.jsonl", [document]), tmp_path / "run")
