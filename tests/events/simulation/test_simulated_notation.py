"""The notation of templates: the meaning of each mark, and checks of the shipped templates."""

from __future__ import annotations

import numpy as np
import pytest

from corefsample.documents._tokens import Tokens
from events.lexicon._lexicon import load_lexicon
from events.matching import match_document
from events.rules._rules import load_rules
from events.simulation._notation import Phrase, joined, parsed
from events.simulation._text import news_texts

TEXTS = news_texts()
ATTACKS = (TEXTS.attacks + TEXTS.other_attacks).splitlines()
SENTENCES = ATTACKS + [sentence for topic in TEXTS.topics.values() for sentence in topic.sentences.splitlines()]
NOUN_PHRASES = sorted({phrase for kind in TEXTS.kinds.values() for phrase in (*kind.first, *kind.later)})


@pytest.mark.parametrize("sentence", SENTENCES)
def test_each_template_sentence_is_a_tree_under_a_verb(sentence: str) -> None:
    items = parsed(sentence).items
    heads = [item.head for item in items]
    assert heads.count(-1) == 1
    assert items[heads.index(-1)].upos == "VERB"
    assert (items[-1].text, items[-1].dep) == (".", "punct")
    for place in range(len(items)):
        path = [place]
        while path[-1] >= 0:
            path.append(heads[path[-1]])
            assert len(set(path)) == len(path)


@pytest.mark.parametrize("notation", NOUN_PHRASES)
def test_each_noun_phrase_has_its_noun_or_a_country_above(notation: str) -> None:
    template = parsed(notation.replace("@", "men=man"))
    (root,) = [item for item in template.items if item.head == -1]
    assert root.slot in ("name", "people", "abbr") or root.upos in ("NOUN", "PROPN")


# Slots that are agents under the two presets of the rule "attack", in the order of the templates.
AGENTS = [
    *(("A", "A") for _ in range(10)),
    ("C", "C"),
    ("A", "AR"),
    ("R", "R"),
    ("R", "R"),
    ("B", "B"),
    ("", "A"),
    ("", "A"),
    ("", "A"),
    ("R", "AR"),
    ("", ""),
]


@pytest.mark.parametrize(
    ("sentence", "paper", "extended"),
    [(sentence, *agents) for sentence, agents in zip(ATTACKS, AGENTS, strict=True)],
)
def test_agents_of_an_attack_by_preset(sentence: str, paper: str, extended: str) -> None:
    assert agents(sentence, "paper") == paper
    assert agents(sentence, "extended") == extended


def agents(sentence: str, preset: str) -> str:
    """Slots, each filled with one word, that are agents under a preset."""
    template = parsed(sentence)
    fillers = {i: word(item.slot) for i, item in enumerate(template.items) if item.slot}
    phrase = joined(template, fillers)
    tokens = Tokens(phrase.text, phrase.lemma, phrase.upos, phrase.dep, phrase.head, [0] * len(phrase.text))
    places = [place for place, text in enumerate(phrase.text) if text.isupper()]
    mentions = np.array([(place, place + 1, place) for place in places], np.int32)
    found = match_document(tokens, mentions, load_rules("attack", preset), load_lexicon(), None)
    return "".join(sorted(phrase.text[places[mention]] for mention, *_ in found.instances.tolist()))


def word(text: str) -> Phrase:
    phrase = Phrase()
    phrase.add(text, text, "PROPN", "root", -1)
    return phrase


def test_each_slot_of_a_topic_has_a_role() -> None:
    for name, topic in TEXTS.topics.items():
        roles = {each.partition(":")[0] for each in topic.roles.split()}
        lines = topic.sentences.splitlines() + ATTACKS * (name == "conflict")
        used = {item.slot for line in lines for item in parsed(line).items}
        assert used - {""} <= roles, name


def test_each_role_has_known_kinds() -> None:
    for topic in TEXTS.topics.values():
        for each in topic.roles.split():
            assert {kind.rstrip("123") for kind in each.partition(":")[2].split(",")} <= set(TEXTS.kinds)


def test_heads_of_function_words_are_to_the_right() -> None:
    items = parsed("{A}/nsubj did not ask=ask/V the old/J/amod/men men=man/N/obj to leave=leave/V/xcomp .").items
    heads = {item.text: items[item.head].text for item in items if item.head >= 0}
    assert heads == {
        "{A}": "ask",
        "did": "ask",
        "not": "ask",
        "the": "men",
        "old": "men",
        "men": "ask",
        "to": "leave",
        "leave": "ask",
        ".": "ask",
    }
    assert [item.upos for item in items if item.text == "to"] == ["PART"]
    assert [item.lemma for item in items if item.text == "did"] == ["do"]


def test_to_before_a_noun_is_a_preposition() -> None:
    items = parsed("{A}/nsubj went=go/V to {P}/obl .").items
    assert [(item.upos, item.dep, item.head) for item in items if item.text == "to"] == [("ADP", "case", 3)]


def test_the_head_of_a_bracketed_mention_is_attached_outside() -> None:
    template = parsed("[the siege/N/nsubj of [the town/N/nmod/siege]] ended=end/V .")
    assert sorted(template.mentions) == [(0, 4, 1), (3, 4, 4)]


def test_filling_a_slot_moves_heads_and_mentions() -> None:
    filler = Phrase(root=1)
    filler.add("old", "old", "ADJ", "amod", 1)
    filler.add("men", "man", "NOUN", "root", -1)
    phrase = joined(parsed("[a town/N/nsubj] saw=see/V {A}/obj ."), {3: filler})
    assert phrase.text == ["a", "town", "saw", "old", "men", "."]
    assert phrase.head == [1, 2, -1, 4, 2, 2]
    assert phrase.dep == ["det", "nsubj", "root", "amod", "obj", "punct"]
    assert [(*mark[:3], mark[3].definiteness) for mark in phrase.marks] == [(0, 2, 1, -1)]


def test_a_becomes_an_before_a_vowel() -> None:
    assert joined(parsed("a old/J/amod/man man/N"), {}).text == ["an", "old", "man"]
