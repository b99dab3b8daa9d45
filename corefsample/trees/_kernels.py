"""Compiled loops over the graph of arcs: elimination of tokens without subtraction, marginals, and drawn trees.

Legend of dimensions and names
    i : token as a dependent     j, k : token as a head     n : number of tokens     r : root of the tree
    weights[i, j]  : weight of head j for dependent i; 0 on the diagonal. A walk that goes from each token to a head,
                     by these weights, reaches every token along the arcs of a tree.
    levels[d]      : (n, n + 2), the graph after elimination of all tokens but those in [low, high) of level d

Elimination of token k replaces each way j -> k by the ways j -> k -> u to the tokens u that are left. In `levels`, the
row of a token that is left has the weights of its ways to tokens that are left; the row of an eliminated token has the
probabilities of the token that is left which a walk from it reaches first. Column n has the reward: the root weights
that a walk collects on the way (marginals), or the probability that it reaches the root before (samples). Column n + 1
has the number of steps.

All terms are positive and no term is subtracted, so each result has a small relative error (Alfa, Xue & Ye 2002;
Grassmann, Taksar & Heyman 1985), except for underflow. Ordinary numbers are tried first. If one is so small or large
that an underflow could matter, the work is done again with logarithms (`logs`).
"""

from __future__ import annotations

import math

import numpy as np

from corefsample._arrays import Bools, Floats, Ints32, Words
from corefsample._jit import inner_kernel, kernel, kernel_in_place
from corefsample._random_kernels import GAMMA, mix, uniform

# Beyond these, ordinary numbers are not used. What an underflow loses is below 1e-308 times the number of visits.
SMALLEST, LARGEST = 1e-60, 1e60
SMALLEST_LOG = math.log(SMALLEST)


@inner_kernel
def log_sum(a, b):  # type: ignore[no-untyped-def]
    larger, smaller = max(a, b), min(a, b)
    if smaller == -np.inf:
        return larger
    return larger + math.log1p(math.exp(smaller - larger))


@inner_kernel
def sum_of(row, first, last, logs):  # type: ignore[no-untyped-def]
    """Sum of row[first:last]."""
    if logs:
        largest = -np.inf
        for u in range(first, last):
            largest = max(largest, row[u])
        if largest == -np.inf:
            return largest
        total = 0.0
        for u in range(first, last):
            total += math.exp(row[u] - largest)
        return largest + math.log(total)
    total = 0.0
    for u in range(first, last):
        total += row[u]
    return total


@kernel_in_place
def shift_scores(scores: Floats, weights: Floats, root_weights: Floats) -> tuple[float, bool]:
    """Fill logarithms of weights (n, n) and of root weights (n,) with scores (n, n + 1), shifted to maxima of 0.

    Returns the sum of all shifts, and whether ordinary numbers may suffice.
    """
    n = weights.shape[0]
    total, largest_root, smallest = 0.0, -np.inf, 0.0
    for i in range(n):
        largest = -np.inf
        for j in range(n):
            if j != i:
                largest = max(largest, scores[i, j + 1])
        shift = largest if largest > -np.inf else 0.0  # a token without other heads is the root
        total += shift
        for j in range(n):
            weights[i, j] = scores[i, j + 1] - shift if j != i else -np.inf
            if weights[i, j] > -np.inf:
                smallest = min(smallest, weights[i, j])
        root_weights[i] = scores[i, 0] - shift
        largest_root = max(largest_root, root_weights[i])
    for i in range(n):
        root_weights[i] -= largest_root
        if root_weights[i] > -np.inf:
            smallest = min(smallest, root_weights[i])
    return total + largest_root, smallest >= SMALLEST_LOG


@inner_kernel
def add_ways(row, factor, ways, logs):  # type: ignore[no-untyped-def]
    """Add the ways, multiplied by a factor, to the ways of a row."""
    if logs:
        for u in range(row.shape[0]):
            row[u] = log_sum(row[u], factor + ways[u])
    else:
        for u in range(row.shape[0]):
            row[u] += factor * ways[u]


@inner_kernel
def eliminate(graph, k, first, last, absorbing, logs):  # type: ignore[no-untyped-def]
    """Eliminate token k, so that the tokens in [first, last) are left.

    Returns the weight of its ways to them, and the pivot: the factor that it contributes to the sum over trees.

    With `absorbing` the reward is such a way, too. Without it, the weight is 0 if the root can only be k or one of
    the tokens of which it is the last: walks end there, and the reward becomes the probability of this.
    """
    n = graph.shape[0]
    zero, unit = (-np.inf, 0.0) if logs else (0.0, 1.0)
    ways_of_k = graph[k]
    weight = sum_of(ways_of_k, first, last, logs)
    total_weight, pivot = weight, weight
    if absorbing:
        total_weight = log_sum(weight, ways_of_k[n]) if logs else weight + ways_of_k[n]
        pivot = total_weight
    elif weight == zero:
        pivot = ways_of_k[n]
        for j in range(n):
            graph[j, n], graph[j, n + 1] = zero, zero
        ways_of_k[n], total_weight = unit, unit
    scale = total_weight if logs else 1.0 / total_weight
    for u in range(n + 2):
        if first <= u < last or u >= n:
            ways_of_k[u] = ways_of_k[u] - scale if logs else ways_of_k[u] * scale
    for j in range(n):
        factor = graph[j, k]
        if j != k and factor != zero:
            add_ways(graph[j, first:last], factor, ways_of_k[first:last], logs)
            add_ways(graph[j, n:], factor, ways_of_k[n:], logs)
    return weight, pivot


@inner_kernel
def begin_half(levels, ranges, d):  # type: ignore[no-untyped-def]
    """Begin the next half of the tokens of level d, as level d + 1: copy the graph, and return the other half.

    The columns of tokens that are left, the reward and the steps are copied.
    """
    n = levels.shape[1]
    low, high, done = ranges[d, 0], ranges[d, 1], ranges[d, 2]
    for j in range(n):
        for u in range(low, high):
            levels[d + 1, j, u] = levels[d, j, u]
        levels[d + 1, j, n] = levels[d, j, n]
        levels[d + 1, j, n + 1] = levels[d, j, n + 1]
    middle = (low + high) // 2
    ranges[d, 2] = done + 1
    ranges[d + 1, 0] = low if done == 0 else middle
    ranges[d + 1, 1] = middle if done == 0 else high
    ranges[d + 1, 2] = 0
    return middle if done == 0 else low, high if done == 0 else middle


@inner_kernel
def next_eliminated(ranges, d, c):  # type: ignore[no-untyped-def]
    """Token that is eliminated in step c of a half of level d, and the range of those left after it."""
    low, high, done = ranges[d, 0], ranges[d, 1], ranges[d, 2]  # halves begun: 1 or 2
    k = high - 1 - c if done == 1 else low + c
    return k, low if done == 1 else k + 1, k if done == 1 else high


@kernel
def tree_marginals(
    weights: Floats, root_weights: Floats, logs: bool, levels: Floats, ranges: Ints32, marginals: Floats, steps: Floats
) -> float:
    """Fill marginals[i] = P(root, head 0, head 1, ...) and steps[i] = expected steps of a walk to i, at most.

    Each token i in turn is the only one that is left. Then a tree has the arc i -> j, and its root elsewhere, with a
    weight proportional to weights[i, j] times the reward of j, and i is its root with one proportional to
    root_weights[i].

    `ranges` is (n_levels, 3): low, high and how many halves are done of each level. Returns the logarithm of the sum
    over all trees, or NaN if ordinary numbers do not suffice.
    """
    n = weights.shape[0]
    zero = -np.inf if logs else 0.0
    for j in range(n):
        for u in range(n):
            levels[0, j, u] = weights[j, u]
        levels[0, j, n] = root_weights[j]
        levels[0, j, n + 1] = sum_of(weights[j], 0, n, logs)
    log_partition, log_product = 0.0, 0.0  # the latter of the tokens eliminated on the way to token 0
    absorbing = np.zeros(ranges.shape[0], np.bool_)  # whether walks end in some eliminated token
    d = 0
    ranges[0, 0], ranges[0, 1], ranges[0, 2] = 0, n, 0
    while d >= 0:
        low, high, done = ranges[d, 0], ranges[d, 1], ranges[d, 2]
        if high - low == 1:
            i = low
            marginals[i, 0] = zero if absorbing[d] else root_weights[i]
            longest = zero
            for j in range(n):
                reward = levels[d, j, n]
                if not logs and (reward > LARGEST or reward != reward):
                    return np.nan
                if j == i:
                    marginals[i, 1 + j] = zero
                    continue
                marginals[i, 1 + j] = weights[i, j] + reward if logs else weights[i, j] * reward
                if not levels[d, j, n + 1] <= longest:
                    longest = levels[d, j, n + 1]
            total = sum_of(marginals[i], 0, n + 1, logs)
            if not logs and not total >= SMALLEST:
                return np.nan
            for j in range(n + 1):
                marginals[i, j] = math.exp(marginals[i, j] - total) if logs else marginals[i, j] / total
            steps[i] = np.inf if absorbing[d] else (math.exp(min(longest, 700.0)) if logs else longest)
            if i == 0:
                log_partition = log_product + (total if logs else math.log(total))
            d -= 1
            continue
        if done == 2:
            d -= 1
            continue
        begin, end = begin_half(levels, ranges, d)
        absorbing[d + 1] = absorbing[d]
        for c in range(end - begin):
            k, first, last = next_eliminated(ranges, d, c)
            weight, pivot = eliminate(levels[d + 1], k, first, last, absorbing[d + 1], logs)
            if not logs and not weight >= SMALLEST:
                return np.nan
            if weight == zero:
                absorbing[d + 1] = True
            if done == 0 and low == 0:
                log_product += pivot if logs else math.log(pivot)
        d += 1
    return log_partition


@inner_kernel
def put_decided_row(graph, i, head, low, high, logs):  # type: ignore[no-untyped-def]
    """Replace the ways of a token by the way to its head: a remaining token, an eliminated one, or the root (n)."""
    n = graph.shape[0]
    zero, unit = (-np.inf, 0.0) if logs else (0.0, 1.0)
    is_left = low <= head < high
    for u in range(low, high):
        graph[i, u] = zero if is_left or head == n else graph[head, u]
    graph[i, n] = zero if is_left else (unit if head == n else graph[head, n])
    if is_left:
        graph[i, head] = unit


@inner_kernel
def drawn_head(weights, graph, i, share, logs, sums):  # type: ignore[no-untyped-def]
    """Draw the head of token i, the only remaining token: n is the root, and -1 asks for a draw with logarithms."""
    n = weights.shape[0]
    largest = 0.0
    if logs:
        largest = weights[i, n]
        for j in range(n):
            largest = max(largest, weights[i, j] + graph[j, n]) if j != i else largest
    total = 0.0
    for j in range(n + 1):
        reward = graph[j, n] if j < n else (0.0 if logs else 1.0)
        if j != i:
            total += math.exp(weights[i, j] + reward - largest) if logs else weights[i, j] * reward
        sums[j] = total
    if not logs and not total >= SMALLEST:
        return -1
    level, j = share * total, 0
    while sums[j] <= level and sums[j] < total:
        j += 1
    return j


@kernel
def tree_by_elimination(
    weights: Floats, key: np.uint64, logs: bool, levels: Floats, ranges: Ints32, sums: Floats, heads: Ints32
) -> bool:
    """Draw a tree with a given root: the heads of n tokens, in turn, each given those before it.

    weights is (n, n + 1): the last column is the root. heads gets n for it. Returns False if ordinary numbers do not
    suffice.
    """
    n = weights.shape[0]
    for j in range(n):
        for u in range(n + 1):
            levels[0, j, u] = weights[j, u]
        levels[0, j, n + 1] = -np.inf if logs else 0.0
    d = 0
    ranges[0, 0], ranges[0, 1], ranges[0, 2] = 0, n, 0
    while d >= 0:
        low, high, done = ranges[d, 0], ranges[d, 1], ranges[d, 2]
        if high - low == 1:
            share = uniform(key + np.uint64(low + 1) * GAMMA)
            head = drawn_head(weights, levels[d], low, share, logs, sums)
            if head < 0:
                return False
            heads[low] = head
            d -= 1
            continue
        if done == 2:
            d -= 1
            continue
        begin, end = begin_half(levels, ranges, d)
        graph = levels[d + 1]
        if done == 1:
            for i in range(begin, end):
                put_decided_row(graph, i, heads[i], low, high, logs)
        for c in range(end - begin):
            k, first, last = next_eliminated(ranges, d, c)
            _, pivot = eliminate(graph, k, first, last, True, logs)
            if not logs and not pivot >= SMALLEST:
                return False
        d += 1
    return True


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
    head_sums: Floats,
    root_sums: Floats,
    by_walks: Bools,
    key: np.uint64,
    words: Words,
    heads: Ints32,
) -> None:
    """Fill heads[s], (n_samples, n), by Wilson's algorithm with a root that is drawn first.

    head_sums[i] are the cumulative weights of heads of token i, other than the root; root_sums those of roots. Where a
    walk to the root drawn takes too long (by_walks[r] is False), only the root is put in its place, and the heads of
    other tokens stay NOT_DRAWN. words[s] is the state of the random stream after the draw of the root.
    """
    n = root_sums.shape[0]
    tree_of = np.full(n, -1, np.int64)  # the last sample in whose tree a token is
    for s in range(heads.shape[0]):
        word = mix(key + np.uint64(s + 1) * GAMMA) + GAMMA
        row = heads[s]
        root = first_above(root_sums, uniform(word) * root_sums[n - 1])
        row[root] = ROOT
        words[s] = word
        if not by_walks[root]:
            for i in range(n):
                row[i] = ROOT if i == root else NOT_DRAWN
            continue
        tree_of[root] = s
        for start in range(n):
            i = start
            while tree_of[i] != s:
                word += GAMMA
                sums = head_sums[i]
                row[i] = first_above(sums, uniform(word) * sums[n - 1])
                i = row[i]
            i = start
            while tree_of[i] != s:
                tree_of[i] = s
                i = row[i]
