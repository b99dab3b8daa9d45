"""Antecedents and links as networkx graphs."""

from __future__ import annotations

import math

import networkx as nx
import numpy as np
import pytest
from expected_errors import error
from hypothesis import given
from strategies import documents as strategies
from strategies.documents import Lists

from corefsample import AntecedentDistribution, ParameterError, link_marginals
from corefsample.coreference._graphs import to_networkx

# 1 links to 0 with 1/2, 2 links to 1 with 3/4 (so 2 and 0 corefer with 3/8), 3 is NEW.
CHAIN = AntecedentDistribution.from_lists([[], [0], [1], []], [[], [0.0], [math.log(3.0)], []])


def test_antecedents_are_directed_edges_between_mentions_that_may_be_new() -> None:
    graph = to_networkx(CHAIN)
    assert isinstance(graph, nx.DiGraph)
    assert list(graph.edges(data="probability")) == [(1, 0, 0.5), (2, 1, pytest.approx(0.75))]
    assert dict(graph.nodes(data="new")) == pytest.approx({0: 1.0, 1: 0.5, 2: 0.25, 3: 1.0})


def test_links_are_undirected_edges_with_exact_marginals() -> None:
    graph = to_networkx(CHAIN, "links")
    assert not graph.is_directed()
    assert set(graph) == {0, 1, 2, 3}
    marginals = {frozenset(pair): attributes["probability"] for pair, attributes in graph.edges.items()}
    assert marginals == pytest.approx({frozenset({0, 1}): 0.5, frozenset({1, 2}): 0.75, frozenset({0, 2}): 0.375})


@given(strategies.antecedent_lists(scores=strategies.mild_scores))
def test_links_above_a_threshold_are_those_of_the_marginals(lists: Lists) -> None:
    distribution = AntecedentDistribution.from_lists(*lists)
    later, earlier = np.nonzero(np.tril(link_marginals(distribution) >= 0.25, -1))
    expected = {frozenset(pair) for pair in zip(later.tolist(), earlier.tolist(), strict=True)}
    assert {frozenset(pair) for pair in to_networkx(distribution, "links", threshold=0.25).edges} == expected


@pytest.mark.parametrize(("threshold", "n_edges"), [(0.0, 2), (0.5, 2), (0.6, 1), (0.8, 0), (1, 0)])
def test_edges_below_the_threshold_are_left_out(threshold: float, n_edges: int) -> None:
    graph = to_networkx(CHAIN, threshold=threshold)
    assert graph.number_of_edges() == n_edges
    assert graph.number_of_nodes() == 4


def test_no_mentions_are_an_empty_graph() -> None:
    nobody = AntecedentDistribution.from_lists([], [])
    assert len(to_networkx(nobody)) == len(to_networkx(nobody, "links")) == 0


@pytest.mark.parametrize("kind", ["antecedents", "links"])
@pytest.mark.parametrize("threshold", [-0.1, 1.1, math.nan, "0.5", None])
def test_a_threshold_outside_0_to_1_raises(kind: str, threshold: float) -> None:
    with error(ParameterError, "threshold"):
        to_networkx(CHAIN, kind, threshold=threshold)  # type: ignore[arg-type]
    with error(ParameterError, "kind"):
        to_networkx(CHAIN, f"{kind}s")  # type: ignore[arg-type]
