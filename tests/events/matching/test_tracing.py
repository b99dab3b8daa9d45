"""Traces of triggers agree with the matching that counts events, and say what is missing."""

import dataclasses
import datetime

import numpy as np
import pytest
from places import TEST_DATA
from references import events as er

from events import load_lexicon
from events.evidence._examples import example_tokens
from events.matching._matches import DEFAULT
from events.matching._matching import match_document
from events.matching._tracing import TriggerTrace, trace_document
from events.rules._rules import load_rules, presets_of, rule_file, shipped_rules

DAY = datetime.date(2000, 1, 1)


def traced(text: str, rule: str = "attack", preset: str = "extended", lexicon: str = "police") -> list[TriggerTrace]:
    tokens = er.parsed(*text.split(" ; "))
    mentions = np.array(er.nominal_mentions(tokens.upos), np.int32).reshape(-1, 3)
    return trace_document(tokens, mentions, load_rules(rule, preset), load_lexicon(lexicon), DAY)[0]


def counts(codes: set[str], inner: frozenset[str], *, joint: bool) -> bool:
    codes = codes & inner or codes
    return len(codes) == 1 or (joint and bool(codes))


@pytest.mark.parametrize("name", shipped_rules())
def test_traces_agree_with_the_matches_of_every_shipped_example(name: str) -> None:
    lexicon = load_lexicon("police")
    n_triggers = 0
    for rule in presets_of(*rule_file(name)):
        for example in rule.examples:
            tokens = example_tokens(example)
            heads = [t for t, upos in enumerate(tokens.upos) if upos in ("NOUN", "PROPN", "PRON")]
            mentions = np.array([[t, t + 1, t] for t in heads], np.int32).reshape(-1, 3)
            matches = match_document(tokens, mentions, rule, lexicon, DAY, example.scheme)
            triggers, _ = trace_document(tokens, mentions, rule, lexicon, DAY, example.scheme)
            by_outcome: dict[str, set[int]] = {}
            for trigger in triggers:
                by_outcome.setdefault(trigger.outcome, set()).add(trigger.token)
                n_triggers += 1
            with_mentions = [
                by_outcome.get(outcome, set()) for outcome in ("counted", "no actor", "several actors", "other class")
            ]
            assert set().union(*with_mentions) == set(matches.triggers.tolist())
            assert by_outcome.get("excluded", set()) == {token for token, _ in matches.excluded}
            # A trigger is counted by itself if each role that needs an actor has one, of its classes, and a single one
            # unless the preset keeps distinct actors apart; the police of a country are the police.
            described: dict[int, set[str]] = {}
            for mention, code in zip(matches.described_mentions, matches.described_actors, strict=True):
                described.setdefault(int(mention), set()).add(matches.actors[code])
            counted = {
                token
                for token, instance in zip(matches.triggers.tolist(), matches.instances.tolist(), strict=True)
                if all(
                    role in rule.optional
                    or mention == DEFAULT
                    or counts(
                        described.get(mention, set()) & set(codes), lexicon.inner_codes, joint=rule.distinct_actors
                    )
                    for role, mention, codes in zip(rule.event, instance, matches.codes_of_roles, strict=True)
                )
            }
            assert by_outcome.get("counted", set()) == counted
    assert n_triggers >= 5


OUTCOMES = (TEST_DATA / "trigger_outcomes.txt").read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("case", [line for line in OUTCOMES if not line.startswith("#")])
def test_the_outcome_of_a_trigger_is_what_its_event_lacks(case: str) -> None:
    outcome, conditions, text = case.split(" | ")
    (trigger,) = traced(text, preset="asserted")
    assert (trigger.outcome, " ".join(trigger.conditions)) == (outcome, conditions)


def test_an_actor_of_another_class_is_not_missing_but_other() -> None:
    rule = load_rules("attack")
    police = load_lexicon("police")
    limited = dataclasses.replace(rule, classes={"agent": frozenset({"police"})})
    tokens = er.parsed("Iraqis/PROPN>2:nsubj attacked=attack/VERB>0:root")
    (trigger,) = trace_document(tokens, np.array([[0, 1, 0]], np.int32), limited, police, DAY)[0]
    (role,) = trigger.roles
    assert (trigger.outcome, role.actors, role.in_class) == ("other class", ("IRQ",), False)


def test_actors_of_the_sentence_come_with_the_path_that_leads_to_them() -> None:
    text = (
        "Ten/NUM>3:nsubj:pass were=be/AUX>3:aux:pass attacked=attack/VERB>0:root in/ADP>6:case police/NOUN>6:compound "
        "firing/NOUN>3:obl ; Iraq/PROPN>2:nsubj slept=sleep/VERB>0:root"
    )
    (trigger,) = traced(text)
    (actor,) = trigger.actors
    assert (actor.actor, actor.words, actor.describes_a_mention) == ("POLICE", "police", True)
    assert actor.path_from_trigger in (">obl[case=in]>compound", ">obl[case=in]")
    (role,) = trigger.roles
    assert (role.path, role.outcome) == (None, "no path")
    assert role.near_miss == "[passive]>obl[case=by]: 'firing' is not >obl[case=by]"
