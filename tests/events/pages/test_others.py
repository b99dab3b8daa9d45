"""Documents without evidence, labels and audited counts in a report."""

from __future__ import annotations

import base64
import json
import shutil
import zlib
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from chromium import chromium, missing, until
from command_line import refused

from corefsample import InputError
from events.audit import read_run_documents
from events.commands import AuditEstimateOptions, AuditPlanOptions, run_audit_estimate, run_audit_plan
from events.pages import write_report
from events.pages._audited import AuditContent
from events.pages._report_content import read_report

REASON = missing()


def labelled(run: Path, folder: Path, actors: tuple[str, ...] | None = None) -> Path:
    """An audit of a run whose labels say that every document with P > 0, and the first with P = 0, has the event."""
    run_audit_plan(run, AuditPlanOptions(out=folder, n_labels=60, actors=actors))
    sheet = pd.read_csv(folder / "sheet.csv", keep_default_na=False)
    table = pd.read_parquet(run / "all_documents.parquet").set_index("doc_id")["probability"]
    p = sheet["doc_id"].map(table)
    has = (p > 0.0) | (sheet["doc_id"] == sheet["doc_id"][p == 0.0].iloc[0])
    words = ("yes", "no") if actors is None else (f"{actors[0]};other", "none")
    sheet.assign(label=has.map({True: words[0], False: words[1]})).to_csv(folder / "sheet.csv", index=False)
    run_audit_estimate(run, [folder / "sheet.csv"], AuditEstimateOptions(pictures=False))
    return folder


@pytest.fixture(scope="module")
def audit(run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return labelled(run, tmp_path_factory.mktemp("audit") / "audit")


def unpacked(parts: list[str]) -> list[Any]:
    return [
        each for part in parts for each in json.loads(zlib.decompress(base64.b64decode(part), wbits=-zlib.MAX_WBITS))
    ]


def test_every_document_without_evidence_is_counted_by_what_was_found(run: Path) -> None:
    others = read_report(run, n_others=10).others
    table = pd.read_parquet(run / "all_documents.parquet")
    table = table[table["probability"] == 0.0]
    assert others is not None
    expected = [(table["trigger"] & table["actor"]).sum(), (table["trigger"] & ~table["actor"]).sum()]
    expected += [(~table["trigger"] & table["actor"]).sum(), (~table["trigger"] & ~table["actor"]).sum()]
    assert list(others.counts) == expected
    assert others.n_shown == len(others.content["id"]) == min(10, len(table))


def test_a_small_choice_has_all_kinds_and_each_document_its_text(run: Path) -> None:
    everything, some = read_report(run, n_others=10_000).others, read_report(run, n_others=8).others
    assert everything is not None
    assert some is not None
    assert set(some.content["kind"]) == set(everything.content["kind"])
    assert set(some.content["id"]) < set(everything.content["id"])
    texts = dict(zip(everything.content["id"], unpacked(everything.texts), strict=True))
    kinds = dict(zip(everything.content["id"], everything.content["kind"], strict=True))
    assert all(texts.values())
    for doc_id, pieces in texts.items():
        found = {kind for kind, _ in pieces}
        assert (1 in found) == (kinds[doc_id] in (0, 1)), doc_id  # a trigger is marked where one was found


def test_labels_stand_beside_p_and_labelled_documents_come_first(run: Path, audit: Path) -> None:
    report = read_report(run, n_others=3, audit=audit)
    labels = pd.read_csv(audit / "labels.csv").set_index("doc_id")["label"]
    evidence = pd.read_csv(run / "evidence.csv", keep_default_na=False)
    assert report.counts["evidence"]["label"] == [labels.get(doc_id, "") for doc_id in evidence["doc_id"]]
    assert report.others is not None
    assert [labels[doc_id] for doc_id in report.others.content["id"]] == report.others.content["label"]
    frame = read_run_documents(run)
    assert report.audit is not None
    assert (report.audit.n_labels, report.audit.n_documents) == (60, len(frame))


def test_a_label_of_actors_says_something_about_each() -> None:
    labels = {"a": "USA;IRQ?", "b": "none", "c": "unsure", "d": "other"}
    content = AuditContent(labels, [], ("USA", "IRQ", "FRA"), 4, 9, 0.95, "")
    told = {doc_id: [content.row_label(doc_id, code) for code in ("USA", "IRQ", "FRA", "DEU")] for doc_id in "abcde"}
    assert told == {
        "a": ["yes", "unsure", "no", ""],
        "b": ["no", "no", "no", ""],
        "c": ["unsure"] * 4,
        "d": ["no", "no", "no", ""],
        "e": [""] * 4,
    }


def test_an_audit_of_another_run_or_without_labels_is_rejected(
    run: Path, audit: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = Path(shutil.copytree(audit, tmp_path / "audit"))
    table = pd.read_csv(copy / "labels.csv", keep_default_na=False)
    table.assign(doc_id=["stranger", *table["doc_id"][1:]]).to_csv(copy / "labels.csv", index=False)
    with pytest.raises(InputError, match=r"labels must be of documents of this run, got 'stranger'$"):
        read_report(run, audit=copy)
    (copy / "labels.csv").unlink()
    status, line = refused(capsys, "report", run, "--audit", copy, "--out", tmp_path / "page.html")
    assert (status, "an audit must have audited.csv, labels.csv, audited.json, got no labels.csv" in line) == (3, True)
    damaged = pd.read_csv(audit / "audited.csv").assign(estimate="many")
    shutil.copy(audit / "labels.csv", copy)
    damaged.to_csv(copy / "audited.csv", index=False)
    with pytest.raises(InputError, match="audit must be as it was written"):
        read_report(run, audit=copy)


def test_the_first_lines_say_what_the_intervals_cover(run: Path, audit: Path, tmp_path: Path) -> None:
    pytest.importorskip("altair", reason="extra `report`")
    plain, audited = tmp_path / "plain.html", tmp_path / "audited.html"
    write_report(run, plain)
    write_report(run, audited, audit=audit)
    for page, words in ((plain, "errors of the rule, the lexicon and the parse"), (audited, "labels of 60 of")):
        head = page.read_text("utf-8").partition("<nav")[0]
        assert "What the intervals cover." in head
        assert words in " ".join(head.split())


@pytest.mark.skipif(REASON is not None, reason=str(REASON))
def test_the_page_draws_audited_counts_and_searches_documents_without_evidence(
    run: Path, audit: Path, tmp_path: Path
) -> None:
    write_report(run, tmp_path / "page.html", audit=audit)
    counts = pd.read_csv(audit / "audited.csv")
    total = counts[counts["period"] == "total"].iloc[0]
    with chromium() as browser:
        browser.get((tmp_path / "page.html").as_uri())
        until(browser, "document.documentElement.dataset.audited === 'drawn'")
        until(browser, "document.documentElement.dataset.others")
        text = "return document.querySelector(arguments[0]).textContent"
        assert f"{total['lower']:,} to {total['upper']:,}" in browser.execute_script(text, "#audited-total")
        rules = browser.execute_script("return document.querySelectorAll('#audited-chart .layer_1_marks line').length")
        assert rules == (counts["period"] != "total").sum()
        search = browser.find_element("id", "search")
        before = browser.execute_script("return document.documentElement.dataset.others")
        search.send_keys("zzz")
        until(browser, f"document.documentElement.dataset.others > '{before}'")
        until(browser, "document.querySelectorAll('#other-list li').length === 0")
        search.clear()
        kind = browser.find_element("id", "kind")
        kind.send_keys("labelled")
        until(browser, "document.querySelector('#other-list .tag.missed')")
        first = browser.find_element("css selector", "#other-list summary")
        first.click()
        until(browser, "document.querySelector('#other-list .other-text').textContent.length > 20")
        browser.find_element("id", "order").send_keys("P furthest")
        until(browser, "document.querySelector('#list .item').textContent.includes('labelled')")
        assert browser.get_log("browser") == []
