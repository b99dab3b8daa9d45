"""Compiled loops over samples: overlaps of one clustering with each of them.

Legend of dimensions and names
    i, j : mention              n : number of mentions
    s    : sample               n_samples : their number
    k    : cluster of the estimate, a slot from 0 to n - 1; slots may be empty
    r    : cluster of a sample, named by its first mention
    cell : overlap of a cluster of the estimate and one of the sample, if it is not empty
    rows[s, i]     : first mention of i's cluster in sample s
    orders[s, :]   : mentions cluster by cluster; i's cluster begins at begins[i, s] and has rooms[i, s] mentions
    members[indptr[k]:indptr[k+1]] : mentions of cluster k
    x_log_x[c]     : c * log(c), 0 for c = 0
"""

from __future__ import annotations

import numpy as np

from corefsample._arrays import Floats, Ints, Ints32
from corefsample._jit import inner_kernel, kernel

# Columns of `statistics`.
JOINT, PAIRS, CELLS, B3_RECALL, B3_PRECISION, LEA_RECALL, LEA_PRECISION = 0, 1, 2, 3, 4, 5, 6
SAMPLE_ENTROPY, SAMPLE_PAIRS, SAMPLE_ENTITIES = 7, 8, 9
N_STATISTICS = 10


@kernel
def group_samples(rows: Ints32, orders: Ints32, begins: Ints32, rooms: Ints32) -> None:
    """Sort the mentions of each sample by cluster; clusters by first mention."""
    n_samples, n = rows.shape
    size, place = np.empty(n, np.int32), np.empty(n, np.int32)
    for s in range(n_samples):
        row = rows[s]
        size[:] = 0
        for i in range(n):
            size[row[i]] += 1
        begin = 0
        for r in range(n):
            place[r] = begin
            begin += size[r]
        for i in range(n):
            r = row[i]
            orders[s, place[r]] = i
            place[r] += 1
        for i in range(n):
            r = row[i]
            begins[i, s] = place[r] - size[r]
            rooms[i, s] = size[r]


@kernel
def share_together(orders: Ints32, begins: Ints32, rooms: Ints32, shares: Floats) -> None:
    """Share of the samples in which two mentions belong to one cluster."""
    n_samples, n = orders.shape
    for i in range(n):
        row = shares[i]
        row[:] = 0.0
        for s in range(n_samples):
            for t in range(begins[i, s], begins[i, s] + rooms[i, s]):
                row[orders[s, t]] += 1.0
        for j in range(n):
            row[j] /= n_samples


@kernel
def marginal_costs(marginals: Floats, labels: Ints32) -> tuple[float, float]:
    """Sum of the marginals of pairs apart, and of one minus the marginals of pairs together, over ordered pairs."""
    n = labels.shape[0]
    apart, together = 0.0, 0.0
    for i in range(n):
        for j in range(n):
            if labels[i] == labels[j]:
                together += 1.0 - marginals[i, j]
            else:
                apart += marginals[i, j]
    return apart, together


@kernel
def mean_between(marginals: Floats, clusters: Ints, sizes: Ints, between: Floats) -> None:
    """Mean link marginal between each two clusters, which are numbered from 0."""
    n = clusters.shape[0]
    between[:] = 0.0
    for i in range(n):
        row = between[clusters[i]]
        for j in range(n):
            row[clusters[j]] += marginals[i, j]
    for a in range(between.shape[0]):
        for b in range(between.shape[0]):
            between[a, b] /= sizes[a] * sizes[b]
        between[a, a] = 0.0


@kernel
def cut_tree(merges: Ints, heights: Floats, highest: float, labels: Ints32) -> None:
    """Label the clusters of a linkage tree without the merges above `highest`, by their first mention.

    merges[t] are the two nodes that make node n + t; nodes below n are mentions.
    """
    n = labels.shape[0]
    parent = np.full(2 * n - 1, -1, np.int64)
    for t in range(n - 1):
        if heights[t] <= highest:
            parent[merges[t, 0]] = n + t
            parent[merges[t, 1]] = n + t
    top = np.empty(2 * n - 1, np.int64)
    for node in range(2 * n - 2, -1, -1):  # a node comes after its parts
        top[node] = node if parent[node] < 0 else top[parent[node]]
    first = np.full(2 * n - 1, -1, np.int32)
    for i in range(n):
        if first[top[i]] < 0:
            first[top[i]] = i
        labels[i] = first[top[i]]


@inner_kernel
def add_scores(c: np.int64, room: np.int64, size: np.int64, sums: Floats) -> None:
    """Add a cell of c mentions, of a sample's cluster of `room` and an estimate's of `size`, to B3 and LEA."""
    sums[B3_RECALL] += c * c / room
    sums[B3_PRECISION] += c * c / size
    alone = 1.0 if size == 1 and room == 1 else 0.0
    sums[LEA_RECALL] += alone if room == 1 else c * (c - 1) / (room - 1)
    sums[LEA_PRECISION] += alone if size == 1 else c * (c - 1) / (size - 1)


@kernel
def overlap_statistics(
    members: Ints, indptr: Ints, rows: Ints32, x_log_x: Floats, scores: bool, statistics: Floats
) -> None:
    """Sums over the cells of one clustering and each sample: float64 (n_samples, N_STATISTICS).

    JOINT: c log c of each cell's size c; PAIRS: pairs within cells; CELLS: their number; numerators of B3 and LEA with
    the sample as key, if `scores`; then the sums over the sample's clusters.
    """
    n_samples, n = rows.shape
    count, size_of = np.zeros(n, np.int32), np.empty(n, np.int32)
    for s in range(n_samples):
        labels, sums = rows[s], statistics[s]
        sums[:] = 0.0
        size_of[:] = 0
        for i in range(n):
            size_of[labels[i]] += 1
        joint, pairs, cells = 0.0, np.int64(0), 0
        for k in range(indptr.shape[0] - 1):
            size = indptr[k + 1] - indptr[k]
            if size == 1 and not scores:
                cells += 1
                continue
            for t in range(indptr[k], indptr[k + 1]):
                r = labels[members[t]]
                c = np.int64(count[r])
                joint += x_log_x[c + 1] - x_log_x[c]
                pairs += c
                cells += c == 0
                count[r] = c + 1
            for t in range(indptr[k], indptr[k + 1]):
                r = labels[members[t]]
                if scores and count[r] > 0:
                    add_scores(np.int64(count[r]), np.int64(size_of[r]), size, sums)
                count[r] = 0
        sums[JOINT], sums[PAIRS], sums[CELLS] = joint, pairs, cells
        for r in range(n):
            room = np.int64(size_of[r])
            if room > 0:
                sums[SAMPLE_ENTROPY] += x_log_x[room]
                sums[SAMPLE_PAIRS] += room * (room - 1) // 2
                sums[SAMPLE_ENTITIES] += 1.0


@kernel
def joint_sum(members: Ints, rows: Ints32, x_log_x: Floats) -> float:
    """Sum over samples and cells of c log c, for a single cluster with these members."""
    n_samples, n = rows.shape
    count = np.zeros(n, np.int64)
    total = 0.0
    for s in range(n_samples):
        for i in members:
            r = rows[s, i]
            total += x_log_x[count[r] + 1] - x_log_x[count[r]]
            count[r] += 1
        for i in members:
            count[rows[s, i]] = 0
    return total


@kernel
def pair_statistics(
    rows: Ints32, orders: Ints32, first: Ints, second: Ints, x_log_x: Floats, statistics: Floats
) -> None:
    """Fill JOINT, PAIRS and CELLS of pairs of samples: statistics[p] of samples first[p] and second[p]."""
    n = rows.shape[1]
    count = np.zeros(n, np.int64)
    for p in range(first.shape[0]):
        order, mine, other = orders[first[p]], rows[first[p]], rows[second[p]]
        joint, pairs, cells = 0.0, 0, 0
        begin = 0
        while begin < n:
            end = begin
            while end < n and mine[order[end]] == mine[order[begin]]:
                r = other[order[end]]
                c = count[r]
                joint += x_log_x[c + 1] - x_log_x[c]
                pairs += c
                cells += c == 0
                count[r] = c + 1
                end += 1
            for t in range(begin, end):
                count[other[order[t]]] = 0
            begin = end
        statistics[p, JOINT], statistics[p, PAIRS], statistics[p, CELLS] = joint, pairs, cells
