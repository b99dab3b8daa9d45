"""Conditions on triggers: the hand-written sentences in three schemes, and conditions of the user's."""

import datetime
import itertools
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from asserted_sentences import Sentence, sentences
from references import events as er

from corefsample.languages._language import load_language
from corefsample.syntax._paths import ParseView, path_labels
from corefsample.syntax._schemes import SCHEMES
from events import load_lexicon, load_rules
from events.matching._matches import MentionMatches
from events.matching._matching import match_document
from events.rules._conditions import conditions_with, shipped_conditions, shipped_file
from events.rules._rules import shipped_rules

DAY = datetime.date(2000, 1, 1)
SENTENCES = sentences()
EXCLUDING = (
    *("accused", "general", "negated", "modal", "future"),
    *("imperative", "conditional", "desired", "denied", "question"),
)
ASSERTION = {*EXCLUDING, "reported"}  # the others say what form or sense a trigger has


def matched(sentence: Sentence, scheme: str, preset: str) -> MentionMatches:
    tokens = er.parsed(sentence.parses[scheme])
    mentions = np.array(er.nominal_mentions(tokens.upos), np.int32)
    return match_document(tokens, mentions, load_rules(sentence.rule, preset), load_lexicon(), DAY, scheme)


def conditions(sentence: Sentence, scheme: str, matches: MentionMatches) -> set[str]:
    """Names of the shipped conditions that hold of any trigger."""
    view = ParseView(er.parsed(sentence.parses[scheme]), SCHEMES[scheme])
    shipped = [each for each in shipped_conditions().values() if each.name in ASSERTION]
    return {each.name for token in matches.triggers.tolist() for each in shipped if each.holds(view, token, scheme)}


def test_there_are_sentences_for_every_condition_and_rule() -> None:
    assert len(SENTENCES) >= 80
    assert {sentence.expected for sentence in SENTENCES} == {"counted", *ASSERTION}
    assert {sentence.rule for sentence in SENTENCES} >= {"arrest", "attack", "force", "kill", "meet", "protest"}


@pytest.mark.parametrize("sentence", SENTENCES, ids=[sentence.text for sentence in SENTENCES])
def test_only_what_the_text_asserts_is_counted(sentence: Sentence) -> None:
    for scheme in SCHEMES:
        extended, asserted = matched(sentence, scheme, "extended"), matched(sentence, scheme, "asserted")
        assert extended.possible, scheme
        found = conditions(sentence, scheme, extended)
        if sentence.expected == "counted":
            assert found == set(), scheme
        else:
            assert sentence.expected in found, scheme
        assert asserted.possible is (sentence.expected in ("counted", "reported")), scheme
        if not asserted.possible:
            excluded = {name for _, conditions in asserted.excluded for name in conditions}
            assert excluded == found & set(EXCLUDING), scheme


@pytest.mark.parametrize("name", shipped_rules())
def test_asserted_is_extended_without_the_excluding_conditions(name: str) -> None:
    extended, asserted = load_rules(name, "extended"), load_rules(name, "asserted")
    assert {*asserted.unless} >= {*extended.unless, *EXCLUDING}
    assert not {*extended.unless} & {*EXCLUDING}
    assert load_rules(name, "paper").unless == ()
    assert (asserted.frames, asserted.described) == (extended.frames, extended.described)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_paths_of_shipped_conditions_are_in_the_notation_and_of_their_scheme(scheme: str) -> None:
    for condition in shipped_conditions().values():
        assert condition.paths[scheme], condition.name
        for path in condition.paths[scheme]:
            labels = (label.rstrip("*") for label in path_labels(path))
            assert all(SCHEMES[scheme].reads(label) == label for label in labels), path


def test_the_words_of_shipped_conditions_are_in_lists_of_the_language() -> None:
    for name, schemes in shipped_file().conditions.items():
        for path in itertools.chain.from_iterable(schemes.values()):
            values = re.findall(r"(?!upos|feats)\b[a-z:]+=([^\s,\]]+)", path)
            assert all(re.fullmatch(r"(\{\w+\}\|?)+|\?", value) for value in values), (name, path)


def test_a_list_that_a_language_lacks_is_left_out_beside_others_and_otherwise_with_its_path() -> None:
    paths = ["[cc={nor}]", "<xcomp[lemma={preventing}|{excluding}]", "<xcomp[lemma={excluding}|{preventing}]"]
    spanish = conditions_with({}, {"own": {"ud2": paths}}, "es")["own"].paths["ud2"]
    stopping = "|".join(load_language("es").words["preventing"])
    assert spanish == (f"<xcomp[lemma={stopping}]",) * 2
    assert conditions_with({}, {"own": {"ud2": paths}}, "ko")["own"].paths["ud2"] == ()
    assert len(conditions_with({}, {"own": {"ud2": paths}})["own"].paths["ud2"]) == 3


# --- a user's own ------------------------------------------------------------------------------------------

OWN: dict[str, Any] = {
    "name": "arrest",
    "frames": [{"name": "verb", "trigger": {"lemma": ["arrest"]}}],
    "event": [],
    "presets": {"paper": {"unless": ["negated"]}},
}


def written(folder: Path, **changes: Any) -> Path:
    path = folder / "own.yaml"
    path.write_text(yaml.safe_dump(OWN | changes), "utf-8")
    return path


def holds(path: Path, text: str) -> bool:
    tokens = er.parsed(text)
    matches = match_document(tokens, np.zeros((0, 3), np.int32), load_rules(path), load_lexicon(), DAY, "ud2")
    return not matches.possible


SCARCELY = "police/NOUN>3:nsubj scarcely/ADV>3:advmod arrested=arrest/VERB>0:root"
NOT = "police/NOUN>4:nsubj did=do/AUX>4:aux not/PART>4:advmod arrest/VERB>0:root"


def test_a_users_word_list_replaces_the_shipped_one(tmp_path: Path) -> None:
    assert (holds(written(tmp_path), SCARCELY), holds(written(tmp_path), NOT)) == (False, True)
    own = written(tmp_path, words={"negation": ["scarcely"]})
    assert (holds(own, SCARCELY), holds(own, NOT)) == (True, False)


def test_a_users_condition_replaces_the_shipped_one_or_is_new(tmp_path: Path) -> None:
    paths = {"ud2": [">advmod[lemma={rarely}]"]}
    own = written(tmp_path, conditions={"negated": paths}, words={"rarely": ["scarcely"]})
    assert (holds(own, SCARCELY), holds(own, NOT)) == (True, False)
    new = {"conditions": {"rare": paths}, "words": {"rarely": ["scarcely"]}}
    own = written(tmp_path, presets={"paper": {"unless": ["rare", "negated"]}}, **new)
    assert (holds(own, SCARCELY), holds(own, NOT)) == (True, True)
