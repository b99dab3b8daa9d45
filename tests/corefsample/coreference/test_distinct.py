"""Clusterings given that pairs of mentions are apart, against full enumeration."""

from __future__ import annotations

import numpy as np
import pytest
from expected_errors import error
from references import coreference as references
from tolerance import plausible_counts

from corefsample import AntecedentDistribution, sample_clusterings
from corefsample.coreference._clusterings import Conditioned
from corefsample.errors import ParameterError

Lists = tuple[list[list[int]], list[list[float]]]
PAIRS = [(0, 1), (4, 2), (1, 3)]


def drawn(n_mentions: int, seed: int, shift: float = 0.0) -> Lists:
    rng = np.random.default_rng(seed)
    return (
        [list(range(i)) for i in range(n_mentions)],
        [(rng.normal(0.0, 1.5, i) + shift).tolist() for i in range(n_mentions)],
    )


def conditioned(lists: Lists, pairs: list[tuple[int, int]]) -> references.ClusteringProbs:
    """The clusterings in which no pair is together, and their probabilities, by enumeration."""
    probs = references.clustering_probs(references.softmax_rows(*lists))
    left = {labels: p for labels, p in probs.items() if all(labels[i] != labels[j] for i, j in pairs)}
    total = sum(left.values())
    return {labels: p / total for labels, p in left.items()}


def plausible(labels: np.ndarray, expected: references.ClusteringProbs) -> bool:
    names = sorted(expected)
    found = dict.fromkeys(names, 0)
    for row in map(tuple, labels.tolist()):
        found[row] += 1  # another clustering is a KeyError
    return bool(plausible_counts(list(found.values()), len(labels), [expected[name] for name in names]).all())


@pytest.mark.parametrize("seed", range(3))
def test_samples_have_the_frequencies_of_the_conditioned_enumeration(seed: int) -> None:
    lists = drawn(5, seed)
    distribution = AntecedentDistribution.from_lists(*lists)
    labels = sample_clusterings(distribution, n_samples=20_000, seed=seed, apart=PAIRS).labels
    assert plausible(labels, conditioned(lists, PAIRS))


def test_the_first_samples_of_many_are_the_few_and_consistent_draws_stay() -> None:
    distribution = AntecedentDistribution.from_lists(*drawn(6, 1))
    many = sample_clusterings(distribution, n_samples=1000, apart=PAIRS, doc_id="a").labels
    few = sample_clusterings(distribution, n_samples=100, apart=PAIRS[::-1], doc_id="a").labels
    later = sample_clusterings(distribution, n_samples=900, apart=PAIRS, doc_id="a", first_sample=100).labels
    assert (many[:100] == few).all()
    assert (many[100:] == later).all()
    free = sample_clusterings(distribution, n_samples=1000, doc_id="a").labels
    good = np.all([free[:, i] != free[:, j] for i, j in PAIRS], axis=0)
    assert 0 < good.sum() < 1000
    assert (many[good] == free[good]).all()


def test_chains_come_close_to_the_conditioned_distribution() -> None:
    """Scores so high that hardly a draw is consistent; expected frequencies by enumeration."""
    lists = drawn(5, 7, shift=6.0)
    found = sample_clusterings(AntecedentDistribution.from_lists(*lists), n_samples=20_000, apart=PAIRS)
    assert found.conditioned is not None
    assert found.conditioned.way == "chain"
    assert plausible(found.labels, conditioned(lists, PAIRS))


def test_clashes_are_counted_before_conditioning() -> None:
    distribution = AntecedentDistribution.from_lists([[], [0], [1]], [[], [0.0], [0.0]])
    # 2 is with 0 where both links are drawn: then both mentions clash, and 1 does not.
    expected = int((sample_clusterings(distribution, n_samples=500).labels[:, 2] == 0).sum())
    found = sample_clusterings(distribution, n_samples=500, apart=[[2, 0]])
    assert found.conditioned == Conditioned(np.array([expected, 0, expected]), "drawn again")
    assert (found.labels[:, 2] != found.labels[:, 0]).all()


def test_removed_links_leave_the_rest_renormalised() -> None:
    # Weights 1 (NEW), e, e^2 of mention 2; without the link to 1 they are 1 and e.
    distribution = AntecedentDistribution.from_lists([[], [0], [0, 1]], [[], [0.5], [1.0, 2.0]])
    smaller = distribution.without_links([(1, 2), (0, 1)])
    assert smaller.antecedents.tolist() == [0]
    np.testing.assert_allclose(smaller.probs, [np.e / (1 + np.e)], rtol=1e-14)
    np.testing.assert_allclose(smaller.new_probs, [1.0, 1.0, 1 / (1 + np.e)], rtol=1e-14)
    assert distribution.without_links([]).probs.tolist() == distribution.probs.tolist()


@pytest.mark.parametrize("pairs", [[[0, 3]], [[1, 1]], [[-1, 0]], [[0, 1, 2]], [[0.5, 1]], [[0, 1], [1]]])
def test_a_pair_is_of_two_mentions(pairs: list[list[float]]) -> None:
    distribution = AntecedentDistribution.from_lists(*drawn(3, 0))
    with error(ParameterError, "pairs"):
        distribution.without_links(pairs)
    with error(ParameterError, "apart"):
        sample_clusterings(distribution, n_samples=2, apart=pairs)
