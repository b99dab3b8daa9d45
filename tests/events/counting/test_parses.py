"""Events of documents with several parses: against enumeration, and as means of one-parse documents."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tolerance
from expected_errors import error
from mention_matches import described_as, matches_of
from references import coreference as references
from references import events as er
from references import parses as pr

from corefsample import AntecedentDistribution, InputError, ScoredDocument, read_documents, sample_clusterings
from corefsample.documents._scored import sample_parses
from corefsample.posterior._posterior import DocumentPosterior, WeightedParse
from events import EventCounter, load_lexicon, load_rules
from events.counting._document_events import DocumentEvents, variance_components
from events.counting._evaluation import evaluate_document
from events.matching._matches import MentionMatches
from events.matching._matching import match_document

DAY = datetime.date(2000, 1, 1)

# Mention 1 (a pronoun, which fills the role in parse 0) refers to mention 0 (described as AAA) or to nobody; in parse 1
# mention 0 fills the role itself; in parse 2 nothing does.
SCORES = ([[], [0]], [[], [0.5]])
WEIGHTS = (5.0, 2.0, 3.0)
P_LINK = 1.0 / (1.0 + np.exp(-0.5))


def matches(instance: int) -> MentionMatches:
    return matches_of([{"AAA"}], [(instance,)])


def evaluated(
    several: list[MentionMatches | None], weights: tuple[float, ...] = WEIGHTS, n_samples: int = 1000
) -> DocumentEvents:
    """Events of a document with the same mentions in each parse."""
    parses = tuple(WeightedParse(AntecedentDistribution.from_lists(*SCORES), weight) for weight in weights)
    by_parse = {k: [each] for k, each in enumerate(several) if each is not None}
    (events,) = evaluate_document(DocumentPosterior("d", parses), by_parse, DAY, n_samples=n_samples)
    return events


def test_the_probability_is_the_mean_over_parses() -> None:
    # P = .5 P(link) + .2 * 1 + .3 * 0, by hand: the only clusterings are "together" and "apart".
    n = 20_000
    events = evaluated([matches(1), matches(0), None], n_samples=n)
    assert tolerance.plausible_counts(events.n_hits, n, [0.5 * P_LINK + 0.2]).all()
    # It fails for parses that are drawn with equal weights.
    wrong = evaluated([matches(1), matches(0), None], (1.0, 1.0, 1.0), n)
    assert not tolerance.plausible_counts(wrong.n_hits, n, [0.5 * P_LINK + 0.2]).all()


def test_the_variance_is_split_by_the_law_of_total_variance() -> None:
    # Given the parses P is P(link), 1, 0. Mean of the variances: .5 P(link) (1 - P(link)). The rest is the parse's.
    n = 200_000
    events = evaluated([matches(1), matches(0), None], n_samples=n)
    parts, p = variance_components(events), 0.5 * P_LINK + 0.2
    expected = 0.5 * P_LINK * (1.0 - P_LINK)
    # The standard error of a share is at most .5 / sqrt(n), and the derivative of both parts at most 1 in each share.
    assert tolerance.plausible_means(parts.coreference, [expected], [1.0 / np.sqrt(n)]).all()
    assert tolerance.plausible_means(parts.parse, [p * (1.0 - p) - expected], [1.0 / np.sqrt(n)]).all()
    probability = events.probabilities
    assert np.allclose(parts.parse + parts.coreference, probability * (1.0 - probability), rtol=0, atol=1e-12)


def test_the_one_best_is_of_the_first_parse_even_if_it_has_no_weight() -> None:
    first, second = evaluated([matches(0), None], (0.0, 1.0), 50), evaluated([None, matches(0)], (0.0, 1.0), 50)
    assert (first.one_best.tolist(), first.n_hits.tolist()) == ([True], [0])
    assert (second.one_best.tolist(), second.n_hits.tolist()) == ([False], [50])


# --- documents ---------------------------------------------------------------------------------------------


def two_readings(weights: tuple[float, float] = (7, 3)) -> dict[str, Any]:
    """French troops are the subject of "attacked" in one parse, and the object in the other."""
    sentence = "French/ADJ>2:amod troops=troop/NOUN>3:nsubj attacked=attack/VERB>0:root yesterday/ADV>3:advmod"
    document = er.json_document("d", "2000-01-01", [sentence], {})
    return pr.with_other_parses(document, weights)


def read(document: dict[str, Any], folder: Path) -> ScoredDocument:
    path = folder / "d.jsonl"
    path.write_text(json.dumps(document) + "\n")
    (found,) = read_documents(path)
    return found


def test_evidence_says_which_parses_make_the_event_and_what_they_have_at_the_trigger(tmp_path: Path) -> None:
    counter = EventCounter(n_samples=1000)
    counter.add(read(two_readings(), tmp_path))
    (row,) = counter.evidence().to_dict("records")
    drawn = np.bincount(sample_parses([7, 3], n_samples=1000, doc_id="d")) / 1000
    assert (row["actor"], row["n_parses"], row["probability"]) == ("FRA", 2, drawn[0])
    assert row["one_best"]
    # Coreference plays no part: the variance is all the parse's.
    assert row["parse_variance"] == pytest.approx(drawn[0] * drawn[1], abs=1e-12)
    assert row["coreference_variance"] == pytest.approx(0.0, abs=1e-12)
    assert row["parses"] == f"0: 1.000 of {drawn[0]:.3f}"
    assert row["trigger_parses"] == (
        f"attacked [2] nsubj troops, advmod yesterday: {drawn[0]:.3f}, P 1.000"
        f" | attacked [2] obj troops, advmod yesterday: {drawn[1]:.3f}, P 0.000"
    )
    assert row["role_mentions"] == f"troops [1-2] {drawn[0]:.3f}"
    places = json.loads(row["places"])
    assert places["instances"] == [[2, [0], drawn[0]]]
    assert [each[:2] for each in places["parses"]] == [
        [2, "nsubj troops, advmod yesterday"],
        [2, "obj troops, advmod yesterday"],
    ]


def test_a_predicate_needs_one_parse(tmp_path: Path) -> None:
    counter = EventCounter(predicate=lambda document, labels: {"any": np.ones(len(labels), bool)})
    with error(InputError, place="doc_id 'd'"):
        counter.add(read(two_readings(), tmp_path))


def test_counts_are_those_of_enumerated_documents(tmp_path: Path) -> None:
    """P of each document of a corpus with altered parses, against the mean of the exact P of its parses."""
    n, weights = 4000, (4.0, 3.0, 3.0)
    checked = []
    for each in er.corpus():
        document = read(pr.with_other_parses(each, weights), tmp_path)
        counter = EventCounter(load_rules("attack", "paper"), n_samples=n)
        events = counter.add(document)
        exact: dict[str, float] = {}
        for k, weight in enumerate(weights):
            for code, p in exact_probabilities(document.with_parse(k)).items():
                exact[code] = exact.get(code, 0.0) + p * weight / 10.0
        if events is None:
            assert not exact
            continue
        found = dict(zip((key[0] for key in events.keys), events.n_hits.tolist(), strict=True))
        assert set(exact) <= set(found)
        checked += [(count, exact.get(code, 0.0)) for code, count in found.items()]
    counts, probs = zip(*checked, strict=True)
    assert sum(0 < p < 1 for p in probs) >= 3
    # Draws of parses are more even than independent ones, so exact binomial tails are wider than needed.
    assert tolerance.plausible_counts(counts, n, probs).all()


def exact_probabilities(document: ScoredDocument) -> dict[str, float]:
    """P of each country's event in a document of one parse, by enumeration of its antecedent vectors."""
    from events.counting._evaluation import evaluate_clustering
    from events.lexicon._lexicon import load_lexicon
    from events.matching._matching import match_document

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
