"""The best tree: a maximum spanning arborescence with a single root, by networkx."""

from __future__ import annotations

import numpy as np

from corefsample._arrays import Bools, Floats, Ints32
from corefsample.trees._checking import is_tree

_FEW = 6  # heads of each token that the first search is limited to


def best_heads(scores: Floats) -> Ints32:
    """Heads of a tree with the largest sum of scores, for scores (n, n + 1) that allow a tree.

    No tree is better than the best heads of all tokens and the best root. A tree of few arcs per token gives a lower
    bound, and an arc with which this upper bound is below it is in no best tree. Networkx searches the others.
    """
    n = len(scores)
    best = np.max(scores[:, 1:], axis=1)
    forced = best == -np.inf
    without_root = np.where(forced, 0.0, best)
    roots = scores[:, 0] - without_root
    if forced.any():
        roots[~forced] = -np.inf
    root = int(np.argmax(roots))
    heads = np.argmax(scores[:, 1:], axis=1)
    heads[root] = -1
    if is_tree(heads):
        trivial: Ints32 = heads.astype(np.int32)
        return trivial
    # What a tree loses against the upper bound if it has an arc, at least.
    losses = np.concatenate([(roots[root] - roots)[:, None], without_root[:, None] - scores[:, 1:]], axis=1)
    few = losses <= np.sort(losses, axis=1)[:, [min(_FEW, n)]]
    few[:, 0] = True
    found = _arborescence(scores, few & np.isfinite(losses))
    everything: Bools = np.isfinite(losses)
    if found is not None:
        tokens = np.arange(n)
        loss = losses[tokens, found + 1].sum()
        everything &= losses <= loss + 1e-9 * max(abs(loss), 1.0)
    result = _arborescence(scores, everything)
    assert result is not None  # the scores allow a tree
    return result


def _arborescence(scores: Floats, allowed: Bools) -> Ints32 | None:
    """Best tree of the allowed arcs, or None if there is none."""
    import networkx as nx

    dependents, columns = np.nonzero(allowed)
    values = scores[dependents, columns].copy()
    # A penalty larger than any difference between trees, so that the best arborescence has the fewest roots.
    spread = float(np.ptp(values)) + 1.0
    values[columns == 0] -= spread * (len(scores) + 1)
    graph: nx.DiGraph[int] = nx.DiGraph()
    graph.add_nodes_from(range(len(scores) + 1))
    graph.add_weighted_edges_from(zip(columns.tolist(), (dependents + 1).tolist(), values.tolist(), strict=True))
    try:
        tree = nx.maximum_spanning_arborescence(graph)
    except nx.NetworkXException:
        return None
    heads = np.full(len(scores), -1, np.int32)
    for head, dependent in tree.edges:
        heads[dependent - 1] = head - 1
    return heads if np.count_nonzero(heads == -1) == 1 else None
