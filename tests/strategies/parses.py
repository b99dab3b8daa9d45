"""What hypothesis draws for the antecedent model: parsed documents, random trees over them, mentions, entities."""

import zlib
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

from corefsample.documents._tokens import Tokens
from corefsample.syntax._schemes import SCHEMES, fitting_schemes

Draw = Callable[[st.SearchStrategy[Any]], Any]
Span = tuple[int, int, int]

# Words that features look at in different ways: form, lemma, part of speech.
WORDS = [
    tuple(entry.split())
    for entry in """
he he PRON|him he PRON|she she PRON|it it PRON|they they PRON|I I PRON|my my PRON|we we PRON|you you PRON
his his PRON|herself herself PRON|this this PRON|who who PRON|there there PRON|those those DET|some some DET
the the DET|a a DET|that that DET|every every DET|two two NUM|7 7 NUM|1999 1999 NUM
dog dog NOUN|dogs dog NOUN|teacher teacher NOUN|king king NOUN|kingdom kingdom NOUN|Union Union PROPN
Mary Mary PROPN|Peter Peter PROPN|Obama Obama PROPN|Mr. Mr. PROPN|European European PROPN|EU EU PROPN|E.U. E.U. PROPN
big big ADJ|European european ADJ|poor poor ADJ|attacked attack VERB|attackers attacker NOUN|is be AUX|was be VERB
and and CCONJ|or or CCONJ|quickly quickly ADV
oh oh INTJ|'s 's PART|of of ADP|in in ADP|, , PUNCT|? ? PUNCT|" " PUNCT|$ $ SYM|etc etc X
""".strip()
    .replace("\n", "|")
    .split("|")
] + [("", "", "NOUN"), ("\u00ad", "", "FOO")]
LABELS = {
    "ud2": "nsubj nsubj:pass obj iobj obl obl:tmod nmod nmod:poss det amod nummod compound flat conj cc punct case "
    "appos acl acl:relcl cop expl advmod root parataxis xcomp list vocative",
    "ud1": "nsubj nsubjpass dobj iobj nmod nmod:tmod nmod:poss det amod nummod compound name conj cc punct case "
    "appos acl acl:relcl cop expl advmod root parataxis xcomp neg csubjpass",
    "clearnlp": "nsubj nsubjpass dobj dative prep pobj pcomp poss det amod nummod compound nmod conj cc punct case "
    "appos acl relcl attr acomp expl advmod npadvmod agent ROOT oprd",
}


class Text(NamedTuple):
    """A parsed document with mentions."""

    tokens: Tokens
    spans: list[Span]


def trees(n_tokens: int, *, one: bool = False) -> st.SearchStrategy[list[int]]:
    """Heads of any forest, or of one tree, projective or not: in a random order of tokens, heads come first."""
    places = st.tuples(*(st.integers(0 if one and place else -1, place - 1) for place in range(n_tokens)))

    def heads(drawn: tuple[list[int], tuple[int, ...]]) -> list[int]:
        order, before = drawn
        found = [-1] * n_tokens
        for place, token in enumerate(order):
            found[token] = order[before[place]] if before[place] >= 0 else -1
        return found

    return st.tuples(st.permutations(range(n_tokens)), places).map(heads)


def chains(n_tokens: int) -> st.SearchStrategy[list[int]]:
    """Heads of forests whose tokens hang on near neighbours, as most do."""
    steps = st.lists(st.integers(1, 3), min_size=n_tokens, max_size=n_tokens)
    return steps.map(lambda drawn: [t - step if t >= step else -1 for t, step in enumerate(drawn)])


# What phrases are made of, in all three schemes.
NOMINAL_WORDS = [
    word for word in WORDS if word[0] in ("dog", "Mary", "and", "or", "the", "big", "two", ",", "'s", "it", "attacked")
]
NOMINAL_LABELS = ["det", "amod", "nummod", "compound", "nmod", "case", "nsubj", "appos", "punct", "conj", "acl"]


@st.composite
def parses(draw: Draw, scheme: str = "ud2", min_tokens: int = 1, max_tokens: int = 12, nominal: bool = False) -> Tokens:
    """Words, labels and heads at random, in sentences whose numbers may leave some out."""
    n = draw(st.integers(min_tokens, max_tokens))
    of_scheme = (
        [*NOMINAL_LABELS, "poss" if scheme == "clearnlp" else "nmod:poss"] if nominal else LABELS[scheme].split()
    )

    def column(values: Sequence[Any]) -> list[Any]:
        drawn: list[Any] = draw(st.lists(st.sampled_from(values), min_size=n, max_size=n))
        return drawn

    words, steps = column(NOMINAL_WORDS if nominal else WORDS), column([0, 0, 0, 1, 2])
    text, lemma, upos = zip(*words, strict=True) if words else ((), (), ())
    labels = column(of_scheme)
    if n and not nominal and len(fitting_schemes(labels)) > 1:
        labels[0] = {"ud2": "obl", "ud1": "dobj", "clearnlp": "pobj"}[scheme]  # a label of this scheme alone
    heads = draw(st.one_of(trees(n), chains(n)))
    sent = np.cumsum([0, *steps[1:]]) if n else np.zeros(0, int)
    return Tokens(text, lemma, upos, labels, np.array(heads, np.int32), sent)


# Labels, lemmas and parts of speech that paths of the scheme ud2 name.
UD2_PATHS = sorted({path for paths in SCHEMES["ud2"].paths.values() for path in paths} | {"[feats!=Tense:Past]>nsubj"})
PATH_LABELS = ["nsubj", "nsubj:pass", "obl", "obl:agent", "nmod", "nmod:poss", "conj"]
PATH_LABELS += ["case", "xcomp", "acl:relcl", "advcl"]
PATH_WORDS = [("by", "by", "ADP"), ("that", "that", "PRON"), ("force", "force", "NOUN"), ("attacked", "attack", "VERB")]


@st.composite
def path_parses(draw: Draw) -> Tokens:
    """A random tree in which paths lead somewhere, of at most eight tokens."""
    n = draw(st.integers(1, 8))
    heads = draw(trees(n, one=True))
    labels = [draw(st.sampled_from(PATH_LABELS)) if head >= 0 else "root" for head in heads]
    columns = zip(*draw(st.lists(st.sampled_from(PATH_WORDS), min_size=n, max_size=n)), strict=True)
    return Tokens(*columns, labels, np.array(heads, np.int32), np.zeros(n, np.int32))


def in_order(spans: Sequence[Span]) -> list[Span]:
    """Spans by start, then longest first."""
    return sorted(spans, key=lambda span: (span[0], -span[1]))


def mention_spans(n_tokens: int, max_mentions: int) -> st.SearchStrategy[list[Span]]:
    """Any spans with a head inside, in order; equal ones too."""

    def span(drawn: tuple[int, int, int]) -> Span:
        start, head, end = sorted(drawn)
        return start, end + 1, head

    token = st.integers(0, n_tokens - 1)
    return st.lists(st.tuples(token, token, token).map(span), min_size=min(2, max_mentions), max_size=max_mentions).map(
        in_order
    )


@st.composite
def texts(draw: Draw, max_tokens: int = 12, max_mentions: int = 7) -> Text:
    """A parsed document with mentions of any kind."""
    tokens = draw(parses(max_tokens=max_tokens))
    return Text(tokens, draw(mention_spans(len(tokens), max_mentions)))


@st.composite
def entities(draw: Draw, n_mentions: int) -> list[int]:
    """Entity of each mention, -1 where it is not annotated."""
    drawn: list[int] = draw(st.lists(st.integers(-1, 2), min_size=n_mentions, max_size=n_mentions))
    return drawn


def long_text(seed: int, n_tokens: int = 120, n_mentions: int = 45) -> Text:
    """A text of a style of its own: few words, sentences of about one length, mentions most of one word.

    Its numbers come from checksums, so that they are the same with any version of NumPy.
    """

    def number(below: int, *names: object) -> int:
        return zlib.crc32(repr((seed, *names)).encode()) % below

    words = [WORDS[number(len(WORDS), "word", place)] for place in range(4 + number(10, "words"))]
    places = [
        min(number(len(words), "place", t, k) for k in range(2)) for t in range(n_tokens)
    ]  # the first are frequent
    text, lemma, upos = zip(*(words[place] for place in places), strict=True)
    length = 6 + number(20, "length")
    sent = np.cumsum([t > 0 and number(length, "sentence", t) == 0 for t in range(n_tokens)])
    steps = [1 + number(3, "step", t) for t in range(n_tokens)]
    heads = np.array([t - step if step <= t else -1 for t, step in enumerate(steps)])
    labels = LABELS["ud2"].split()
    dep = [labels[number(len(labels), "label", t)] for t in range(n_tokens)]
    spans = []
    for mention in range(n_mentions):
        start, several = number(n_tokens, "start", mention), number(10, "several", mention) < 3
        end = min(start + 1 + number(3, "end", mention) * several, n_tokens)
        spans.append((start, end, start + number(end - start, "head", mention)))
    return Text(Tokens(text, lemma, upos, dep, heads, sent), in_order(spans))
