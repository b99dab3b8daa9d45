"""Simulated news: numbers of documents and mentions, truth drawn from the scores, errors."""

import dataclasses
import datetime
import itertools
from collections.abc import Iterator, Sequence
from functools import cache

import numpy as np
import pytest
from expected_errors import error
from references.coreference import connected_components
from tolerance import plausible_counts, plausible_means

from corefsample import ParameterError, ScoredDocument
from corefsample._arrays import Ints32
from events import TrueEvents, load_lexicon, load_rules
from events.matching._matches import MentionMatches
from events.matching._matching import match_document
from events.simulation._documents import NEW, SimulatedDocument, _drawn_apart, simulate_documents
from events.simulation._story import SimulatedCountry, default_countries

SHARE = 0.3
DAY = datetime.date(1995, 5, 5)
COUNTRIES = [
    SimulatedCountry("AAA", "Aland"),
    SimulatedCountry("BBB", "Borduria"),
    SimulatedCountry("CCC", "Costaguana", until=datetime.date(1990, 1, 1)),
]


@pytest.fixture(scope="module")
def simulated() -> list[SimulatedDocument]:
    return list(simulate_documents(300, seed=11, event_share=SHARE))


def same(first: SimulatedDocument, second: SimulatedDocument) -> bool:
    a, b = first.document, second.document
    return (
        (a.doc_id, a.date, a.gold) == (b.doc_id, b.date, b.gold)
        and (list(a.tokens.text), list(a.tokens.dep)) == (list(b.tokens.text), list(b.tokens.dep))
        and np.array_equal(a.mentions, b.mentions)
        and np.array_equal(a.antecedents.antecedents, b.antecedents.antecedents)
        and np.array_equal(a.antecedents.scores, b.antecedents.scores)
        and np.array_equal(first.true_antecedents, second.true_antecedents)
    )


def components(antecedents: Sequence[int]) -> tuple[int, ...]:
    return tuple(connected_components([i if link == NEW else link for i, link in enumerate(antecedents)]))


rules = cache(load_rules)
lexicon = cache(load_lexicon)


def matched(document: ScoredDocument, preset: str = "paper") -> MentionMatches:
    return match_document(document.tokens, document.mentions, rules("attack", preset), lexicon(), document.date)


# --- streams -----------------------------------------------------------------------------------------------


def test_the_first_documents_of_more_are_the_documents_of_fewer(simulated: list[SimulatedDocument]) -> None:
    fewer = simulate_documents(5, seed=11, event_share=SHARE)
    assert all(same(a, b) for a, b in zip(fewer, simulated[:5], strict=True))


# --- numbers -----------------------------------------------------------------------------------------------


def test_numbers_of_mentions_have_the_median_and_the_tail(simulated: list[SimulatedDocument]) -> None:
    logarithms = np.log([each.document.n_mentions for each in simulated])
    # An article ends within a sentence of its number, so 5 mentions are allowed in addition to the error of a sample's
    # median, sqrt(pi / 2) * 0.6 / sqrt(n) for a normal distribution of standard deviation 0.6.
    error = np.sqrt(np.pi / 2) * 0.6 / np.sqrt(len(simulated))
    low, high = np.log(125.0), np.log(135.0)
    assert plausible_means(np.median(logarithms), np.clip(np.median(logarithms), low, high), error)
    assert 500 < np.exp(logarithms.max()) < 720


def test_the_share_of_possible_events_is_the_event_share(simulated: list[SimulatedDocument]) -> None:
    n_possible = sum(matched(each.document).possible for each in simulated)
    assert plausible_counts(n_possible, len(simulated), SHARE).all()


def test_countries_attack_in_their_episodes() -> None:
    july = (datetime.date(1995, 7, 1), datetime.date(1995, 7, 31), 5.0)
    countries = [
        SimulatedCountry("IRQ", "Iraq", "Iraqi", "Iraqis", rate=0.0, episodes=(july,)),
        SimulatedCountry("USA", "the United States", "American", "Americans", "the U.S.", rate=0.0),
        SimulatedCountry("FRA", "France", "French", rate=0.0),
    ]
    for each in simulate_documents(30, event_share=1.0, countries=countries, median_mentions=20.0):
        assert (each.document.date.year, each.document.date.month) == (1995, 7)
        assert {"Iraq", "Iraqi", "Iraqis"} & set(each.document.tokens.text)


# --- truth -------------------------------------------------------------------------------------------------


def test_true_antecedents_are_candidates_that_end_before_their_mention_and_make_gold(
    simulated: list[SimulatedDocument],
) -> None:
    for each in simulated:
        distribution, mentions, true = each.document.antecedents, each.document.mentions, each.true_antecedents.tolist()
        rows = np.repeat(np.arange(distribution.n_mentions), np.diff(distribution.indptr))
        assert (mentions[distribution.antecedents, 1] <= mentions[rows, 0]).all()
        assert all(link == NEW or link in distribution.row(mention)[0] for mention, link in enumerate(true))
        assert each.document.gold == list(components(true))


def link_outcomes(documents: list[SimulatedDocument]) -> tuple[np.ndarray, np.ndarray]:
    """Stated probability of each candidate of each mention, NEW included, and whether it is true."""
    stated, true = [], []
    for each in documents:
        distribution = each.document.antecedents
        rows = np.repeat(np.arange(distribution.n_mentions), np.diff(distribution.indptr))
        stated += [distribution.probs, distribution.new_probs]
        true += [each.true_antecedents[rows] == distribution.antecedents, each.true_antecedents == -1]
    return np.concatenate(stated), np.concatenate(true)


def test_truth_follows_the_stated_probabilities(simulated: list[SimulatedDocument]) -> None:
    stated, true = link_outcomes(simulated)
    # Within a mention the outcomes exclude each other, which makes the error of a sum smaller than this, never larger.
    edges = [0.0, 0.001, 0.01, 0.1, 0.3, 0.7, 0.9, 1.0]
    bins = np.digitize(stated, edges[1:-1])
    observed, expected = np.bincount(bins, true), np.bincount(bins, stated)
    assert plausible_means(observed, expected, np.sqrt(np.bincount(bins, stated * (1 - stated)))).all()
    assert (np.bincount(bins) > 1000).all()


def test_temperature_multiplies_the_scores_and_nothing_else() -> None:
    plain, hot = (next(simulate_documents(1, temperature=t)).document for t in (1.0, 4.0))
    assert list(plain.tokens.text) == list(hot.tokens.text)
    np.testing.assert_array_equal(plain.antecedents.antecedents, hot.antecedents.antecedents)
    np.testing.assert_allclose(hot.antecedents.scores, 4.0 * plain.antecedents.scores, atol=4 * 0.0005 + 0.0005)


# --- errors ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameter", "values"),
    [
        ("n_documents", {"n_documents": -1}),
        ("seed", {"seed": -1}),
        ("end", {"start": DAY, "end": DAY - datetime.timedelta(1)}),
        ("temperature", {"temperature": float("nan")}),
        ("event_share", {"event_share": 1.5}),
        ("median_mentions", {"median_mentions": 5.0}),
        ("countries", {"countries": COUNTRIES[:2]}),
        ("countries", {"countries": COUNTRIES}),  # the third exists on the first day alone
    ],
)
def test_parameters_outside_their_range_raise_at_once(parameter: str, values: dict[str, object]) -> None:
    with error(ParameterError, parameter):
        simulate_documents(**{"n_documents": 1, **values})  # type: ignore[arg-type]


# --- truth given that mentions are apart ---------------------------------------------------------------------


@pytest.fixture(scope="module")
def kept_apart() -> list[tuple[SimulatedDocument, SimulatedDocument, Ints32]]:
    """Documents without and with distinct actors kept apart, and the pairs."""
    truth = TrueEvents(rules("attack", "extended"))
    free = simulate_documents(150, seed=11, event_share=0.5)
    given = simulate_documents(150, seed=11, event_share=0.5, apart=truth.apart)
    return [(a, b, truth.apart(a.document)) for a, b in zip(free, given, strict=True)]


def test_distinct_actors_are_never_one(kept_apart: list[tuple[SimulatedDocument, SimulatedDocument, Ints32]]) -> None:
    n_changed = 0
    for free, given, pairs in kept_apart:
        gold = np.array(given.document.gold)
        assert (gold[pairs[:, 0]] != gold[pairs[:, 1]]).all()
        assert tuple(gold.tolist()) == components(given.true_antecedents.tolist())
        merged = np.array(free.document.gold)
        n_changed += bool((merged[pairs[:, 0]] == merged[pairs[:, 1]]).any())
        # Text and scores are the same; and without pairs, the truth too.
        same_truth = SimulatedDocument(
            dataclasses.replace(given.document, gold=free.document.gold), free.true_antecedents
        )
        assert same(free, same_truth)
        assert len(pairs) or same(free, given)
    assert n_changed > 5  # so the truth from the scores alone would not pass


def test_true_antecedents_have_the_conditioned_distribution() -> None:
    """Against enumeration of the antecedents of four mentions, of which 0 and 1, and 2 and 3, are apart."""
    lists, scores = [[], [0], [0, 1], [1, 2]], [[], [0.4], [1.0, 0.2], [-0.3, 0.8]]
    expected: dict[tuple[int, ...], float] = {}
    weights = [
        {NEW: 1.0} | dict(zip(row, np.exp(own).tolist(), strict=True)) for row, own in zip(lists, scores, strict=True)
    ]
    for links in itertools.product(*weights):
        labels = components(links)
        if labels[0] != labels[1] and labels[2] != labels[3]:
            expected[links] = float(np.prod([row[link] for row, link in zip(weights, links, strict=True)]))
    flat = [each for row in scores for each in row]
    candidates = np.array([0, 0, 1, 3, 5]), np.array([0, 0, 1, 1, 2], np.int32), np.array(flat)
    rng, found = np.random.default_rng(3), dict.fromkeys(expected, 0)
    for _ in range(1500):
        drawn = _drawn_apart(*candidates, [(0, 1), (3, 2)], rng)
        found[tuple(drawn.tolist())] += 1  # another is a KeyError
    shares = np.array([*expected.values()]) / sum(expected.values())
    assert plausible_counts([*found.values()], 1500, shares.tolist()).all()


# --- texts of simulated news ------------------------------------------------------------------------------


# The 37 relations of UD v2, and the subtypes that English treebanks have of those used here.
UD_LABELS = """
acl advcl advmod amod appos aux case cc ccomp clf compound conj cop csubj dep det discourse dislocated expl fixed flat
goeswith iobj list mark nmod nsubj nummod obj obl orphan parataxis punct reparandum root vocative xcomp
acl:relcl aux:pass nmod:poss nsubj:pass obl:agent
"""
UPOS = "ADJ ADP ADV AUX CCONJ DET INTJ NOUN NUM PART PRON PROPN PUNCT SCONJ SYM VERB X"


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
