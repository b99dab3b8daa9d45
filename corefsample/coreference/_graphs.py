"""Antecedents and links as networkx graphs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample._lazy import needed
from corefsample.coreference._antecedents import AntecedentDistribution
from corefsample.coreference._clusterings import link_marginals

if TYPE_CHECKING:
    import networkx as nx


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
        "antecedents": a directed graph with an edge mention -> antecedent for each candidate; or "links": an undirected
        graph with an edge for each pair of mentions that can corefer.
    threshold
        In [0, 1]: edges of a lower probability are left out.

    Returns
    -------
    networkx.DiGraph or networkx.Graph
        One node per mention; in the directed graph with attribute `new`, P(no antecedent). Edges have the attribute
        `probability`: that of the antecedent, or the exact link marginal.

    Raises
    ------
    ParameterError
        If antecedents is not a distribution, or an option breaks its rule.
    """
    graphs = needed("networkx")
    AntecedentDistribution.require(antecedents)
    _checks.choice("kind", kind, ("antecedents", "links"))
    _checks.probability("threshold", threshold)
    graph: nx.Graph[int]
    columns: tuple[npt.NDArray[Any], ...]
    if kind == "links":
        graph = graphs.Graph()
        graph.add_nodes_from(range(antecedents.n_mentions))
        marginals = np.tril(link_marginals(antecedents), -1)
        earlier, later = np.nonzero(((marginals >= threshold) & (marginals > 0.0)).T)
        columns = (earlier, later, marginals[later, earlier])
    else:
        graph = graphs.DiGraph()
        graph.add_nodes_from((i, {"new": new}) for i, new in enumerate(antecedents.new_probs.tolist()))
        mentions = np.repeat(np.arange(antecedents.n_mentions), np.diff(antecedents.indptr))
        likely = antecedents.probs >= threshold
        columns = (mentions[likely], antecedents.antecedents[likely], antecedents.probs[likely])
    graph.add_weighted_edges_from(zip(*(column.tolist() for column in columns), strict=True), weight="probability")
    return graph
