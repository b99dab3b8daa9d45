"""Mentions from a parse: which phrases, how far they reach, alike in every scheme."""

from __future__ import annotations

import numpy as np
import pytest
import ranking_references as reference

import corefsample as cs
from corefsample import ParameterError
from corefsample.documents import Tokens
from corefsample.mentions import mentions_from_parse

pytestmark = pytest.mark.kernels


def phrases(tokens: Tokens, scheme: str | None = None) -> list[str]:
    return [" ".join(tokens.text[start:end]) for start, end, _ in mentions_from_parse(tokens, scheme=scheme)]


FOUND = [
    "The president of France",
    "France",
    "American troops",
    "Iraq",
    "She",
    "a doctor",
    "Barack Obama",
    "Mary",
    "his book",
    "his",
    "The city",
    "rebels",
    "criminals",
    "it",
    "a man in the king garden",
    "the king garden",
    "king",
    "They",
    "Mary",
]


@pytest.mark.parametrize("scheme", reference.PARSES)
def test_the_mentions_of_a_text_are_alike_in_every_scheme(scheme: str) -> None:
    assert phrases(reference.parsed(reference.PARSES[scheme])) == FOUND


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # UD v2; possessors keep their 's, and the phrase that they stand in is one too.
        (
            "John John PROPN 3 nmod:poss\n's 's PART 1 case\ndog dog NOUN 4 nsubj\nbarked bark VERB 0 root",
            ["John 's dog", "John 's"],
        ),
        # A name within a compound is a mention; a word of a name is none.
        (
            "U.S. U.S. PROPN 2 compound\ntroops troops NOUN 3 nsubj\nleft leave VERB 0 root\n"
            "New New PROPN 5 compound\nYork York PROPN 3 obj",
            ["U.S. troops", "U.S.", "New York"],
        ),
        # A noun within a compound is one if it heads a phrase elsewhere.
        (
            "Copyright copyright NOUN 2 compound\nlaw law NOUN 3 nsubj\nprotects protect VERB 0 root\n"
            "copyright copyright NOUN 3 obj\nin in ADP 7 case\ncourt court NOUN 7 compound\ncases case NOUN 3 obl",
            ["Copyright law", "Copyright", "copyright", "court cases"],
        ),
        # Appositions are mentions of their own; punctuation at the ends is none.
        (
            "Peter Peter PROPN 7 nsubj\n, , PUNCT 4 punct\nthe the DET 4 det\nking king NOUN 1 appos\n, , PUNCT 4 punct\n"
            "never never ADV 7 advmod\nslept sleep VERB 0 root",
            ["Peter", "the king"],
        ),
        # Relative clauses belong to the phrase; the relative pronoun is no mention.
        (
            "things thing NOUN 0 root\nthat that PRON 4 obj\nwe we PRON 4 nsubj\nsaw see VERB 1 acl:relcl",
            ["things that we saw", "we"],
        ),
        # A demonstrative pronoun is one, wherever it stands.
        ("We we PRON 2 nsubj\nsaw see VERB 0 root\nthat that PRON 2 obj", ["We", "that"]),
        # A determiner or an adjective in a noun's place.
        (
            "Those those DET 4 nsubj\nof of ADP 3 case\nus we PRON 1 nmod\nhelped help VERB 0 root\n"
            "the the DET 6 det\npoor poor ADJ 4 obj",
            ["Those of us", "us", "the poor"],
        ),
        # Of "it rains" and "there is" nothing.
        ("It it PRON 2 expl\nrains rain VERB 0 root", []),
        # A predicate is a phrase without its subject and the adverbs of the clause.
        (
            "He he PRON 5 nsubj\nis be AUX 5 cop\nprobably probably ADV 5 advmod\na a DET 5 det\nfool fool NOUN 0 root\n"
            "now now ADV 5 advmod",
            ["He", "a fool"],
        ),
    ],
)
def test_what_a_phrase_is_made_of(text: str, expected: list[str]) -> None:
    assert phrases(reference.parsed(text)) == expected


def test_mentions_are_sorted_distinct_and_hold_their_heads() -> None:
    for scheme in reference.PARSES:
        tokens = reference.parsed(reference.PARSES[scheme])
        mentions = mentions_from_parse(tokens)
        starts, ends, heads = mentions.T
        assert ((starts <= heads) & (heads < ends)).all()
        assert list(zip(starts, -ends, strict=True)) == sorted(set(zip(starts, -ends, strict=True)))
        dist = cs.AntecedentDistribution.from_lists([[]] * len(mentions), [[]] * len(mentions))
        cs.ScoredDocument("a", mentions, dist, tokens=tokens)  # keeps the rules of a document


def test_a_phrase_ends_with_its_sentence() -> None:
    tokens = Tokens(
        ["dogs", "bark"], ["dog", "bark"], ["NOUN", "NOUN"], ["root", "nmod"], np.array([-1, 0]), np.array([0, 1])
    )
    assert phrases(tokens) == ["dogs", "bark"]


def test_no_tokens_have_no_mentions() -> None:
    tokens = Tokens([], [], [], [], np.zeros(0, int), np.zeros(0, int))
    assert mentions_from_parse(tokens).shape == (0, 3)


def test_a_text_without_a_parse_is_refused() -> None:
    with pytest.raises(ParameterError, match="tokens must be parsed to find mentions in them"):
        mentions_from_parse(reference.parsed("a a NOUN 0 _"))
    with pytest.raises(ParameterError, match="must be of one scheme"):
        mentions_from_parse(reference.parsed("a a NOUN 0 HED"))
