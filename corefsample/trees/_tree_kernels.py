"""Compiled loop that draws dependency trees.

Legend of dimensions and names
    i : token as a dependent     n : number of tokens     s : sample
"""

from __future__ import annotations

import numpy as np

from corefsample._arrays import Floats, Ints32, Words
from corefsample._jit import inner_kernel, kernel
from corefsample._random_kernels import GAMMA, mix, uniform

ROOT = -1
NOT_DRAWN = -2


@inner_kernel
def first_above(sums, level):  # type: ignore[no-untyped-def]
    """First place whose cumulative weight is above a level below the last one."""
    low, high = 0, sums.shape[0] - 1
    while low < high:
        middle = (low + high) >> 1
        if sums[middle] > level:
            high = middle
        else:
            low = middle + 1
    return low


@kernel
def sample_trees(
    head_sums: Floats, root_sums: Floats, most_steps: int, key: np.uint64, words: Words, heads: Ints32
) -> None:
    """Fill heads[s], (n_samples, n), by Wilson's algorithm with a root that is drawn first.

    head_sums[i] are the cumulative weights of heads of token i, other than the root; root_sums those of roots. After
    `most_steps` steps only the root is put in its place, and the heads of other tokens stay NOT_DRAWN. words[s] becomes
    the state of the random stream after the last draw.
    """
    n = root_sums.shape[0]
    tree_of = np.full(n, -1, np.int64)  # the last sample in whose tree a token is
    for s in range(heads.shape[0]):
        word = mix(key + np.uint64(s + 1) * GAMMA) + GAMMA
        row = heads[s]
        root = first_above(root_sums, uniform(word) * root_sums[n - 1])
        row[root] = ROOT
        tree_of[root] = s
        n_steps = 0
        for start in range(n):
            i = start
            while tree_of[i] != s and n_steps < most_steps:
                word += GAMMA
                n_steps += 1
                sums = head_sums[i]
                row[i] = first_above(sums, uniform(word) * sums[n - 1])
                i = row[i]
            i = start
            while tree_of[i] != s and n_steps < most_steps:
                tree_of[i] = s
                i = row[i]
        words[s] = word
        if n_steps == most_steps:
            for i in range(n):
                row[i] = ROOT if i == root else NOT_DRAWN
