"""The likeliest tag sequences of a linear chain; names are those of _chain_kernels.py, scores are logarithms."""

from __future__ import annotations

import numpy as np

from corefsample._arrays import Floats, Ints32
from corefsample._jit import kernel


@kernel
def best_sequences(unary: Floats, pairwise: Floats, links: Ints32, tags: Ints32, scores: Floats) -> int:
    """Fill tags (k, n) and scores (k,) with the k sequences of the highest scores, best first; return their number.

    links (n, n_tags, k) is working memory: the next tag t and the rank r there of the r-th best end from a tag on, as
    t * k + r. Of equal scores, those with the smaller next tag come first.
    """
    n, n_tags = unary.shape
    k: int = scores.shape[0]
    after, before = np.full((n_tags, k), -np.inf), np.full((n_tags, k), -np.inf)
    for t in range(n_tags):
        after[t, 0] = unary[n - 1, t]
    ranks = np.empty(n_tags, np.int64)
    for i in range(n - 2, -1, -1):
        matrix = pairwise[i if pairwise.shape[0] > 1 else 0]
        for s in range(n_tags):
            for t in range(n_tags):
                ranks[t] = 0
            for r in range(k):
                best, best_t = -np.inf, 0
                for t in range(n_tags):
                    if ranks[t] < k and matrix[s, t] + after[t, ranks[t]] > best:
                        best, best_t = matrix[s, t] + after[t, ranks[t]], t
                before[s, r] = unary[i, s] + best
                links[i, s, r] = best_t * k + ranks[best_t]
                ranks[best_t] += 1
        after, before = before, after
    for t in range(n_tags):
        ranks[t] = 0
    for r in range(k):
        best, tag = -np.inf, 0
        for t in range(n_tags):
            if ranks[t] < k and after[t, ranks[t]] > best:
                best, tag = after[t, ranks[t]], t
        if best == -np.inf:
            return r
        scores[r] = best
        rank = ranks[tag]
        ranks[tag] += 1
        for i in range(n):
            tags[r, i] = tag
            if i < n - 1:
                link = links[i, tag, rank]
                tag, rank = link // k, link % k
    return k
