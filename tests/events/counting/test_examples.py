"""Sentences that rules must read right, as rule files write them; and rules that could not read at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from corefsample import InputError
from events import load_rules
from events.counting._examples import check_examples

EXTENDED = """
name: strike
trigger: {lemma: [attack]}
presets:
  extended:
    described: [head, adjectival_modifier, of_modifier, possessive, compound, conjoined_modifier]
    roles: {agent: [subject, passive_agent, conjoined_subject, shared_subject, relative_subject, controlled_subject]}
examples:
"""


def checks(folder: Path, scheme: str, parse: str, expected: str, rule: str = EXTENDED) -> int:
    lines = "".join(f"      {n} {line}\n" for n, line in enumerate(parse.strip().splitlines(), start=1))
    (folder / "strike.yaml").write_text(
        f"{rule}  - scheme: {scheme}\n    expect: {{extended: [{expected}]}}\n    parse: |\n{lines}"
    )
    return check_examples(load_rules(folder / "strike.yaml", "extended"))


def test_a_country_at_the_end_of_a_long_chain_of_conjuncts_describes(tmp_path: Path) -> None:
    # "leaders of unions , churches , parties and Iraq attacked": spaCy hangs each conjunct on the one before it.
    parse = """leaders leader NOUN 10 nsubj
of of ADP 1 prep
unions union NOUN 2 pobj
, , PUNCT 3 punct
churches church NOUN 3 conj
, , PUNCT 5 punct
parties party NOUN 5 conj
and and CCONJ 7 cc
Iraq Iraq PROPN 7 conj
attacked attack VERB 0 ROOT"""
    # Iraq too fills no role: it is a conjunct of the unions, not of the leaders.
    assert checks(tmp_path, "clearnlp", parse, "IRQ") == 1


def test_of_several_conjoined_verbs_the_nearest_lends_its_subject(tmp_path: Path) -> None:
    parse = """Iraq Iraq PROPN 2 nsubj
crossed cross VERB 0 ROOT
, , PUNCT 2 punct
Iran Iran PROPN 5 nsubj
fired fire VERB 2 conj
and and CCONJ 5 cc
attacked attack VERB 5 conj"""
    assert checks(tmp_path, "clearnlp", parse, "IRN") == 1


def test_a_verb_without_a_subject_is_passed_over(tmp_path: Path) -> None:
    parse = """Iraq Iraq PROPN 2 nsubj
crossed cross VERB 0 ROOT
, , PUNCT 2 punct
fired fire VERB 2 conj
and and CCONJ 4 cc
attacked attack VERB 4 conj"""
    assert checks(tmp_path, "clearnlp", parse, "IRQ") == 1


OWN_PATH = """
name: strike
trigger: {lemma: [attack]}
paths: {own: {ud2: ["PATH"]}}
presets:
  extended: {described: [own], roles: {agent: [subject]}}
examples:
"""


def test_a_description_may_go_up_the_parse(tmp_path: Path) -> None:
    # "Iraq , army attacked": the army, an apposition of Iraq, is described by what it stands beside.
    parse = """Iraq Iraq PROPN 4 nsubj
, , PUNCT 3 punct
army army NOUN 1 appos
attacked attack VERB 0 root
by by ADP 6 case
army army NOUN 4 obl"""
    rule = (
        OWN_PATH.replace("PATH", "<appos")
        .replace("[subject]", "[described_agent]")
        .replace(
            'paths: {own: {ud2: ["<appos"]}}',
            'paths: {own: {ud2: ["<appos"]}, described_agent: {ud2: [">nsubj>appos"]}}',
        )
    )
    assert checks(tmp_path, "ud2", parse, "IRQ", rule) == 1


def test_a_rule_without_a_path_for_a_documents_scheme_rejects_it(tmp_path: Path) -> None:
    parse = """Iraqis Iraqi PROPN 2 nsubj
attacked attack VERB 0 ROOT
towns town NOUN 2 dobj
in in ADP 3 prep"""
    with pytest.raises(InputError, match=r"a scheme that the rule strike has paths for, got clearnlp"):
        checks(tmp_path, "clearnlp", parse, "", OWN_PATH.replace("PATH", ">amod"))


@pytest.mark.parametrize("path", [">obl:by", ">nope", "[no >dobj]>amod", ">nmod[has >prep]"])
def test_a_path_with_a_label_that_its_scheme_never_has_is_rejected(tmp_path: Path, path: str) -> None:
    with pytest.raises(InputError, match=r"strike\.yaml: paths\.own\.ud2: labels must be of the scheme"):
        checks(tmp_path, "ud2", "They they PRON 0 root", "", OWN_PATH.replace("PATH", path))


def test_a_part_of_speech_that_does_not_exist_is_rejected(tmp_path: Path) -> None:
    rule = EXTENDED.replace("lemma: [attack]", "lemma: [attack], upos: [Verb]")
    with pytest.raises(InputError, match=r"strike\.yaml: trigger\.upos must be universal parts of speech"):
        checks(tmp_path, "ud2", "They they PRON 0 root", "", rule)
