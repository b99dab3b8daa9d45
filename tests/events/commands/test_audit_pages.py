"""Pages that the audit's commands write: beside each sheet, with the texts of a run, and for disagreements."""

from __future__ import annotations

import html
import json
import re
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from events_audit_made import frame
from report_pages import unpacked
from run_cases import CountOptions, count_events

from corefsample import write_documents
from events.commands import AuditEstimateOptions, AuditPlanOptions, run_audit_estimate, run_audit_plan
from events.simulation._documents import simulate_documents


def embedded(page: Path, name: str) -> Any:
    found = re.search(rf'id="{name}">(.*?)</script>', page.read_text(encoding="utf-8"), flags=re.S)
    assert found
    return json.loads(found[1])


def contents(page: Path) -> list[Any]:
    return list(unpacked(embedded(page, "texts-0")))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("audit-pages")
    write_documents((each.document for each in simulate_documents(60, seed=2)), folder / "news.parquet")
    count_events(str(folder / "news.parquet"), folder / "run", CountOptions(n_samples=50, threads=1), pictures=False)
    return folder / "run"


def test_the_page_of_a_run_has_the_texts_of_its_sheet_with_marks(run: Path, tmp_path: Path) -> None:
    summary = run_audit_plan(run, AuditPlanOptions(out=tmp_path / "audit", n_labels=15, floor=2))
    page = Path(summary.page)
    sheet = pd.read_csv(tmp_path / "audit" / "sheet.csv", keep_default_na=False)
    assert page == tmp_path / "audit" / "sheet.html"
    pieces = [each["text"] for each in contents(page)]
    assert ["".join(text for _, text in each) for each in pieces] == sheet["text"].tolist()
    triggers = {text for each in pieces for kind, text in each if kind == 1}
    assert triggers
    assert all(text.startswith("attack") for text in triggers)
    assert {kind for each in pieces for kind, _ in each} == {0, 1, 2}
    table = pd.read_parquet(run / "all_documents.parquet").set_index("doc_id")["probability"]
    found = {doc_id: each["p"] for doc_id, each in zip(sheet["doc_id"], contents(page), strict=True)}
    assert found == {doc_id: [[0, p]] if (p := table[doc_id]) else [] for doc_id in sheet["doc_id"]}


def test_the_page_of_a_run_has_the_question_and_the_codebook_of_its_rule(run: Path, tmp_path: Path) -> None:
    summary = run_audit_plan(run, AuditPlanOptions(out=tmp_path / "audit", n_labels=15, floor=2))
    page = Path(summary.page).read_text(encoding="utf-8")
    assert f"<h1>{summary.question}</h1>" in page
    section = re.search(r'<section id="codebook".*?</section>', page, flags=re.S)
    assert section
    assert re.findall("<p>(.*?)</p>", section[0]) == [html.escape(each, quote=False) for each in summary.codebook]
    assert summary.codebook[-2].startswith("Counts for ")


def test_a_later_round_has_a_page_with_the_question_of_the_first(tmp_path: Path) -> None:
    base = frame(60)
    scores = {"doc_id": base.doc_ids, "date": base.dates.astype(str), "probability": base.probability(0)}
    pd.DataFrame(scores).assign(text="Some text.").to_csv(tmp_path / "scores.csv", index=False)
    options = partial(AuditPlanOptions, n_labels=15, question="Who did it?")
    run_audit_plan(tmp_path / "scores.csv", options(out=tmp_path / "audit"))
    summary = run_audit_plan(tmp_path / "scores.csv", AuditPlanOptions(out=tmp_path / "audit", more=5))
    assert "<h1>Who did it?</h1>" in Path(summary.page).read_text()
    assert len(embedded(Path(summary.page), "sheet")["documents"]["doc_id"]) == 5
    assert contents(Path(summary.page))[0]["text"] == [[0, "Some text."]]


def test_disagreements_have_a_page_until_they_are_resolved_and_a_resolved_sheet_stays(
    run: Path, tmp_path: Path
) -> None:
    audit = tmp_path / "audit"
    run_audit_plan(run, AuditPlanOptions(out=audit, n_labels=15, floor=2))
    sheet = pd.read_csv(audit / "sheet.csv", keep_default_na=False)
    sheet.assign(label="yes", labeller="anna").to_csv(audit / "anna.csv", index=False)
    sheet.assign(label=["no", *["yes"] * 14], labeller="ben").to_csv(audit / "ben.csv", index=False)
    sheets = [audit / "anna.csv", audit / "ben.csv"]
    summary = run_audit_estimate(run, sheets, AuditEstimateOptions(pictures=False))
    assert {"sheet-resolve.csv", "sheet-resolve.html"} <= set(summary.files)
    resolve = pd.read_csv(audit / "sheet-resolve.csv", keep_default_na=False)
    assert embedded(audit / "sheet-resolve.html", "sheet")["documents"]["note"] == ["anna: yes; ben: no"]
    resolve.assign(label="no").to_csv(audit / "sheet-resolve.csv", index=False)
    run_audit_estimate(run, [*sheets, audit / "sheet-resolve.csv"], AuditEstimateOptions(pictures=False))
    assert pd.read_csv(audit / "sheet-resolve.csv")["label"].tolist() == ["no"]
    labels = pd.read_csv(audit / "labels.csv", keep_default_na=False)
    assert labels["label"].tolist() == ["no", *["yes"] * 14]
    assert labels["doc_id"].tolist() == sheet["doc_id"].tolist()
