"""The batch job on a small corpus of hand-made documents, and its tables."""

import dataclasses
import datetime
import hashlib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from expected_errors import error
from hypothesis import given, settings, strategies as st
from references import coreference as references, events as er
from run_cases import CountOptions, count_events

import events.counts._counter
import events.runs._count_parts
import events.runs._outputs
import events.runs._written_tables
from corefsample import InputError, read_documents
from corefsample.files._atomic import unescaped
from events import EventCounter
from events.audit._audit_frame import read_run_documents
from events.audit._learning import RunFeatures
from events.evidence._columns import count_columns
from events.evidence._document_evidence import evidence_schema
from events.rule_error._counts import CountTables
from events.runs._count_parts import checked_contents
from events.runs._outputs import RunFolder
from events.runs._written_tables import documents_written, write_counts, write_evidence

FILES = {
    "all_documents.parquet",
    "bands.png",
    "bands.svg",
    "count_samples.parquet",
    "counts.csv",
    "counts.parquet",
    "documents.parquet",
    "evidence.csv",
    "evidence.parquet",
    "near_half.csv",
    "events.csv",
    "totals.csv",
    "parts",
    "run.json",
}
OPTIONS = CountOptions(n_samples=300, compare=("USA", "IRQ"))
TABLES = ("counts.csv", "totals.csv", "comparisons.csv", "evidence.csv", "near_half.csv", "events.csv")


def run(inputs: Any, out: Path, *, pictures: bool = False, **options: Any) -> SimpleNamespace:
    """A run without pictures, whose drawing takes most of a small run's time."""
    return count_events(inputs, out, dataclasses.replace(OPTIONS, **options), pictures=pictures)


def tables(out: Path, names: Sequence[str] = TABLES) -> dict[str, bytes]:
    return {name: (out / name).read_bytes() for name in names}


# --- what a run leaves -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def finished_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("all")
    run(er.write_lines(folder / "corpus.jsonl", er.corpus()), folder / "run")
    return folder / "run"


def test_a_run_leaves_the_files_of_the_design(corpus: Path, tmp_path: Path) -> None:
    summary = run(corpus, tmp_path / "run", pictures=True, compare=None, on_error="quarantine")
    assert {path.name for path in (tmp_path / "run").iterdir()} == FILES
    assert set(os.listdir(tmp_path)) == {"corpus.jsonl", "run"}
    assert (tmp_path / "run" / "bands.png").read_bytes().startswith(b"\x89PNG")
    assert b"<svg" in (tmp_path / "run" / "bands.svg").read_bytes()
    # Ten documents, of which six have a trigger, a filler of its role and a country's word.
    assert (summary.n_documents, summary.n_sampled, summary.n_with_events) == (10, 6, 5)
    assert summary.actors == ["IRQ", "KWT", "USA"]
    assert summary.periods == ["1999Q1", "2000Q2"]


def test_evidence_quotes_the_text(finished_run: Path) -> None:
    evidence = pd.read_csv(finished_run / "evidence.csv").set_index(["doc_id", "actor"])
    row = evidence.loc[("doc 2", "IRQ")]
    assert row["sentences"] == 'Iraqis waited , " | they attacked it'
    assert row["role_mentions"] == f"they [4-5] {row['probability']:.3f}"
    assert row["actor_mentions"] == f"Iraqis [0-1] {row['probability']:.3f}"
    assert row["period"] == "1999Q1"
    assert bool(row["one_best"])
    assert sorted(evidence.index) == [
        ("doc 2", "IRQ"),
        ("doc 3", "USA"),
        ("doc 5", "IRQ"),
        ("doc 5", "USA"),
        ("doc 7", "IRQ"),
        ("doc 7", "KWT"),
        ("doc 9", "IRQ"),
    ]


def test_the_documents_of_a_run_are_those_with_evidence_as_they_came(finished_run: Path) -> None:
    kept = {document.doc_id: document for document in read_documents(finished_run / "documents.parquet")}
    evidence = pd.read_csv(finished_run / "evidence.csv")
    assert list(kept) == list(dict.fromkeys(evidence["doc_id"]))
    for document in er.corpus():
        if document["doc_id"] in kept:
            assert references.content(kept[document["doc_id"]]) == references.content_of_json(document)


def test_the_record_names_inputs_arguments_and_versions(corpus: Path, tmp_path: Path) -> None:
    summary = run(corpus, tmp_path / "run", seed=5)
    record = json.loads((tmp_path / "run" / "run.json").read_text())
    data = corpus.read_bytes()
    digest = hashlib.sha256(data).hexdigest()
    assert record["inputs"] == [{"path": str(corpus), "bytes": len(data), "sha256": digest}]
    assert record["arguments"]["seed"] == 5
    assert record["arguments"]["compare"] == ["USA", "IRQ"]
    assert record["summary"].items() <= vars(summary).items()
    assert record["rule"] == {"name": "attack", "preset": "asserted", "source": "attack", "extends": [], "kin": {}}
    assert "numpy" in record["versions"]


# --- the same results however they are come by --------------------------------------------------------------


@pytest.mark.parametrize("interval", ["quantile", "hdi", "normal"])
def test_the_python_way_in_counts_the_same(corpus: Path, tmp_path: Path, interval: Any) -> None:
    run(corpus, tmp_path / "run", interval=interval, rule_error="none")
    counter = EventCounter(n_samples=300)
    counter.update(read_documents(corpus))
    counts = counter.counts(interval=interval)
    table = counts.to_frame().assign(period_start=lambda t: t["period_start"].astype(str))
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "run" / "counts.csv"), table, check_dtype=False)
    evidence = counter.evidence().assign(date=lambda t: t["date"].astype(str))
    written = pd.read_csv(tmp_path / "run" / "evidence.csv", keep_default_na=False)
    pd.testing.assert_frame_equal(written, evidence, check_dtype=False)
    compared = counts.compare("USA", "IRQ").assign(period_start=lambda t: t["period_start"].astype(str))
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "run" / "comparisons.csv"), compared, check_dtype=False)


# --- rules, lexicons, schemes, periods -----------------------------------------------------------------------


def test_options_reach_the_parts_they_are_for(corpus: Path, tmp_path: Path) -> None:
    run(
        corpus,
        tmp_path / "run",
        rule="attack_target",
        preset="paper",
        period="year",
        level=0.5,
        compare=None,
        scheme="ud2",
    )
    table = pd.read_csv(tmp_path / "run" / "counts.csv")
    # Doc 2's "they attacked it" is IRQ>IRQ where both are the Iraqis.
    pairs = set(zip(table["actor"], table["target"], strict=True))
    assert pairs == {("IRQ", "IRN"), ("IRQ", "IRQ"), ("USA", "KWT")}
    assert table["period"].unique().tolist() == [1999, 2000]
    assert set(table["level"]) == {0.5}


def test_a_run_depends_on_the_rules_that_its_rule_extends(corpus: Path, tmp_path: Path) -> None:
    base, own = tmp_path / "base.yaml", tmp_path / "own.yaml"
    base.write_text("name: base\nextends: attack_target\n")
    own.write_text("name: own\nextends: base.yaml\n")
    run(corpus, tmp_path / "run", rule=str(own), compare=None)
    record = json.loads((tmp_path / "run" / "run.json").read_text())
    assert record["rule"]["extends"] == [str(base), "attack_target", "attack"]
    options = CountOptions(rule=str(own))
    before = checked_contents(options)
    assert checked_contents(options) == before
    base.write_text(base.read_text() + "add: {frames: {verb: {lemma: [raid]}}}\n")
    assert checked_contents(options) != before


def test_no_event_at_all_is_a_result(tmp_path: Path) -> None:
    documents = [d for d in er.corpus() if d["doc_id"] in ("doc 4", "doc 6", "doc 10")]
    summary = run(er.write_lines(tmp_path / "quiet.jsonl", documents), tmp_path / "run")
    assert (summary.n_documents, summary.n_sampled, summary.actors) == (3, 0, [])
    for name in ("counts", "evidence"):
        assert pd.read_csv(tmp_path / "run" / f"{name}.csv").empty
        assert pq.read_table(tmp_path / "run" / f"{name}.parquet").num_rows == 0
    header = ",".join(count_columns(["actor"], rule_error=True))
    assert (tmp_path / "run" / "counts.csv").read_text().strip() == header
    assert (tmp_path / "run" / "near_half.csv").read_text().startswith("doc_id,date,period,event,actor,probability,")
    assert list(read_documents(tmp_path / "run" / "documents.parquet")) == []
    assert pd.read_csv(tmp_path / "run" / "comparisons.csv")["p_equal"].eq(1.0).all()


# --- bad documents -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 2, 256])
def test_a_bad_document_does_not_take_a_doc_id(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr(events.runs._count_parts, "_BATCH", size)
    good = er.corpus()
    unknown = {**good[1], "tokens": good[1]["tokens"] | {"dep": ["SBJ"] * len(good[1]["tokens"]["dep"])}}
    lines = [{**good[1], "scores": [[]]}, unknown, *good, good[2]]  # and a repeated one, which is rejected
    run(er.write_lines(tmp_path / "good.jsonl", good), tmp_path / "reference")
    summary = run(er.write_lines(tmp_path / "mixed.jsonl", lines), tmp_path / "run", on_error="quarantine")
    assert summary.n_quarantined == 3
    assert tables(tmp_path / "run") == tables(tmp_path / "reference")


def test_a_corpus_of_only_bad_documents_is_rejected_with_the_first_reason(tmp_path: Path) -> None:
    path = er.write_lines(tmp_path / "bad.jsonl", ["[]", "{"])
    with error(InputError) as caught:
        run(path, tmp_path / "run", on_error="quarantine")
    assert f"{path}: line 1" in str(caught.value)
    assert os.listdir(tmp_path) == ["bad.jsonl"]


# --- the table of all documents ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def listed(finished_run: Path) -> list[dict[str, Any]]:
    return pq.read_table(finished_run / "all_documents.parquet").to_pylist()


def test_every_document_has_a_row_in_the_order_of_date_and_id(listed: list[dict[str, Any]]) -> None:
    expected = sorted((each["date"], each["doc_id"]) for each in er.corpus())
    assert [(str(row["date"]), row["doc_id"]) for row in listed] == expected
    assert {row["period"] for row in listed} == {"1999Q1", "1999Q4", "2000Q1", "2000Q2"}


def test_probabilities_are_those_of_the_evidence_and_of_any_event(
    finished_run: Path, listed: list[dict[str, Any]]
) -> None:
    """Two countries that exclude each other add up, those that go together do not."""
    evidence = pd.read_parquet(finished_run / "evidence.parquet", filters=[("probability", ">", 0)])
    expected = {(row.doc_id, row.actor): row.probability for row in evidence.itertuples()}
    counter = EventCounter(n_samples=300)
    for document in read_documents(finished_run.parent / "corpus.jsonl"):
        events = counter.add(document)
        some = 0 if events is None else events.hits.any(axis=0).sum()
        expected |= {(document.doc_id, "*"): some / 300, (document.doc_id, "sampled"): events is not None}
    for row in listed:
        p = dict(zip(row["actors"], row["probabilities"], strict=True)) | {"*": row["probability"]}
        p["sampled"] = row["sampled"]
        assert p == {actor: value for (doc_id, actor), value in expected.items() if doc_id == row["doc_id"]}


def test_triggers_and_actors_are_found_word_by_word(listed: list[dict[str, Any]]) -> None:
    found = {row["doc_id"]: row for row in listed}
    for each in er.corpus():
        tokens = each["tokens"]
        pairs = zip(tokens["lemma"], tokens["upos"], strict=True)
        assert found[each["doc_id"]]["trigger"] == any(pair == ("attack", "VERB") for pair in pairs)
        if found[each["doc_id"]]["sampled"]:
            assert found[each["doc_id"]]["actor"]
    assert not all(row["actor"] for row in found.values())


def test_features_of_a_run_are_those_of_its_tables(finished_run: Path, listed: list[dict[str, Any]]) -> None:
    frame = read_run_documents(finished_run, ["USA"])
    columns = RunFeatures(finished_run, frame).columns("attack", "USA")
    evidence = pd.read_parquet(finished_run / "evidence.parquet", filters=[("probability", ">", 0)])
    assert [row["doc_id"] for row in listed] == frame.doc_ids.tolist()
    for d, row in enumerate(listed):
        p = dict(zip(row["actors"], row["probabilities"], strict=True))
        others = [value for name, value in p.items() if name not in ("*", "-", "USA")]
        own = evidence[(evidence["doc_id"] == row["doc_id"]) & (evidence["actor"] == "USA")]
        n_instances = [len(text.split(" | ")) for text in own["role_mentions"]]
        expected = {
            "P of attack by USA": p.get("USA", 0.0),
            "P of attack by anybody": p.get("*", 0.0),
            "P of attack by another actor": max(others, default=0.0),
            "triggers": np.log1p(sum(text == "attack" for text in row["triggers"])),
            "log of triggers that make it": np.log1p(max(n_instances, default=0)),
            "name of an actor": float(row["actor"]),
            "log of length": np.log1p(row["n_tokens"]),
        }
        assert {name: columns[name][d] for name in expected} == pytest.approx(expected)


# --- tables of evidence ------------------------------------------------------------------------------------


DAY = datetime.date(1999, 1, 1)


def row(number: int, probability: float = 0.5, text: str = "") -> dict[str, Any]:
    event = {"doc_id": f"d{number:05}", "date": DAY, "period": "1999Q1", "event": "attack", "actor": "AAA"}
    texts = dict.fromkeys(("sentences", "role_mentions", "actor_mentions"), text)
    shares = {"probability": probability, "mc_se": 0.01, "one_best": True, "inefficiency": 1.0}
    return {**event, **shares, **texts, "samples": bytes(125), "triggers": []}


def written(rows: list[dict[str, Any]], out: Path, at_once: int = 30) -> None:
    """Write evidence that comes in parts, the last part first."""
    counter = EventCounter()
    for start in reversed(range(0, len(rows), at_once)):
        part = rows[start : start + at_once]
        counter.rows.add(pa.RecordBatch.from_pylist(part, counter.schema))
        columns = ("doc_id", "date", "period", "probability")
        counter.documents.add(pa.RecordBatch.from_pylist([{name: each[name] for name in columns} for each in part]))
    with RunFolder(out) as folder:
        counts = counter.counts_of_all()
        tables = CountTables.of(counts, ())
        with documents_written(folder.file, counter):
            write_evidence(folder.file, counter, tables.with_readers)
            write_counts(folder.file, tables)
        folder.finish_record({"corefsample": "0"})


@settings(max_examples=8)
@given(st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=8), max_size=20))
def test_any_text_survives_in_both_tables(tmp_path_factory: pytest.TempPathFactory, texts: list[str]) -> None:
    out = tmp_path_factory.mktemp("text") / "run"
    written([row(n, text=text) for n, text in enumerate(texts)], out)
    table = pq.read_table(out / "evidence.parquet")
    assert table.schema.equals(evidence_schema(["actor"]))
    assert table.column("sentences").to_pylist() == texts
    # With line ends of \n, the reader keeps all other line ends within quotes.
    again = pd.read_csv(out / "evidence.csv", keep_default_na=False, dtype=str, lineterminator="\n")
    assert again["sentences"].map(unescaped).tolist() == texts
    assert not again["sentences"].str.match(r"[=+\-@\t\r\n]").any()  # a spreadsheet would run it as a formula


@pytest.mark.parametrize("n", [0, 1, 99, 100, 101, 250, 4500])
def test_near_half_keeps_the_hundred_nearest_and_the_earlier_of_ties(tmp_path: Path, n: int) -> None:
    rows = [row(k, probability=(k * 37) % 51 / 50) for k in range(n)]
    written(rows, tmp_path / "run")
    near = pd.read_csv(tmp_path / "run" / "near_half.csv")
    counted = [each for each in rows if each["probability"] > 0.0]
    expected = sorted(counted, key=lambda r: abs(r["probability"] - 0.5))[:100]  # stable: the earlier first
    assert near["doc_id"].tolist() == [r["doc_id"] for r in expected]
