"""Drafts of rule files from example sentences."""

import json
from pathlib import Path

import pytest
from expected_errors import error
from places import TEST_DATA
from references import events as er
from references.events import paths_of

from corefsample import ParameterError, Tokens
from events import load_lexicon, load_rules
from events.evidence._examples import check_examples
from events.matching import _rule_draft as drafts
from events.rules._rules import presets_of, rule_file

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
    path.write_text(drafts.rule_text(drafts.rule_tree("own", examples, "ud2")), "utf-8")
    return path


def test_the_parts_of_an_event_are_found_where_the_sentence_has_one_of_each() -> None:
    british = drafts.draft_example(er.parsed(ARRESTED), "ud2", load_lexicon(), None, None)
    assert (british.words, british.code, british.tokens.text[british.actor]) == (("arrest",), "GBR", "police")
    assert british.path == "subject"
    assert drafted(ARRESTED, actor="British").code == "GBR"  # with this lexicon, the police is another actor


def test_a_trigger_of_several_words_need_not_be_adjacent() -> None:
    custody = drafted(CUSTODY, "took into custody")
    assert (custody.words, custody.tokens.text[custody.trigger]) == (("take", "into", "custody"), "took")
    assert custody.code == "ARMY"


def test_a_path_without_a_name_is_written_in_the_scheme_of_the_pipeline(tmp_path: Path) -> None:
    raid = drafted(SEIZED, actor="Ruritania")
    assert (raid.code, raid.tokens.text[raid.actor]) == ("RURITANIA", "soldiers")
    assert raid.path == ">obl[case=in]>nmod[case=by]"
    rule = load_rules(written(tmp_path, raid))
    assert paths_of(rule) == {"ud2": (">obl[case=in]>nmod[case=by]",), "ud1": (), "clearnlp": ()}
    assert [check_examples(each) for each in presets_of(*rule_file(rule.source))] == [1, 1]


def test_features_of_verbs_are_written_down() -> None:
    tokens = er.parsed(ARRESTED)
    feats = ["Degree=Pos", "Number=Plur", "Tense=Past|VerbForm=Fin", "_", "_"]
    tokens = Tokens(tokens.text, tokens.lemma, tokens.upos, tokens.dep, tokens.head, tokens.sent, {"feats": feats})
    draft = drafts.draft_example(tokens, "ud2", load_lexicon(), None, None)
    lines = drafts.rule_tree("own", [draft], "ud2")["examples"][0]["parse"].splitlines()
    assert [line.split()[6:] for line in lines] == [[], [], ["Tense=Past|VerbForm=Fin"], [], []]


def test_triggers_of_different_parts_of_speech_are_frames(tmp_path: Path) -> None:
    noun = "the/DET>2:det arrest/NOUN>0:root of/ADP>4:case men=man/NOUN>2:nmod by/ADP>6:case police/NOUN>2:nmod"
    rule = load_rules(written(tmp_path, drafted(ARRESTED, actor="police"), drafted(noun, "arrest")))
    assert [(frame.name, frame.upos) for frame in rule.frames] == [("verb", {"VERB"}), ("noun", {"NOUN"})]
    assert rule.frames[0].roles["agent"]["ud2"] == paths_of(load_rules("attack"))["ud2"]
    assert rule.frames[1].roles["agent"]["clearnlp"][0] == ">prep[lemma=by]>pobj"
    assert check_examples(rule) == 2


REFUSED = (TEST_DATA / "refused_drafts.txt").read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("case", [line for line in REFUSED if not line.startswith("#")])
def test_what_cannot_be_told_must_be_given(case: str) -> None:
    options, text = case.split(" | ")
    parameter, trigger, actor = json.loads(options)
    with error(ParameterError, parameter):
        drafted(text, trigger, actor)


OPENED = (
    "Fire=fire/NOUN>3:nsubj:pass was=be/AUX>3:aux:pass opened=open/VERB>0:root by/ADP>5:case "
    "soldiers=soldier/NOUN>3:obl:agent"
)
EXPLODED = "A/DET>2:det bomb/NOUN>3:nsubj exploded=explode/VERB>0:root"


def test_the_words_of_a_passive_are_in_the_order_in_which_they_are_given(tmp_path: Path) -> None:
    opened = drafted(OPENED, "opened fire")
    assert (opened.words, opened.path, opened.code) == (("open", "fire"), "passive_agent", "ARMY")
    (rule, _) = presets_of(*rule_file(written(tmp_path, opened)))
    assert [phrase.words for frame in rule.frames for phrase in frame.phrases] == [("open", "fire")]


@pytest.mark.parametrize("others", [(), (drafted(ARRESTED, actor="British"),)], ids=["alone", "with an actor"])
def test_an_event_of_nobody_is_drafted_and_found(tmp_path: Path, others: tuple[drafts.DraftExample, ...]) -> None:
    rules = presets_of(*rule_file(written(tmp_path, drafted(EXPLODED, actor="-"), *others)))
    for rule in rules:
        assert rule.event == (("agent",) if others else ())
        assert rule.optional == ({"agent"} if others else set())
        check_examples(rule, load_lexicon("police"))  # finds "-" and GBR, or the event without roles
