"""Documents without evidence, labels and audited counts in a report."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from chromium import accessibility_faults, chromium, missing, resize, until
from command_line import Calls
from events_audit_made import fill
from expected_errors import error
from learned_folders import made_learned, seal
from report_pages import allow_downloads, downloaded, evidence

from corefsample import InputError, read_documents
from events.audit._audit_frame import read_run_documents
from events.audit._plan import SHEET_COLUMNS
from events.commands import AuditEstimateOptions, AuditPlanOptions, run_audit_estimate, run_audit_plan
from events.pages._labels import answers_of, label_kind, target_names, whole_label
from events.pages._report import write_report
from events.pages._report_content import read_report

REASON = missing()


def labelled(run: Path, folder: Path, actors: tuple[str, ...] | None = None) -> Path:
    """An audit of a run whose labels say that every document with P > 0, and the first with P = 0, has the event."""
    sheet = run_audit_plan(run, AuditPlanOptions(out=folder, n_labels=60, actors=actors))["sheet"]
    table = pd.read_parquet(run / "all_documents.parquet").set_index("doc_id")["probability"]
    p = pd.read_csv(sheet)["doc_id"].map(table)
    has = (p > 0.0) | (p.index == p.eq(0.0).idxmax())
    words = ("yes", "no") if actors is None else (f"{actors[0]};other", "none")
    fill(sheet, np.where(has, *words).tolist())
    run_audit_estimate(run, [sheet], AuditEstimateOptions(pictures=False))
    return folder


@pytest.fixture(scope="module")
def audit(run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return labelled(run, tmp_path_factory.mktemp("audit") / "audit")


def test_every_document_without_evidence_is_counted_by_what_was_found(run: Path) -> None:
    others = read_report(run, n_others=10).others
    table = pd.read_parquet(run / "all_documents.parquet")
    table = table[table["probability"] == 0.0]
    expected = [(table["trigger"] & table["actor"]).sum(), (table["trigger"] & ~table["actor"]).sum()]
    expected += [(~table["trigger"] & table["actor"]).sum(), (~table["trigger"] & ~table["actor"]).sum()]
    assert others["counts"] == expected
    assert len(others["content"]["id"]) == min(10, len(table))


def test_likely_misses_are_those_of_the_file(run: Path) -> None:
    table = pd.read_csv(run / "near_half.csv", keep_default_na=False).query("probability < 0.5")
    table = table.sort_values("reader_probability", ascending=False, kind="stable").head(20)
    misses = read_report(run).misses
    assert [row[:3] for row in misses] == table[["reader_probability", "doc_id", "date"]].to_numpy().tolist()
    assert [sentence for *_, sentence in misses] == table["sentences"].tolist()
    assert misses


def test_labels_stand_beside_p_and_labelled_documents_come_first(run: Path, audit: Path) -> None:
    report = read_report(run, n_others=3, audit=audit)
    labels = pd.read_csv(audit / "labels.csv").set_index("doc_id")["label"]
    assert report.counts["evidence"]["label"] == [labels.get(doc_id, "") for doc_id in evidence(run)["doc_id"]]
    assert [labels[doc_id] for doc_id in report.others["content"]["id"]] == report.others["content"]["label"]
    frame = read_run_documents(run)
    assert (len(report.audit.answers), report.audit.n_documents) == (60, len(frame))


def test_the_first_count_of_an_audited_actor_is_that_of_the_audit(run: Path, audit: Path) -> None:
    before, after = (read_report(run, audit=folder).counts["actors"] for folder in (None, audit))
    table, ends = pd.read_csv(audit / "audited.csv"), ["estimate", "lower", "upper"]
    is_total = table["period"] == "total"
    totals, sums = table[is_total].set_index("actor")[ends], table[~is_total].groupby("actor")[ends].sum()
    for actor, unaudited in zip(after, before, strict=True):
        code = actor["same"]["actor"]
        assert "audited" not in unaudited
        assert unaudited["total"]["source"] == "rule"
        assert ("audited" in actor) == (code in totals.index) == (actor["total"]["source"] == "audit")
        if code in totals.index:
            values = [sum(actor["audited"][name]) for name in ("mean", "lower", "upper")]
            assert values == pytest.approx(sums.loc[code].tolist())
            assert actor["total"]["first"] == totals.loc[code].tolist()


def test_an_audit_of_another_run_is_rejected(run: Path, audit: Path, tmp_path: Path, call: Calls) -> None:
    copy = Path(shutil.copytree(audit, tmp_path / "audit"))
    table = pd.read_csv(copy / "labels.csv", keep_default_na=False)
    table.assign(doc_id=["stranger", *table["doc_id"][1:]]).to_csv(copy / "labels.csv", index=False)
    with error(InputError, place="labels.csv"):
        read_report(run, audit=copy)
    seal(copy, "audited.json")
    with pytest.raises(InputError, match=r"labels must be of documents of this run, got 'stranger'$"):
        read_report(run, audit=copy)
    (copy / "labels.csv").unlink()
    line = call.refused("report", run, "--audit", copy, "--out", tmp_path / "page.html")
    assert "an audit must have audited.csv, labels.csv, audited.json, got no labels.csv" in line
    damaged = pd.read_csv(audit / "audited.csv").assign(estimate="many")
    shutil.copy(audit / "labels.csv", copy)
    damaged.to_csv(copy / "audited.csv", index=False)
    seal(copy, "audited.json")
    with pytest.raises(InputError, match="audit must be as it was written"):
        read_report(run, audit=copy)


def test_labels_of_a_sheet_say_something_about_each_target() -> None:
    names = target_names([("a", "USA"), ("a", "IRQ"), ("a", "FRA")], {"rule": {"name": "a"}})
    values = {"USA;IRQ?": ["yes", "unsure", "no"], "none": ["no"] * 3, "unsure": ["unsure"] * 3, "other": ["no"] * 3}
    answers = {label: answers_of(label, names) for label in values}
    assert {label: list(each.values()) for label, each in answers.items()} == values
    assert [whole_label(answers[label], names) for label in ("USA;IRQ?", "none", "other")] == [
        "USA;IRQ?",
        "none",
        "none",
    ]
    several = target_names([("a", "USA"), ("b", "USA")], {"rule": {"name": "a, b"}})
    assert answers_of("a: USA", several) == {"a: USA": "yes", "b: USA": "no"}
    events = target_names([("a", ""), ("b", "")], {"rule": {"name": "a, b"}})
    assert [label_kind(each) for each in (names, events, {("a", ""): "a"})] == ["actors", "events", "yes-no"]


# --- what labels teach ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def learned(run: Path, audit: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    chosen = unlabelled(run, audit)[0]
    return made_learned(run, audit, tmp_path_factory.mktemp("learned") / "learned", chosen)


def unlabelled(run: Path, audit: Path) -> list[str]:
    """Documents with evidence and without a label."""
    labels = set(pd.read_csv(audit / "labels.csv", keep_default_na=False)["doc_id"])
    return [doc_id for doc_id in dict.fromkeys(evidence(run)["doc_id"]) if doc_id not in labels]


@pytest.mark.parametrize("with_audit", [False, True])
def test_learned_p_and_labels_stand_beside_p(run: Path, audit: Path, learned: Path, with_audit: bool) -> None:
    report = read_report(run, n_others=4, audit=audit if with_audit else None, learned=learned)
    table = pd.read_csv(learned / "learned.csv", keep_default_na=False).set_index("doc_id")
    rows = report.counts["evidence"]
    assert rows["learned"] == [round(float(table.loc[doc_id, "learned"]), 4) for doc_id in evidence(run)["doc_id"]]
    assert rows["label"] == [table.loc[doc_id, "label"] for doc_id in evidence(run)["doc_id"]]
    chosen = unlabelled(run, audit)[0]
    assert report.counts["chosen"] == [chosen]
    assert table.loc[chosen, "label"] == "yes"
    (target,) = report.counts["audit"]
    assert ("audited" in target) == with_audit
    total = pd.read_csv(learned / "learned_counts.csv").iloc[0]
    assert target["learned"]["total"]["upper"] == total["upper"]
    assert len(target["learned"]["rows"]) == 8


def test_learned_p_of_another_run_is_rejected(
    run: Path, audit: Path, learned: Path, tmp_path: Path, call: Calls
) -> None:
    copy = Path(shutil.copytree(learned, tmp_path / "learned"))
    seal(copy, "learned.json", plan="another")
    with pytest.raises(InputError, match=r"learned must be of the plan of the audit, .*, got another"):
        read_report(run, audit=audit, learned=copy)
    table = pd.read_csv(learned / "learned.csv", keep_default_na=False)
    for damaged in (table.assign(learned=1.5), table.assign(learned="x"), table[1:], table.assign(actor="USA")):
        damaged.to_csv(copy / "learned.csv", index=False)
        seal(copy, "learned.json")
        with pytest.raises(InputError, match="learned must be as it was written"):
            read_report(run, learned=copy)
    (copy / "learned.csv").unlink()
    line = call.refused("report", run, "--learned", copy, "--out", tmp_path / "page.html")
    assert "got no learned.csv (`corefsample audit learn` makes one)" in line


class Reader:
    """A person who labels on the page of a report."""

    def __init__(self, browser: Any, folder: Path, page: Path) -> None:
        self.browser, self.folder = browser, folder
        allow_downloads(browser, folder)
        browser.get(page.as_uri())
        until(browser, "document.documentElement.dataset.band === 'drawn'")
        until(browser, "document.documentElement.dataset.audited === 'drawn'")

    def click(self, selector: str) -> None:
        self.browser.execute_script("document.querySelector(arguments[0]).click()", selector)

    def open(self, doc_id: str) -> None:
        script = (
            "const {documents, evidence} = JSON.parse(document.getElementById('counts').textContent);"
            "dispatchEvent(new CustomEvent('ask-document', {detail:"
            " evidence.document.indexOf(documents.id.indexOf(arguments[0]))}))"
        )
        self.browser.execute_script(script, doc_id)
        until(self.browser, f"document.getElementById('reader-heading').textContent === {json.dumps(doc_id)}")

    def sheet(self) -> pd.DataFrame:
        self.click("#save-labels")
        path = downloaded(self.folder, "chosen.csv")
        return pd.read_csv(path, keep_default_na=False, encoding="utf-8-sig", dtype=str)


@pytest.mark.skipif(REASON is not None, reason=str(REASON))
def test_labels_of_chosen_documents_are_downloaded_as_a_sheet_without_inclusion_probabilities(
    run: Path, audit: Path, learned: Path, tmp_path: Path
) -> None:
    write_report(run, tmp_path / "page.html", audit=audit, learned=learned)
    _, first, second, third = unlabelled(run, audit)[:4]
    labels = pd.read_csv(audit / "labels.csv", keep_default_na=False)
    with chromium() as browser:
        reader = Reader(browser, tmp_path, tmp_path / "page.html")
        on_page = labels["doc_id"].isin(evidence(run)["doc_id"])
        reader.open(labels["doc_id"][on_page & (labels["label"] == "yes")].iloc[0])
        assert not browser.find_element("id", "desk").is_displayed()  # a document of the sample has its label
        for doc_id, answers in ((first, ["yes"]), (second, ["yes", "no"]), (third, ["yes", "yes"])):
            reader.open(doc_id)
            for label in answers:  # the last one counts, and the same again takes it back
                reader.click(f'#answers [data-label="{label}"]')
        assert "2 documents labelled" in browser.find_element("id", "given-here").text
        browser.execute_script(
            "document.getElementById('kind').value = 'all';"
            "[...document.querySelectorAll('#other-list details')].find((it) => !it.textContent.includes('labelled'))"
            ".open = true"
        )
        until(browser, "document.querySelector('#other-list #desk:not([hidden])')")
        other = browser.execute_script("return document.querySelector('li:has(#desk) .name').textContent")
        reader.click('#answers [data-label="unsure"]')
        for width in (1280, 390):
            resize(browser, width, 900)
            assert accessibility_faults(browser) == []
            assert browser.execute_script("return document.documentElement.scrollWidth") <= width
        sheet = reader.sheet()
        assert browser.find_elements("css selector", "#audited-chart .layer_5_marks path")
        assert browser.get_log("browser") == []
    assert tuple(sheet.columns) == SHEET_COLUMNS
    assert dict(zip(sheet["doc_id"], sheet["label"], strict=True)) == {first: "yes", second: "no", other: "unsure"}
    assert set(sheet["plan"]) == {labels["plan"].iloc[0]}
    for column, value in {"round": "chosen", "stratum": "", "inclusion_probability": ""}.items():
        assert set(sheet[column]) == {value}
    words = {each.doc_id: each.tokens.text for each in read_documents(run / "documents.parquet")}  # type: ignore[union-attr]
    text = sheet.set_index("doc_id").loc[first, "text"]
    assert "".join(text.split()) == "".join("".join(words[first]).split())
