"""Documents without a date are counted in no period."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from command_line import Calls
from references import events as er
from run_cases import CountOptions, count_events

from corefsample import read_documents
from events import EventCounter
from events.audit._audit_frame import read_run_documents
from events.audit._plan import plan_audit
from events.commands.report import ReportOptions, run_report
from events.counts._count_posterior import read_count_posterior
from events.counts._count_samples import read_count_samples

UNDATED = ("doc 3", "doc 5", "doc 6")  # two of them with events, one without


def corpus_file(path: Path, undated: tuple[str, ...], left_out: tuple[str, ...] = ()) -> Path:
    rows = [row | ({"date": None} if row["doc_id"] in undated else {}) for row in er.corpus()]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows if row["doc_id"] not in left_out))
    return path


def run(inputs: Path, out: Path, **options: Any) -> pd.DataFrame:
    kept: dict[str, Any] = {"undated": "keep", "rule_error": "none"}  # errors of rules are drawn for all periods
    count_events(inputs, out, CountOptions(n_samples=200, compare=("USA", "IRQ"), **kept, **options))
    return pd.read_csv(out / "counts.csv", parse_dates=["period_start"])


@pytest.mark.parametrize("part_size", [3, 1000])
def test_undated_documents_are_in_totals_and_evidence_and_in_no_period(tmp_path: Path, part_size: int) -> None:
    every = tuple(row["doc_id"] for row in er.corpus())
    kept = run(corpus_file(tmp_path / "kept.jsonl", UNDATED), tmp_path / "kept", part_size=part_size)
    dated = run(corpus_file(tmp_path / "dated.jsonl", (), UNDATED), tmp_path / "dated")
    others = tuple(name for name in every if name not in UNDATED)
    alone = run(corpus_file(tmp_path / "alone.jsonl", UNDATED, others), tmp_path / "alone")
    is_dated = kept["period"] != "undated"
    of_others = kept["actor"].isin(dated["actor"])
    pd.testing.assert_frame_equal(kept[is_dated & of_others].reset_index(drop=True), dated)
    assert not kept.loc[is_dated & ~of_others, "mean"].any()
    assert kept.loc[~is_dated, "period_start"].isna().all()
    values = ["actor", "n_docs", "mean", "sd", "lower", "upper", "one_best"]
    with_events = kept[~is_dated & kept["actor"].isin(alone["actor"])]
    pd.testing.assert_frame_equal(with_events[values].reset_index(drop=True), alone[values])
    assert set(alone["n_docs"]) == {3}
    evidence = pd.read_csv(tmp_path / "kept" / "evidence.csv")
    assert set(evidence.loc[evidence["period"] == "undated", "doc_id"]) == {"doc 3", "doc 5"}
    assert evidence["date"].isna().sum() == (evidence["period"] == "undated").sum() == 3
    assert read_count_posterior(tmp_path / "kept", "USA", "undated").mean == pytest.approx(
        alone.loc[alone["actor"] == "USA", "mean"].item()
    )
    samples = read_count_samples(tmp_path / "kept")
    assert "undated" not in samples.periods
    assert samples.counts.shape[2] == kept.loc[is_dated, "period"].nunique()


def test_counters_with_undated_documents_merge_and_load_as_they_count(tmp_path: Path) -> None:
    documents = list(read_documents(corpus_file(tmp_path / "c.jsonl", UNDATED)))
    whole = EventCounter(undated="keep", n_samples=100)
    whole.update(documents)
    parts = [EventCounter(undated="keep", n_samples=100) for _ in range(2)]
    for number, counter in enumerate(parts):
        counter.update(documents[number::2])
        (tmp_path / str(number)).mkdir()
        counter.save(tmp_path / str(number))
    merged = EventCounter(undated="keep", n_samples=100)
    for number in range(2):
        merged.merge(EventCounter.load(tmp_path / str(number)))
    pd.testing.assert_frame_equal(merged.to_frame(), whole.to_frame())
    pd.testing.assert_frame_equal(merged.evidence(), whole.evidence())
    with pytest.raises(Exception, match="date is required"):
        EventCounter().update(documents)


@pytest.mark.parametrize("undated", [UNDATED, tuple(row["doc_id"] for row in er.corpus())], ids=["some", "all"])
def test_pages_pictures_and_audits_take_undated_documents(tmp_path: Path, undated: tuple[str, ...]) -> None:
    pytest.importorskip("vl_convert", reason="extra `report`")
    out = tmp_path / "run"
    inputs = corpus_file(tmp_path / "c.jsonl", undated)
    result = count_events(inputs, out, CountOptions(n_samples=50, undated="keep"), pictures=True)
    assert result.n_undated == json.loads((out / "run.json").read_text())["summary"]["n_undated"] == len(undated)
    page = Path(run_report(str(out), ReportOptions())["out"]).read_text(encoding="utf-8")
    assert f"{len(undated)} documents without a date" in page
    frame = read_run_documents(out)
    groups, number_of = frame.groups()
    assert np.isnat(frame.dates).sum() == len(undated) == sum(groups[-1][2]) == (number_of == number_of.max()).sum()
    assert groups[0][2].all()
    plan = plan_audit(frame, n_labels=10, by="year")
    assert len(plan.sample) == 10


def test_news_without_dates_are_scored_and_counted(call: Calls, tmp_path: Path, model_path: Path, tiny: str) -> None:
    news, texts = tmp_path / "news.csv", tmp_path / "texts"
    news.write_text("doc_id,date,text\na,2001-02-03,France attacked Iraq .\nb,,France attacked Iraq .\n")
    texts.mkdir()
    (texts / "c.txt").write_text("France attacked Iraq .")
    arguments = ["--pipeline", tiny, "--model", model_path, "--workers", 1]
    line = call.refused("score", news, *arguments, "--out", tmp_path / "s.jsonl")
    assert line.endswith("(--undated keep reads articles without a date)")
    shown = call.good("run", news, texts, *arguments, "--undated", "keep", "--out", tmp_path / "run", "--no-pictures")
    assert "2 documents without a date" in shown
    dates = [document.date for document in read_documents(tmp_path / "run-scored.parquet")]
    assert dates == [datetime.date(2001, 2, 3), None, None]
    column = tmp_path / "no-dates.csv"
    column.write_text("doc_id,text\na,France attacked Iraq .\n")
    call.good("score", column, *arguments, "--undated", "keep", "--out", tmp_path / "t.jsonl")
    misspelt = [*arguments, "--undated", "keep", "--date-column", "day"]
    call.refused("score", column, *misspelt, "--out", tmp_path / "u.jsonl")


def test_a_run_says_what_it_and_scoring_set_aside(call: Calls, tmp_path: Path, model_path: Path, tiny: str) -> None:
    news = tmp_path / "news.csv"
    news.write_text("doc_id,date,text\na,2001-02-03,France attacked Iraq .\nb,,France left .\n")
    arguments = ["--pipeline", tiny, "--model", model_path, "--workers", 1, "--on-error", "quarantine", "--no-pictures"]
    shown = call.good("run", news, *arguments, "--out", tmp_path / "run")
    assert "1 article set aside when texts were scored" in " ".join(shown.split())
    (row,) = json.loads((tmp_path / "run" / "run.json").read_text())["inputs"]
    assert row["scoring"]["n_quarantined"] == 1


def test_a_folder_of_a_path_can_be_the_date(call: Calls, tmp_path: Path, model_path: Path, tiny: str) -> None:
    folder = tmp_path / "date=2001-02-03"
    folder.mkdir()
    corpus_file(folder / "c.jsonl", ("doc 3",))
    dates = {document.doc_id: document.date for document in read_documents(folder / "c.jsonl", needs=["date"])}
    given = {row["doc_id"]: row["date"] for row in er.corpus()} | {"doc 3": "2001-02-03"}
    assert {doc_id: str(date) for doc_id, date in dates.items()} == given
    (folder / "news.csv").write_text("doc_id,text\na,France attacked Iraq .\n")
    arguments = ["--pipeline", tiny, "--model", model_path, "--workers", 1]
    call.good("score", folder / "news.csv", *arguments, "--out", tmp_path / "s.jsonl")
    assert [document.date for document in read_documents(tmp_path / "s.jsonl")] == [datetime.date(2001, 2, 3)]
