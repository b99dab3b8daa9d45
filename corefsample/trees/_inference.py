"""Exact inference for scores of arcs: marginals, trees with a given root, and the best tree.

Ordinary numbers are tried first, and logarithms where they do not suffice.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from corefsample._arrays import Bools, Floats, Ints, Ints32
from corefsample._lazy import needed
from corefsample.trees import _kernels


def is_tree(heads: Ints) -> bool:
    """Whether heads, -1 for the root, form a tree with a single root."""
    if np.count_nonzero(heads == -1) != 1:
        return False
    above = heads.copy()
    for _ in range(len(heads).bit_length()):  # each round doubles how far up the tree `above` points
        above = np.where(above < 0, -1, above[np.maximum(above, 0)])
    return bool(np.all(above == -1))


@dataclass(frozen=True, slots=True, eq=False)
class Inference:
    """What follows from the scores of arcs.

    Attributes
    ----------
    log_partition
        Logarithm of the sum of exp(score) over all trees.
    marginals
        float64 (n, n + 1): probability of each arc.
    steps
        float64 (n,): the most that a random walk along the arcs takes to reach token i, in expectation; not finite if
        it cannot be computed.
    log_weights, log_root_weights
        float64 (n, n) and (n,): scores of heads and of the root, each row shifted; -inf on the diagonal.
    """

    log_partition: float
    marginals: Floats
    steps: Floats
    log_weights: Floats
    log_root_weights: Floats


def inferred(scores: Floats) -> Inference:
    """Exact inference for scores (n, n + 1) that allow a tree."""
    n = len(scores)
    log_weights, log_root_weights = np.empty((n, n)), np.empty(n)
    shift, is_moderate = _kernels.shift_scores(scores, log_weights, log_root_weights)
    marginals, steps = np.empty((n, n + 1)), np.empty(n)
    levels, ranges = work_arrays(n)
    for logs in (False, True) if is_moderate else (True,):
        weights = log_weights if logs else np.exp(log_weights)
        root_weights = log_root_weights if logs else np.exp(log_root_weights)
        value = _kernels.tree_marginals(weights, root_weights, logs, levels, ranges, marginals, steps)
        if not np.isnan(value):
            break
    marginals.flags.writeable = False
    return Inference(value + shift, marginals, steps, log_weights, log_root_weights)


def conditional_tree(inference: Inference, root: int, key: np.uint64) -> Ints32:
    """Draw a tree with this root: int32 (n,) of heads, -1 for the root."""
    n = len(inference.steps)
    others = np.delete(np.arange(n), root)
    log_weights = inference.log_weights[np.ix_(others, np.append(others, root))]
    heads = np.empty(n - 1, np.int32)
    levels, ranges = work_arrays(n - 1)
    sums = np.empty(n)
    for logs in (False, True):
        weights = log_weights if logs else np.exp(log_weights)
        if _kernels.tree_by_elimination(weights, key, logs, levels, ranges, sums, heads):
            break
    tree = np.full(n, -1, np.int32)
    tree[others] = np.append(others, root)[heads]
    return tree


def work_arrays(n: int) -> tuple[Floats, Ints32]:
    """The graphs and ranges of all levels for n tokens."""
    n_levels = max(n - 1, 1).bit_length() + 2
    return np.empty((n_levels, n, n + 2)), np.empty((n_levels, 3), np.int32)


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
    nx = needed("networkx")

    dependents, columns = np.nonzero(allowed)
    values = scores[dependents, columns].copy()
    # A penalty larger than any difference between trees, so that the best arborescence has the fewest roots.
    spread = float(np.ptp(values)) + 1.0
    values[columns == 0] -= spread * (len(scores) + 1)
    graph = nx.DiGraph()
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
