"""Clashes of number, gender and person: what the features say, and what the English model makes of it."""

from __future__ import annotations

import dataclasses

import neutral_sentences
import numpy as np
import pytest
from references import mention_ranking as reference

from corefsample.documents._tokens import Tokens
from corefsample.mention_ranking import AntecedentModel, english_model
from corefsample.mention_ranking.features import _codes as codes
from corefsample.mention_ranking.features import _pair_kernels as pairs
from corefsample.mention_ranking.features._encoding import encode
from corefsample.mention_ranking.features._templates import DEFAULT_TEMPLATES
from corefsample.syntax._mentions import mentions_from_parse

SCHEMES = ("ud2", "ud1", "clearnlp")
PLURAL, THING, CONJOINED, GROUP = (
    *("a singular noun before a plural one", "a plural noun and a thing"),
    *("conjoined names", "a group"),
)
AGREES, DIFFERS = 1, 2  # numbers
SAME, ALIKE, CLASH = 1, 2, 3  # genders


def text_of(name: str, pronoun: str, scheme: str) -> Tokens:
    """A sentence by its name, followed by one whose subject is the pronoun."""
    lemma = {"Her": "her"}.get(pronoun, pronoun.lower())
    after = f"{pronoun} {lemma} PRON 2 nsubj | 2 nsubj\nsmiled smile VERB 0 root | 0 ROOT\n. . PUNCT 2 punct | 2 punct"
    texts = neutral_sentences.SENTENCES[name], after
    return reference.parsed("\n\n".join(neutral_sentences.notations(text)[scheme] for text in texts))


def mention_texts(tokens: Tokens, spans: np.ndarray) -> list[str]:
    return [" ".join(tokens.text[start:end]) for start, end, _ in spans.tolist()]


def spans_of(tokens: Tokens) -> np.ndarray:
    """Mentions found in the parse, and conjoined ones as a whole, which the parse's mentions leave out."""
    found = mentions_from_parse(tokens).tolist()
    places = [t for t, word in enumerate(tokens.text) if word == "and"]
    found += [[t - 1, t + 2, t - 1] for t in places]
    return np.array(sorted(found, key=lambda span: (span[0], -span[1])), np.int32)


def pronoun_features(tokens: Tokens) -> tuple[dict[str, int], dict[str, tuple[int, int, int]]]:
    """Sorts of the mentions by text, and the agreement of the last one with each: number, gender, person."""
    spans = spans_of(tokens)
    doc, names = encode(tokens, spans, np.zeros(0, np.uint32)), mention_texts(tokens, spans)
    pair, between = np.zeros(len(codes.PairAtom), np.uint32), np.zeros(3, np.int32)
    agreements = {}
    last = len(spans) - 1
    for k in range(last):
        pairs.fill_pair(doc, last, k, between, pair)
        rest, number = divmod(int(pair[codes.PairAtom.AGREE]) - 1, 3)
        person, gender = divmod(rest, 4)
        agreements[names[k]] = number, gender, person
    return dict(zip(names, doc.atoms[:, codes.Atom.SORT].tolist(), strict=True)), agreements


def antecedents(tokens: Tokens) -> dict[str, float]:
    """P(a = k) of the last mention by the English model, by the candidate's words."""
    spans = spans_of(tokens)
    dist, names = english_model().score(tokens, spans, min_prob=0.0), mention_texts(tokens, spans)
    candidates, probs = dist.row(len(spans) - 1)
    return {names[k]: float(p) for k, p in zip(candidates.tolist(), probs.tolist(), strict=True)}


# --- what the features say ---------------------------------------------------------------------------------


@pytest.mark.kernels
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("pronoun", ["He", "She"])
def test_a_plural_noun_clashes_in_number_with_he_and_she(pronoun: str, scheme: str) -> None:
    sorts, agreements = pronoun_features(text_of(PLURAL, pronoun, scheme))
    assert sorts == {
        "The doctor": codes.SORT_SINGULAR,
        "the reporters": codes.SORT_PLURAL,
        pronoun: codes.SORT_HE_OR_SHE,
    }
    assert agreements == {"The doctor": (AGREES, ALIKE, AGREES), "the reporters": (DIFFERS, ALIKE, AGREES)}


@pytest.mark.kernels
@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_thing_clashes_in_gender_with_he_and_a_person_with_it(scheme: str) -> None:
    _, of_he = pronoun_features(text_of(THING, "He", scheme))
    sorts, of_it = pronoun_features(text_of(THING, "It", scheme))
    assert (of_he["the bridge"], of_it["the bridge"]) == ((AGREES, CLASH, AGREES), (AGREES, SAME, AGREES))
    assert of_it["The soldiers"] == (DIFFERS, CLASH, AGREES)
    assert sorts["It"] == codes.SORT_IT


@pytest.mark.kernels
@pytest.mark.parametrize("scheme", SCHEMES)
def test_conjoined_names_are_plural_and_each_is_singular(scheme: str) -> None:
    sorts, agreements = pronoun_features(text_of(CONJOINED, "She", scheme))
    assert (sorts["Mary and Peter"], sorts["Mary"], sorts["Peter"]) == (
        *(codes.SORT_NAMES, codes.SORT_NAME),
        codes.SORT_NAME,
    )
    assert [agreements[name][0] for name in ("Mary and Peter", "Mary", "Peter")] == [DIFFERS, AGREES, AGREES]
    assert [agreements[name][1] for name in ("Mary", "Peter")] == [SAME, CLASH]


@pytest.mark.kernels
@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_group_can_be_it_or_they_and_not_he(scheme: str) -> None:
    found = {pronoun: pronoun_features(text_of(GROUP, pronoun, scheme))[1] for pronoun in ("It", "They", "He", "I")}
    assert found["It"]["The team"] == (0, ALIKE, AGREES)
    assert found["They"]["The team"] == (0, 0, AGREES)
    assert found["He"]["The team"] == (0, CLASH, AGREES)
    assert found["I"]["The team"][2] == DIFFERS


def noun_phrase(*words: str) -> Tokens:
    """A phrase of words with their parts of speech, heads and labels, in UD version 2."""
    return reference.parsed("\n".join(f"{w.split('/')[0]} {' '.join(w.split('/'))}" for w in words))


POET = "poet/NOUN/0/root"


@pytest.mark.kernels
@pytest.mark.parametrize(
    ("words", "number", "quantity"),
    [
        # One person may be both: "she, a poet and painter".
        (("a/DET/2/det", POET, "and/CCONJ/4/cc", "painter/NOUN/2/conj"), 0, 0),
        (("the/DET/2/det", POET, "and/CCONJ/5/cc", "the/DET/5/det", "painter/NOUN/2/conj"), 2, codes.SEVERAL),
        (("a/DET/2/det", POET, "and/CCONJ/5/cc", "his/PRON/5/nmod:poss", "wife/NOUN/2/conj"), 2, codes.SEVERAL),
        # The determiner belongs to a word that is no conjunct.
        (("a/DET/2/det", POET, "of/ADP/5/case", "the/DET/5/det", "city/NOUN/2/nmod", "and/CCONJ/7/cc",
          "painter/NOUN/2/conj"), 0, 0),
        (("poets/NOUN/0/root", "and/CCONJ/3/cc", "painters/NOUN/1/conj"), 2, codes.SEVERAL),
        (("Mary/PROPN/0/root", "and/CCONJ/3/cc", "Peter/PROPN/1/conj"), 2, codes.SEVERAL),
        (("Mary/PROPN/0/root",), 1, codes.ONE_PERSON),
        (("the/DET/2/det", "king/NOUN/0/root"), 1, codes.ONE_PERSON),
        (("the/DET/2/det", POET), 1, 0),  # by the lists a person of either gender
        (("the/DET/2/det", "table/NOUN/0/root"), 1, 0),
        (("she/PRON/0/root",), 1, codes.ONE_PERSON),
        (("it/PRON/0/root",), 1, 0),
        (("they/PRON/0/root",), 2, 0),  # perhaps one person
        (("she/PRON/0/root", "and/CCONJ/3/cc", "Peter/PROPN/1/conj"), 2, 0),
    ],
)  # fmt: skip
def test_a_phrase_is_one_person_or_several_where_that_is_sure(
    words: tuple[str, ...], number: int, quantity: int
) -> None:
    tokens = noun_phrase(*words)
    lemmas = [word.removesuffix("s") if word in ("poets", "painters") else word for word in tokens.text]
    tokens = dataclasses.replace(tokens, lemma=lemmas)
    head = tokens.dep.index("root")
    doc = encode(tokens, [[0, len(tokens), head]], np.zeros(0, np.uint32), scheme="ud2")
    assert (doc.atoms[0, codes.Atom.NUMBER], doc.facts[0, codes.Fact.QUANTITY]) == (number, quantity)


@pytest.mark.kernels
def test_one_person_and_several_have_a_score_reduced_by_the_penalty() -> None:
    # Weights of 0: without the penalty, all candidates and NEW were equally probable.
    tokens = text_of(PLURAL, "He", "ud2")
    flat = AntecedentModel(np.zeros(256), np.zeros(0, np.uint32), DEFAULT_TEMPLATES)
    spans = spans_of(tokens)
    dist = flat.score(tokens, spans, min_prob=0.0)
    scores = dist.scores[dist.indptr[2] : dist.indptr[3]]
    assert dict(zip(mention_texts(tokens, spans), scores.tolist(), strict=False)) == {
        "The doctor": 0.0,
        "the reporters": -codes.CLASH_PENALTY,
    }


# --- what the English model makes of it --------------------------------------------------------------------


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("pronoun", ["He", "She"])
def test_he_and_she_do_not_take_plural_nouns(pronoun: str, scheme: str) -> None:
    found = antecedents(text_of(PLURAL, pronoun, scheme))
    assert found["the reporters"] < 0.001
    assert found["The doctor"] > 0.5
    # The only persons in the text: the model without features for clashes gave 0.91 and 0.75.
    assert antecedents(text_of(THING, pronoun, scheme))["The soldiers"] < 0.05


@pytest.mark.parametrize("scheme", SCHEMES)
def test_they_takes_the_plural_noun_and_not_the_singular_one(scheme: str) -> None:
    found = antecedents(text_of(PLURAL, "They", scheme))
    assert found["the reporters"] > 0.5 > found["The doctor"]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_she_takes_the_name_that_fits_and_not_the_conjoined_ones(scheme: str) -> None:
    found = antecedents(text_of(CONJOINED, "She", scheme))
    assert found["Mary"] > 0.5
    assert max(found["Mary and Peter"], found["Peter"]) < 0.02
