"""The commands of rules: drafts from sentences, what rules find in their examples, and what labels suggest."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from asserted_sentences import in_ud1
from command_line import Calls
from events_audit_made import fill
from expected_errors import error
from places import EN_CORE_WEB_SM, EN_GUM_UD, PROJECT
from references import events as er
from run_cases import CountOptions, count_events

from corefsample import InputError, ParameterError, Tokens, read_documents
from corefsample.syntax._paths import path_labels
from events import EventCounter, load_lexicon, load_rules
from events.audit._paired import target_probabilities
from events.commands import AuditPlanOptions, run_audit_plan
from events.commands import _rule_draft as drafts
from events.commands.rule_compare import run_rule_compare
from events.commands.rule_suggest import RuleSuggestOptions, RuleSuggestResult, run_rule_suggest
from events.commands.rule_test import run_rule_test
from events.counting._examples import check_examples
from events.rules._rules import load_presets

PAGE = PROJECT / "docs" / "rules.md"

ARRESTED = "British/ADJ>2:amod police/NOUN>3:nsubj arrested=arrest/VERB>0:root three/NUM>5:nummod men=man/NOUN>3:obj"
SEIZED = (
    "The/DET>2:det men=man/NOUN>4:nsubj:pass were=be/AUX>4:aux:pass seized=seize/VERB>0:root in/ADP>6:case "
    "raid/NOUN>4:obl by/ADP>8:case soldiers=soldier/NOUN>6:nmod of/ADP>10:case Ruritania=Ruritania/PROPN>8:nmod"
)
CUSTODY = (
    "Soldiers=soldier/NOUN>2:nsubj took=take/VERB>0:root the/DET>4:det editor/NOUN>2:obj into/ADP>6:case "
    "custody/NOUN>2:obl"
)


def drafted(text: str, trigger: str | None = None, actor: str | None = None) -> drafts.DraftExample:
    return drafts.draft_example(er.parsed(text), "ud2", load_lexicon("police"), trigger, actor)


def written(folder: Path, *examples: drafts.DraftExample) -> Path:
    path = folder / "own.yaml"
    path.write_text(drafts.rule_text("own", examples, "ud2", {}), "utf-8")
    return path


# --- drafts ------------------------------------------------------------------------------------------------


def test_the_parts_of_an_event_are_found_where_the_sentence_has_one_of_each() -> None:
    british = drafts.draft_example(er.parsed(ARRESTED), "ud2", load_lexicon(), None, None)
    assert (british.words, british.code, british.tokens.text[british.actor]) == (("arrest",), "GBR", "police")
    assert (british.path, british.is_named) == ("subject", True)
    assert drafted(ARRESTED, actor="British").code == "GBR"  # with this lexicon, the police is another actor


def test_a_trigger_of_several_words_need_not_be_adjacent() -> None:
    custody = drafted(CUSTODY, "took into custody")
    assert (custody.words, custody.tokens.text[custody.trigger]) == (("take", "into", "custody"), "took")
    assert custody.code == "ARMY"


def test_a_path_without_a_name_is_written_in_the_schemes_that_have_its_steps(tmp_path: Path) -> None:
    raid = drafted(SEIZED, actor="Ruritania")
    assert (raid.code, raid.tokens.text[raid.actor], raid.is_named) == ("RURITANIA", "soldiers", False)
    assert raid.path == ">obl[case=in]>nmod[case=by]"
    rule = load_rules(written(tmp_path, raid))
    assert rule.roles["agent"] == {
        "ud2": (">obl[case=in]>nmod[case=by]",),
        "ud1": (">nmod[case=in]>nmod[case=by]",),
        "clearnlp": (),
    }
    assert [check_examples(each) for each in load_presets(rule.source)] == [2, 2]


@pytest.mark.parametrize(
    ("scheme", "path", "ud2", "ud1", "clearnlp"),
    [
        ("ud2", "<conj>nsubj", "<conj>nsubj", "<conj>nsubj", "<conj>nsubj"),
        ("ud2", "<acl:relcl>obj", "<acl:relcl>obj", "<acl:relcl>dobj", "<relcl>dobj"),
        ("ud2", ">obl:agent[case=by]", None, ">nmod:agent[case=by]", None),
        ("ud2", "<obl>nsubj", "<obl>nsubj", "<nmod>nsubj", None),  # up through a preposition
        ("ud2", ">nmod", ">nmod", ">nmod", None),  # a preposition that is not known
        ("ud1", ">nmod[case=in]>nmod:poss", ">obl|nmod[case=in]>nmod:poss", None, None),
        ("ud2", ">obl|nmod[case=in]", None, ">nmod[case=in]", None),
        ("ud1", "<dobj>nsubjpass", "<obj>nsubj:pass", "<dobj>nsubjpass", "<dobj>nsubjpass"),
        ("clearnlp", ">prep[lemma=in]>pobj>poss", None, None, None),
        ("clearnlp", ">relcl>dobj", ">acl:relcl>obj", ">acl:relcl>dobj", None),
        ("clearnlp", "<acomp>nsubj", None, None, "<acomp>nsubj"),
    ],
)
def test_a_path_is_read_in_other_schemes_step_by_step(
    scheme: str, path: str, ud2: str | None, ud1: str | None, clearnlp: str | None
) -> None:
    given = {"ud2": ud2, "ud1": ud1, "clearnlp": clearnlp} | {scheme: path}
    found = drafts.path_in_schemes(path, scheme)
    expected = {name: [each] for name, each in given.items() if each is not None}
    assert found == expected
    for paths in found.values():
        assert path_labels(paths[0])


def test_the_example_in_ud1_has_the_labels_of_ud1() -> None:
    for text in (ARRESTED, SEIZED, CUSTODY):
        draft = drafted(text, "took" if text == CUSTODY else None, {ARRESTED: "British", SEIZED: "Ruritania"}.get(text))
        lines = drafts._example_lines(draft, "ud1", {})
        assert [line.split()[5] for line in lines if re.match(r" +\d", line)] == list(er.parsed(in_ud1(text)).dep)


def test_features_of_verbs_are_written_down() -> None:
    tokens = er.parsed(ARRESTED)
    feats = ["Degree=Pos", "Number=Plur", "Tense=Past|VerbForm=Fin", "_", "_"]
    tokens = Tokens(tokens.text, tokens.lemma, tokens.upos, tokens.dep, tokens.head, tokens.sent, {"feats": feats})
    draft = drafts.draft_example(tokens, "ud2", load_lexicon(), None, None)
    shown = [line.split()[6:] for line in drafts._example_lines(draft, "ud2", {}) if re.match(r" +\d", line)]
    assert shown == [[], [], ["Tense=Past|VerbForm=Fin"], [], []]


def test_triggers_of_different_parts_of_speech_are_frames(tmp_path: Path) -> None:
    noun = "the/DET>2:det arrest/NOUN>0:root of/ADP>4:case men=man/NOUN>2:nmod by/ADP>6:case police/NOUN>2:nmod"
    rule = load_rules(written(tmp_path, drafted(ARRESTED, actor="police"), drafted(noun, "arrest")))
    assert [(frame.name, frame.upos) for frame in rule.frames] == [("verb", {"VERB"}), ("noun", {"NOUN"})]
    assert rule.frames[0].roles["agent"]["ud2"] == load_rules("attack").roles["agent"]["ud2"]
    assert rule.frames[1].roles["agent"]["clearnlp"][0] == ">prep[lemma=by]>pobj"
    assert check_examples(rule) == 4


@pytest.mark.parametrize(
    ("text", "trigger", "actor", "parameter"),
    [
        ("police/NOUN>2:nsubj said=say/VERB>0:root they/PRON>4:nsubj left=leave/VERB>2:ccomp", None, None, "trigger"),
        ("police/NOUN>2:nsubj here/ADV>0:root", None, None, "trigger"),
        ("men=man/NOUN>2:nsubj left=leave/VERB>0:root", None, None, "actor"),  # nobody in the lexicon
        ("police/NOUN>4:nsubj and/CCONJ>3:cc soldiers=soldier/NOUN>1:conj left=leave/VERB>0:root", None, None, "actor"),
        (ARRESTED, "jailed", None, "trigger"),
        (ARRESTED, "police men", None, "trigger"),  # not connected
        (ARRESTED, " ", None, "trigger"),
        (ARRESTED, None, "Germany", "actor"),
    ],
)
def test_what_cannot_be_told_must_be_given(text: str, trigger: str | None, actor: str | None, parameter: str) -> None:
    with error(ParameterError, parameter):
        drafted(text, trigger, actor)


# --- the commands ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("folder", [EN_CORE_WEB_SM, EN_GUM_UD], ids=lambda folder: folder.name)
@pytest.mark.skipif(not PAGE.exists(), reason="the pages are beside the sources alone")
def test_the_commands_of_the_page_work(
    call: Calls, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    if not folder.exists():
        pytest.skip(f"the pipeline is missing: {folder.name}")
    monkeypatch.chdir(tmp_path)
    section = PAGE.read_text("utf-8").partition("\n## From a sentence to a rule\n")[2].partition("\n## ")[0]
    new, test = (shlex.split(line)[1:] for line in re.findall(r"^corefsample .*", section, flags=re.M))
    out = call.good(*(str(folder) if word == "en_core_web_sm" else word for word in new))
    assert out.startswith(re.findall(r"```text\n(.*?)```", section, flags=re.S)[0])
    out = call.good(*test)
    assert ": Soldiers seized three ships on Monday .\n  extended   ARMY\n  asserted   ARMY\n" in out
    # A rule is not replaced by accident, and errors say what to give.
    assert call(*new[:-1], folder)[0] == 2
    assert call(*new[:-1], folder, "--overwrite")[0] == 0
    for words, named in ((["--example", "Men left. They ran."], "--example"), (["--actor", "Prussia"], "--actor")):
        status, _, err = call(*new[:-1], folder, "--overwrite", *words)
        assert (status, err.count("\n")) == (2, 1)
        assert named in err


def test_a_failing_example_is_shown_with_what_must_be_found(call: Calls, tmp_path: Path) -> None:
    path = written(tmp_path, drafted(ARRESTED, actor="British"))
    path.write_text(path.read_text("utf-8").replace("asserted: [GBR]}", "asserted: [FRA]}", 1), "utf-8")
    status, out, err = call("rule", "test", path)
    assert status == 3
    assert (
        "examples[0], ud2: British police arrested three men\n  extended   GBR\n  asserted   GBR, and must be FRA"
        in out
    )
    assert err.count("\n") == 1
    assert "examples[0]: preset asserted must find FRA, got GBR" in err


def test_a_shipped_rule_is_tested_by_its_name(call: Calls) -> None:
    out = call.good("rule", "test", "attack")
    assert out.count("\nexamples[") == len(load_rules("attack").examples)
    assert call("rule", "test", "scored.jsonl")[0] == 2


# --- rules from labels -------------------------------------------------------------------------------------


SEIZE = """version: 1
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
    (folder / "seize.yaml").write_text(SEIZE, "utf-8")
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
    count_events(folder / "corpus.jsonl", out, options)


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
    true = {kind for kind, (_, is_true) in KINDS.items() if is_true}
    assert found_kinds(folder, folder / "seize.yaml", "police") == {"found"}
    assert found_kinds(folder, Path(suggested.out), suggested.lexicon_out) == true
    assert found_kinds(folder, Path(suggested.out), "police") == true - {"name"}
    (report,) = run_rule_test([suggested.out]).reports
    assert report.problems == []
    assert suggested.before["recall"] == pytest.approx(9 / (9 + 36 * 82 / 64))


def test_each_change_has_its_evidence_and_its_line_can_be_deleted(folder: Path, suggested: RuleSuggestResult) -> None:
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
    line = call.refused("rule", "suggest", folder / "run2", sheet)
    assert "plan must be of these documents" in line


def test_no_miss_has_no_suggestion(folder: Path, suggested: RuleSuggestResult, tmp_path: Path, call: Calls) -> None:
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
    assert "--overwrite" in call.refused("rule", "suggest", run, sheet, "--out", folder / "seize.yaml", status=2)
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
    text = Path(result.lexicon_out).read_text("utf-8")
    assert f"copy the entries to {own}." in " ".join(text.replace("#", " ").split())
    assert "- warden" in text
    assert "extends" not in text.partition("version")[2]
