"""Compiled loops over samples: overlaps of one clustering with each of them.

Legend of dimensions and names
    i, j : mention              n : number of mentions
    s    : sample               n_samples : their number
    k    : cluster of the estimate, a slot from 0 to n - 1; slots may be empty
    r    : cluster of a sample, named by its first mention
    cell : overlap of a cluster of the estimate and one of the sample, if it is not empty
    rows[s, i]     : first mention of i's cluster in sample s; columns[i, s] is the same
    orders[s, :]   : mentions cluster by cluster; i's cluster begins at begins[i, s] and has rooms[i, s] mentions
    members[indptr[k]:indptr[k+1]] : mentions of cluster k
    x_log_x[c]     : c * log(c), 0 for c = 0
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from corefsample._arrays import Floats, Ints, Ints32
from corefsample._jit import kernel

# Rows of sums over cells.
JOINT, PAIRS, CELLS, B3_RECALL, B3_PRECISION, LEA_RECALL, LEA_PRECISION = 0, 1, 2, 3, 4, 5, 6
N_SUMS = 7
N_PAIR_SUMS = 3  # JOINT, PAIRS and CELLS
# Rows of sums over the clusters of each sample.
ENTROPY, CLUSTER_PAIRS, CLUSTERS = 0, 1, 2
N_SAMPLE_SUMS = 3


class Sampled(NamedTuple):
    """Samples as arrays: see the legend. own[:, s] are the sums over the clusters of sample s."""

    rows: Ints32
    columns: Ints32
    orders: Ints32
    begins: Ints32
    rooms: Ints32
    own: Floats


@kernel
def group_samples(sampled: Sampled, x_log_x: Floats) -> None:
    """Sort the mentions of each sample by cluster, clusters by first mention; sum over the clusters.

    Fills all arrays but `rows`.
    """
    n_samples, n = sampled.rows.shape
    size, place = np.empty(n, np.int32), np.empty(n, np.int32)
    for s in range(n_samples):
        row, order = sampled.rows[s], sampled.orders[s]
        size[:] = 0
        for i in range(n):
            size[row[i]] += 1
        begin = 0
        entropy, pairs, clusters = 0.0, 0.0, 0.0
        for r in range(n):
            place[r] = begin
            begin += size[r]
            entropy += x_log_x[size[r]]
            pairs += size[r] * (size[r] - 1) // 2
            clusters += size[r] > 0
        sampled.own[ENTROPY, s], sampled.own[CLUSTER_PAIRS, s], sampled.own[CLUSTERS, s] = entropy, pairs, clusters
        for i in range(n):
            r = row[i]
            order[place[r]] = i
            place[r] += 1
        for i in range(n):
            r = row[i]
            sampled.columns[i, s] = r
            sampled.begins[i, s] = place[r] - size[r]
            sampled.rooms[i, s] = size[r]


@kernel
def share_together(sampled: Sampled, shares: Floats) -> None:
    """Share of the samples in which two mentions belong to one cluster."""
    orders, begins, rooms = sampled.orders, sampled.begins, sampled.rooms
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


@kernel
def sum_over_cells(members: Ints, indptr: Ints, sampled: Sampled, x_log_x: Floats, scores: bool, sums: Floats) -> None:
    """Sums over the cells of some clusters with each sample: float64 (N_SUMS, n_samples).

    JOINT: c log c of each cell's size c; PAIRS: pairs within cells; CELLS: their number; if `scores`, numerators of B3
    and LEA with the sample as key.
    """
    columns, rooms = sampled.columns, sampled.rooms
    n, n_samples = columns.shape
    count = np.zeros(n, np.int64)
    sums[:] = 0.0
    for k in range(indptr.shape[0] - 1):
        begin, end = indptr[k], indptr[k + 1]
        size = end - begin
        if size == 0:
            continue
        if size == 1 and not scores:
            for s in range(n_samples):
                sums[CELLS, s] += 1.0
            continue
        for s in range(n_samples):
            joint, pairs, cells = 0.0, 0, 0
            for t in range(begin, end):
                r = columns[members[t], s]
                c = count[r]
                joint += x_log_x[c + 1] - x_log_x[c]
                pairs += c
                cells += c == 0
                count[r] = c + 1
            sums[JOINT, s] += joint
            sums[PAIRS, s] += pairs
            sums[CELLS, s] += cells
            recall, linked, alone = 0.0, 0.0, 0.0
            for t in range(begin, end):
                r = columns[members[t], s]
                c = count[r]
                if scores and c > 0:
                    room = rooms[members[t], s]
                    recall += c * c / room
                    if room > 1:
                        linked += c * (c - 1) / (room - 1)
                    elif size == 1:
                        alone = 1.0
                count[r] = 0
            if scores:
                sums[B3_RECALL, s] += recall
                sums[B3_PRECISION, s] += (2 * pairs + size) / size
                sums[LEA_RECALL, s] += linked + alone
                sums[LEA_PRECISION, s] += alone if size == 1 else 2 * pairs / (size - 1)


@kernel
def joint_sum(members: Ints, columns: Ints32, x_log_x: Floats) -> float:
    """Sum over samples and cells of c log c, for a single cluster with these members."""
    n, n_samples = columns.shape
    count = np.zeros(n, np.int64)
    total = 0.0
    for s in range(n_samples):
        for i in members:
            r = columns[i, s]
            total += x_log_x[count[r] + 1] - x_log_x[count[r]]
            count[r] += 1
        for i in members:
            count[columns[i, s]] = 0
    return total


@kernel
def pair_sums(rows: Ints32, orders: Ints32, first: Ints, second: Ints, x_log_x: Floats, sums: Floats) -> None:
    """Fill JOINT, PAIRS and CELLS of pairs of samples: sums[:, p] of samples first[p] and second[p]."""
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
        sums[JOINT, p], sums[PAIRS, p], sums[CELLS, p] = joint, pairs, cells
