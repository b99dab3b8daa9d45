"""Removing mentions that are hardly ever linked conditions on their being alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from references import coreference as references
from strategies.documents import Lists, antecedent_lists, mild_scores

from corefsample import AntecedentDistribution, ParameterError, ScoredDocument, link_marginals
from corefsample.adapters import drop_unlinked, linked_probabilities


def document_of(lists: Lists) -> ScoredDocument:
    distribution = AntecedentDistribution.from_lists(*lists)
    n = distribution.n_mentions
    mentions = np.array([(i, i + 1, i) for i in range(n)], np.int32).reshape(-1, 3)
    return ScoredDocument("a", mentions, distribution, gold=list(range(n)), metadata={"source": "wire"})


def choices(distribution: AntecedentDistribution) -> list[tuple[tuple[int, ...], float]]:
    """Every antecedent vector (i at place i: NEW) and its probability."""
    rows: list[references.Row] = []
    for i in range(distribution.n_mentions):
        candidates, probs = (array.tolist() for array in distribution.row(i))
        rows.append({**dict(zip(candidates, probs, strict=True)), i: float(distribution.new_probs[i])})
    return list(references.antecedent_vectors(rows))


def alone(vector: tuple[int, ...], mention: int) -> bool:
    return vector[mention] == mention and vector.count(mention) == 1


@given(antecedent_lists(scores=mild_scores, max_mentions=5))
def test_the_probability_of_being_linked_is_that_of_full_enumeration(lists: Lists) -> None:
    distribution = AntecedentDistribution.from_lists(*lists)
    vectors = choices(distribution)
    for m, probability in enumerate(linked_probabilities(distribution).tolist()):
        assert probability == pytest.approx(sum(p for vector, p in vectors if not alone(vector, m)), abs=1e-12)


@given(antecedent_lists(scores=mild_scores, max_mentions=5), st.floats(0.05, 0.9))
def test_the_result_is_the_distribution_given_that_the_others_are_alone(lists: Lists, min_prob: float) -> None:
    document = document_of(lists)
    linked = linked_probabilities(document.antecedents)
    smaller = drop_unlinked(document, min_prob=min_prob)
    remaining = np.flatnonzero(linked >= min_prob).tolist()
    removed = [m for m in range(document.n_mentions) if m not in remaining]
    assert smaller.mentions[:, 0].tolist() == remaining
    assert smaller.gold == remaining
    left = [(v, p) for v, p in choices(document.antecedents) if all(alone(v, m) for m in removed)]
    clusterings = [(references.connected_components(v), p) for v, p in left]
    total = sum(p for _, p in left)
    marginals = link_marginals(smaller.antecedents)
    whole = link_marginals(document.antecedents)
    for i, a in enumerate(remaining):
        for j, b in enumerate(remaining):
            exact = sum(p for labels, p in clusterings if labels[a] == labels[b]) / total
            assert marginals[i, j] == pytest.approx(exact, abs=1e-12)
            assert abs(whole[a, b] - exact) <= linked[removed].sum() + 1e-12


def test_a_minimum_of_zero_removes_nothing() -> None:
    document = document_of(Lists([[], []], [[], []]))
    assert drop_unlinked(document, min_prob=0.0).n_mentions == 2
    assert drop_unlinked(document, min_prob=1e-9).n_mentions == 0


def test_a_certain_link_is_certain() -> None:
    assert linked_probabilities(AntecedentDistribution.from_lists([[], [0]], [[], [800.0]])).tolist() == [1.0, 1.0]


def test_arguments_of_the_wrong_kind_are_rejected() -> None:
    document = document_of(Lists([[]], [[]]))
    with pytest.raises(ParameterError, match="document must be a ScoredDocument, got AntecedentDistribution"):
        drop_unlinked(document.antecedents, min_prob=0.1)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match=r"min_prob must lie in \[0, 1\), got 1"):
        drop_unlinked(document, min_prob=1.0)
    with pytest.raises(ParameterError, match="antecedents must be an AntecedentDistribution, got ScoredDocument"):
        linked_probabilities(document)  # type: ignore[arg-type]
