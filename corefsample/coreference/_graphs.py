"""Antecedents and links as networkx graphs, for people who think in graphs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from corefsample import _checks
from corefsample.coreference._antecedents import AntecedentDistribution
from corefsample.coreference._exact import link_marginals

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["antecedent_graph", "link_graph", "to_networkx"]


def to_networkx(
    antecedents: AntecedentDistribution,
    kind: Literal["antecedents", "links"] = "antecedents",
    *,
    threshold: float = 0.0,
) -> nx.Graph[int]:
    """Graph of one document's mentions: of its candidate antecedents, or of its coreferent pairs.

    Parameters
    ----------
    antecedents
        Distribution over antecedents of one document.
    kind
        "antecedents" (see `antecedent_graph`) or "links" (see `link_graph`).
    threshold
        In [0, 1]: edges of a lower probability are left out.
    """
    _checks.choice("kind", kind, ("antecedents", "links"))
    if kind == "links":
        return link_graph(antecedents, threshold=threshold)
    return antecedent_graph(antecedents, threshold=threshold)


def antecedent_graph(antecedents: AntecedentDistribution, *, threshold: float = 0.0) -> nx.DiGraph[int]:
    """Directed graph of candidate antecedents.

    Returns
    -------
    networkx.DiGraph
        A node a mention, with attribute `new` = P(no antecedent); an edge mention -> antecedent for each candidate
        of probability at least `threshold`, with attribute `probability`.
    """
    import networkx as nx

    _checks.probability("threshold", threshold)
    graph: nx.DiGraph[int] = nx.DiGraph()
    for i, new in enumerate(antecedents.new_probs.tolist()):
        graph.add_node(i, new=new)
    mentions = np.repeat(np.arange(antecedents.n_mentions), np.diff(antecedents.indptr))
    keep = antecedents.probs >= threshold
    columns = (mentions[keep], antecedents.antecedents[keep], antecedents.probs[keep])
    for i, k, p in zip(*(column.tolist() for column in columns), strict=True):
        graph.add_edge(i, k, probability=p)
    return graph


def link_graph(antecedents: AntecedentDistribution, *, threshold: float = 0.5) -> nx.Graph[int]:
    """Undirected graph of the pairs that corefer with probability of at least `threshold`.

    Returns
    -------
    networkx.Graph
        A node a mention; an edge a pair, with attribute `probability`, the exact link marginal. Pairs that cannot
        corefer have no edge, at a threshold of 0 too.
    """
    import networkx as nx

    _checks.probability("threshold", threshold)
    marginals = np.tril(link_marginals(antecedents), -1)
    graph: nx.Graph[int] = nx.Graph()
    graph.add_nodes_from(range(antecedents.n_mentions))
    later, earlier = np.nonzero((marginals >= threshold) & (marginals > 0.0))
    for j, i in zip(later.tolist(), earlier.tolist(), strict=True):
        graph.add_edge(i, j, probability=float(marginals[j, i]))
    return graph
