"""Credible balls, and a document's links and entities."""

import math
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from expected_errors import error
from hypothesis import given, settings, strategies as st
from references import coreference, summaries
from strategies.documents import Lists, antecedent_lists, mild_scores, one_word_document as scored

from corefsample import AntecedentDistribution, ParameterError, sample_clusterings
from corefsample.summaries import (
    cluster_probability,
    credible_ball,
    document_links,
    entity_count_posterior,
    point_estimate,
)
from corefsample.summaries._credible_balls import DISTANCES


def noisy(seed: int, n_mentions: int, n_samples: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    noise = rng.integers(0, n_mentions, (n_samples, n_mentions))
    return np.where(rng.random((n_samples, n_mentions)) < 0.3, noise, np.arange(n_mentions) // 2)


def canonical(row: np.ndarray) -> tuple[int, ...]:
    return tuple(int(np.flatnonzero(row == label)[0]) for label in row)


# --- credible balls ----------------------------------------------------------------------------------------


@settings(max_examples=20)
@given(st.integers(0, 10**6), st.sampled_from([0.1, 0.5, 0.8, 0.95]), st.sampled_from(["vi", "binder"]))
def test_a_ball_is_the_smallest_that_holds_its_share(seed: int, level: float, distance: str) -> None:
    samples, centre = noisy(seed, 5, 20), [0, 0, 2, 2, 4]
    ball = credible_ball(samples, centre, level=level, distance=distance)
    distances = [summaries.loss(distance, centre, row) for row in samples.tolist()]
    inside = [row for row, d in zip(samples, distances, strict=True) if d <= ball.radius + 1e-9]
    strictly = [d for d in distances if d < ball.radius - 1e-9]
    assert len(inside) >= level * 20 > len(strictly)
    assert ball.share == len(inside) / 20
    found = {canonical(row): summaries.loss(distance, centre, row.tolist()) for row in inside}
    farthest = {row for row, d in found.items() if d > max(found.values()) - 1e-9}
    assert {tuple(row) for row in ball.farthest.tolist()} == farthest
    for border, choose in ((ball.coarsest, min), (ball.finest, max)):
        entities = choose(len(set(row)) for row in found)
        of_these = {row: d for row, d in found.items() if len(set(row)) == entities}
        expected = {row for row, d in of_these.items() if d > max(of_these.values()) - 1e-9}
        assert {tuple(row) for row in border.tolist()} == expected
    assert ball.contains(ball.farthest[0])
    assert set(ball.to_frame()["kind"]) == {"centre", "farthest", "coarsest", "finest"}


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([0.3, 0.5, 0.8]), st.sampled_from(["vi", "binder"]))
def test_calibrated_balls_hold_the_gold_of_their_share_of_documents(seed: int, level: float, distance: str) -> None:
    # Split conformal prediction holds for every set of documents: of n + 1, with each in turn as the new one and the
    # others as the table, at least level (n + 1) balls hold gold. All gold here is further out than the posterior says.
    samples = [noisy(seed + k, 6, 25) for k in range(9)]
    gold = [np.random.default_rng(seed + k).integers(0, 6, 6) for k in range(9)]
    depths = [credible_ball(*each, distance=distance).depth(truth) for *each, truth in zip(samples, gold, strict=True)]
    balls = (
        credible_ball(samples[k], level=level, distance=distance, calibrated=depths[:k] + depths[k + 1 :])
        for k in range(9)
    )
    assert sum(ball.contains(truth) for ball, truth in zip(balls, gold, strict=True)) >= level * 9 - 1e-9


def test_a_calibrated_ball_takes_the_samples_up_to_the_depth_of_gold() -> None:
    # Of 7 documents at level 1/2, the 4th smallest depth: 2 of the 5 samples may be nearer, so the ball ends at the
    # third. At level 3/4 it is the 6th, 1: all clusterings, whose VI from any other is at most log 3.
    samples = np.array([[0, 0, 0], [0, 0, 0], [0, 0, 0], [0, 0, 2], [0, 1, 2]])
    depths = [1.0, 0.0, 0.2, 0.4, 0.6, 1.0, 0.0]
    distances = sorted(credible_ball(samples).distances.tolist())
    assert credible_ball(samples, level=0.5, calibrated=depths).radius == distances[2]
    assert credible_ball(samples, level=0.75, calibrated=depths).radius == pytest.approx(math.log(3))


@settings(max_examples=20)
@given(st.integers(0, 10**6), st.sampled_from(["vi", "binder"]))
def test_the_depth_of_gold_is_the_share_of_samples_that_are_nearer(seed: int, distance: str) -> None:
    samples, centre = noisy(seed, 5, 20), [0, 0, 2, 2, 4]
    ball = credible_ball(samples, centre, distance=distance)
    losses = np.array([summaries.loss(distance, centre, row) for row in samples.tolist()])
    nearer = losses < summaries.loss(distance, centre, [0, 0, 0, 3, 4]) - 1e-9
    assert ball.depth(["a", "a", "a", None, None]) == nearer.mean()


def test_a_ball_of_a_distribution_has_a_centre_and_samples_of_its_own() -> None:
    antecedents = AntecedentDistribution.from_lists([[], [0], [0, 1], [2]], [[], [0.5], [1.0, -1.0], [2.0]])
    samples = sample_clusterings(antecedents)
    for distance in DISTANCES:
        ball = credible_ball(antecedents, distance=distance)
        centre = point_estimate(antecedents, loss=distance, samples=samples).labels
        expected = credible_ball(samples, centre, distance=distance)
        assert ball.centre.tolist() == centre.tolist()
        assert ball.distances.tolist() == expected.distances.tolist()
        assert (ball.radius, ball.n_samples) == (expected.radius, 1000)
    assert credible_ball(samples).centre.tolist() == point_estimate(samples).labels.tolist()


# --- probabilities of clusters -----------------------------------------------------------------------------


@settings(max_examples=40)
@given(antecedent_lists(min_mentions=1, max_mentions=6, scores=mild_scores), st.integers(1, 63))
def test_the_probability_of_a_cluster_is_that_of_the_enumeration(lists: Lists, bits: int) -> None:
    n = len(lists.antecedents)
    members = [i for i in range(n) if bits >> i & 1] or [0]
    probs = coreference.clustering_probs(coreference.softmax_rows(*lists))
    exactly = math.fsum(
        p for truth, p in probs.items() if members == [i for i in range(n) if truth[i] == truth[members[0]]]
    )
    distribution = AntecedentDistribution.from_lists(*lists)
    assert cluster_probability(distribution, reversed(members)) == pytest.approx(exactly, abs=1e-12)


# --- a document's links by entity, and its number of entities --------------------------------------------------


# Likeliest antecedents: 2 -> 0, 3 -> 1, 4 NEW. Gold: {0, 4}, {1, 3}, 2 not annotated.
EXAMPLE = Lists([[], [], [0], [1], [0]], [[], [], [3.0], [2.0], [-0.5]])
GOLD: list[int | None] = [7, 8, None, 8, 7]


def test_mentions_are_sorted_by_entity() -> None:
    links = document_links(scored(EXAMPLE, text=list("abcde")))
    assert links.mentions.tolist() == [0, 2, 1, 3, 4]
    assert links.entities.tolist() == [0, 0, 1, 1, 2]
    assert links.texts == ("a", "c", "b", "d", "e")
    assert links.bounds.tolist() == [0, 2, 4, 5]
    assert links.source == "map"


def test_mentions_can_be_sorted_by_gold_which_leaves_out_unannotated_ones() -> None:
    links = document_links(scored(EXAMPLE, GOLD), by="gold")
    assert links.mentions.tolist() == [0, 4, 1, 3]
    assert links.texts == ("mention 0", "mention 4", "mention 1", "mention 3")
    single = document_links(scored(EXAMPLE, GOLD), by="gold", unannotated="single")
    assert single.mentions.tolist() == [0, 4, 1, 3, 2]
    assert single.entities.tolist() == [0, 0, 1, 1, 2]


def test_small_entities_can_be_left_out() -> None:
    assert document_links(scored(EXAMPLE), smallest=2).mentions.tolist() == [0, 2, 1, 3]
    nothing = document_links(scored(EXAMPLE), smallest=3)
    assert (nothing.n_mentions, nothing.bounds.tolist(), len(nothing.to_frame())) == (0, [0], 0)


@given(antecedent_lists(max_mentions=5, scores=mild_scores), st.integers(1, 3))
def test_each_link_has_its_exact_probability(lists: Lists, smallest: int) -> None:
    clusterings = coreference.clustering_probs(coreference.softmax_rows(*lists))
    exact = coreference.link_marginals(clusterings, len(lists.antecedents))
    links = document_links(scored(lists), smallest=smallest)
    for a, first in enumerate(links.mentions.tolist()):
        for b, second in enumerate(links.mentions.tolist()):
            assert links.marginals[a, b] == pytest.approx(exact[first, second], abs=1e-12)
    table = links.to_frame()
    assert len(table) == links.n_mentions * (links.n_mentions - 1) // 2
    assert (table["first"] < table["second"]).all()
    for row in table.itertuples():
        assert row.probability == pytest.approx(exact[row.first, row.second], abs=1e-12)
        assert (row.first_text, row.second_text) == (f"mention {row.first}", f"mention {row.second}")


def test_the_table_has_the_entity_of_each_mention() -> None:
    table = document_links(scored(EXAMPLE)).to_frame().set_index(["first", "second"])
    assert table.loc[(0, 2), ["first_entity", "second_entity"]].tolist() == [0, 0]
    assert table.loc[(1, 2), ["first_entity", "second_entity"]].tolist() == [1, 0]
    assert len(table) == 10


def test_gold_that_is_missing_is_named() -> None:
    with pytest.raises(ParameterError, match="doc_id 'd': gold is missing"):
        document_links(scored(EXAMPLE), by="gold")


@given(antecedent_lists(max_mentions=5, scores=mild_scores))
def test_the_number_of_entities_is_distributed_as_in_all_clusterings(lists: Lists) -> None:
    n = len(lists.antecedents)
    exact = coreference.entity_count_pmf(coreference.clustering_probs(coreference.softmax_rows(*lists)), n)
    posterior = entity_count_posterior(scored(lists))
    np.testing.assert_allclose(posterior.pmf, exact, atol=1e-12)
    counts = np.arange(n + 1)
    assert posterior.mean == pytest.approx(float(counts @ exact), abs=1e-9)
    assert posterior.sd == pytest.approx(float(np.sqrt(max(0.0, (counts - posterior.mean) ** 2 @ exact))), abs=1e-6)
    assert posterior.n_mentions == n
    assert posterior.to_frame()["probability"].tolist() == posterior.pmf.tolist()
    assert posterior.to_frame()["n_entities"].tolist() == counts.tolist()


def test_entities_of_single_clusterings_are_counted() -> None:
    assert entity_count_posterior(scored(EXAMPLE)).map_count == 3
    assert entity_count_posterior(scored(EXAMPLE)).gold_count is None
    assert entity_count_posterior(scored(EXAMPLE, GOLD)).gold_count is None  # the entity of 2 is unknown
    assert entity_count_posterior(scored(EXAMPLE, GOLD), unannotated="single").gold_count == 3
    assert entity_count_posterior(scored(EXAMPLE, [7, 8, 7, 8, 7])).gold_count == 2


# --- bad input ---------------------------------------------------------------------------------------------


EVEN = AntecedentDistribution.from_lists([[], [0]], [[], [0.0]])
SAMPLES = sample_clusterings(EVEN, n_samples=5)
DEPTHS = [0.5] * 18  # level .95 needs 19


@pytest.mark.parametrize(
    ("parameter", "call"),
    [
        ("centre", lambda: credible_ball(SAMPLES, [0, 0, 0])),
        ("level", lambda: credible_ball(SAMPLES, [0, 0], level=1.0)),
        ("centre", lambda: credible_ball(SAMPLES, [0, 0], calibrated=DEPTHS)),
        ("calibrated", lambda: credible_ball(SAMPLES, calibrated=DEPTHS)),
        *(("mentions", partial(cluster_probability, EVEN, wrong)) for wrong in ([], [0, 2], [-1], [1, 1])),
        ("by", lambda: document_links(scored(EXAMPLE), by="truth")),  # type: ignore[arg-type]
        ("smallest", lambda: document_links(scored(EXAMPLE), smallest=0)),
        ("unannotated", lambda: entity_count_posterior(scored(EXAMPLE, GOLD), unannotated="drop")),  # type: ignore[arg-type]
    ],
)
def test_bad_input_is_named(parameter: str, call: Callable[[], object]) -> None:
    with error(ParameterError, parameter):
        call()
