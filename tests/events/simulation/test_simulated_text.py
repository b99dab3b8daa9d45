"""Texts of simulated news: valid parses in UD v2, mentions that are phrases, countries in their time."""

import datetime
from collections.abc import Iterator

import pytest

from events import load_lexicon
from events.simulation._documents import SimulatedDocument, simulate_documents
from events.simulation._story import default_countries

# The 37 relations of UD v2, and the subtypes that English treebanks have of those used here.
UD_LABELS = """
acl advcl advmod amod appos aux case cc ccomp clf compound conj cop csubj dep det discourse dislocated expl fixed flat
goeswith iobj list mark nmod nsubj nummod obj obl orphan parataxis punct reparandum root vocative xcomp
acl:relcl aux:pass nmod:poss nsubj:pass obl:agent
"""
UPOS = "ADJ ADP ADV AUX CCONJ DET INTJ NOUN NUM PART PRON PROPN PUNCT SCONJ SYM VERB X"


@pytest.fixture(scope="module")
def simulated() -> list[SimulatedDocument]:
    return list(simulate_documents(100, seed=11, event_share=0.5))


def sentences(documents: list[SimulatedDocument]) -> Iterator[tuple[list[str], list[str], list[int]]]:
    """Words, labels and heads (from the sentence's start, -1 for none) of each sentence."""
    for each in documents:
        tokens = each.document.tokens
        for start, end in tokens.sentences().values():
            heads = [head - start if head >= 0 else -1 for head in tokens.head[start:end].tolist()]
            yield list(tokens.text[start:end]), list(tokens.dep[start:end]), heads


def test_labels_and_parts_of_speech_are_universal_dependencies(simulated: list[SimulatedDocument]) -> None:
    tokens = [each.document.tokens for each in simulated]
    assert {label for each in tokens if each for label in each.dep} <= set(UD_LABELS.split())
    assert {upos for each in tokens if each for upos in each.upos} <= set(UPOS.split())


def test_each_sentence_is_one_tree(simulated: list[SimulatedDocument]) -> None:
    for words, labels, heads in sentences(simulated):
        assert [h == -1 for h in heads] == [label == "root" for label in labels], words
        assert heads.count(-1) == 1, words
        assert all(-1 <= head < len(words) for head in heads), words
        for token in range(len(words)):
            steps = 0
            while token >= 0:
                token, steps = heads[token], steps + 1
                assert steps <= len(words), words


def test_a_mention_is_a_phrase_below_its_head(simulated: list[SimulatedDocument]) -> None:
    for each in simulated:
        tokens = each.document.tokens
        for start, end, head in each.document.mentions.tolist():
            above = [t for t in range(start, end) if not start <= tokens.head[t] < end]
            assert above == [head], tokens.text[start:end]
            assert tokens.upos[head] in ("NOUN", "PROPN", "PRON"), tokens.text[start:end]


def test_countries_are_named_only_while_they_exist() -> None:
    start, end = datetime.date(1991, 12, 1), datetime.date(1992, 1, 20)
    for each in simulate_documents(200, start=start, end=end, event_share=0.5, median_mentions=20.0):
        tokens, date = each.document.tokens, each.document.date
        removed, new = {"Soviet", "Soviets", "U.S.S.R."}, {"Russia", "Russian", "Russians"}
        assert not set(tokens.text) & (removed if date > datetime.date(1991, 12, 25) else new)


def test_the_shipped_lexicon_knows_the_words_of_each_country() -> None:
    lexicon = load_lexicon()
    for country in default_countries():
        date = country.since or datetime.date(1990, 1, 1)
        for words in filter(None, (country.name, country.adjective, country.people, country.abbreviation)):
            tokens = words.split()
            heads = [len(tokens) - 1] * (len(tokens) - 1) + [-1]
            assert set(lexicon.match(tokens, heads, date).codes.values()) == {country.code}, words
