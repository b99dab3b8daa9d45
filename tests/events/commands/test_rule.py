"""The commands `rule new` and `rule test`: rules from sentences, and what rules find in their examples."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from asserted_sentences import in_ud1
from command_line import Calls
from expected_errors import error
from places import EN_CORE_WEB_SM, EN_GUM_UD, PROJECT
from references import events as er

from corefsample.documents._tokens import Tokens
from corefsample.errors import ParameterError
from corefsample.syntax._paths import path_labels
from events.commands import _rule_draft as drafts
from events.counting._examples import check_examples
from events.lexicon._lexicon import load_lexicon
from events.rules._rules import load_presets, load_rules

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
def test_the_commands_of_the_page_write_a_rule_and_test_it(
    call: Calls, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    if not folder.exists():
        pytest.skip(f"the pipeline is missing: {folder.name}")
    monkeypatch.chdir(tmp_path)
    section = PAGE.read_text("utf-8").partition("\n## From a sentence to a rule\n")[2].partition("\n## ")[0]
    new, test = (shlex.split(line)[1:] for line in re.findall(r"^corefsample .*", section, flags=re.M))
    status, out, err = call(*(str(folder) if word == "en_core_web_sm" else word for word in new))
    assert (status, err) == (0, "")
    assert out.startswith(re.findall(r"```text\n(.*?)```", section, flags=re.S)[0])
    status, out, err = call(*test)
    assert (status, err) == (0, "")
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
    status, out, _ = call("rule", "test", "attack")
    assert status == 0
    assert out.count("\nexamples[") == len(load_rules("attack").examples)
    assert call("rule", "test", "scored.jsonl")[0] == 2
