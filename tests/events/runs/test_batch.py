"""The batch job on a small corpus of hand-made documents."""

from __future__ import annotations

import dataclasses
import errno
import hashlib
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from expected_errors import error
from references import coreference as references
from references import events as er
from run_cases import CountOptions, count_events
from strategies import documents as strategies

import events.counting._counter
import events.runs._pictures
import events.runs.counting._job
import events.runs.counting._tables
from corefsample import InputError, OutputError, ParameterError, read_documents
from corefsample._processors import processors
from corefsample.recalibration._shipped import SHIPPED, recalibration_file
from events import EventCounter
from events.counting._tables import Columns
from events.runs.counting._options import EventsResult
from events.runs.counting._plan import planned

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
    "partitions",
    "run.json",
}
OPTIONS = CountOptions(n_samples=300, compare=("USA", "IRQ"))
TABLES = ("counts.csv", "comparisons.csv", "evidence.csv", "near_half.csv", "events.csv")


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    return er.write_lines(tmp_path / "corpus.jsonl", er.corpus())


def run(inputs: Any, out: Path, *, pictures: bool = False, **options: Any) -> EventsResult:
    """A run without pictures, whose drawing takes most of a small run's time."""
    return count_events(inputs, out, dataclasses.replace(OPTIONS, **options), pictures=pictures)


def tables(out: Path, names: Sequence[str] = TABLES) -> dict[str, bytes]:
    return {name: (out / name).read_bytes() for name in names}


# --- what a run leaves -------------------------------------------------------------------------------------


def test_a_run_leaves_the_files_of_the_design(corpus: Path, tmp_path: Path) -> None:
    summary = run(corpus, tmp_path / "run", pictures=True, compare=None, on_error="quarantine")
    assert {path.name for path in (tmp_path / "run").iterdir()} == FILES
    assert set(os.listdir(tmp_path)) == {"corpus.jsonl", "run"}
    assert (tmp_path / "run" / "bands.png").read_bytes().startswith(b"\x89PNG")
    assert b"<svg" in (tmp_path / "run" / "bands.svg").read_bytes()
    # Ten documents, of which six have a trigger, a filler of its role and a country's word.
    assert (summary.n_documents, summary.n_sampled, summary.n_with_events) == (10, 6, 5)
    assert summary.actors == ("IRQ", "KWT", "USA")
    assert summary.periods == ("1999Q1", "2000Q2")


def test_a_comparison_has_its_own_file(corpus: Path, tmp_path: Path) -> None:
    run(corpus, tmp_path / "run", pictures=True)
    drawn = {"comparisons.csv", "comparison.png", "comparison.svg"}
    assert {path.name for path in (tmp_path / "run").iterdir()} == FILES | drawn
    table = pd.read_csv(tmp_path / "run" / "comparisons.csv")
    assert set(table["first"]) == {"USA"}
    assert set(table["second"]) == {"IRQ"}
    assert (table[["p_first_greater", "p_equal", "p_second_greater"]].sum(axis=1) - 1).abs().max() < 1e-12


def test_counts_are_the_sums_of_the_evidence(corpus: Path, tmp_path: Path) -> None:
    run(corpus, tmp_path / "run")
    counts = pd.read_csv(tmp_path / "run" / "counts.csv")
    assert list(counts.columns) == list(Columns.of_counts(["actor"]).types)
    assert len(counts) == 3 * 6  # three countries in the six quarters from 1999Q1 to 2000Q2
    evidence = pd.read_csv(tmp_path / "run" / "evidence.csv")
    sums = evidence.groupby(["actor", "period"])["probability"].sum()
    for row in counts.to_dict("records"):
        assert row["mean"] == pytest.approx(sums.get((row["actor"], row["period"]), 0.0), abs=1e-12)
    assert counts.groupby("period")["n_docs"].first().tolist() == [5, 0, 0, 3, 1, 1]


def test_tables_say_the_same_in_both_formats(corpus: Path, tmp_path: Path) -> None:
    run(corpus, tmp_path / "run")
    for name in ("counts", "evidence"):
        csv = pd.read_csv(tmp_path / "run" / f"{name}.csv", keep_default_na=False)
        parquet = pq.read_table(tmp_path / "run" / f"{name}.parquet").to_pandas()
        dates = [column for column in ("date", "period_start") if column in parquet]
        parquet = parquet.assign(**{column: parquet[column].astype(str) for column in dates})
        pd.testing.assert_frame_equal(csv, parquet, check_dtype=False)


def test_evidence_quotes_the_text(corpus: Path, tmp_path: Path) -> None:
    run(corpus, tmp_path / "run")
    evidence = pd.read_csv(tmp_path / "run" / "evidence.csv").set_index(["doc_id", "actor"])
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


def test_the_documents_of_a_run_are_those_with_evidence_as_they_came(corpus: Path, tmp_path: Path) -> None:
    run(corpus, tmp_path / "run")
    kept = {document.doc_id: document for document in read_documents(tmp_path / "run" / "documents.parquet")}
    evidence = pd.read_csv(tmp_path / "run" / "evidence.csv")
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
    assert record["summary"] == json.loads(json.dumps(summary.to_json()))
    assert record["rule"] == {"name": "attack", "preset": "asserted", "source": "attack", "extends": []}
    assert "numpy" in record["versions"]


def test_probabilities_are_those_of_the_documents_by_themselves(corpus: Path, tmp_path: Path) -> None:
    run(corpus, tmp_path / "run", preset="paper", n_samples=20_000)
    evidence = pd.read_csv(tmp_path / "run" / "evidence.csv").set_index(["doc_id", "actor"])["probability"]
    # Doc 2: the link to Iraqis has score 1 beside NEW's 0. Doc 3: forces and Kuwait stay apart, score -2.
    # Doc 9 likewise, score -4. Five standard errors of 20,000 samples.
    for key, p in {("doc 2", "IRQ"): 1.0, ("doc 3", "USA"): 2.0, ("doc 9", "IRQ"): 4.0}.items():
        exact = 1.0 / (1.0 + np.exp(-p))
        assert abs(evidence[key] - exact) < 5 * np.sqrt(exact * (1 - exact) / 20_000)


# --- the same results however they are come by --------------------------------------------------------------


def test_another_seed_draws_other_samples(corpus: Path, tmp_path: Path) -> None:
    run(corpus, tmp_path / "run")
    run(corpus, tmp_path / "again")
    run(corpus, tmp_path / "other", seed=1)
    assert tables(tmp_path / "run") == tables(tmp_path / "again") != tables(tmp_path / "other")


@pytest.mark.parametrize("interval", ["quantile", "hdi", "normal"])
def test_the_python_way_in_counts_the_same(corpus: Path, tmp_path: Path, interval: Any) -> None:
    run(corpus, tmp_path / "run", interval=interval)
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


def test_a_users_lexicon_and_rule_are_used(corpus: Path, tmp_path: Path) -> None:
    lexicon = tmp_path / "own.yaml"
    lexicon.write_text("version: 1\nentries:\n  - {code: THEM, name: They, aliases: [they]}\n")
    run(corpus, tmp_path / "run", lexicon=str(lexicon), compare=None)
    assert set(pd.read_csv(tmp_path / "run" / "counts.csv")["actor"]) == {"THEM"}


def test_a_run_names_the_rules_that_its_rule_extends_and_their_change_is_another_run(
    corpus: Path, tmp_path: Path
) -> None:
    base, own = tmp_path / "base.yaml", tmp_path / "own.yaml"
    base.write_text("name: base\nextends: attack_target\n")
    own.write_text("name: own\nextends: base.yaml\n")
    run(corpus, tmp_path / "run", rule=str(own), compare=None)
    record = json.loads((tmp_path / "run" / "run.json").read_text())
    assert record["rule"]["extends"] == [str(base), "attack_target", "attack"]
    options = CountOptions(rule=str(own))
    before = planned(corpus, options).contents["rule"]
    assert planned(corpus, options).contents["rule"] == before
    base.write_text(base.read_text() + "add: {frames: {verb: {lemma: [raid]}}}\n")
    assert planned(corpus, options).contents["rule"] != before


def test_a_run_depends_on_every_recalibration_that_its_scores_may_have_had(corpus: Path) -> None:
    files = [hashlib.sha256(Path(recalibration_file(name)).read_bytes()).hexdigest() for name in SHIPPED]
    assert planned(corpus, CountOptions()).contents["recalibration"][1] == files
    assert planned(corpus, CountOptions(uncertainty="none")).contents["recalibration"] == [None, []]
    assert planned(corpus, CountOptions(recalibration="spanish")).contents["recalibration"][0] == "spanish"


def test_no_event_at_all_is_a_result(tmp_path: Path) -> None:
    documents = [d for d in er.corpus() if d["doc_id"] in ("doc 4", "doc 6", "doc 10")]
    summary = run(er.write_lines(tmp_path / "quiet.jsonl", documents), tmp_path / "run")
    assert (summary.n_documents, summary.n_sampled, summary.actors) == (3, 0, ())
    for name in ("counts", "evidence"):
        assert pd.read_csv(tmp_path / "run" / f"{name}.csv").empty
        assert pq.read_table(tmp_path / "run" / f"{name}.parquet").num_rows == 0
    assert (tmp_path / "run" / "counts.csv").read_text().strip() == ",".join(Columns.of_counts(["actor"]).types)
    assert (tmp_path / "run" / "near_half.csv").read_text().startswith("doc_id,date,period,event,actor,probability,")
    assert list(read_documents(tmp_path / "run" / "documents.parquet")) == []
    assert pd.read_csv(tmp_path / "run" / "comparisons.csv")["p_equal"].eq(1.0).all()


# --- bad documents -----------------------------------------------------------------------------------------

RICH = {**er.corpus()[4], "doc_id": "rich", "version": 1, "gold": ["e1", None, 7], "genre": "news"}
RICH["tokens"] = RICH["tokens"] | {"xpos": ["X"] * len(RICH["tokens"]["text"])}


def broken(breakage: strategies.Breakage, pick: Callable[[Sequence[Any]], Any] = lambda o: o[-1]) -> Any:
    document = json.loads(json.dumps(RICH))
    breakage.edit(document, pick)
    return document


def test_quarantine_leaves_the_results_of_the_good_documents(corpus: Path, tmp_path: Path) -> None:
    bad = [broken(breakage) for breakage in strategies.BREAKAGES]
    bad += ["{", "[]", "null", '"x"', "{}"]
    bad += [{**RICH, "date": None}, {k: v for k, v in RICH.items() if k != "tokens"}]
    bad += [{**RICH, "tokens": RICH["tokens"] | {"dep": ["SBJ"] * len(RICH["tokens"]["dep"])}}]
    lines: list[Any] = []
    good = [*er.corpus(), RICH]
    for number, document in enumerate(bad):
        lines.append(document)
        if number < len(good):
            lines.append(good[number])
    assert len(bad) >= len(good)
    reference = run(er.write_lines(tmp_path / "good.jsonl", good), tmp_path / "reference")
    mixed = er.write_lines(tmp_path / "mixed.jsonl", lines)
    summary = run(mixed, tmp_path / "run", on_error="quarantine")
    assert tables(tmp_path / "run") == tables(tmp_path / "reference")
    assert (summary.n_quarantined, summary.n_documents) == (len(bad), reference.n_documents)
    aside = [json.loads(line) for line in (tmp_path / "run" / "quarantine.jsonl").read_text().splitlines()]
    assert [row["place"] for row in aside] == [
        f"line {i}" for i, line in enumerate(lines, start=1) if not any(line is document for document in good)
    ]
    assert {row["source"] for row in aside} == {str(mixed)}
    assert all(row["reason"] for row in aside)
    with pytest.raises(InputError):
        run(mixed, tmp_path / "stopped")
    assert not (tmp_path / "stopped").exists()


@pytest.mark.parametrize("size", [1, 2, 256])
def test_a_bad_document_does_not_take_the_doc_id_of_a_good_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    monkeypatch.setattr(events.runs.counting._job, "_BATCH", size)
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


def dated(*dates: str) -> list[dict[str, Any]]:
    documents = er.corpus()[: len(dates)]
    return [{**document, "date": date} for document, date in zip(documents, dates, strict=True)]


@pytest.mark.parametrize("on_error", ["stop", "quarantine"])
def test_an_outlying_date_stops_a_daily_run_early(tmp_path: Path, on_error: str) -> None:
    path = er.write_lines(tmp_path / "corpus.jsonl", dated("1999-01-05", "1999-02-06", "0999-02-06", "1999-02-07"))
    with pytest.raises(InputError) as caught:
        run(path, tmp_path / "run", period="day", on_error=on_error)
    rule = "date must leave at most 100,000 periods (day) from first to last document, got 0999-02-06"
    assert str(caught.value) == f"{path}: line 3: doc_id 'doc 3': {rule}"
    assert os.listdir(tmp_path) == ["corpus.jsonl"]
    assert run(path, tmp_path / "years", period="year").n_documents == 4  # where it makes a thousand periods


# --- folders -----------------------------------------------------------------------------------------------


def test_overwrite_replaces_an_earlier_run_and_all_its_files(corpus: Path, tmp_path: Path) -> None:
    run(corpus, tmp_path / "run")
    count_events(corpus, tmp_path / "run", CountOptions(n_samples=10), overwrite=True, pictures=False)
    files = {path.name for path in (tmp_path / "run").iterdir()}
    assert files == FILES - {"bands.png", "bands.svg"}  # comparisons.csv is gone
    assert set(os.listdir(tmp_path)) == {"corpus.jsonl", "run"}


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("record", [None, '{"runner": "another program"}'])
def test_a_foreign_folder_or_file_is_never_replaced(
    corpus: Path, tmp_path: Path, overwrite: bool, record: str | None
) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("mine")
    if record is not None:
        (tmp_path / "mine" / "run.json").write_text(record)
    for out in (tmp_path / "mine", tmp_path / "mine" / "thesis.txt"):
        with error(ParameterError, "out"):
            count_events(corpus, out, OPTIONS, overwrite=overwrite)
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "mine"


def test_a_failing_run_leaves_nothing_and_keeps_the_earlier_one(tmp_path: Path, corpus: Path) -> None:
    run(corpus, tmp_path / "run")
    before = tables(tmp_path / "run")
    bad = er.write_lines(tmp_path / "bad.jsonl", [*er.corpus(), "[]"])
    with error(InputError, place="line 11"):
        count_events(bad, tmp_path / "run", OPTIONS, overwrite=True)
    with error(InputError, place="line 11"):
        count_events(bad, tmp_path / "new", OPTIONS)
    assert tables(tmp_path / "run") == before
    assert set(os.listdir(tmp_path)) == {"corpus.jsonl", "bad.jsonl", "run"}


def _full(*args: Any, **keywords: Any) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize(
    "writer",
    [
        "events.runs.counting._tables.ParquetWriter.write",
        "events.runs._output_folder.QuarantineFile.__call__",
        "pandas.DataFrame.to_csv",
        "pyarrow.parquet.write_table",
        "events.runs._pictures.save_figure",
        "pathlib.Path.write_text",
        "pathlib.Path.mkdir",
        "os.replace",
    ],
)
def test_a_full_disk_is_reported_and_leaves_complete_partitions_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, writer: str
) -> None:
    path = er.write_lines(tmp_path / "corpus.jsonl", ["[]", *er.corpus()])
    with monkeypatch.context() as patch:
        patch.setattr(writer, _full)
        with error(OutputError, place=str(tmp_path / "run")):
            run(path, tmp_path / "run", pictures=True, on_error="quarantine")
    assert {*os.listdir(tmp_path)} <= {"corpus.jsonl", "run.partial"}
    run(path, tmp_path / "run", on_error="quarantine")
    run(path, tmp_path / "reference", on_error="quarantine")
    assert tables(tmp_path / "run") == tables(tmp_path / "reference")
    assert {*os.listdir(tmp_path)} == {"corpus.jsonl", "run", "reference"}


def test_arrow_leaves_a_processor_while_documents_are_counted(corpus: Path, tmp_path: Path) -> None:
    before, seen = pa.cpu_count(), list[int]()
    try:
        pa.set_cpu_count(processors() + 1)
        count_events(corpus, tmp_path / "run", OPTIONS, on_progress=lambda *_: seen.append(pa.cpu_count()))
        assert {*seen} == {max(1, processors() - 1)}
        assert pa.cpu_count() == processors() + 1
    finally:
        pa.set_cpu_count(before)


# --- options -----------------------------------------------------------------------------------------------
