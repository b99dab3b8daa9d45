"""Mentions that grammar, or the names of countries, keep apart, in sentences parsed by hand in UD v2 and ClearNLP."""

from __future__ import annotations

import numpy as np
import pytest

from corefsample import Tokens
from corefsample.syntax._mentions import mentions_apart, mentions_from_parse


def parsed(text: str) -> Tokens:
    """Tokens from lines of word, part of speech, number of the head (0: root), label."""
    rows = [line.split() for line in text.strip().splitlines()]
    words = [row[0] for row in rows]
    heads = np.array([int(row[2]) - 1 for row in rows], np.int32)
    return Tokens(
        words, words, [row[1] for row in rows], [row[3] for row in rows], heads, np.zeros(len(rows), np.int32)
    )


def apart(text: str) -> set[frozenset[str]]:
    """Pairs that are apart, by the last word of each mention."""
    tokens = parsed(text)
    scheme = "clearnlp" if "ROOT" in text else "ud2"
    mentions = mentions_from_parse(tokens, scheme=scheme)
    found = mentions_apart(tokens, mentions, scheme=scheme)
    assert (np.diff(found, axis=1) < 0).all()
    names = [" ".join(tokens.text[start:end]) for start, end, _ in mentions.tolist()]
    return {frozenset((names[i], names[j])) for i, j in found.tolist()}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("She PRON 2 nsubj\nsaw VERB 0 root\nGeorgia PROPN 2 obj", {("She", "Georgia")}),
        (
            "The DET 2 det\npresident NOUN 3 nsubj\nsaw VERB 0 ROOT\nGeorgia PROPN 3 dobj",
            {("The president", "Georgia")},
        ),
        ("She PRON 2 nsubj\nsaw VERB 0 root\nherself PRON 2 obj", set()),
        ("They PRON 2 nsubj\nsaw VERB 0 root\neach DET 4 det\nother ADJ 2 obj", set()),
        ("His PRON 2 nmod:poss\nfather NOUN 3 nsubj\nslept VERB 0 root", {("His father", "His")}),
        ("He PRON 2 nsubj\nsaid VERB 0 root\nshe PRON 4 nsubj\nsaw VERB 2 ccomp\nhim PRON 4 obj", {("she", "him")}),
        (
            "troops NOUN 5 nsubj\nof ADP 4 case\nthe DET 4 det\nking NOUN 1 nmod\nslept VERB 0 root",
            {("troops of the king", "the king")},
        ),
        ("Norton PROPN 5 nsubj\n, PUNCT 4 punct\nan DET 4 det\nemperor NOUN 1 appos\nslept VERB 0 root", set()),
    ],
)
def test_pairs(text: str, expected: set[tuple[str, str]]) -> None:
    assert apart(text) == {frozenset(pair) for pair in expected}


def test_mentions_with_one_head_are_apart_and_equal_spans_are_not() -> None:
    tokens = parsed("The DET 3 det\nold ADJ 3 amod\nking NOUN 4 nsubj\nslept VERB 0 root")
    mentions = np.array([[0, 3, 2], [0, 3, 2], [1, 3, 2]], np.int32)
    assert mentions_apart(tokens, mentions, scheme="ud2").tolist() == [[2, 0], [2, 1]]
    assert mentions_apart(tokens, mentions[:0], scheme="ud2").shape == (0, 2)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("the United States", "Iraq", True),
        ("United Arab Emirates", "Iraq", True),
        ("Russia", "Georgia", True),  # though both were parts of the Soviet Union
        ("Korea", "Iraq", True),  # whichever Korea it is
        ("Britain", "England", False),
        ("Yugoslavia", "Serbia", False),  # a state and its successor
        ("Korea", "South Korea", False),
        ("Anna Jordan", "Iraq", False),
        ("native Americans", "Iraq", False),
        ("a turkey", "Iraq", False),
    ],
)
def test_names_of_different_countries_are_apart(first: str, second: str, expected: bool) -> None:
    rows = []
    for name, verb_head in ((first, 0), (second, len(first.split()) + 1)):
        *before, last = name.split()
        head = len(rows) + len(before) + 1
        rows += [f"{word} PROPN {head} compound" if word.istitle() else f"{word} ADJ {head} amod" for word in before]
        tag = "PROPN" if last.istitle() else "NOUN"
        rows += [f"{last} {tag} {head + 1} nsubj", f"won VERB {verb_head} {'ccomp' if verb_head else 'root'}"]
    assert (frozenset((first, second)) in apart("\n".join(rows))) is expected
