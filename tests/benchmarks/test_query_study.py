"""Queries against enumeration, coverage counted by hand, and the table of held-out intervals."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import tolerance
from benchmark_scripts import script
from references import coreference as references, events as er, recalibration as rr
from strategies.documents import Lists

from corefsample import AntecedentDistribution, Recalibration, ScoredDocument, sample_clusterings

study = script("query_study")

# Ann saw cats. They ran. He said: a name, a plural noun, and pronouns as subjects of run and say.
STORY = [
    "Ann/PROPN>2:nsubj saw=see/VERB>0:root cats=cat/NOUN>2:obj",
    "they/PRON>2:nsubj ran=run/VERB>0:root",
    "he/PRON>2:nsubj said=say/VERB>0:root",
]


def story(sentences: list[str], gold: list[int | str | None]) -> ScoredDocument:
    links = {1: {0: -9.0}, 2: {0: -1.0, 1: 1.0}, 3: {0: 2.0, 1: -2.0, 2: 0.5}}
    return er.scored(er.json_document("d", "2000-01-01", sentences, links, gold=gold))


# --- queries of a document ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("gold", "unannotated", "expected"),
    [
        (["a", "b", "b", "a"], "skip", {("plural noun", "run"): True, ("name", "say"): True}),
        (["a", "a", "a", "c"], "skip", {("name", "run"): True, ("plural noun", "run"): True}),
        ([None, "b", "b", "a"], "skip", {("plural noun", "run"): True, ("plural noun", "say"): False}),
        (["a", "b", None, "a"], "single", {("name", "say"): True}),
    ],
)
def test_truth_is_the_answer_of_gold_entities(gold: list[Any], unannotated: str, expected: dict[Any, bool]) -> None:
    queries = study.match_queries(story(STORY, gold), unannotated=unannotated)
    types = ("plural noun",) if gold[0] is None else ("name", "plural noun")
    every = {(mention_type, verb): False for mention_type in types for verb in ("run", "say")}
    assert dict(zip(queries.names, queries.truth.tolist(), strict=True)) == every | expected


LISTS = Lists([[], [0], [0, 1], [1, 2], [0, 3]], [[], [0.5], [-1.0, 0.25], [1.0, -0.5], [0.0, 0.75]])
TYPES, VERBS = [0, 2, -1, 1, -1], ("see", "run", "say")
ROLES: list[set[int]] = [set(), set(), {0}, {1}, {0, 2}]


def test_shares_of_samples_agree_with_enumeration() -> None:
    pairs = [(i, v) for i, verbs in enumerate(ROLES) for v in sorted(verbs)]
    queries = study.DocumentQueries(
        doc_id="d",
        metadata={},
        verbs=VERBS,
        present_types=np.arange(3),
        typed_mentions=np.array([0, 1, 3]),
        types=np.array([0, 2, 1]),
        pronouns=np.array([i for i, _ in pairs]),
        pronoun_verbs=np.array([v for _, v in pairs]),
        antecedents=AntecedentDistribution.from_lists(*LISTS),
        kinds=np.zeros(5, np.uint8),
        entities=np.zeros(5, np.int64),
    )
    names = [None if m < 0 else study.MENTION_TYPES[m] for m in TYPES]
    named = names, [{VERBS[v] for v in verbs} for verbs in ROLES]
    n_samples = 20_000
    hits = queries.shares(Recalibration(2.0, 0.3), n_samples) * n_samples
    right, wrong = (
        np.array([rr.query_distribution(lists, *named).get(name, 0.0) for name in queries.names])
        for lists in (rr.recalibrated(LISTS, 2.0, 0.3), LISTS)
    )
    assert tolerance.plausible_counts(hits.round().astype(int), n_samples, right).all()
    assert not tolerance.plausible_counts(hits.round().astype(int), n_samples, wrong).all()
    labels = sample_clusterings(queries.antecedents, n_samples=40, doc_id="d").labels
    expected = [[name in rr.true_queries(row, *named) for row in labels.tolist()] for name in queries.names]
    assert queries.holds(labels).tolist() == expected


# --- counts -------------------------------------------------------------------------------------------------


def table(truth: dict[str, list[bool]]) -> Any:
    """A query of each verb, which as many documents contain as it has truths."""
    numbers = np.repeat(np.arange(len(truth)), [len(each) for each in truth.values()])
    flat = np.concatenate([np.array(each) for each in truth.values()])
    return SimpleNamespace(queries=[("name", verb) for verb in truth], pair_queries=numbers, truth=flat)


def test_intervals_are_those_of_the_mean_distribution_over_draws() -> None:
    draws = np.array([[0.2, 0.3, 0.5, 0.6, 0.9], [0.1, 0.1, 0.4, 0.4, 0.8]])
    truth = [True, False, True, False, True]
    found = study.count_intervals(table({"see": truth}), draws)
    pmf = np.mean([references.poisson_binomial_pmf(draw) for draw in draws.tolist()], axis=0).tolist()
    for row in found.itertuples():
        if row.interval == "quantile":
            tail = (1 - row.level) / 2
            assert (row.lower, row.upper) == (er.quantile(pmf, tail), er.quantile(pmf, 1 - tail))
        elif row.interval == "hdi":
            assert (row.lower, row.upper) in er.shortest_intervals(pmf, row.level)
        assert row.held == (row.lower <= 3 <= row.upper)
    assert found["mean"].tolist() == pytest.approx([draws.sum(axis=1).mean()] * 9)


def test_coverage_is_the_share_of_queries_covered_by_number_of_documents() -> None:
    # All P are 1: counts are said to be 5, 6 and 12 for sure; gold has 5, 4 and 12.
    truth = {"a": [True] * 5, "b": [True] * 4 + [False] * 2, "c": [True] * 12, "few": [True] * 4}
    coverage = study.count_coverage(study.count_intervals(table(truth), np.ones(27)))
    small = coverage[(coverage["documents"] == "5-9") & (coverage["level"] == 0.95)]
    assert small["n_queries"].tolist() == [2, 2, 2]
    assert small["coverage"].tolist() == [0.5] * 3
    assert small["below"].tolist() == [0.5] * 3
    assert small["mean_error"].tolist() == [1.0] * 3  # (0 + 2) / 2
    assert (coverage[coverage["documents"] == "10-19"]["coverage"] == 1.0).all()
    assert set(coverage["documents"]) == {"5-9", "10-19"}
