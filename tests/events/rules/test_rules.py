"""Rule files: valid and invalid content, and their inline examples."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from expected_errors import error
from places import TEST_DATA

from corefsample.errors import InputError, ParameterError
from corefsample.syntax import SCHEMES
from events.counting._definitions import check_examples
from events.rules import shipped_rules
from events.rules._rules import load_presets, load_rules

PARSE = """
1 Iraq Iraq PROPN 2 nsubj
2 struck strike VERB 0 root
"""


def rule_file(**changes: Any) -> dict[str, Any]:
    """A valid rule file, with changes; None drops a field."""
    content: dict[str, Any] = {
        "version": 1,
        "name": "strike",
        "trigger": {"lemma": ["strike"]},
        "presets": {"paper": {"described": ["head"], "roles": {"agent": ["subject"]}}},
        "examples": [{"parse": PARSE, "expect": {"paper": ["IRQ"]}}],
    }
    return {name: value for name, value in (content | changes).items() if value is not None}


def written(folder: Path, content: Any, name: str = "strike.yaml") -> Path:
    path = folder / name
    path.write_text(content if isinstance(content, str) else yaml.safe_dump(content, sort_keys=False), "utf-8")
    return path


# --- shipped rules -----------------------------------------------------------------------------------------


def test_the_shipped_rules_are_named() -> None:
    assert shipped_rules() == (
        *("arrest", "attack", "attack_target", "conflict"),
        *("force", "kill", "meet", "protest"),
    )


@pytest.mark.parametrize("name", shipped_rules())
def test_a_shipped_rule_has_three_presets_and_its_examples_pass(name: str) -> None:
    presets = load_presets(name)
    assert [rule.preset for rule in presets] == ["paper", "extended", "asserted"]
    for rule in presets:
        assert check_examples(rule) == sum(rule.preset in example.expect for example in rule.examples) > 0


def test_paper_is_its_sentence_and_no_more() -> None:
    rule = load_rules(preset="paper")
    assert (rule.name, rule.preset, rule.event) == ("attack", "paper", ("agent",))
    assert (rule.lemmas, rule.upos) == (frozenset({"attack"}), frozenset({"VERB"}))
    assert rule.described["ud2"] == ("", ">amod", ">nmod*")
    assert rule.roles["agent"]["ud2"] == (">nsubj", ">obl:agent", "[passive]>obl[case=by]")
    assert rule.roles["agent"]["clearnlp"] == (">nsubj", ">agent>pobj")


@pytest.mark.parametrize("name", shipped_rules())
def test_a_shipped_rule_has_paths_in_every_scheme(name: str) -> None:
    for rule in load_presets(name):
        for paths in (rule.described, *rule.roles.values()):
            assert set(paths) == set(SCHEMES)
            assert all(paths.values())
        assert all(rule.serves(scheme) for scheme in SCHEMES)


def test_without_a_name_the_preset_is_asserted_or_the_only_one(tmp_path: Path) -> None:
    assert load_rules().preset == "asserted"
    one, two = "{described: [head], roles: {agent: [subject]}}", ("own", "other")
    head = "version: 1\nname: own\ntrigger: {lemma: [strike]}\npresets:\n"
    path = tmp_path / "own.yaml"
    path.write_text(f"{head}  own: {one}\n")
    assert (load_rules(path).preset, load_rules(path).distinct_actors) == ("own", False)
    path.write_text(head + "".join(f"  {name}: {one}\n" for name in two))
    with error(ParameterError, "preset"):
        load_rules(path)


def test_an_unknown_rule_or_preset_is_rejected() -> None:
    with pytest.raises(
        ParameterError, match=r"rule must be one of arrest, attack, attack_target, conflict, .*, or a path .*'war'"
    ):
        load_rules("war")
    with pytest.raises(
        ParameterError, match=r"preset must be one of paper, extended, asserted \(attack\), got 'strict'"
    ):
        load_rules("attack", "strict")


# --- users' files ------------------------------------------------------------------------------------


def test_a_users_file_is_read(tmp_path: Path) -> None:
    rule = load_rules(written(tmp_path, rule_file()))
    assert (rule.name, rule.preset, rule.lemmas, rule.upos) == ("strike", "paper", {"strike"}, {"VERB"})
    assert rule.source == str(tmp_path / "strike.yaml")
    assert check_examples(rule) == 1


@pytest.mark.parametrize("name", ["strike.yaml", "strike.yml", "strike"])
def test_anything_with_a_folder_or_a_yaml_ending_is_a_path(tmp_path: Path, name: str) -> None:
    assert load_rules(str(written(tmp_path, rule_file(), name))).name == "strike"


def test_lemmas_are_compared_without_case(tmp_path: Path) -> None:
    assert load_rules(written(tmp_path, rule_file(trigger={"lemma": ["STRIKE"]}))).lemmas == {"strike"}


def test_a_files_paths_replace_those_of_the_schemes(tmp_path: Path) -> None:
    content = rule_file(
        paths={"subject": {"ud2": [">nsubj[upos=PROPN]"]}, "near": {"ud2": [">obl", ">obl"], "ud1": [">nmod"]}},
        presets={"paper": {"described": ["head"], "roles": {"agent": ["subject", "near"]}}},
    )
    rule = load_rules(written(tmp_path, content))
    assert rule.roles["agent"] == {"ud2": (">nsubj[upos=PROPN]", ">obl"), "ud1": (">nmod",), "clearnlp": ()}


def test_another_role_can_be_the_event(tmp_path: Path) -> None:
    content = rule_file(
        event=["victim"],
        presets={"paper": {"described": ["head"], "roles": {"agent": ["subject"], "victim": ["object"]}}},
        examples=[
            {
                "parse": "1 Iraq Iraq PROPN 2 nsubj\n2 struck strike VERB 0 root\n3 Iran Iran PROPN 2 obj\n",
                "expect": {"paper": ["IRN"]},
            }
        ],
    )
    assert check_examples(load_rules(written(tmp_path, content))) == 1


CASES = (TEST_DATA / "refused_rules.txt").read_text(encoding="utf-8")
CHANGES = re.findall(r"^# (.*)\n(\{.*)\n-> (.*)$", CASES, flags=re.M)


@pytest.mark.parametrize(("changes", "fragment"), [case[1:] for case in CHANGES], ids=[name for name, *_ in CHANGES])
def test_a_file_that_breaks_the_format_is_rejected(tmp_path: Path, changes: str, fragment: str) -> None:
    path = written(tmp_path, rule_file(**yaml.safe_load(changes)))
    with pytest.raises(InputError) as error:
        load_rules(path)
    message = str(error.value)
    assert message.startswith(f"{path}: ")
    assert fragment in message
    assert "\n" not in message


def test_every_case_is_read() -> None:
    assert len(CHANGES) == CASES.count("\n-> ") > 15


@pytest.mark.parametrize("text", ["", "[]", "attack", "name: [", "a: b: c", "\t- x", "name: \x00"])
def test_yaml_without_a_mapping_is_rejected(tmp_path: Path, text: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(InputError) as error:
        load_rules(path)
    assert str(error.value).startswith(f"{path}:")  # and perhaps the line
    assert "\n" not in str(error.value)


def test_values_of_other_types_are_named_all_the_first_with_its_rule(tmp_path: Path) -> None:
    content = rule_file(name=3, tigger=1, trigger={"lemma": [7], "pos": []}, event=[True])
    with pytest.raises(InputError) as raised:
        load_rules(written(tmp_path, content))
    assert str(raised.value).endswith(
        "strike.yaml: file: fields must be among name, presets, trigger, frames, version, description, question, "
        "codebook, event, optional, defaults, classes, paths, words, conditions, outcomes, examples, got 'tigger'; "
        "and 4 more faults in "
        "the file: name, trigger, trigger.lemma[0], event[0]"
    )


def test_rules_broken_by_several_values_are_counted(tmp_path: Path) -> None:
    presets = {
        "paper": {"described": ["tail"], "roles": {"agent": ["subject"]}, "unless": ["denial"]},
        "wide": {"extends": "paper", "roles": {"agent": ["doer"]}},
        "loop": {"extends": "loop"},
    }
    content = rule_file(version=2, optional=["target"], presets=presets)
    with pytest.raises(InputError) as raised:
        load_rules(written(tmp_path, content))
    assert str(raised.value).endswith(
        # optional is a fault of the file; a preset that extends another does not repeat its faults
        "strike.yaml: version must be 1, got 2; and 5 more faults in the file: file, presets.paper, presets.wide, "
        "presets.loop"
    )


def test_a_key_that_appears_twice_is_rejected(tmp_path: Path) -> None:
    # YAML would keep the second list alone, and "attack" would vanish unseen.
    path = written(tmp_path, "name: strike\ntrigger: {lemma: [attack], lemma: [strike]}\npresets: {}\n")
    with pytest.raises(InputError, match=r"strike\.yaml: line 2: must be YAML, got: key 'lemma' appears twice"):
        load_rules(path)


def test_a_missing_file_or_one_that_is_not_text_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere\.yaml: file must be readable, got: No such file"):
        load_rules(tmp_path / "nowhere.yaml")
    (tmp_path / "latin.yaml").write_bytes("name: Zürich".encode("latin-1"))
    with pytest.raises(InputError, match=r"latin\.yaml: must be YAML in UTF-8, got: "):
        load_rules(tmp_path / "latin.yaml")


# --- inline examples ---------------------------------------------------------------------------------------


def checked(folder: Path, *examples: dict[str, Any], preset: str = "paper") -> int:
    return check_examples(load_rules(written(folder, rule_file(examples=list(examples))), preset))


def failure(folder: Path, *examples: dict[str, Any]) -> str:
    with pytest.raises(InputError) as error:
        checked(folder, *examples)
    assert "\n" not in str(error.value)
    return str(error.value)


def test_an_example_that_fails_is_named_with_what_was_found(tmp_path: Path) -> None:
    good = {"parse": PARSE, "expect": {"paper": ["IRQ"]}}
    assert checked(tmp_path, good) == 1
    assert failure(tmp_path, good, {"parse": PARSE, "expect": {"paper": ["USA"]}}).endswith(
        "strike.yaml: examples[1]: preset paper must find USA, got IRQ"
    )
    assert failure(tmp_path, {"parse": PARSE, "expect": {"paper": []}}).endswith("must find nothing, got IRQ")
    nothing = {"parse": "1 Iraq Iraq PROPN 0 root\n", "expect": {"paper": ["IRQ"]}}
    assert failure(tmp_path, nothing).endswith("must find IRQ, got nothing")


def test_examples_of_other_presets_are_passed_over(tmp_path: Path) -> None:
    presets = {name: {"described": ["head"], "roles": {"agent": ["subject"]}} for name in ("paper", "mine")}
    content = rule_file(presets=presets, examples=[{"parse": PARSE, "expect": {"mine": ["USA"]}}])
    rules = {rule.preset: rule for rule in load_presets(written(tmp_path, content))}
    assert check_examples(rules["paper"]) == 0
    with pytest.raises(InputError, match="preset mine must find USA, got IRQ"):
        check_examples(rules["mine"])


def test_coreferent_tokens_are_one_entity(tmp_path: Path) -> None:
    parse = "1 Iraq Iraq PROPN 0 root\n2 it it PRON 3 nsubj\n3 struck strike VERB 1 parataxis\n"
    assert checked(tmp_path, {"parse": parse, "coreferent": [[1, 2]], "expect": {"paper": ["IRQ"]}}) == 1
    assert checked(tmp_path, {"parse": parse, "expect": {"paper": []}}) == 1
    wrong = {"parse": parse, "coreferent": [[1, 3]], "expect": {"paper": []}}
    assert failure(tmp_path, wrong).endswith(
        "examples[0]: coreferent must name tokens that are nouns, names or pronouns, got [1, 3]"
    )


def test_an_example_can_have_its_own_words(tmp_path: Path) -> None:
    parse = "1 Mordor Mordor PROPN 2 nsubj\n2 struck strike VERB 0 root\n"
    assert checked(tmp_path, {"parse": parse, "words": {"Mordor": "MOR"}, "expect": {"paper": ["MOR"]}}) == 1


@pytest.mark.parametrize(
    ("parse", "fragment"),
    [
        ("1 Iraq Iraq PROPN 2\n", "line 1: must be number, word, lemma, upos, head, label, got '1 Iraq Iraq PROPN 2'"),
        ("2 Iraq Iraq PROPN 0 root\n", "line 1: must be number"),
        ("1 Iraq Iraq PROPN x root\n", "line 1: must be number"),
        ("1 Iraq Iraq PROPN 2 root\n", "line 1: must be number"),
        ("1 Iraq Iraq PROPN ² root\n", "line 1: must be number"),
        ("1 Iraq Iraq PROPN 0 SBJ\n", "parse: labels must be of the scheme ud2, got 'SBJ'"),
        ("1 Iraq Iraq PROPN 1 nsubj\n", "head"),
        ("1 a a NOUN 2 nsubj\n2 b b NOUN 1 nsubj\n", "cycle"),
    ],
)
def test_an_example_that_cannot_be_read_is_rejected(tmp_path: Path, parse: str, fragment: str) -> None:
    message = failure(tmp_path, {"parse": parse, "expect": {"paper": []}})
    assert "strike.yaml: examples[0]: " in message
    assert fragment in message


@pytest.mark.parametrize("parse", ["", "\n\n"])
def test_an_example_without_a_sentence_is_rejected(tmp_path: Path, parse: str) -> None:
    assert "examples[0]: parse" in failure(tmp_path, {"parse": parse, "expect": {"paper": []}})


@pytest.mark.parametrize("source", [5, None, ["attack"]])
def test_anything_but_a_name_or_a_path_is_rejected(source: Any) -> None:
    with pytest.raises(ParameterError, match=r"^rule must be a name or a path, got "):
        load_rules(source)
