"""Slow, simple versions of the figures of a distribution over dependency trees, by enumeration of all trees."""

import itertools
import math

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Tree = tuple[int, ...]


def reaches_root(heads: Tree, token: int) -> bool:
    for _ in range(len(heads) + 1):
        if token == -1:
            return True
        token = heads[token]
    return False


def all_trees(scores: npt.ArrayLike) -> dict[Tree, float]:
    """Score of every single-root tree that is allowed: heads, -1 for the root."""
    table = np.asarray(scores, float)
    n = len(table)
    trees = {}
    for heads in itertools.product(range(-1, n), repeat=n):
        if heads.count(-1) == 1 and all(reaches_root(heads, token) for token in range(n)):
            score = math.fsum(table[i, head + 1] for i, head in enumerate(heads))
            if score > -math.inf:
                trees[heads] = score
    return trees


def log_sum(values: list[float]) -> float:
    largest = max(values)
    return largest + math.log(math.fsum(math.exp(value - largest) for value in values))


def tree_probs(trees: dict[Tree, float]) -> dict[Tree, float]:
    largest = max(trees.values())
    total = math.fsum(math.exp(score - largest) for score in trees.values())
    return {heads: math.exp(score - largest) / total for heads, score in trees.items()}


def arc_marginals(trees: dict[Tree, float]) -> Array:
    n = len(next(iter(trees)))
    marginals = np.zeros((n, n + 1))
    for heads, prob in tree_probs(trees).items():
        for i, head in enumerate(heads):
            marginals[i, head + 1] += prob
    return marginals
