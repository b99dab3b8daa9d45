"""The likeliest tag sequences of a linear chain; names are those of _log_kernels.py."""

from __future__ import annotations

import numpy as np

from corefsample._arrays import Floats, Ints32
from corefsample._jit import kernel


@kernel
def best_tags(unary: Floats, pairwise: Floats, tags: Ints32) -> None:
    """Fill tags (n,) with the sequence of the highest score; of several, the first in the order of tags."""
    n, n_tags = unary.shape
    best_next = np.empty((n, n_tags), np.int32)
    after, before = unary[n - 1].copy(), np.empty(n_tags)  # score of the best end from tag t on
    for i in range(n - 2, -1, -1):
        matrix = pairwise[i if pairwise.shape[0] > 1 else 0]
        for s in range(n_tags):
            best, best_t = -np.inf, 0
            for t in range(n_tags):
                x = matrix[s, t] + after[t]
                if x > best:
                    best, best_t = x, t
            before[s] = unary[i, s] + best
            best_next[i, s] = best_t
        after, before = before, after
    tag, best = 0, -np.inf
    for t in range(n_tags):
        if after[t] > best:
            tag, best = t, after[t]
    tags[0] = tag
    for i in range(1, n):
        tags[i] = best_next[i - 1, tags[i - 1]]
