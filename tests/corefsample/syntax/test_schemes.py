"""A sentence has the same mentions, atoms and probabilities in every notation that it is parsed in."""

from __future__ import annotations

import neutral_sentences
import numpy as np
import pytest
from references import mention_ranking as reference

from corefsample.documents._tokens import Tokens
from corefsample.mention_ranking import AntecedentModel
from corefsample.mention_ranking.features import _pair_kernels as pairs
from corefsample.mention_ranking.features._codes import PairAtom
from corefsample.mention_ranking.features._encoding import encode, word_hash
from corefsample.mention_ranking.features._templates import DEFAULT_TEMPLATES
from corefsample.syntax._codes import Role
from corefsample.syntax._mentions import mentions_from_parse
from corefsample.syntax._roles import NeutralParse

pytestmark = pytest.mark.kernels

SENTENCES = {name: neutral_sentences.notations(text) for name, text in neutral_sentences.SENTENCES.items()}
OTHERS = ("ud1", "clearnlp")
VOCABULARY = np.unique(np.array([word_hash(word) for word in ("the", "dog", "of", "mary", "say", "met")], np.uint32))


def model() -> AntecedentModel:
    weights = np.random.default_rng(0).normal(0.0, 0.3, 1 << 12).astype(np.float32)
    return AntecedentModel(weights, VOCABULARY, DEFAULT_TEMPLATES)


def content(parse: NeutralParse, tokens: Tokens) -> list[tuple[int, ...]]:
    """What the parse says of words that are no function words."""
    columns = (parse.head, parse.link, parse.role, parse.governor, parse.marker)
    rows = list(zip(*(column.tolist() for column in columns), strict=True))
    closed = {"ADP", "CCONJ", "SCONJ", "PUNCT", "PART", "AUX"}
    return [row for row, link, upos in zip(rows, parse.link, tokens.upos, strict=True)
            if link != Role.FUNCTION and upos not in closed]  # fmt: skip


def pair_rows(tokens: Tokens, spans: np.ndarray) -> list[list[int]]:
    doc, rows = encode(tokens, spans, VOCABULARY), []
    for i in range(len(spans)):
        between, pair = np.zeros(3, np.int32), np.zeros(len(PairAtom), np.uint32)
        for k in range(i - 1, -1, -1):
            pairs.fill_pair(doc, i, k, between, pair)
            rows.append(pair.tolist())
    return rows


@pytest.mark.parametrize("scheme", OTHERS)
@pytest.mark.parametrize("name", SENTENCES)
def test_a_sentence_has_one_neutral_parse(name: str, scheme: str) -> None:
    one, other = (reference.parsed(SENTENCES[name][each]) for each in ("ud2", scheme))
    assert content(NeutralParse.of(one, "ud2"), one) == content(NeutralParse.of(other, scheme), other)


@pytest.mark.parametrize("scheme", OTHERS)
@pytest.mark.parametrize("name", SENTENCES)
def test_a_sentence_has_the_same_mentions_atoms_and_probabilities(name: str, scheme: str) -> None:
    one, other = (reference.parsed(SENTENCES[name][each]) for each in ("ud2", scheme))
    spans = mentions_from_parse(one, scheme="ud2")
    assert len(spans) >= 1
    np.testing.assert_array_equal(mentions_from_parse(other, scheme=scheme), spans)
    np.testing.assert_array_equal(
        encode(other, spans, VOCABULARY, scheme=scheme).atoms, encode(one, spans, VOCABULARY, scheme="ud2").atoms
    )
    scored = [model().score(tokens, spans, scheme=of) for tokens, of in ((one, "ud2"), (other, scheme))]
    np.testing.assert_array_equal(scored[0].scores, scored[1].scores)


@pytest.mark.parametrize("scheme", OTHERS)
def test_a_text_has_the_same_atoms_flat_names_included(scheme: str) -> None:
    one, other = (reference.parsed(reference.PARSES[each]) for each in ("ud2", scheme))
    spans, others = mentions_from_parse(one), mentions_from_parse(other)
    np.testing.assert_array_equal(spans[:, :2], others[:, :2])
    if scheme == "clearnlp":
        assert (spans[:, 2] != others[:, 2]).any()  # a flat name hangs on its first word there, on its last here
    np.testing.assert_array_equal(encode(one, spans, VOCABULARY).atoms, encode(other, others, VOCABULARY).atoms)
    assert pair_rows(one, spans) == pair_rows(other, others)


def test_sentences_count_by_those_that_have_words() -> None:
    tokens = reference.parsed(reference.PARSES["ud2"])
    sparse = Tokens(tokens.text, tokens.lemma, tokens.upos, tokens.dep, tokens.head, tokens.sent * 300_000_000)
    spans = mentions_from_parse(tokens)
    np.testing.assert_array_equal(model().score(tokens, spans).scores, model().score(sparse, spans).scores)
