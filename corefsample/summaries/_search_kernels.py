"""Compiled loops of summaries: cells of two clusterings, and searches.

Legend of dimensions and names
    i, j : mention              n : number of mentions
    s    : sample               n_samples : their number
    k    : cluster of the estimate, a slot from 0 to n - 1; slots may be empty
    cell : overlap of two clusters, one of each clustering, if it is not empty
    labels[i]     : cluster of mention i; sizes[k]: mentions of cluster k
    columns[i, s] : first mention of i's cluster in sample s
    steps[c]      : how much c * log(c) grows where c becomes c + 1
"""

import numpy as np

from corefsample._arrays import Floats, Ints, Ints32
from corefsample._jit import kernel

JOINT, PAIRS = 0, 1  # rows of sums over cells
LEAST_GAIN = 1e-10  # smaller improvements are rounding errors


@kernel
def cell_sums(first: Ints32, second: Ints32, steps: Floats, sums: Floats) -> None:
    """Sums over the cells of first[p] and second[p], or of first[0] and second[p] if `first` has one row.

    sums[JOINT, p]: c log c of each cell's size c; sums[PAIRS, p]: pairs of mentions within cells.
    """
    n = second.shape[1]
    count = np.zeros(n, np.int64)
    order = np.argsort(first[0], kind="mergesort")  # clusters one after another
    for p in range(second.shape[0]):
        own_labels, other_labels = first[p if first.shape[0] > 1 else 0], second[p]
        if first.shape[0] > 1:
            order = np.argsort(own_labels, kind="mergesort")
        joint, pairs, start = 0.0, 0, 0
        while start < n:
            end = start
            while end < n and own_labels[order[end]] == own_labels[order[start]]:
                c = count[other_labels[order[end]]]
                joint += steps[c]
                pairs += c
                count[other_labels[order[end]]] = c + 1
                end += 1
            for t in range(start, end):
                count[other_labels[order[t]]] = 0
            start = end
        sums[JOINT, p], sums[PAIRS, p] = joint, pairs


@kernel
def share_together(columns: Ints32, shares: Floats) -> None:
    """Share of the samples in which two mentions belong to one cluster."""
    n, n_samples = columns.shape
    for i in range(n):
        for j in range(i + 1):
            together = 0
            for s in range(n_samples):
                together += columns[i, s] == columns[j, s]
            shares[i, j] = shares[j, i] = together / n_samples


@kernel
def sweep(weights: Floats, columns: Ints32, merge_cost: float, steps: Floats, labels: Ints, sizes: Ints) -> int:
    """Move each mention to the cluster with the least loss, or to a new one; return the number of moves.

    Without samples (columns of shape (n, 0)) and with a merge_cost of 0, the Binder loss falls by weights[i, j] where i
    and j are together. With samples, n times the generalised VI is, up to a constant, merge_cost times the sum of
    size * log(size) over clusters, less twice the mean over samples of that sum over cells; weights[i, j] is positive
    where some sample has i and j together, and only clusters with such a mention can lower the loss.

    steps is concave, so the mean of steps[overlap] over samples is at most steps at the mean overlap, which weights
    give (with straight lines between whole numbers). A cluster that even this bound does not make attractive is not
    compared with the samples, which changes no result: most clusters have weak links only.
    """
    n, n_samples = columns.shape
    changes, overlaps, n_linked = np.empty(n), np.zeros((n, n_samples), np.int32), np.zeros(n, np.int64)
    mean_overlap = np.empty(n)
    n_moved = 0
    for i in range(n):
        old = labels[i]
        sizes[old] -= 1
        for k in range(n):
            changes[k] = merge_cost * steps[sizes[k]]
            mean_overlap[k] = 0.0
        for j in range(n):
            if j != i:
                mean_overlap[labels[j]] += weights[i, j]
        for j in range(n):
            if j == i or weights[i, j] == 0.0:
                continue
            k = labels[j]
            if n_samples == 0:
                changes[k] -= weights[i, j]
                continue
            floor = int(mean_overlap[k])
            most = steps[floor] + (mean_overlap[k] - floor) * (steps[floor + 1] - steps[floor])
            if changes[k] - 2.0 * most > LEAST_GAIN:
                continue
            n_linked[k] += 1
            overlap, labels_i, labels_j = overlaps[k], columns[i], columns[j]
            for s in range(n_samples):
                overlap[s] += labels_i[s] == labels_j[s]
        empty_slot = old if sizes[old] == 0 else np.argmin(sizes)  # a slot without mentions: there is one now
        for k in range(n):
            if n_linked[k] > 0:
                shared = 0.0
                for s in range(n_samples):
                    shared += steps[overlaps[k, s]]
                    overlaps[k, s] = 0
                changes[k] -= 2.0 * shared / n_samples
                n_linked[k] = 0
        new, least = empty_slot, 0.0
        if sizes[old] > 0 and changes[old] <= LEAST_GAIN:
            new, least = old, changes[old]
        for k in range(n):
            if sizes[k] > 0 and changes[k] < least - LEAST_GAIN:
                new, least = k, changes[k]
        sizes[new] += 1
        labels[i] = new
        n_moved += new != old
    return n_moved
