"""Events of documents with several parses, which are several rows: against enumeration and values by hand."""

import dataclasses
import datetime
import json

import numpy as np
import tolerance
from expected_errors import error
from mention_matches import described_as, evaluate_parses, matches_of
from references import coreference as references, events as er, parses as pr

from corefsample import AntecedentDistribution, InputError, ScoredDocument, sample_clusterings
from events import EventCounter, load_lexicon, load_rules
from events.evidence._document_events import DocumentEvents
from events.evidence._evaluation import evaluate_clustering
from events.matching._matches import MentionMatches
from events.matching._matching import match_document

DAY = datetime.date(2000, 1, 1)

# Mention 1 (a pronoun, which fills the role in parse 0) refers to mention 0 (described as AAA) or to nobody; in parse 1
# mention 0 fills the role itself; in parse 2 nothing does.
SCORES = ([[], [0]], [[], [0.5]])
COUNTS = (5, 2, 3)
P_LINK = 1.0 / (1.0 + np.exp(-0.5))


def matches(instance: int) -> MentionMatches:
    return matches_of([{"AAA"}], [(instance,)])


def evaluated(
    several: list[MentionMatches | None], counts: tuple[int, ...] = COUNTS, n_samples: int = 1000
) -> DocumentEvents:
    """Events of a document with the same mentions in each parse."""
    return evaluate_parses(AntecedentDistribution.from_lists(*SCORES), several, counts, DAY, n_samples=n_samples)


def test_the_probability_is_the_mean_over_parses() -> None:
    # P = .5 P(link) + .2 * 1 + .3 * 0, by hand: the only clusterings are "together" and "apart".
    n = 20_000
    events = evaluated([matches(1), matches(0), None], n_samples=n)
    assert tolerance.plausible_counts(events.n_hits, n, [0.5 * P_LINK + 0.2]).all()
    # It fails for parses with equal shares of the samples.
    wrong = evaluated([matches(1), matches(0), None], (1, 1, 1), n)
    assert not tolerance.plausible_counts(wrong.n_hits, n, [0.5 * P_LINK + 0.2]).all()


def test_the_one_best_is_of_the_first_parse_even_if_no_sample_has_it() -> None:
    first, second = evaluated([matches(0), None], (0, 1), 50), evaluated([None, matches(0)], (0, 1), 50)
    assert (first.one_best.tolist(), first.n_hits.tolist()) == ([True], [0])
    assert (second.one_best.tolist(), second.n_hits.tolist()) == ([False], [50])


# --- documents ---------------------------------------------------------------------------------------------


def two_readings() -> list[ScoredDocument]:
    """French troops are the subject of "attacked" in 7 of 10 samples, and the object in 3."""
    sentence = "French/ADJ>2:amod troops=troop/NOUN>3:nsubj attacked=attack/VERB>0:root yesterday/ADV>3:advmod"
    return [*map(er.scored, pr.with_other_parses(er.json_document("d", "2000-01-01", [sentence], {}), (7, 3)))]


def test_evidence_has_the_number_of_parses_with_the_event() -> None:
    counter = EventCounter(n_samples=1000, triggers="rules")
    subject, direct_object = two_readings()
    parses = [(subject, (0, 4)), (direct_object, (4, 7)), (subject, (7, 10))]
    counter.update(dataclasses.replace(each, parse=k, samples=samples) for k, (each, samples) in enumerate(parses))
    (row,) = counter.evidence().to_dict("records")
    share = 1 - pr.sample_parses([4, 3, 3], 1000, 0, "d").count(1) / 1000
    assert (row["actor"], row["parses"], row["probability"]) == ("FRA", 2, share)
    assert row["one_best"]
    assert row["role_mentions"] == f"troops [1-2] {share:.3f}"
    assert row["reasons"] == f"no event in the parse {1 - share:.3f}"
    assert json.loads(row["places"])["instances"] == [[2, [0], share, 1.0]]


def test_a_predicate_needs_one_parse() -> None:
    counter = EventCounter(predicate=lambda document, labels: {"any": np.ones(len(labels), bool)})
    with error(InputError, place="doc_id 'd'"):
        counter.update(two_readings())


def test_a_document_of_several_parses_counts_once_and_needs_all_of_them() -> None:
    counter = EventCounter(n_samples=10)
    first, second = two_readings()
    with error(InputError, place="doc_id 'd'"):
        counter.update([second])
    with error(InputError, place="doc_id 'd'"):
        counter.update([second, first])
    assert counter.n_documents == 0
    counter.update([first, second])
    assert (counter.n_documents, counter.document_counts()["n_several_parses"]) == (1, 1)
    with error(InputError, place="doc_id 'd'"):
        counter.update([first, second])


def test_counts_are_those_of_enumerated_documents() -> None:
    """P of each document of a corpus with altered parses, against the mean of the exact P of its parses."""
    n, counts = 4000, (4, 3, 3)
    checked = []
    for each in er.corpus():
        parses = [*map(er.scored, pr.with_other_parses(each, counts))]
        counter = EventCounter(load_rules("attack", "paper"), n_samples=n)
        counter.update(parses)
        exact: dict[str, float] = {}
        for parse, count in zip(parses, counts, strict=True):
            for code, p in exact_probabilities(parse).items():
                exact[code] = exact.get(code, 0.0) + p * count / 10.0
        evidence = counter.evidence()
        found = dict(zip(evidence["actor"], np.rint(evidence["probability"] * n), strict=True))
        checked += [(int(found.get(code, 0)), exact.get(code, 0.0)) for code in {*exact, *found}]
    hits, probs = zip(*checked, strict=True)
    assert sum(0 < p < 1 for p in probs) >= 3
    # The samples of parses are spread more evenly than independent ones, so exact binomial tails are wider than needed.
    assert tolerance.plausible_counts(hits, n, probs).all()


def exact_probabilities(document: ScoredDocument) -> dict[str, float]:
    """P of each country's event in a document of one parse, by enumeration of its antecedent vectors."""
    found = match_document(
        document.tokens, document.mentions, load_rules("attack", "paper"), load_lexicon(), document.date
    )
    if not found.possible:
        return {}
    lists = references.content(document)["candidates"]
    rows = references.softmax_rows([[*each] for each in lists], [[*each.values()] for each in lists])
    exact: dict[str, float] = {}
    for labels, p in references.clustering_probs(rows).items():
        for key in evaluate_clustering(found, labels):
            exact[key[0]] = exact.get(key[0], 0.0) + p
    return exact


# --- rows of triggers --------------------------------------------------------------------------------------


N_ROWS = 100


def test_each_trigger_has_the_share_of_samples_in_which_it_makes_the_event() -> None:
    rule, lexicon = load_rules("attack", "paper"), load_lexicon()
    counter = EventCounter(rule, n_samples=N_ROWS)
    expected: dict[tuple[str, int, str], float] = {}
    words = {}
    for document in map(er.scored, er.corpus()):
        counter.add(document)
        matches = match_document(document.tokens, document.mentions, rule, lexicon, document.date)
        described = described_as(matches, document.n_mentions)
        labels = sample_clusterings(
            document.antecedents, n_samples=N_ROWS, seed=0, doc_id=document.doc_id
        ).labels.tolist()
        for instance, token in zip(matches.instances.tolist(), matches.triggers.tolist(), strict=True):
            for row in labels:
                actor = er.instance_event(tuple(instance), row, described)
                if actor is not None:
                    place = document.doc_id, token, actor
                    expected[place] = expected.get(place, 0) + 1 / N_ROWS
                    sent = document.tokens.sent
                    sentence = " ".join(np.array(document.tokens.text)[sent == sent[token]])
                    words[place] = sentence, document.tokens.text[token]
    table = counter.events()
    places = [*zip(table["doc_id"], table["token"], table["actor"], strict=True)]
    found = dict(zip(places, table["probability"], strict=True))
    assert found.keys() == expected.keys()
    assert np.allclose([found[place] for place in places], [expected[place] for place in places], rtol=0, atol=1e-12)
    assert dict(zip(places, zip(table["sentence"], table["trigger"], strict=True), strict=True)) == words
    assert set(table["filled"]) == {"named"}
    assert set(table["frame"]) == {"verb"}
    assert table["date"].is_monotonic_increasing
