"""What a label of an audit answers: the question and the codebook of a run's rules."""

import dataclasses
import json
from pathlib import Path

import pytest
from places import TEST_DATA

from events.audit import AuditFrame
from events.evidence._rule_set import RuleSet
from events.pages._questions import rule_question


def frame(event: str, *targets: str) -> AuditFrame:
    made = AuditFrame.from_arrays(["a"], ["2000-01-01"], [0.5], event=event)
    return dataclasses.replace(made, targets=targets or (event,))


QUESTIONS = (TEST_DATA / "questions.txt").read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("line", QUESTIONS)
def test_the_question_is_of_rule_preset_and_actors(line: str) -> None:
    """A line has targets divided by |, rules and the preset if they are not those of arrest, and the question."""
    targets, options, text = line.split(" -> ")
    chosen = {"rules": "arrest", "preset": None, **json.loads(options)}
    rules = RuleSet.named(chosen["rules"].split(", "), chosen["preset"], "police")
    assert rule_question(frame(chosen["rules"], *targets.split("|")), rules)[0] == text


RULE = "name: strike\ntrigger: {lemma: [strike]}\npresets: {only: {described: [head], roles: {agent: [subject]}}}\n"


def test_a_rule_without_clauses_is_asked_about_by_its_name(tmp_path: Path) -> None:
    path = tmp_path / "strike.yaml"
    path.write_text(f"{RULE}description: Somebody strikes.\n")
    text, codebook = rule_question(frame("strike", "FRA"), RuleSet.named([str(path)], None))
    assert text == "Does the article say that there is the event “strike” by France?"
    assert codebook[0] == "Somebody strikes."
