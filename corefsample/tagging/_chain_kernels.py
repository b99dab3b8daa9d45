"""Compiled loops of linear chains: weights of both passes, likeliest sequences, draws of tags.

Legend of dimensions and names
    i    : position of a token               n : number of tokens
    s, t : tag, and the tag that follows it  n_tags : number of tags
    c    : chain, of several with one matrix: it has the rows indptr[c] to indptr[c + 1]
    pairwise[m, s, t] : scores of transitions, one matrix for all pairs of neighbours, or a matrix for each pair
    forward[i, t]     : weight of all beginnings that end in tag t at i, unary score of i included
    backward[i, t]    : weight of all ends that follow tag t at i

Each row of weights is scaled to a maximum of 1. A chain is exact if no weight above 0 falls below LEAST, as nothing
can have underflowed then.
"""

import numpy as np

from corefsample._arrays import Bools, Floats, Ints, Ints32
from corefsample._jit import kernel, sums_inner_kernel
from corefsample._random_kernels import GAMMA, mix

LEAST_EXPONENTIAL = 1e-90  # of a score relative to the largest, in `scaled_passes`
LEAST = 1e-100  # LEAST * LEAST_EXPONENTIAL**2 is above the smallest float
U11 = np.uint64(11)
STEP = 2.0**-53  # between the uniform numbers that are drawn


@sums_inner_kernel
def weighted_rows(x, weights, out):  # type: ignore[no-untyped-def]
    """out[t] = sum over s of x[s] * weights[s, t]; with four rows at a time, `out` is read less often."""
    n_tags = out.shape[0]
    n_of_fours = n_tags // 4 * 4
    for t in range(n_tags):
        out[t] = 0.0
    for s in range(0, n_of_fours, 4):
        x0, x1, x2, x3 = x[s], x[s + 1], x[s + 2], x[s + 3]
        rows = weights[s : s + 4]
        for t in range(n_tags):
            out[t] += x0 * rows[0, t] + x1 * rows[1, t] + x2 * rows[2, t] + x3 * rows[3, t]
    for s in range(n_of_fours, n_tags):
        for t in range(n_tags):
            out[t] += x[s] * weights[s, t]


@sums_inner_kernel
def weighted_sum(x, weights):  # type: ignore[no-untyped-def]
    """Sum over t of x[t] * weights[t]."""
    total = 0.0
    for t in range(x.shape[0]):
        total += x[t] * weights[t]
    return total


@sums_inner_kernel
def scale_to_one(row):  # type: ignore[no-untyped-def]
    """Divide a row by its maximum, if that is above 0; return the maximum, and the least that is above 0 after it."""
    largest, least = 0.0, 1.0
    for t in range(row.shape[0]):
        largest = max(largest, row[t])
    scale = 1.0 / largest if largest > 0.0 else 0.0
    for t in range(row.shape[0]):
        row[t] *= scale
        least = min(least, row[t] if row[t] > 0.0 else 1.0)
    return largest, least


@kernel
def scaled_passes(
    indptr: Ints,
    unary: Floats,
    emissions: Floats,
    weights: Floats,
    forward: Floats,
    norms: Floats,
    backward: Floats,
    probs: Floats,
    is_exact: Bools,
) -> None:
    """Fill weights of both passes, scaled row by row, and marginals, for chains with one matrix of transitions.

    emissions[i, t] and weights[s, t] are exponentials of scores, 0 where these are -inf. norms[i] becomes the number by
    which row i of `forward` was divided. Rows of chains that are not exact have no meaning.
    """
    n_tags = emissions.shape[1]
    x = np.empty(n_tags)
    for c in range(indptr.shape[0] - 1):
        first, last = indptr[c], indptr[c + 1] - 1
        least_of_all = 1.0
        for i in range(first, last + 1):
            row = forward[i]
            if i == first:
                row[:] = 1.0
            else:
                weighted_rows(forward[i - 1], weights, row)
            least_emission = 1.0
            for t in range(n_tags):
                row[t] *= emissions[i, t]
                least_emission = min(least_emission, emissions[i, t] if unary[i, t] > -np.inf else 1.0)
            least_of_all = least_of_all if least_emission >= LEAST_EXPONENTIAL else 0.0
            norms[i], least = scale_to_one(row)
            least_of_all = min(least_of_all, least, norms[i])
        backward[last] = 1.0
        fill_marginals(forward[last], backward[last], probs[last])
        for i in range(last - 1, first - 1, -1):
            row = backward[i]
            for t in range(n_tags):
                x[t] = emissions[i + 1, t] * backward[i + 1, t]
            for s in range(n_tags):
                row[s] = weighted_sum(x, weights[s])
            _, least = scale_to_one(row)
            least_of_all = min(least_of_all, least)
            fill_marginals(forward[i], row, probs[i])
        is_exact[c] = least_of_all >= LEAST


@sums_inner_kernel
def fill_marginals(forward, backward, probs):  # type: ignore[no-untyped-def]
    """probs[t] = forward[t] * backward[t], scaled to a sum of 1."""
    total = 0.0
    for t in range(probs.shape[0]):
        probs[t] = forward[t] * backward[t]
        total += probs[t]
    scale = 1.0 / total if total > 0.0 else 0.0
    for t in range(probs.shape[0]):
        probs[t] *= scale


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


@kernel
def draw_tags(sums: Floats, first_token: int, key: np.uint64, tags: Ints32) -> None:
    """Fill the rows of `tags` (n, n_samples) from the last of these tokens backwards, each tag given the next one.

    sums[p, t, s] are the cumulative weights of tag s of token first_token + p, given the next tag t; of the last token,
    those with t = 0 count. Word s of token i is output s of SplitMix64 seeded with output i of SplitMix64
    seeded with `key`. Its high 53 bits are a uniform number; the tag is the first whose cumulative weight exceeds it.
    """
    last, n_samples, n_tags = tags.shape[0] - 1, tags.shape[1], sums.shape[2]
    for p in range(sums.shape[0] - 1, -1, -1):
        i = first_token + p
        state = mix(np.uint64(key) + np.uint64(i + 1) * GAMMA) + GAMMA
        for s in range(n_samples):
            picked = mix(state + np.uint64(s) * GAMMA) >> U11
            row = sums[p, 0 if i == last else tags[i + 1, s]]
            level = np.float64(np.int64(picked)) * STEP * row[n_tags - 1]
            n = 0  # number of cumulative weights that are at most the level: the place of the first above it
            for t in range(n_tags):
                n += row[t] <= level
            tags[i, s] = n
