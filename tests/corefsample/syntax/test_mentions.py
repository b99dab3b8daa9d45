"""Mentions from a parse: which phrases, how far they reach, alike in every scheme."""

from __future__ import annotations

from pathlib import Path

import neutral_sentences
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from references import mention_ranking as reference
from references import mentions as mention_references
from strategies import parses as strategies

from corefsample import ParameterError
from corefsample.documents._tokens import Tokens
from corefsample.syntax._mentions import mentions_from_parse

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


@pytest.mark.parametrize("scheme", ["ud2", "clearnlp"])
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # Possessors keep their 's, and the phrase that they stand in is one too.
        (
            "John John PROPN 3 nmod:poss | 3 poss\n's 's PART 1 case | 1 case\n"
            "dog dog NOUN 4 nsubj | 4 nsubj\nbarked bark VERB 0 root | 0 ROOT",
            ["John 's dog", "John 's"],
        ),
        # A name within a compound is a mention; a word of a name is none.
        (
            "U.S. U.S. PROPN 2 compound | 2 nmod\ntroops troops NOUN 3 nsubj | 3 nsubj\n"
            "left leave VERB 0 root | 0 ROOT\nNew New PROPN 5 compound | 5 compound\nYork York PROPN 3 obj | 3 dobj",
            ["U.S. troops", "U.S.", "New York"],
        ),
        # A noun within a compound is one if it heads a phrase elsewhere.
        (
            "Copyright copyright NOUN 2 compound | 2 compound\nlaw law NOUN 3 nsubj | 3 nsubj\n"
            "protects protect VERB 0 root | 0 ROOT\ncopyright copyright NOUN 3 obj | 3 dobj\n"
            "in in ADP 7 case | 3 prep\ncourt court NOUN 7 compound | 7 compound\ncases case NOUN 3 obl | 5 pobj",
            ["Copyright law", "Copyright", "copyright", "court cases"],
        ),
        # Appositions are mentions of their own; punctuation at the ends is none.
        (
            "Peter Peter PROPN 7 nsubj | 7 nsubj\n, , PUNCT 4 punct | 1 punct\nthe the DET 4 det | 4 det\n"
            "king king NOUN 1 appos | 1 appos\n, , PUNCT 4 punct | 1 punct\nnever never ADV 7 advmod | 7 neg\n"
            "slept sleep VERB 0 root | 0 ROOT",
            ["Peter", "the king"],
        ),
        # Relative clauses belong to the phrase; the relative pronoun is no mention.
        (
            "things thing NOUN 0 root | 0 ROOT\nthat that PRON 4 obj | 4 dobj\nwe we PRON 4 nsubj | 4 nsubj\n"
            "saw see VERB 1 acl:relcl | 1 relcl",
            ["things that we saw", "we"],
        ),
        # A demonstrative pronoun is one, wherever it stands.
        (
            "We we PRON 2 nsubj | 2 nsubj\nsaw see VERB 0 root | 0 ROOT\nthat that PRON 2 obj | 2 dobj",
            ["We", "that"],
        ),
        # A determiner or an adjective in a noun's place.
        (
            "Those those DET 4 nsubj | 4 nsubj\nof of ADP 3 case | 1 prep\nus we PRON 1 nmod | 2 pobj\n"
            "helped help VERB 0 root | 0 ROOT\nthe the DET 6 det | 6 det\npoor poor ADJ 4 obj | 4 dobj",
            ["Those of us", "us", "the poor"],
        ),
        # Of "it rains" nothing, and of "there is light" the light.
        ("It it PRON 2 expl | 2 expl\nrains rain VERB 0 root | 0 ROOT", []),
        (
            "There there PRON 2 expl | 2 expl\nis be VERB 0 root | 0 ROOT\nlight light NOUN 2 nsubj | 2 attr",
            ["light"],
        ),
        # A predicate is a phrase without its subject and the adverbs of the clause.
        (
            "He he PRON 5 nsubj | 2 nsubj\nis be AUX 5 cop | 0 ROOT\nprobably probably ADV 5 advmod | 2 advmod\n"
            "a a DET 5 det | 5 det\nfool fool NOUN 0 root | 2 attr\nnow now ADV 5 advmod | 2 advmod",
            ["He", "a fool"],
        ),
    ],
)
def test_what_a_phrase_is_made_of(text: str, expected: list[str], scheme: str) -> None:
    assert phrases(reference.parsed(neutral_sentences.notations(text)[scheme]), scheme) == expected


def test_the_object_of_a_preposition_that_is_none_hangs_where_the_parse_hangs_it() -> None:
    text = "saw see VERB 0 ROOT\nthe the DET 3 det\ndogs dog NOUN 1 pobj\nbark bark NOUN 3 pobj"
    assert phrases(reference.parsed(text), "clearnlp") == ["the dogs bark", "bark"]


def test_a_phrase_that_leaves_its_sentence_does_not_count() -> None:
    # "big" hangs on "dogs" of the next sentence by way of "old", which stands there too.
    tokens = Tokens(
        ["big", "old", "dogs"], ["big", "old", "dog"], ["ADJ", "ADJ", "NOUN"], ["amod", "amod", "root"],
        np.array([1, 2, -1]), np.array([0, 1, 1]),
    )  # fmt: skip
    assert phrases(tokens) == []


def test_a_phrase_ends_with_its_sentence() -> None:
    tokens = Tokens(
        ["dogs", "bark"], ["dog", "bark"], ["NOUN", "NOUN"], ["root", "nmod"], np.array([-1, 0]), np.array([0, 1])
    )
    assert phrases(tokens, "ud2") == ["dogs", "bark"]


def test_a_text_without_a_parse_is_rejected() -> None:
    with pytest.raises(ParameterError, match="tokens must be parsed to find mentions in them"):
        mentions_from_parse(reference.parsed("a a NOUN 0 _"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # Adjectives, numbers and a quantifier before the head; a number alone; a symbol.
        (
            "all all DET 4 det:predet\nthe the DET 4 det\nthree three NUM 4 nummod\nmen man NOUN 5 nsubj\n"
            "paid pay VERB 0 root\n$ $ SYM 5 obj\n5 5 NUM 6 nummod",
            ["all the three men", "$ 5"],
        ),
        ("Two two NUM 2 nsubj\nleft leave VERB 0 root", ["Two"]),
        # Conjuncts are mentions each by itself, with what is theirs.
        (
            "old old ADJ 2 amod\ncats cat NOUN 0 root\n, , PUNCT 4 punct\ndogs dog NOUN 2 conj\n"
            "and and CCONJ 7 cc\nthe the DET 7 det\nbirds bird NOUN 2 conj",
            ["old cats", "dogs", "the birds"],
        ),
        # What follows a noun: a phrase, a participle, an oblique of what is no clause; nested ones too.
        (
            "talks talk NOUN 0 root\nheld hold VERB 1 acl\nin in ADP 4 case\nParis Paris PROPN 2 obl\n"
            "with with ADP 6 case\nfriends friend NOUN 1 nmod",
            ["talks held in Paris with friends", "Paris", "friends"],
        ),
        # Punctuation within stays; a closing bracket or quotation mark at the end does too, others go.
        (
            '" " PUNCT 2 punct\ncats cat NOUN 0 root\n( ( PUNCT 4 punct\nblack black ADJ 2 amod\n) ) PUNCT 4 punct',
            ["cats ( black )"],
        ),
        ("cats cat NOUN 0 root\nof of ADP 3 case\nus we PRON 1 nmod\n, , PUNCT 3 punct", ["cats of us", "us"]),
        # A particle that does not follow at once is no possessor's.
        ("John John PROPN 0 root\n, , PUNCT 1 punct\n's 's PART 1 case", ["John"]),
        # A month before its day is no mention.
        ("May May PROPN 2 compound\n5 5 NUM 0 root", ["May 5"]),
        # A modifier that reaches past the head is no part of the phrase.
        (
            "bigger big ADJ 2 amod\ndogs dog NOUN 0 root\nthan than ADP 4 case\ncats cat NOUN 1 obl",
            ["dogs", "cats"],
        ),
        # Pronouns that ask are none; a name is one wherever it stands, a vocative too.
        ("Who who PRON 2 nsubj\ncame come VERB 0 root\n, , PUNCT 4 punct\nPeter Peter PROPN 2 vocative", ["Peter"]),
        # A determiner that determines, an adjective that is a predicate, an adverb and a verb are none.
        (
            "The the DET 2 det\nsea sea NOUN 4 nsubj\nis be AUX 4 cop\nblue blue ADJ 0 root\nthere there ADV 4 advmod",
            ["The sea"],
        ),
    ],
)
def test_what_else_a_phrase_is_made_of(text: str, expected: list[str]) -> None:
    assert phrases(reference.parsed(text), "ud2") == expected


# --- any parse ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("nominal", [False, True])
@pytest.mark.parametrize("scheme", strategies.LABELS)
@settings(max_examples=80)
@given(data=st.data())
def test_mentions_of_any_parse_are_those_of_a_slow_version(scheme: str, nominal: bool, data: st.DataObject) -> None:
    tokens = data.draw(strategies.parses(scheme, min_tokens=0, nominal=nominal))
    found = mentions_from_parse(tokens, scheme=scheme)
    assert found.tolist() == mention_references.mentions(tokens, scheme)
    starts, ends, heads = found.T
    assert ((starts <= heads) & (heads < ends)).all()
    spans = list(zip(starts, -ends, strict=True))
    assert spans == sorted(set(spans))  # in order, and none twice
    assert (tokens.sent[starts] == tokens.sent[ends - 1]).all()


def test_a_sentence_of_any_length_is_read_in_good_time() -> None:
    # Each noun hangs on the one before: every phrase reaches to the end.
    n = 20_000
    head = np.arange(-1, n - 1)
    tokens = Tokens(["x"] * n, ["x"] * n, ["NOUN"] * n, ["nmod"] * n, head, np.zeros(n, int))
    found = mentions_from_parse(tokens, scheme="ud2")
    np.testing.assert_array_equal(found, np.stack((np.arange(n), np.full(n, n), np.arange(n)), axis=1))


# --- the real corpus ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("split", ["dev", "test"])
def test_most_annotated_mentions_are_found_in_real_parses(gum_path: Path, split: str) -> None:
    from corefsample.formats.annotated._corefud import read_corefud

    n_gold = n_found = n_both = 0
    for document in read_corefud(gum_path.parent / f"en_gum-ud-{split}.conllu.gz"):
        gold = {(start, end) for start, end, _ in document.mentions.tolist()}
        found = {(start, end) for start, end, _ in mentions_from_parse(document.tokens).tolist()}
        n_gold, n_found, n_both = n_gold + len(gold), n_found + len(found), n_both + len(gold & found)
    print(f"{split}: recall {n_both / n_gold:.3f}, precision {n_both / n_found:.3f}")
    assert n_both / n_gold > 0.8
    assert n_both / n_found > 0.8
