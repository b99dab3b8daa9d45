"""Documents without a date are counted in no period."""

from __future__ import annotations

import dataclasses
import datetime
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from expected_errors import error
from references import events as er, scoring as sr
from run_cases import CountOptions, count_events, score_corpus

from corefsample import InputError, read_documents, write_documents
from events.audit._audit_frame import read_run_documents
from events.audit._plan import plan_audit
from events.commands.report import ReportOptions, run_report
from events.commands.run import RunOptions, run_run
from events.counts._distributions import read_count_posterior, read_count_samples
from events.runs._count_parts import CountPart
from events.runs._run_options import ScoringOptions

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


@pytest.mark.parametrize(("name", "place"), [("c.jsonl", "line 5"), ("c.parquet", "row 5")])
def test_dates_are_checked_before_documents_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, place: str
) -> None:
    inputs = corpus_file(tmp_path / "c.jsonl", ("doc 5",))
    if name == "c.parquet":
        write_documents(read_documents(inputs), tmp_path / name)
    monkeypatch.setattr(CountPart, "compute", None)
    with error(InputError, place=f"{tmp_path / name}: {place}: doc_id 'doc 5'", hint="undated"):
        count_events(tmp_path / name, tmp_path / "run")


@pytest.mark.parametrize("name", ["c.conllu", "news.csv"])
def test_dates_are_checked_before_documents_are_scored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    (tmp_path / "news.csv").write_text("doc_id,date,text\na,2001-02-03,Text.\nb,,Text.\n")
    dated = dataclasses.replace(sr.short_documents(1)[0], doc_id="a")
    sr.corpus_file(tmp_path / "c.conllu", [dated, dataclasses.replace(dated, doc_id="b", date=None)])
    monkeypatch.setattr("events.runs._score_run.scorer_of", None)
    with error(InputError, place="doc_id 'b'", hint="undated"):
        run_run(tmp_path / name, RunOptions(out=str(tmp_path / "run")))


def test_news_without_dates_are_scored(tmp_path: Path, model_path: Path, tiny: str) -> None:
    news, texts, column = tmp_path / "news.csv", tmp_path / "texts", tmp_path / "no-dates.csv"
    news.write_text("doc_id,date,text\na,2001-02-03,France attacked Iraq .\nb,,France attacked Iraq .\n")
    texts.mkdir()
    (texts / "c.txt").write_text("France attacked Iraq .")
    column.write_text("doc_id,text\nd,France attacked Iraq .\n")
    options = ScoringOptions(pipeline=tiny, model=str(model_path), undated="keep")
    with error(InputError, place="doc_id 'b'", hint="undated"):
        score_corpus(news, tmp_path / "s.jsonl", dataclasses.replace(options, undated="reject"), workers=1)
    score_corpus([news, texts, column], tmp_path / "s.jsonl", options, workers=1)
    dates = [document.date for document in read_documents(tmp_path / "s.jsonl")]
    assert dates == [datetime.date(2001, 2, 3), None, None, None]
    with pytest.raises(InputError):
        score_corpus(column, tmp_path / "t.jsonl", dataclasses.replace(options, date_column="day"), workers=1)
