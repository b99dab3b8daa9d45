"""Conversion of spaCy Docs to documents and back: hand-made Docs, and those of real pipelines."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from expected_errors import error
from hypothesis import given, settings, strategies as st
from places import EN_CORE_WEB_SM, EN_GUM_UD
from spacy.tokens import Doc
from spacy.vocab import Vocab
from spacy_stubs import loaded

from corefsample import AntecedentDistribution, ParameterError, ScoredDocument, Tokens
from corefsample.spacy_bridge import documents as bridge
from corefsample.syntax._schemes import fitting_schemes

VOCAB = Vocab()


SCHEMES = {EN_GUM_UD: ("ud2",), EN_CORE_WEB_SM: ("clearnlp",)}


@pytest.fixture(scope="module", params=SCHEMES, ids=lambda path: path.name)
def nlp(request: pytest.FixtureRequest) -> Any:
    """A real spaCy pipeline; its meta names the scheme of its labels."""
    pipeline = loaded(request.param)
    pipeline.meta["scheme"] = SCHEMES[request.param]
    return pipeline


def made(words: Sequence[str], heads: Sequence[int], deps: Sequence[str], **columns: Any) -> Any:
    given_columns = {"pos": ["X"] * len(words), "lemmas": [word.lower() for word in words], **columns}
    return Doc(VOCAB, words=list(words), heads=list(heads), deps=list(deps), **given_columns)


def attack() -> Any:
    """A parse of spaCy's English pipelines, in ClearNLP's labels; two blanks and a line break are tokens."""
    words = ["US", "troops", " ", "were", "attacked", "by", "them", ".", "\n", "They", "fled", "."]
    heads = [1, 4, 1, 4, 4, 4, 5, 4, 7, 10, 10, 10]
    deps = "compound nsubjpass dep auxpass ROOT agent pobj punct dep nsubj ROOT punct".split()  # noqa: SIM905
    return made(
        words,
        heads,
        deps,
        pos="PROPN NOUN SPACE AUX VERB ADP PRON PUNCT SPACE PRON VERB PUNCT".split(),  # noqa: SIM905
        tags="NNP NNS _SP VBD VBN IN PRP . _SP PRP VBD .".split(),  # noqa: SIM905
        lemmas=["US", "troop", " ", "be", "attack", "by", "they", ".", "\n", "they", "flee", "."],
        spaces=[True, True, False, True, True, True, False, False, False, True, False, False],
        morphs=["", "Number=Plur", *[""] * 10],
    )


# --- from spaCy --------------------------------------------------------------------------------------------


def test_a_parse_in_clearnlp_labels_is_converted_word_by_word() -> None:
    tokens = bridge.tokens_of_doc(attack())
    assert tokens == Tokens(
        ["US", "troops", "were", "attacked", "by", "them", ".", "They", "fled", "."],
        ["US", "troop", "be", "attack", "by", "they", ".", "they", "flee", "."],
        ["PROPN", "NOUN", "AUX", "VERB", "ADP", "PRON", "PUNCT", "PRON", "VERB", "PUNCT"],
        ["compound", "nsubjpass", "auxpass", "ROOT", "agent", "pobj", "punct", "nsubj", "ROOT", "punct"],
        np.array([1, 3, 3, -1, 3, 4, 3, 8, -1, 8]),
        np.array([0, 0, 0, 0, 0, 0, 0, 1, 1, 1]),
        {
            "xpos": ["NNP", "NNS", "VBD", "VBN", "IN", "PRP", ".", "PRP", "VBD", "."],
            "feats": ["_", "Number=Plur", *["_"] * 8],
            "space_after": [True, True, True, True, True, False, True, True, False, False],
        },
    )
    assert fitting_schemes(tokens.dep) == ("clearnlp",)
    assert bridge.word_offsets(attack()).tolist() == [0, 1, 3, 4, 5, 6, 7, 9, 10, 11]


@pytest.mark.parametrize(
    ("words", "heads", "labels"),
    [
        # c -> blank -> blank -> b: c is attached to b.
        (["a", "b", " ", "\n", "c"], [1, 1, 1, 2, 3], ["det", "ROOT", "dep", "dep", "obj"]),
        # a -> b -> blank <- blank <- c: the blank is the root, and b takes its place.
        (["a", "b", "\n", " ", "c"], [1, 2, 2, 2, 3], ["det", "nsubj", "ROOT", "dep", "obj"]),
    ],
)
def test_whitespace_gives_its_place_in_the_tree_to_a_word(
    words: list[str], heads: list[int], labels: list[str]
) -> None:
    tokens = bridge.tokens_of_doc(made(words, heads, labels))
    assert (tokens.head.tolist(), list(tokens.dep)) == ([1, -1, 1], ["det", "ROOT", "obj"])
    assert tokens.sent.tolist() == [0, 0, 0]


def test_sentences_without_a_word_do_not_count() -> None:
    doc = made(["\n", "a", "\n\n", "b"], [0, 1, 2, 3], ["ROOT"] * 4)
    assert [sentence.text for sentence in doc.sents] == ["\n", "a", "\n\n", "b"]
    assert bridge.tokens_of_doc(doc).sent.tolist() == [0, 1]
    assert len(bridge.tokens_of_doc(made(["\n"], [0], ["ROOT"]))) == 0
    assert len(bridge.tokens_of_doc(Doc(VOCAB))) == 0


PARSED: dict[str, Any] = {"heads": [0], "deps": ["ROOT"]}


@pytest.mark.parametrize(
    ("given", "needed"),
    [
        ({"sent_starts": [True], "pos": ["X"], "lemmas": ["a"]}, "needs a parser"),
        (PARSED | {"lemmas": ["a"]}, "needs a morphologizer, or a tagger with an attribute_ruler"),
        (PARSED | {"pos": ["X"]}, "needs a lemmatizer"),
        (PARSED | {"deps": [""], "pos": ["X"], "lemmas": ["a"]}, ""),
        (None, ""),
    ],
)
def test_a_doc_without_its_annotation_is_rejected(given: dict[str, Any] | None, needed: str) -> None:
    doc: Any = "a text" if given is None else Doc(VOCAB, words=["a"], **given)
    with error(ParameterError, "doc") as caught:
        bridge.tokens_of_doc(doc)
    assert needed in str(caught.value)


def test_merged_words_are_rejected_and_words_of_a_corpus_are_not() -> None:
    doc = attack()
    with doc.retokenize() as retokenizer:
        retokenizer.merge(doc[0:2])
    with error(ParameterError, "doc") as caught:
        bridge.tokens_of_doc(doc)
    assert "merge_entities" in str(caught.value.hint)
    assert bridge.tokens_of_doc(doc, blanks=True).text[0] == "US troops"


# --- mentions ----------------------------------------------------------------------------------------------


def test_spans_become_mentions_without_the_whitespace_at_their_ends() -> None:
    doc = attack()
    spans = [doc[0:3], doc[0:2], doc[5:9], doc[6:7], doc[8:10]]
    rows = bridge.mentions_of_spans(doc, spans)
    # "US troops", twice; "by them ." hangs on "attacked" by "by" and ".", of which "by" is first; "them"; "They"
    assert rows.tolist() == [[0, 2, 1], [0, 2, 1], [4, 7, 4], [5, 6, 5], [7, 8, 7]]
    assert bridge.mentions_of_spans(doc, []).shape == (0, 3)


def test_the_head_of_a_mention_is_the_word_highest_in_the_tree() -> None:
    # b and c leave the span of a, b, c; c hangs on the root e itself, b one link lower
    doc = made(["a", "b", "c", "d", "e"], [1, 3, 4, 4, 4], ["x", "x", "x", "x", "ROOT"])
    assert bridge.mentions_of_spans(doc, [doc[0:3]]).tolist() == [[0, 3, 2]]


def test_a_mention_without_a_word_is_rejected() -> None:
    doc = attack()
    with pytest.raises(ParameterError, match=r"^mentions\[1\]"):
        bridge.mentions_of_spans(doc, [doc[0:2], doc[2:3]])


def test_a_document_of_a_doc_makes_a_doc_with_its_mentions() -> None:
    doc = attack()
    mentions = bridge.mentions_of_spans(doc, [doc[0:2], doc[6:7], doc[9:10]])
    assert mentions.tolist() == [[0, 2, 1], [5, 6, 5], [7, 8, 7]]
    antecedents = AntecedentDistribution.from_lists([[], [0], [0, 1]], [[], [-1.0], [0.5, 2.0]])
    again = bridge.doc_of_scored_document(
        ScoredDocument("a", mentions, antecedents, tokens=bridge.tokens_of_doc(doc)), VOCAB
    )
    assert [span.text for span in again.spans["mentions"]] == ["US troops", "them", "They"]
    assert again.text == "US troops were attacked by them. They fled."


# --- and back ----------------------------------------------------------------------------------------------

LABELS = ("nsubj", "nsubjpass", "nsubj:pass", "obj", "pobj", "prep", "punct")
TAGS = ("NOUN", "VERB", "PRON", "PUNCT", "X")


@st.composite
def trees(draw: st.DrawFn) -> Tokens:
    """Words with one projective tree per sentence: each joins the tree of a neighbour, so that no links cross."""
    sizes = draw(st.lists(st.integers(1, 6), max_size=4))
    heads: list[int] = []
    sent: list[int] = []
    for number, size in enumerate(sizes):
        start = len(heads)
        heads += [-1] * size
        sent += [number] * size
        left = list(range(start, start + size))
        while len(left) > 1:  # of two neighbours left, one takes the other
            i = draw(st.integers(0, len(left) - 2))
            above, below = (i, i + 1) if draw(st.booleans()) else (i + 1, i)
            heads[left[below]] = left[above]
            left.pop(below)
    n = len(heads)
    words = draw(st.lists(st.text("abcé𝔸'.", min_size=1, max_size=4), min_size=n, max_size=n))
    deps = ["root" if head < 0 else draw(st.sampled_from(LABELS)) for head in heads]
    feats = draw(st.lists(st.sampled_from(["_", "Number=Plur", "Case=Nom|Number=Sing"]), min_size=n, max_size=n))
    spaces = draw(st.lists(st.booleans(), min_size=n, max_size=n))
    tags = draw(st.lists(st.sampled_from(TAGS), min_size=n, max_size=n))
    extra = {"xpos": ["NN"] * n, "feats": feats, "space_after": spaces}
    lemmas = [word.casefold() for word in words]
    return Tokens(words, lemmas, tags, deps, np.array(heads, np.int32), np.array(sent, np.int32), extra)


@settings(max_examples=60)
@given(trees())
def test_tokens_survive_conversion_to_spacy_and_back(tokens: Tokens) -> None:
    doc = bridge.doc_of_tokens(tokens, VOCAB)
    assert bridge.tokens_of_doc(doc) == tokens
    assert bridge.word_offsets(doc).tolist() == list(range(len(tokens)))


@settings(max_examples=60)
@given(trees(), st.data())
def test_whitespace_put_between_words_changes_nothing_but_the_blanks(tokens: Tokens, data: st.DataObject) -> None:
    n = len(tokens)
    after = data.draw(st.lists(st.integers(0, n - 1), unique=True, max_size=3)) if n else []
    place, words, columns = [], [], {"lemma": [], "upos": [], "dep": []}
    for t in range(n):
        place.append(len(words))
        for name, column in columns.items():
            column.append(getattr(tokens, name)[t])
        words.append(tokens.text[t])
        if t in after:
            words.append("\n")
            for name, value in (("lemma", "\n"), ("upos", "SPACE"), ("dep", "dep")):
                columns[name].append(value)
    heads = [-1] * len(words)
    for t in range(n):
        heads[place[t]] = place[t] if tokens.head[t] < 0 else place[tokens.head[t]]
        if t in after:
            heads[place[t] + 1] = place[t]
    doc = made(words, heads, columns["dep"], lemmas=columns["lemma"], pos=columns["upos"])
    assert dataclasses.replace(bridge.tokens_of_doc(doc), extra=tokens.extra) == tokens
    assert [words[i] for i in bridge.word_offsets(doc)] == list(tokens.text)


@pytest.mark.parametrize(
    "changes", [{"text": ["", "b"]}, {"upos": ["DET", "NN"]}, {"head": [-1, -1]}, {"sent": [0, 1]}], ids=str
)
def test_what_spacy_cannot_represent_is_rejected(changes: dict[str, Any]) -> None:
    texts = {"text": ["A", "b"], "lemma": ["a", "b"], "upos": ["DET", "NOUN"], "dep": ["det", "root"]}
    columns = {**texts, "head": [1, -1], "sent": [0, 0]}
    with pytest.raises(ParameterError, match=r"^tokens"):
        bridge.doc_of_tokens(Tokens(**{**columns, **changes}), VOCAB)


# --- a real pipeline ---------------------------------------------------------------------------------------

TEXT = (
    "U.S. troops were attacked by rebels in Iraq on Tuesday, officials all_votes.\n\n"
    "The president of the country  condemned the attack. He hadn't been told of it, and she'd left.\n"
)


def test_a_real_parse_survives_conversion_to_spacy_and_back(nlp: Any) -> None:
    tokens = bridge.tokens_of_doc(nlp(TEXT))
    assert fitting_schemes(tokens.dep) == nlp.meta["scheme"]
    assert "".join(tokens.text) == "".join(TEXT.split())
    assert not any(word.isspace() for word in tokens.text)
    again = bridge.doc_of_tokens(tokens, nlp.vocab)
    assert bridge.tokens_of_doc(again) == tokens
    assert again.text.split() == TEXT.split()


def test_the_head_of_a_real_phrase_is_its_root(nlp: Any) -> None:
    doc = nlp(" ".join(TEXT.split()))
    spans = [token.doc[token.left_edge.i : token.right_edge.i + 1] for token in doc]
    offsets = bridge.word_offsets(doc)
    assert [offsets[head] for _, _, head in bridge.mentions_of_spans(doc, spans)] == [span.root.i for span in spans]
