"""Mentions from a parse: which phrases, how far they reach, alike in every scheme."""

from collections.abc import Iterator

import neutral_sentences
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from places import data_lines
from references import mention_ranking as reference, mentions as mention_references
from strategies import parses as strategies

from corefsample import ParameterError, Tokens
from corefsample.languages._language import load_language
from corefsample.syntax._mentions import cannot_link_pairs, mentions_from_parse

pytestmark = pytest.mark.kernels


def phrases(tokens: Tokens, scheme: str | None = None) -> list[str]:
    return [" ".join(tokens.text[start:end]) for start, end, _ in mentions_from_parse(tokens, scheme=scheme)]


FOUND = (
    "The president of France; France; American troops; Iraq; She; a doctor; Barack Obama; Mary; his book; his; "
    "The city; rebels; criminals; it; a man in the king garden; the king garden; king; They; Mary"
)


@pytest.mark.parametrize("scheme", reference.PARSES)
def test_the_mentions_of_a_text_are_alike_in_every_scheme(scheme: str) -> None:
    assert phrases(reference.parsed(reference.PARSES[scheme])) == FOUND.split("; ")


def cases() -> Iterator[tuple[str, str, list[str]]]:
    """Scheme, parse and mentions of each sentence in tests/data/phrases.txt."""
    lines = "\n".join(data_lines("phrases.txt"))
    for section in f"\n{lines}".split("\n=")[1:]:
        first, _, rows = section.partition("\n")
        for scheme in ("ud2", "clearnlp") if "|" in rows else ("ud2",):
            parse = neutral_sentences.notations(rows)[scheme]
            sentences = parse.replace("\n-\n", "\n\n")
            yield scheme, sentences, first.strip().split("; ") if first.strip() else []


@pytest.mark.parametrize(("scheme", "parse", "expected"), list(cases()))
def test_what_a_phrase_is_made_of(scheme: str, parse: str, expected: list[str]) -> None:
    assert phrases(reference.parsed(parse), scheme) == expected


def test_a_text_without_a_parse_is_rejected() -> None:
    with pytest.raises(ParameterError, match="tokens must be parsed to find mentions in them"):
        mentions_from_parse(reference.parsed("a a NOUN 0 _"))


def test_a_language_without_words_for_two_countries_has_no_mention_of_two() -> None:
    tokens = reference.parsed("Irán Irán PROPN 2 nsubj\nve ver VERB 0 root\nIrak Irak PROPN 2 obj")
    assert len(mentions_from_parse(tokens, scheme="ud2", language=load_language("es"))) == 2


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


# --- mentions that are kept apart ----------------------------------------------------------------------------


def parsed(text: str) -> Tokens:
    """Tokens from lines of word, part of speech, number of the head (0: root), label."""
    return reference.parsed("\n".join(f"{line.split()[0]} {line}" for line in text.splitlines()))


def separated(text: str) -> set[frozenset[str]]:
    """Pairs that cannot corefer, by the words of each mention."""
    tokens = parsed(text)
    scheme = "clearnlp" if "ROOT" in text else "ud2"
    mentions = mentions_from_parse(tokens, scheme=scheme)
    found = cannot_link_pairs(tokens, mentions, scheme=scheme)
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
        (
            "Iran PROPN 4 nsubj\nand CCONJ 3 cc\nIraq PROPN 1 conj\nleft VERB 0 root\nfor ADP 6 case\nIran PROPN 4 obl",
            {("Iran and Iraq", "Iran"), ("Iran and Iraq", "Iraq"), ("Iran", "Iraq")},
        ),
        (
            "Iran PROPN 2 nsubj\nmeet VERB 0 root\nIraq PROPN 2 obj\nthey PRON 5 nsubj\nsaw VERB 2 conj\nit PRON 5 obj",
            {("Iran", "Iraq"), ("they", "it"), *(("Iran meet Iraq", other) for other in ("Iran", "Iraq", "it"))},
        ),
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
    assert separated(text) == {frozenset(pair) for pair in expected}


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("the United States", "Iraq", True),
        ("Russia", "Georgia", True),  # though both were parts of the Soviet Union
        ("Korea", "Iraq", True),  # whichever Korea it is
        ("Britain", "England", False),
        ("Yugoslavia", "Serbia", False),  # a state and its successor
        ("Korea", "South Korea", False),
        ("Anna Jordan", "Iraq", False),
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
    assert (frozenset((first, second)) in separated("\n".join(rows))) is expected
