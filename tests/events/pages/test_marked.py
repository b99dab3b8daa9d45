"""Texts in pieces: triggers, names, and the words between them."""

from __future__ import annotations

import pytest
from references import events as er

from corefsample.documents._tokens import Tokens
from events.lexicon._lexicon import load_lexicon
from events.pages._marked_texts import NAME, PLAIN, TRIGGER, Marker, spaced
from events.rules._rules import load_rules


def tokens(*sentences: str) -> Tokens:
    return Tokens(**er.token_columns(sentences))


@pytest.fixture(scope="module")
def marker() -> Marker:
    return Marker([load_rules("attack")], load_lexicon())


FIRST = "South/PROPN>2:compound Korean/ADJ>3:amod troops/NOUN>4:nsubj attacked=attack/VERB>0:root ./PUNCT>4:punct"
SECOND = "The/DET>2:det attack/NOUN>3:nsubj failed=fail/VERB>0:root"


def test_a_name_of_several_words_is_one_piece_and_a_noun_is_no_trigger(marker: Marker) -> None:
    marked = marker.marked(tokens(FIRST, SECOND))
    assert marked.pieces == (
        (NAME, "South Korean"),
        (PLAIN, " troops "),
        (TRIGGER, "attacked"),
        (PLAIN, ".\nThe attack failed"),
    )


def test_the_text_has_the_blanks_of_its_tokens_and_a_line_for_each_sentence(marker: Marker) -> None:
    parsed = tokens(FIRST, SECOND)
    text = marker.marked(parsed).text
    assert text == Marker().marked(parsed).text
    assert "".join(text.split()) == "".join(parsed.text)
    assert text.replace("\n", " ") == "".join(spaced(parsed))


def test_without_rule_and_lexicon_nothing_is_marked() -> None:
    assert {kind for kind, _ in Marker().marked(tokens(FIRST)).pieces} == {PLAIN}
