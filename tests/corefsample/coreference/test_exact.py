"""Exact inference against full enumeration, identities for any number of mentions, and long documents."""

import math
import tracemalloc
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest
from expected_errors import error
from hypothesis import given, settings, strategies as st
from references import coreference as references
from strategies import documents as strategies
from strategies.documents import Lists

import corefsample as cs
from corefsample.coreference._clusterings import canonical_labels

# Every mention has all earlier ones as candidates: 720 antecedent vectors, 203 clusterings.
SIX_FULL = Lists(
    [list(range(i)) for i in range(6)], [[((3 * i + 5 * k) % 7 - 3) / 2 for k in range(i)] for i in range(6)]
)
NONE = Lists([], [])
ONE = Lists([[]], [[]])


def clustering_probs(lists: Lists) -> references.ClusteringProbs:
    return references.clustering_probs(references.softmax_rows(*lists))


# --- against enumeration -----------------------------------------------------------------------------------


@pytest.mark.kernels
@pytest.mark.parametrize("function", [cs.link_marginals, cs.root_posterior, cs.entity_count_pmf])
@settings(max_examples=60)
@given(lists=strategies.antecedent_lists(max_mentions=5) | st.sampled_from([SIX_FULL, NONE, ONE]))
def test_exact_inference_equals_enumeration(function: Callable[..., object], lists: Lists) -> None:
    reference = getattr(references, function.__name__)
    expected = reference(clustering_probs(lists), len(lists.antecedents))
    found = function(cs.AntecedentDistribution.from_lists(*lists))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


@pytest.mark.kernels
@settings(max_examples=40)
@given(strategies.antecedent_lists(max_mentions=5) | st.sampled_from([SIX_FULL, NONE, ONE]))
def test_the_probability_of_every_clustering_equals_enumeration(lists: Lists) -> None:
    distribution, expected = cs.AntecedentDistribution.from_lists(*lists), clustering_probs(lists)
    for labels in references.all_clusterings(len(lists.antecedents)):
        probability = math.exp(cs.clustering_log_prob(distribution, labels))
        assert probability == pytest.approx(expected.get(labels, 0.0), abs=1e-12)


@pytest.mark.kernels
@given(strategies.antecedent_lists(max_mentions=7, scores=strategies.quarter_scores))
def test_the_map_clustering_follows_the_likeliest_antecedents(lists: Lists) -> None:
    expected = references.map_clustering(references.softmax_rows(*lists))
    assert tuple(cs.map_clustering(cs.AntecedentDistribution.from_lists(*lists)).tolist()) == expected


# --- the probability of a clustering -----------------------------------------------------------------------


def test_canonical_labels_are_first_mentions_of_clusters() -> None:
    labels = canonical_labels(np.array([4, -1, 4, 9, -1]))
    assert (labels.tolist(), labels.dtype) == ([0, 1, 0, 3, 1], np.int32)
    with pytest.raises(cs.ParameterError, match=r"^clustering must have one label for each mention \(3\), got 2$"):
        canonical_labels([0, 1], name="clustering", n_mentions=3)


def test_a_log_probability_too_small_to_exponentiate_is_finite() -> None:
    # 2,000 mentions, each NEW with 1/2: log p = -1999 log 2, and exp of that is 0 in floating point.
    n = 2000
    distribution = cs.AntecedentDistribution.from_lists([[], *[[0]] * (n - 1)], [[], *[[0.0]] * (n - 1)])
    assert cs.clustering_log_prob(distribution, np.arange(n)) == pytest.approx(-(n - 1) * math.log(2.0))


@pytest.mark.parametrize("labels", [[0], [0, 1, 2], [0.0, 1.0], [[0, 1]], ["a", "b"], [True, False], 0, None])
def test_invalid_labels_raise(labels: object) -> None:
    distribution = cs.AntecedentDistribution.from_lists([[], [0]], [[], [0.0]])
    with error(cs.ParameterError, "labels"):
        cs.clustering_log_prob(distribution, labels)  # type: ignore[arg-type]


# --- documents of thousands of mentions -----------------------------------------------------------------------

Floats = npt.NDArray[np.float64]


def long_document(n_mentions: int, n_candidates: int, seed: int = 0) -> cs.AntecedentDistribution:
    """Random scores of random earlier mentions."""
    rng = np.random.default_rng(seed)
    candidates = [
        np.sort(rng.choice(i, min(i, n_candidates), replace=False)) if i < 2_000 else np.arange(i - n_candidates, i)
        for i in range(n_mentions)
    ]
    sizes = [len(each) for each in candidates]
    indptr = np.concatenate(([0], np.cumsum(sizes)))
    return cs.AntecedentDistribution.from_csr(indptr, np.concatenate(candidates), rng.normal(-1.0, 2.0, indptr[-1]))


def plain_marginals(antecedents: cs.AntecedentDistribution) -> Floats:
    """The recursion by whole rows, with a dense matrix of antecedents."""
    n = antecedents.n_mentions
    probs, m = np.zeros((n, n)), np.eye(n)
    probs[np.repeat(np.arange(n), np.diff(antecedents.indptr)), antecedents.antecedents] = antecedents.probs
    for j in range(n):
        m[j, :j] = m[:j, j] = probs[j, :j] @ m[:j, :j]
    return m


# 128 columns make a block: fewer, exactly one, one more, several, and a last block of a single column.
@pytest.mark.parametrize("n_mentions", [1, 127, 128, 129, 255, 257, 300])
@pytest.mark.parametrize("n_candidates", [1, 3, 4, 7, 8, 13, 300])
def test_blocks_of_columns_change_no_figure(n_mentions: int, n_candidates: int) -> None:
    document = long_document(n_mentions, n_candidates)
    np.testing.assert_allclose(cs.link_marginals(document), plain_marginals(document), rtol=0, atol=1e-12)


@pytest.mark.parametrize("n_mentions", [5_000, 20_000])
def test_sampling_needs_memory_for_the_labels_and_the_candidates(n_mentions: int) -> None:
    document = long_document(n_mentions, 20)
    cs.sample_clusterings(document, n_samples=1)  # loads or compiles the kernels
    tracemalloc.start()
    try:
        samples = cs.sample_clusterings(document, n_samples=100)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    block = 128 * 4 * n_mentions  # labels of the samples that are drawn together
    tables = 12 * (document.n_candidates + n_mentions)
    assert peak < 1.1 * (samples.labels.nbytes + block + tables) + 2**16
    # A mention is NEW, or has the label of one of its candidates.
    indptr, labels = document.indptr, samples.labels.T
    for i in range(0, n_mentions, 97):
        possible = labels[document.antecedents[indptr[i] : indptr[i + 1]]]
        assert ((labels[i] == i) | (labels[i] == possible).any(axis=0)).all()


@pytest.mark.parametrize("function", [cs.link_marginals, cs.root_posterior])
def test_what_does_not_fit_into_memory_is_not_allocated(function: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cs._machine, "available_memory", lambda: 3 * 2**30 // 2)
    document = cs.AntecedentDistribution.from_csr(np.zeros(20_001, np.int64), np.zeros(0, np.int64), np.zeros(0))
    rule = (
        r"antecedents must fit into memory: a matrix of 20,000 x 20,000 mentions takes 3\.0 GiB, "
        r"got 1\.5 GiB of free memory \(`sample_clusterings`"
    )
    with pytest.raises(cs.ParameterError, match=rule):
        function(document)  # type: ignore[operator]
