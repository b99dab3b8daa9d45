"""Exact inference against full enumeration, and identities for any number of mentions."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
import scipy.stats
from expected_errors import error
from hypothesis import given, settings
from hypothesis import strategies as st
from references import coreference as references
from strategies import documents as strategies
from strategies.documents import Lists

from corefsample import (
    AntecedentDistribution,
    ParameterError,
    Recalibration,
    ScoredDocument,
    clustering_log_prob,
    entity_count_pmf,
    link_marginals,
    map_clustering,
    root_posterior,
    sample_clusterings,
    to_networkx,
)
from corefsample.coreference._exact import canonical_labels, poisson_binomial_pmf

# Every mention has all earlier ones as candidates: 720 antecedent vectors, 203 clusterings.
SIX_FULL = Lists(
    [list(range(i)) for i in range(6)],
    [[((3 * i + 5 * k) % 7 - 3) / 2 for k in range(i)] for i in range(6)],
)
NONE = Lists([], [])
ONE = Lists([[]], [[]])


def clustering_probs(lists: Lists) -> references.ClusteringProbs:
    return references.clustering_probs(references.softmax_rows(*lists))


# --- the reference itself ----------------------------------------------------------------------------------


def test_six_mentions_have_720_antecedent_vectors_and_203_clusterings() -> None:
    # 1 * 2 * ... * 6 choices; 203 is the sixth Bell number.
    rows = references.softmax_rows(*SIX_FULL)
    assert sum(1 for _ in references.antecedent_vectors(rows)) == 720
    assert len(references.clustering_probs(rows)) == len(references.all_clusterings(6)) == 203


# --- against enumeration -----------------------------------------------------------------------------------


@pytest.mark.kernels
@settings(max_examples=60)
@given(strategies.antecedent_lists(max_mentions=5) | st.sampled_from([SIX_FULL, NONE, ONE]))
def test_link_marginals_equal_enumeration(lists: Lists) -> None:
    expected = references.link_marginals(clustering_probs(lists), len(lists.antecedents))
    marginals = link_marginals(AntecedentDistribution.from_lists(*lists))
    np.testing.assert_allclose(marginals, expected, rtol=0, atol=1e-12)


@pytest.mark.kernels
@settings(max_examples=60)
@given(strategies.antecedent_lists(max_mentions=5) | st.sampled_from([SIX_FULL, NONE, ONE]))
def test_the_root_posterior_equals_enumeration(lists: Lists) -> None:
    expected = references.root_posterior(clustering_probs(lists), len(lists.antecedents))
    roots = root_posterior(AntecedentDistribution.from_lists(*lists))
    np.testing.assert_allclose(roots, expected, rtol=0, atol=1e-12)


@pytest.mark.kernels
@settings(max_examples=60)
@given(strategies.antecedent_lists(max_mentions=5) | st.sampled_from([SIX_FULL, NONE, ONE]))
def test_the_number_of_entities_equals_enumeration(lists: Lists) -> None:
    expected = references.entity_count_pmf(clustering_probs(lists), len(lists.antecedents))
    pmf = entity_count_pmf(AntecedentDistribution.from_lists(*lists))
    np.testing.assert_allclose(pmf, expected, rtol=0, atol=1e-12)


@pytest.mark.kernels
@settings(max_examples=40)
@given(strategies.antecedent_lists(max_mentions=5) | st.sampled_from([SIX_FULL, NONE, ONE]))
def test_the_probability_of_every_clustering_equals_enumeration(lists: Lists) -> None:
    distribution, expected = AntecedentDistribution.from_lists(*lists), clustering_probs(lists)
    for labels in references.all_clusterings(len(lists.antecedents)):
        probability = math.exp(clustering_log_prob(distribution, labels))
        assert probability == pytest.approx(expected.get(labels, 0.0), abs=1e-12)


@pytest.mark.kernels
@given(strategies.antecedent_lists(max_mentions=7, scores=strategies.quarter_scores))
def test_the_map_clustering_follows_the_likeliest_antecedents(lists: Lists) -> None:
    expected = references.map_clustering(references.softmax_rows(*lists))
    assert tuple(map_clustering(AntecedentDistribution.from_lists(*lists)).tolist()) == expected


# --- known answers and identities --------------------------------------------------------------------------


def test_link_marginals_of_a_chain_are_products() -> None:
    # 1 links to 0 with 1/2, 2 links to 1 with 3/4: P(0 and 2) = 3/8.
    chain = AntecedentDistribution.from_lists([[], [0], [1]], [[], [0.0], [math.log(3.0)]])
    expected = [[1.0, 0.5, 0.375], [0.5, 1.0, 0.75], [0.375, 0.75, 1.0]]
    np.testing.assert_allclose(link_marginals(chain), expected, rtol=1e-15)


def wide_distribution(n_mentions: int = 200, seed: int = 5) -> AntecedentDistribution:
    """Many mentions with up to a dozen candidates each."""
    generator = np.random.default_rng(seed)
    antecedents = [generator.permutation(i)[:12].tolist() for i in range(n_mentions)]
    return AntecedentDistribution.from_lists(
        antecedents, [generator.normal(0.0, 2.0, len(row)).tolist() for row in antecedents]
    )


def test_link_marginals_are_symmetric_probabilities_with_a_unit_diagonal() -> None:
    marginals = link_marginals(wide_distribution())
    np.testing.assert_array_equal(marginals, marginals.T)
    np.testing.assert_array_equal(np.diag(marginals), 1.0)
    assert marginals.min() >= 0.0
    assert marginals.max() <= 1.0


def test_root_posteriors_sum_to_one_and_look_back_only() -> None:
    roots = root_posterior(wide_distribution())
    np.testing.assert_allclose(roots.sum(axis=1), 1.0, rtol=1e-13)
    np.testing.assert_array_equal(roots, np.tril(roots))


def test_links_to_a_first_mention_are_its_root_posterior() -> None:
    # Mention 0 is always a first mention: whoever corefers with it has it as a root.
    distribution = wide_distribution()
    np.testing.assert_allclose(
        root_posterior(distribution)[:, 0], link_marginals(distribution)[:, 0], rtol=0, atol=1e-13
    )


# --- the probability of a clustering -----------------------------------------------------------------------


@given(st.data(), st.lists(st.integers(-(2**40), 2**40), min_size=6, max_size=6, unique=True))
def test_the_numbers_of_labels_have_no_meaning(data: st.DataObject, names: list[int]) -> None:
    distribution = AntecedentDistribution.from_lists(*SIX_FULL)
    labels = data.draw(st.sampled_from(references.all_clusterings(6)))
    renamed = [names[label] for label in labels]
    assert clustering_log_prob(distribution, renamed) == clustering_log_prob(distribution, labels)


def test_canonical_labels_are_first_mentions_of_clusters() -> None:
    labels = canonical_labels(np.array([4, -1, 4, 9, -1]))
    assert (labels.tolist(), labels.dtype) == ([0, 1, 0, 3, 1], np.int32)
    with pytest.raises(ParameterError, match=r"^clustering must have one label for each mention \(3\), got 2$"):
        canonical_labels([0, 1], name="clustering", n_mentions=3)


@pytest.mark.parametrize(
    ("antecedents", "scores", "labels"),
    [
        ([[], [], []], [[], [], []], [0, 0, 2]),  # no candidate at all
        ([[], [0], [0]], [[], [0.0], [0.0]], [0, 1, 1]),  # a candidate, but none of the cluster
        ([[], [0]], [[], [-800.0]], [0, 0]),  # a candidate of probability 0
        ([[], [0]], [[], [800.0]], [0, 1]),  # NEW of probability 0
    ],
)
def test_an_impossible_clustering_has_log_probability_minus_infinity(
    antecedents: list[list[int]], scores: list[list[float]], labels: list[int]
) -> None:
    assert clustering_log_prob(AntecedentDistribution.from_lists(antecedents, scores), labels) == -math.inf


def test_a_log_probability_too_small_to_exponentiate_is_finite() -> None:
    # 2,000 mentions, each NEW with 1/2: log p = -1999 log 2, and exp of that is 0 in floating point.
    n = 2000
    distribution = AntecedentDistribution.from_lists([[], *[[0]] * (n - 1)], [[], *[[0.0]] * (n - 1)])
    assert clustering_log_prob(distribution, np.arange(n)) == pytest.approx(-(n - 1) * math.log(2.0))


@pytest.mark.parametrize("labels", [[0], [0, 1, 2], [0.0, 1.0], [[0, 1]], ["a", "b"], [True, False], 0, None])
def test_invalid_labels_raise(labels: object) -> None:
    distribution = AntecedentDistribution.from_lists([[], [0]], [[], [0.0]])
    with error(ParameterError, "labels"):
        clustering_log_prob(distribution, labels)  # type: ignore[arg-type]


# --- the usual single answer -------------------------------------------------------------------------------


def test_ties_go_to_new_and_then_to_the_nearest() -> None:
    # Mention 1: score 0 ties with NEW. Mention 3: 0, 1 and 2 tie above NEW; 2 is nearest.
    distribution = AntecedentDistribution.from_lists([[], [0], [], [1, 2, 0]], [[], [0.0], [], [1.5, 1.5, 1.5]])
    assert map_clustering(distribution).tolist() == [0, 1, 2, 2]


def test_the_map_clustering_is_not_always_the_most_probable_one() -> None:
    # Mention 2 is NEW with 0.4, links to 0 or 1 with 0.3 each. 0 and 1 corefer surely, so [0, 0, 0] has 0.6.
    score = math.log(0.3 / 0.4)
    distribution = AntecedentDistribution.from_lists([[], [0], [0, 1]], [[], [800.0], [score, score]])
    answer = map_clustering(distribution)
    assert answer.tolist() == [0, 0, 2]
    assert clustering_log_prob(distribution, [0, 0, 0]) > clustering_log_prob(distribution, answer)


# --- Poisson-binomial --------------------------------------------------------------------------------------


@pytest.mark.kernels
@given(st.lists(st.floats(0.0, 1.0), max_size=9))
def test_the_poisson_binomial_equals_the_sum_over_outcomes(probs: list[float]) -> None:
    expected = references.poisson_binomial_pmf(probs)
    np.testing.assert_allclose(poisson_binomial_pmf(probs), expected, rtol=0, atol=1e-14)


def test_equal_probabilities_give_the_binomial() -> None:
    expected = scipy.stats.binom.pmf(np.arange(301), 300, 0.2)
    np.testing.assert_allclose(poisson_binomial_pmf(np.full(300, 0.2)), expected, rtol=1e-10, atol=1e-300)


def test_thousands_of_trials_have_an_accurate_tail() -> None:
    # P(no success) = 0.9^5000 = e^(5000 log 0.9), some 1e-229: a Fourier transform would lose it.
    pmf = poisson_binomial_pmf(np.full(5000, 0.1))
    assert math.log(pmf[0]) == pytest.approx(5000 * math.log(0.9), rel=1e-12)
    assert pmf.sum() == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize(
    ("probs", "message"),
    [
        ([0.5, 1.5], "probs[1] must lie in [0, 1], got 1.5"),
        ([-1e-9], "probs[0] must lie in [0, 1], got -1e-09"),
        ([0.1, math.nan], "probs[1] must lie in [0, 1], got nan"),
        (["0.5"], "probs must be numbers"),
        (0.5, "probs must be numbers in one dimension"),
        ([[0.5]], "probs must be numbers in one dimension"),
    ],
)
def test_an_invalid_probability_raises(probs: list[float], message: str) -> None:
    with pytest.raises(ParameterError) as caught:
        poisson_binomial_pmf(probs)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "function",
    [
        clustering_log_prob,
        entity_count_pmf,
        link_marginals,
        map_clustering,
        root_posterior,
        sample_clusterings,
        to_networkx,
        Recalibration().apply,
    ],
)
def test_a_document_instead_of_its_distribution_raises(function: Callable[..., object]) -> None:
    document = ScoredDocument("d", [[0, 1, 0]], AntecedentDistribution.from_lists([[]], [[]]))
    with error(ParameterError, "antecedents"):
        function(document, *([[0]] if function is clustering_log_prob else []))
