"""Rule files: valid and invalid content, and their inline examples."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from expected_errors import error
from places import TEST_DATA
from references.events import paths_of

from corefsample import InputError, ParameterError
from corefsample.syntax._schemes import SCHEMES
from events import load_lexicon
from events.evidence._examples import check_examples
from events.rules import _rules
from events.rules._rules import load_rules, presets_of, shipped_rules

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


@pytest.mark.parametrize("name", shipped_rules())
def test_a_shipped_rule_has_three_presets_and_its_examples_pass(name: str) -> None:
    presets = presets_of(*_rules.rule_file(name))
    assert [rule.preset for rule in presets] == ["paper", "extended", "asserted"]
    for rule in presets:
        n_examples = sum(rule.preset in example.expect for example in rule.examples)
        assert check_examples(rule) == n_examples
        assert n_examples > 0


def test_paper_is_its_sentence_and_no_more() -> None:
    rule = load_rules(preset="paper")
    assert (rule.name, rule.preset, rule.event) == ("attack", "paper", ("agent",))
    assert [(frame.lemmas, frame.upos) for frame in rule.frames] == [({"attack"}, {"VERB"})]
    assert rule.described["ud2"] == ("", ">amod", ">nmod*")
    assert paths_of(rule)["ud2"] == (">nsubj", ">obl:agent", "[passive]>obl[case=by]")
    assert paths_of(rule)["clearnlp"] == (">nsubj", ">agent>pobj")


@pytest.mark.parametrize("name", shipped_rules())
def test_a_shipped_rule_has_paths_in_every_scheme(name: str) -> None:
    for rule in presets_of(*_rules.rule_file(name)):
        for paths in (rule.described, *(paths for frame in rule.frames for paths in frame.roles.values())):
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


# --- users' files ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["strike.yaml", "strike.yml", "strike"])
def test_anything_with_a_folder_or_a_yaml_ending_is_a_path(tmp_path: Path, name: str) -> None:
    path = written(tmp_path, rule_file(trigger={"lemma": ["STRIKE"]}), name)
    rule = load_rules(str(path))
    assert (rule.name, rule.frames[0].lemmas, rule.source) == ("strike", {"strike"}, str(path))  # without case


def test_a_misspelt_shipped_name_has_the_likeliest_one_as_hint() -> None:
    for load, name, meant in ((load_rules, "atack", "attack"), (load_lexicon, "polise", "police")):
        with pytest.raises(ParameterError) as caught:
            load(name)
        assert meant in str(caught.value.hint)


def test_word_lists_of_a_file_are_those_of_its_paths_and_of_named_ones(tmp_path: Path) -> None:
    changes: dict[str, Any] = {
        "paths": {"near": {"ud2": [">obl[case={near}]", ">obl[case={with}]"]}},
        "presets": {"paper": {"described": ["head"], "roles": {"agent": ["passive_agent", "near"]}}},
        "words": {"near": ["near", "beside"], "by": ["by", "through"]},
    }
    rule = load_rules(written(tmp_path, rule_file(**changes)))
    own = (">obl:agent", "[passive]>obl[case=by|through]", ">obl[case=near|beside]", ">obl[case=with]")
    assert paths_of(rule)["ud2"] == own
    del changes["words"]["near"]
    with error(InputError, place="paths.near.ud2"):
        load_rules(written(tmp_path, rule_file(**changes)))


CASES = (TEST_DATA / "refused_rules.txt").read_text(encoding="utf-8")
CHANGES = re.findall(r"^# (.*)\n(\{.*)\n-> (.*)$", CASES, flags=re.M)
assert len(CHANGES) == CASES.count("\n-> ")


@pytest.mark.parametrize(("changes", "fragment"), [case[1:] for case in CHANGES], ids=[name for name, *_ in CHANGES])
def test_a_file_that_breaks_the_format_is_rejected(tmp_path: Path, changes: str, fragment: str) -> None:
    path = written(tmp_path, rule_file(**yaml.safe_load(changes)))
    with pytest.raises(InputError) as error:
        check_examples(load_rules(path))
    message = str(error.value)
    assert message.startswith(f"{path}: ")
    assert fragment in message


VALID = b"name: strike\ntrigger: {lemma: [strike]}\npresets: {paper: {described: [head], roles: {agent: [subject]}}}\n"
# YAML would keep the last list of a key that appears twice alone, and "attack" would vanish unseen.
TWICE = VALID.replace(b"lemma: [strike]", b"lemma: [attack], lemma: [strike]")
BROKEN = [
    b"",
    b"[]",
    b"attack",
    b"name: [",
    VALID + b"a: b: c",
    VALID + b"\t- x",
    VALID + b"\0",
    VALID + b"#\xfc",
    TWICE,
]


@pytest.mark.parametrize("content", BROKEN)
def test_a_file_without_a_mapping_in_utf8_is_rejected(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "strike.yaml"
    path.write_bytes(VALID)
    assert load_rules(path).frames[0].lemmas == {"strike"}
    path.write_bytes(content)
    with error(InputError, place="strike.yaml"):
        load_rules(path)


# --- inline examples ---------------------------------------------------------------------------------------


def checked(folder: Path, *examples: dict[str, Any], preset: str = "paper") -> int:
    return check_examples(load_rules(written(folder, rule_file(examples=list(examples))), preset))


def failure(folder: Path, *examples: dict[str, Any]) -> str:
    with pytest.raises(InputError) as error:
        checked(folder, *examples)
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


def test_coreferent_tokens_are_one_entity(tmp_path: Path) -> None:
    parse = "1 Iraq Iraq PROPN 0 root\n2 it it PRON 3 nsubj\n3 struck strike VERB 1 parataxis\n"
    assert checked(tmp_path, {"parse": parse, "coreferent": [[1, 2]], "expect": {"paper": ["IRQ"]}}) == 1
    assert checked(tmp_path, {"parse": parse, "expect": {"paper": []}}) == 1


# --- rules that extend others --------------------------------------------------------------------------------


def extending(folder: Path, **changes: Any) -> Path:
    return written(folder, {"name": "wide", "extends": "arrest", **changes}, "wide.yaml")


def test_a_rule_that_extends_another_is_that_rule_under_its_own_name(tmp_path: Path) -> None:
    base, rule = load_rules("arrest"), load_rules(extending(tmp_path))
    assert (rule.name, rule.bases, rule.examples) == ("wide", ("arrest",), ())
    for name in ("preset", "frames", "described", "event", "optional", "unless", "distinct_actors", "description"):
        assert getattr(rule, name) == getattr(base, name), name
    assert rule.conditions == base.conditions


def test_ten_lines_add_to_a_rule_and_remove_from_it(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        """version: 1
name: wide
extends: arrest
add:
  frames: {verb: {lemma: [hold], phrase: [pick up]}}
  presets: {asserted: {unless: [reported]}}
  words: {denial: [gainsay]}
remove:
  frames: {verb: {lemma: [jail]}, noun: {lemma: [detention, roundup]}}
  presets: [paper]
""",
    )
    base, rule = load_rules("arrest"), load_rules(path)
    words, words_before = ({word for frame in each.frames for word in frame.lemmas} for each in (rule, base))
    assert words == words_before - {"jail", "detention", "roundup"} | {"hold"}
    assert [" ".join(phrase.words) for phrase in rule.frames[0].phrases] == ["pick up"]
    assert rule.unless == (*base.unless, "reported")
    shipped = "deny|reject|dismiss|refute|dispute|disavow|disprove|rebut|doubt|disbelieve"
    assert f"<ccomp|xcomp|csubj[lemma={shipped}|gainsay]" in rule.conditions["denied"].paths["ud2"]
    assert rule.conditions["modal"] == base.conditions["modal"]
    assert [each.preset for each in presets_of(*_rules.rule_file(path))] == ["extended", "asserted"]


def test_keys_of_an_extending_file_replace_those_of_the_base(tmp_path: Path) -> None:
    path = extending(
        tmp_path,
        description="Ours.",
        optional=[],
        defaults={},
        classes={"agent": ["police"]},
        frames=[{"name": "verb", "trigger": {"lemma": ["cuff"]}}, {"name": "own", "trigger": {"phrase": ["slap on"]}}],
        presets={"asserted": {"unless": ["negated"]}, "own": {"extends": "asserted", "distinct_actors": False}},
    )
    rule, base = load_rules(path), load_rules("arrest")
    assert [frame.name for frame in rule.frames] == ["verb", "phrase", "noun", "own"]
    assert (rule.frames[0].lemmas, rule.frames[1:3]) == ({"cuff"}, base.frames[1:3])
    assert (rule.unless, rule.description, rule.optional) == (("negated",), "Ours.", frozenset())
    assert (rule.classes, paths_of(rule)) == ({"agent": {"police"}}, paths_of(base))
    assert [each.preset for each in presets_of(*_rules.rule_file(path))] == ["paper", "extended", "asserted", "own"]
    assert not load_rules(path, "own").distinct_actors


def test_a_preset_gets_what_it_inherits_before_something_is_added(tmp_path: Path) -> None:
    add = {"presets": {"asserted": {"roles": {"agent": ["object"]}, "frames": ["verb"]}}}
    rule = load_rules(extending(tmp_path, add=add, remove={"presets": {"asserted": {"frames": ["noun"]}}}))
    assert [frame.name for frame in rule.frames] == ["verb", "phrase"]
    paths, base = paths_of(rule)["ud2"], paths_of(load_rules("arrest"))["ud2"]  # the noun's come last
    assert paths == (*base[: len(paths) - 1], ">obj")
    assert ">obj" not in paths_of(load_rules(rule.source, "extended"))["ud2"]


def test_an_extended_file_lies_beside_the_one_that_extends_it_and_can_extend_another(tmp_path: Path) -> None:
    (tmp_path / "base").mkdir()
    written(tmp_path, rule_file(extends="arrest"), "base/strike.yaml")
    with error(InputError, place="strike.yaml"):  # its trigger is beside the frames of arrest
        load_rules(extending(tmp_path, extends="base/strike.yaml"))
    written(tmp_path, rule_file(), "base/strike.yaml")
    rule = load_rules(extending(tmp_path, extends="base/strike.yaml"))
    # One preset needs no name, whatever it is called; examples of the base are the base's.
    assert (rule.preset, rule.frames[0].lemmas, rule.examples) == ("paper", {"strike"}, ())
    assert rule.bases == (str(tmp_path / "base/strike.yaml"),)
    own = {"parse": PARSE, "expect": {"paper": ["IRQ"]}}
    rule = load_rules(extending(tmp_path, extends="base/strike.yaml", base_examples=True, examples=[own]))
    assert check_examples(rule) == 2


@pytest.mark.parametrize(
    ("changes", "place", "message"),
    [
        ({"extends": "war"}, "extends", "must be one of arrest, arson, attack"),
        ({"extends": "wide.yaml"}, "extends", "must not lead back to the file itself, got wide.yaml -> wide.yaml"),
        ({"name": None}, "name", "got null"),
        ({"add": {"frames": {"vreb": {"lemma": ["x"]}}}}, "add.frames", "(verb, phrase, noun), got 'vreb'"),
        ({"add": {"frames": {"verb": ["x"]}}}, "add.frames.verb", "must be a mapping, got ['x']"),
        ({"add": {"frames": {"noun": {"lemma": [7]}}}}, "frames[2].trigger.lemma[4]", "got a whole number"),
        ({"remove": {"frames": {"phrase": {"phrase": ["x y"]}}}}, "phrase.phrase", "(take into custody, "),
        ({"remove": {"presets": ["wide"]}}, "remove.presets", "(paper, extended, asserted), got 'wide'"),
        (
            {"remove": {"presets": {"asserted": {"unless": ["reported"]}}}},
            "asserted.unless",
            "(no_arrest, abstract, accused,",
        ),
        ({"remove": {"presets": ["extended"]}}, "presets.asserted", "extends must be another preset"),
        ({"remove": {"words": {"nobody": ["zero"]}}}, "remove.words.nobody", "(nobody, none, "),
        ({"frames": [{"nam": "verb"}]}, "frames[0]", "unknown field nam"),
        ({"extends": None, "add": {"frames": {}}, **rule_file()}, "wide.yaml", "add needs extends"),
    ],
)
def test_wrong_changes_of_a_base_are_named(tmp_path: Path, changes: dict[str, Any], place: str, message: str) -> None:
    with pytest.raises(InputError, match=r"\A[^\n]*\Z") as caught:
        load_rules(extending(tmp_path, **changes))
    assert str(caught.value.place).endswith(place)
    assert message in caught.value.message
