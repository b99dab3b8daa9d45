"""The commands `rule suggest` and `rule compare`, on a corpus whose missed events are known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from command_line import Calls
from events_audit_made import fill
from expected_errors import error
from references import events as er
from run_cases import CountOptions, count_events

from corefsample import InputError, ParameterError, read_documents
from events import EventCounter, load_lexicon, load_rules
from events.audit._paired import target_probabilities
from events.commands import AuditPlanOptions, run_audit_plan
from events.commands.rule_compare import run_rule_compare
from events.commands.rule_suggest import RuleSuggestOptions, RuleSuggestResult, run_rule_suggest
from events.commands.rule_test import run_rule_test

RULE = """version: 1
name: seize
event: [agent]
trigger: {lemma: [arrest]}
presets:
  extended:
    distinct_actors: true
    described: [head, compound]
    roles: {agent: [subject]}
  asserted: {extends: extended, unless: [negated, modal]}
"""
# What the police do in each kind of document, and whether a reader says that they arrest somebody.
KINDS = {
    "found": ("Police=police/NOUN>2:nsubj arrested=arrest/VERB>0:root men=man/NOUN>2:obj", True),
    "lemma": ("Police=police/NOUN>2:nsubj nabbed=nab/VERB>0:root men=man/NOUN>2:obj", True),
    "phrase": (
        "Police=police/NOUN>2:nsubj took=take/VERB>0:root men=man/NOUN>2:obj into/ADP>5:case custody/NOUN>2:obl",
        True,
    ),
    "condition": (
        "Police=police/NOUN>3:nsubj could/AUX>3:aux arrest/VERB>0:root men=man/NOUN>3:obj yesterday/NOUN>3:obl:tmod",
        True,
    ),
    "path": (
        "Men=man/NOUN>3:nsubj:pass were=be/AUX>3:aux:pass arrested=arrest/VERB>0:root on/ADP>5:case "
        "orders=order/NOUN>3:obl of/ADP>7:case police/NOUN>5:nmod",
        True,
    ),
    "name": ("Wardens=warden/NOUN>2:nsubj arrested=arrest/VERB>0:root men=man/NOUN>2:obj", True),
    "took": ("Police=police/NOUN>2:nsubj took=take/VERB>0:root men=man/NOUN>2:obj home/NOUN>2:obl", False),
    "custody": ("Police=police/NOUN>2:nsubj left=leave/VERB>0:root custody/NOUN>2:obj", False),
    "met": ("Police=police/NOUN>2:nsubj met=meet/VERB>0:root men=man/NOUN>2:obj", False),
    "nobody": ("Ministers=minister/NOUN>2:nsubj nabbed=nab/VERB>0:root prizes=prize/NOUN>2:obj", False),
}
N_EACH, N_LABELLED = 9, 7
SINGLE = "Police=police/NOUN>2:nsubj collared=collar/VERB>0:root men=man/NOUN>2:obj"  # in one document, labelled yes


def doc_id(kind: str, number: int) -> str:
    return f"{kind}-{number}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of the rule, and a labelled sheet of all documents, of which two of each kind have no label."""
    folder = tmp_path_factory.mktemp("labels")
    (folder / "seize.yaml").write_text(RULE, "utf-8")
    documents = [
        er.json_document(doc_id(kind, number), f"2001-0{number + 1}-01", [sentence])
        for kind, (sentence, _) in KINDS.items()
        for number in range(N_EACH)
    ]
    documents.append(er.json_document("single-0", "2001-01-01", [SINGLE]))
    er.write_lines(folder / "corpus.jsonl", documents)
    count(folder, folder / "seize.yaml", folder / "run")
    run_audit_plan(folder / "run", AuditPlanOptions(out=folder / "audit", n_labels=91, actors="POLICE"))

    def label(name: str) -> str:
        kind, number = name.split("-")
        return "" if int(number) >= N_LABELLED else "yes" if kind == "single" or KINDS[kind][1] else "no"

    fill(folder / "audit" / "sheet.csv", label)
    return folder


def count(folder: Path, rule: Path, out: Path, lexicon: str | None = "police") -> None:
    options = CountOptions(rule=str(rule), lexicon=lexicon, n_samples=20)
    count_events(folder / "corpus.jsonl", out, options, pictures=False)


@pytest.fixture(scope="module")
def suggested(folder: Path) -> RuleSuggestResult:
    options = RuleSuggestOptions(out=str(folder / "better.yaml"))
    return run_rule_suggest(folder / "run", [folder / "audit" / "sheet.csv"], options)


def found_kinds(folder: Path, rule: Path, lexicon: Any) -> set[str]:
    """Kinds of the documents of which every one has an event of the police, counted anew."""
    counter = EventCounter(load_rules(rule), load_lexicon(lexicon), n_samples=20)
    counter.update(read_documents(folder / "corpus.jsonl"))
    names = [doc_id(kind, number) for kind in KINDS for number in range(N_EACH)]
    p = target_probabilities(counter.table_of_all_documents(), names, [("seize", "POLICE")])[:, 0]
    return {kind for i, kind in enumerate(KINDS) if (p[i * N_EACH : (i + 1) * N_EACH] > 0.5).all()}


def test_every_kind_of_missed_event_is_suggested(suggested: RuleSuggestResult) -> None:
    assert (suggested.n_labels, suggested.n_positive, suggested.n_missed) == (71, 43, 36)
    rows = {(row["kind"], row["text"]): row for row in suggested.suggestions}
    others = {("condition", "modal"), ("name", "warden"), ("path", ">obl[case=on]>nmod[case=of]")}
    assert rows.keys() == {("lemma", "nab"), ("phrase", "take into custody"), *others}
    nab = rows["lemma", "nab"]
    # Seven of nine documents have a label; ministers are no police, so the documents about prizes are not found.
    assert (nab["right"], nab["wrong"], nab["unlabelled"], nab["place"]) == (7, 0, 2, "frame verb")
    assert (nab["doc_id"].partition("-")[0], nab["sentence"]) == ("lemma", "Police nabbed men")
    assert ("lemma", "collar") in {(row["kind"], row["text"]) for row in suggested.weaker}
    assert all(row["gain"] > 0 and row["right"] == 7 and row["wrong"] == 0 for row in rows.values())


def test_the_files_find_what_was_missed(folder: Path, suggested: RuleSuggestResult) -> None:
    assert suggested.out is not None
    assert suggested.lexicon_out is not None
    true = {kind for kind, (_, is_true) in KINDS.items() if is_true}
    assert found_kinds(folder, folder / "seize.yaml", "police") == {"found"}
    assert found_kinds(folder, Path(suggested.out), suggested.lexicon_out) == true
    assert found_kinds(folder, Path(suggested.out), "police") == true - {"name"}
    (report,) = run_rule_test([suggested.out]).reports
    assert report.problems == []
    assert suggested.before["recall"] == pytest.approx(9 / (9 + 36 * 82 / 64))


def test_each_change_has_its_evidence_and_its_line_can_be_deleted(folder: Path, suggested: RuleSuggestResult) -> None:
    assert suggested.out is not None
    lines = Path(suggested.out).read_text("utf-8").splitlines()
    assert "extends: seize.yaml" in lines
    evidence = next(line for line in lines if line.startswith("# - lemma nab (frame verb): "))
    assert "labelled 7 right, 0 wrong; unlabelled 2; gain 0." in evidence
    assert evidence.endswith('"Police nabbed men"')
    shorter = folder / "shorter.yaml"
    deleted = {"- nab", "- modal"}
    shorter.write_text("\n".join(line for line in lines if line.strip() not in deleted) + "\n", "utf-8")
    assert found_kinds(folder, shorter, "police") == {"found", "phrase", "path"}


def test_a_better_rule_is_said_to_be_better(folder: Path, suggested: RuleSuggestResult, call: Calls) -> None:
    assert suggested.out is not None
    sheet = folder / "audit" / "sheet.csv"
    count(folder, Path(suggested.out), folder / "run2", suggested.lexicon_out)
    result = run_rule_compare(folder / "run", folder / "run2", [sheet])
    assert (result.verdict, result.n_moved, result.n_labels) == ("better", 35, 71)
    brier = result.differences[0]
    # Of 43 events among 71 labels the first finds 7 and the second 42, and both find nothing else. All documents with
    # P = 0 are of one stratum, with 82 documents and 64 labels; in that of the others 9 have 7 labels.
    n_documents = 91
    weight = 82 / 64
    assert brier["first"] == pytest.approx(36 * weight / n_documents)
    assert brier["second"] == pytest.approx(weight / n_documents)
    assert run_rule_compare(folder / "run", folder / "run", [sheet]).verdict == "undecided"
    status, out, _ = call("rule", "compare", folder / "run", folder / "run2", sheet)
    assert (status, out.splitlines()[-1][:24]) == (0, "The second run is better")
    line = call.refused("rule", "suggest", folder / "run2", sheet)[1]
    assert "plan must be of these documents" in line


def test_nothing_is_suggested_where_nothing_is_missed(
    folder: Path, suggested: RuleSuggestResult, tmp_path: Path, call: Calls
) -> None:
    table = pd.read_csv(folder / "audit" / "sheet.csv", dtype=str, keep_default_na=False)
    kinds = table["doc_id"].str.partition("-")[0]
    table.loc[~kinds.eq("found") & table["label"].ne(""), "label"] = "no"
    table.to_csv(tmp_path / "none.csv", index=False)
    out = tmp_path / "none.yaml"
    more = ["--plan", folder / "audit", "--out", out]
    status, text, _ = call("rule", "suggest", folder / "run", tmp_path / "none.csv", *more)
    assert (status, out.exists()) == (0, False)
    assert "None of 0 changes" in text


def test_what_cannot_be_suggested_is_an_error(folder: Path, tmp_path: Path, call: Calls) -> None:
    run, sheet = folder / "run", folder / "audit" / "sheet.csv"
    with error(ParameterError, "rule"):
        run_rule_suggest(run, [sheet], RuleSuggestOptions(rule="attack", out=str(tmp_path / "a.yaml")))
    with error(ParameterError, "sheets"):
        run_rule_compare(run, run, [])
    assert "--overwrite" in call.refused("rule", "suggest", run, sheet, "--out", folder / "seize.yaml")[1]
    with error(InputError):
        run_rule_compare(run, tmp_path, [sheet])


def test_names_for_a_lexicon_of_the_users_own_are_to_be_copied(folder: Path) -> None:
    own = folder / "own.yaml"
    own.write_text("version: 1\nentries: [{code: POLICE, name: Police, kind: police, nouns: [police]}]\n", "utf-8")
    count(folder, folder / "seize.yaml", folder / "own-run", str(own))
    audit = AuditPlanOptions(out=folder / "own-audit", n_labels=91, actors="POLICE")
    sheet = run_audit_plan(folder / "own-run", audit).sheet
    fill(sheet, lambda name: "yes" if name.startswith(("found-", "name-")) else "no")
    options = RuleSuggestOptions(out=str(folder / "own-better.yaml"))
    result = run_rule_suggest(folder / "own-run", [sheet], options)
    (row,) = result.suggestions
    assert (row["kind"], row["text"], row["right"], row["wrong"]) == ("name", "warden", 9, 0)
    assert result.out is None  # the rule needs no change
    assert result.lexicon_out is not None
    text = Path(result.lexicon_out).read_text("utf-8")
    assert f"copy the entries to {own}." in " ".join(text.replace("#", " ").split())
    assert "- warden" in text
    assert "extends" not in text.partition("version")[2]
