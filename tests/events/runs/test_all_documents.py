"""The table of all documents of a run."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from references import events as er
from run_cases import CountOptions, count_events

from corefsample import read_documents
from events import EventCounter
from events.audit import read_run_documents
from events.audit._features import _RunTables

OPTIONS = CountOptions(n_samples=300)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("all")
    corpus = er.write_lines(folder / "corpus.jsonl", er.corpus())
    count_events(corpus, folder / "run", OPTIONS, pictures=False)
    return folder


def test_every_document_has_a_row_in_the_order_of_date_and_id(run: Path) -> None:
    rows = pq.read_table(run / "run" / "all_documents.parquet").to_pylist()
    expected = sorted((each["date"], each["doc_id"]) for each in er.corpus())
    assert [(str(row["date"]), row["doc_id"]) for row in rows] == expected
    assert {row["period"] for row in rows} == {"1999Q1", "1999Q4", "2000Q1", "2000Q2"}


def test_its_probabilities_are_those_of_the_evidence(run: Path) -> None:
    rows = pq.read_table(run / "run" / "all_documents.parquet").to_pylist()
    listed = {
        (row["doc_id"], name): p
        for row in rows
        for name, p in zip(row["actors"], row["probabilities"], strict=True)
        if name != "*"
    }
    evidence = pd.read_parquet(run / "run" / "evidence.parquet")
    expected = zip(evidence["doc_id"], evidence["actor"], evidence["probability"], strict=True)
    assert listed == {(doc_id, country): p for doc_id, country, p in expected}


def test_the_probability_of_some_event_counts_samples_with_any_of_them(run: Path) -> None:
    """Two countries that exclude each other add up, those that go together do not."""
    counter = EventCounter(n_samples=300)
    expected = {}
    for document in read_documents(run / "corpus.jsonl"):
        events = counter.add(document)
        some = 0 if events is None else sum(events.hits[:, s].any() for s in range(300))
        expected[document.doc_id] = (some / 300, events is not None)
    rows = pq.read_table(run / "run" / "all_documents.parquet").to_pylist()
    assert {row["doc_id"]: (row["probability"], row["sampled"]) for row in rows} == expected


def test_triggers_and_actors_are_found_word_by_word(run: Path) -> None:
    found = {row["doc_id"]: row for row in pq.read_table(run / "run" / "all_documents.parquet").to_pylist()}
    for each in er.corpus():
        tokens = each["tokens"]
        pairs = zip(tokens["lemma"], tokens["upos"], strict=True)
        assert found[each["doc_id"]]["trigger"] == any(pair == ("attack", "VERB") for pair in pairs)
        if found[each["doc_id"]]["sampled"]:
            assert found[each["doc_id"]]["actor"]
    assert not all(row["actor"] for row in found.values())


def test_triggers_have_the_conditions_that_leave_them_out(run: Path) -> None:
    """Added up they are the numbers of the record; lengths are those of the documents."""
    table = pq.read_table(run / "run" / "all_documents.parquet").to_pylist()
    lengths = {each["doc_id"]: len(each["tokens"]["text"]) for each in er.corpus()}
    assert {row["doc_id"]: row["n_tokens"] for row in table} == lengths
    texts = [text for row in table for text in row["triggers"]]
    said = json.loads((run / "run" / "run.json").read_text())["summary"]["triggers"]["attack"]
    assert len(texts) == said["n_triggers"] > 0
    assert sum(": " in text for text in texts) == said["n_excluded"]
    conditions = Counter(each for text in texts if ": " in text for each in text.partition(": ")[2].split(", "))
    assert conditions == said["conditions"]


def test_features_of_a_run_are_those_of_its_tables(run: Path) -> None:
    frame = read_run_documents(run / "run", ["USA"])
    columns = _RunTables(run / "run", frame).columns("attack", "USA")
    table = pq.read_table(run / "run" / "all_documents.parquet").to_pylist()
    evidence = pd.read_parquet(run / "run" / "evidence.parquet")
    assert [row["doc_id"] for row in table] == frame.doc_ids.tolist()
    for d, row in enumerate(table):
        p = dict(zip(row["actors"], row["probabilities"], strict=True))
        others = [value for name, value in p.items() if name not in ("*", "-", "USA")]
        own = evidence[(evidence["doc_id"] == row["doc_id"]) & (evidence["actor"] == "USA")]
        n_instances = [len(text.split(" | ")) for text in own["role_mentions"]]
        expected = {
            "P of attack by USA": p.get("USA", 0.0),
            "P of attack by anybody": p.get("*", 0.0),
            "P of attack by another actor": max(others, default=0.0),
            "triggers": np.log1p(sum(text == "attack" for text in row["triggers"])),
            "variance among parses": 0.0,  # the documents have one parse
            "log of triggers that make it": np.log1p(max(n_instances, default=0)),
            "name of an actor": float(row["actor"]),
            "log of length": np.log1p(row["n_tokens"]),
        }
        assert {name: columns[name][d] for name in expected} == pytest.approx(expected)
