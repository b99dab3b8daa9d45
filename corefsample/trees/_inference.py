"""Exact inference of arc distributions: ordinary numbers first, logarithms where they do not suffice."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from corefsample._arrays import Floats, Ints32
from corefsample.trees import _elimination_kernels


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
    shift, is_moderate = _elimination_kernels.shift_scores(scores, log_weights, log_root_weights)
    marginals, steps = np.empty((n, n + 1)), np.empty(n)
    levels, ranges = work_arrays(n)
    value = np.nan
    for logs in (False, True):
        if not logs and not is_moderate:
            continue
        weights = log_weights if logs else np.exp(log_weights)
        root_weights = log_root_weights if logs else np.exp(log_root_weights)
        value = _elimination_kernels.tree_marginals(weights, root_weights, logs, levels, ranges, marginals, steps)
        if not np.isnan(value):
            break
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
        if _elimination_kernels.tree_by_elimination(weights, key, logs, levels, ranges, sums, heads):
            break
    tree = np.full(n, -1, np.int32)
    tree[others] = np.append(others, root)[heads]
    return tree


def work_arrays(n: int) -> tuple[Floats, Ints32]:
    """The graphs and ranges of all levels for n tokens."""
    n_levels = max(n - 1, 1).bit_length() + 2
    return np.empty((n_levels, n, n + 2)), np.empty((n_levels, 3), np.int32)
