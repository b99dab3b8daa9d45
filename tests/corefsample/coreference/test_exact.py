"""Exact inference against full enumeration, and identities for any number of mentions."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
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
from corefsample.coreference._clusterings import canonical_labels

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
@pytest.mark.parametrize("function", [link_marginals, root_posterior, entity_count_pmf])
@settings(max_examples=60)
@given(lists=strategies.antecedent_lists(max_mentions=5) | st.sampled_from([SIX_FULL, NONE, ONE]))
def test_exact_inference_equals_enumeration(function: Callable[..., object], lists: Lists) -> None:
    reference = getattr(references, function.__name__)
    expected = reference(clustering_probs(lists), len(lists.antecedents))
    found = function(AntecedentDistribution.from_lists(*lists))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


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


# --- Poisson-binomial --------------------------------------------------------------------------------------


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
