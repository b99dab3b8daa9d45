"""Clusterings under several sets of scores are those of a call for each set."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import documents as strategies
from strategies.documents import Lists

from corefsample import AntecedentDistribution, sample_clusterings
from corefsample.coreference._clusterings import sample_rescored


def one_by_one(
    distribution: AntecedentDistribution, scores: np.ndarray[Any, Any], sizes: list[int], **options: Any
) -> np.ndarray[Any, Any]:
    """Labels of `sample_clusterings` for each set, beside each other."""
    first, parts = options.pop("first_sample", 0), []
    for own, size in zip(scores, sizes, strict=True):
        changed = distribution.with_scores(own)
        parts.append(sample_clusterings(changed, n_samples=size, first_sample=first, **options).labels.T)
        first += size
    return np.concatenate(parts, axis=1)


@pytest.mark.kernels
@given(
    lists=strategies.antecedent_lists(),
    sizes=st.lists(st.integers(1, 140), min_size=1, max_size=5),
    seed=st.integers(0, 2**64 - 1),
    first_sample=st.integers(0, 1000),
    spread=st.sampled_from([0.0, 1.0, 400.0]),  # the last one needs shifted scores
)
def test_samples_are_those_of_one_call_for_each_set(
    lists: Lists, sizes: list[int], seed: int, first_sample: int, spread: float
) -> None:
    distribution = AntecedentDistribution.from_lists(*lists)
    scores = np.random.default_rng(3).normal(0.0, spread, (len(sizes), distribution.n_candidates))
    options: dict[str, Any] = {"seed": seed, "doc_id": "a", "first_sample": first_sample}
    found, _ = sample_rescored(distribution, scores, np.array(sizes), **options)
    assert found.dtype == np.int32
    np.testing.assert_array_equal(found, one_by_one(distribution, scores, sizes, **options))


def test_a_document_with_more_mentions_than_16_bits() -> None:
    n = 66_000  # each mention has the one before as its candidate
    distribution = AntecedentDistribution.from_csr(np.append(0, np.arange(n)), np.arange(n - 1), np.zeros(n - 1))
    scores = np.array([[0.5], [-1.0]]) * np.ones(distribution.n_candidates)
    found, _ = sample_rescored(distribution, scores, np.array([2, 1]), seed=0, doc_id="", first_sample=0)
    np.testing.assert_array_equal(found, one_by_one(distribution, scores, [2, 1]))
