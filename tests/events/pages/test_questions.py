"""What a label of an audit answers: the question and the codebook of a run's rules."""

import dataclasses
from pathlib import Path

import pytest

from events.audit import AuditFrame
from events.evidence._rule_set import RuleSet
from events.pages._questions import rule_question


def frame(event: str, *targets: str) -> AuditFrame:
    made = AuditFrame.from_arrays(["a"], ["2000-01-01"], [0.5], event=event)
    return dataclasses.replace(made, targets=targets or (event,))


def asked(
    targets: str, rules: str = "arrest", preset: str | None = None, lexicon: str | None = "police"
) -> tuple[str, tuple[str, ...]]:
    """The question about targets, separated by blanks, of rules, separated by ", "."""
    return rule_question(frame(rules, *targets.split("|")), RuleSet.named(rules.split(", "), preset, lexicon))


@pytest.mark.parametrize(
    ("targets", "options", "text"),
    [
        ("POLICE", {}, "Does the article say that police arrested someone, as a fact?"),
        ("arrest", {}, "Does the article say that someone was arrested, as a fact?"),
        (
            "-",
            {},
            "Does the article say that someone was arrested, and not that an actor of the lexicon police did it, as a "
            "fact?",
        ),
        ("POLICE|ARMY", {}, "Of which of these actors does the article say that they arrested someone, as a fact?"),
        ("IRQ>KWT", {"rules": "attack_target"}, "Does the article say that Iraq attacked Kuwait, as a fact?"),
        (
            "IRQ>KWT|USA>IRQ",
            {"rules": "attack_target", "preset": "paper"},
            "Of which of these pairs does the article say that the first attacked the second?",
        ),
        ("kill|arrest", {"rules": "kill, arrest"}, "Which of these does the article say, as a fact?"),
        ("arrest: POLICE", {"rules": "kill, arrest"}, "Does the article say that police arrested someone, as a fact?"),
    ],
)
def test_the_question_is_of_rule_preset_and_actors(targets: str, options: dict[str, str], text: str) -> None:
    assert asked(targets, **options)[0] == text


RULE = "name: strike\ntrigger: {lemma: [strike]}\npresets: {only: {described: [head], roles: {agent: [subject]}}}\n"


def test_a_rule_without_clauses_is_asked_about_by_its_name(tmp_path: Path) -> None:
    path = tmp_path / "strike.yaml"
    path.write_text(f"{RULE}description: Somebody strikes.\n")
    text, codebook = rule_question(frame("strike", "FRA"), RuleSet.named([str(path)], None))
    assert text == "Does the article say that there is the event “strike” by France?"
    assert codebook[0] == "Somebody strikes."
