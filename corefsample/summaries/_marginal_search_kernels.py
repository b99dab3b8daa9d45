"""Compiled sweeps of the search under losses of link marginals: Binder, and the lower bound of VI.

Each mention goes where the loss is least.

Legend: that of `_kernels`, and
    weights[i, j]  : what the Binder loss gains where i and j are together
    marginals[i, j]: P(i and j belong to one entity)
    labels[i]      : cluster of mention i in the estimate, a slot from 0 to n - 1; sizes[k]: mentions in slot k
"""

from __future__ import annotations

import math

import numpy as np

from corefsample._arrays import Floats, Ints
from corefsample._jit import inner_kernel, kernel

LEAST_GAIN = 1e-10  # smaller improvements are rounding errors


@inner_kernel
def empty_slot(sizes: Ints) -> int:
    """Return a cluster without members: there is one whenever a mention has been taken out."""
    for k in range(sizes.shape[0]):
        if sizes[k] == 0:
            return k
    return -1


@kernel
def binder_sweep(weights: Floats, labels: Ints, sizes: Ints) -> int:
    """Move each mention to the cluster with which its weights sum to most, or to one of its own; return the moves."""
    n = labels.shape[0]
    gains = np.empty(n)
    moved = 0
    for i in range(n):
        gains[:] = 0.0
        row = weights[i]
        for j in range(n):
            gains[labels[j]] += row[j]
        old = labels[i]
        best, best_gain = old, gains[old] - row[i]
        if best_gain < -LEAST_GAIN:
            best, best_gain = -1, 0.0
        for k in range(n):
            if k != old and sizes[k] > 0 and gains[k] > best_gain + LEAST_GAIN:
                best, best_gain = k, gains[k]
        if best != old:
            sizes[old] -= 1
            labels[i] = empty_slot(sizes) if best < 0 else best
            sizes[labels[i]] += 1
            moved += 1
    return moved


@kernel
def binder_merges(weights: Floats, labels: Ints, sizes: Ints) -> int:
    """Merge the two clusters that gain most until no merge gains; return the merges."""
    n = labels.shape[0]
    names = np.flatnonzero(sizes > 0)
    n_clusters = names.shape[0]
    place = np.empty(n, np.int64)
    for t in range(n_clusters):
        place[names[t]] = t
    between = np.zeros((n_clusters, n_clusters))
    for i in range(n):
        row = between[place[labels[i]]]
        for j in range(n):
            row[place[labels[j]]] += weights[i, j]
    alive = np.ones(n_clusters, np.bool_)
    merged = 0
    while True:
        a, b, most = -1, -1, LEAST_GAIN
        for t in range(n_clusters):
            if alive[t]:
                for u in range(t):
                    if alive[u] and between[t, u] > most:
                        a, b, most = u, t, between[t, u]
        if a < 0:
            return merged
        for t in range(n_clusters):
            between[a, t] += between[b, t]
        for t in range(n_clusters):
            between[t, a] += between[t, b]
        alive[b] = False
        for i in range(n):
            if labels[i] == names[b]:
                labels[i] = names[a]
        sizes[names[a]] += sizes[names[b]]
        sizes[names[b]] = 0
        merged += 1


@kernel
def binder_splits(weights: Floats, labels: Ints, sizes: Ints) -> int:
    """Split clusters in two around their least linked pair where that gains; return the splits."""
    n = labels.shape[0]
    members, side = np.empty(n, np.int64), np.empty(n, np.int64)
    split = 0
    for k in range(n):
        if sizes[k] < 4:  # moves of one mention find the splits of smaller clusters
            continue
        n_members = 0
        for i in range(n):
            if labels[i] == k:
                members[n_members] = i
                n_members += 1
        first, second, least = 0, 0, 0.0
        for t in range(n_members):
            for u in range(t):
                if weights[members[t], members[u]] < least:
                    first, second, least = u, t, weights[members[t], members[u]]
        if least >= 0.0:
            continue
        side[:n_members] = -1
        side[first], side[second] = 0, 1
        for t in range(n_members):
            if side[t] >= 0:
                continue
            lean = 0.0
            for u in range(n_members):
                if side[u] >= 0:
                    lean += weights[members[t], members[u]] * (1.0 if side[u] == 0 else -1.0)
            side[t] = 0 if lean >= 0.0 else 1
        across = 0.0
        for t in range(n_members):
            for u in range(t):
                if side[t] != side[u]:
                    across += weights[members[t], members[u]]
        if across < -LEAST_GAIN:
            new = empty_slot(sizes)
            for t in range(n_members):
                if side[t] == 1:
                    labels[members[t]] = new
                    sizes[new] += 1
                    sizes[k] -= 1
            split += 1
    return split


@kernel
def vi_bound_sweep(marginals: Floats, merge_cost: float, x_log_x: Floats, labels: Ints, sizes: Ints) -> int:
    """Move each mention to where the lower bound of the expected VI is least; return the moves."""
    n = labels.shape[0]
    within = np.zeros(n)  # marginals of mention i with its own cluster, itself included
    for i in range(n):
        for j in range(n):
            if labels[j] == labels[i]:
                within[i] += marginals[i, j]
    changes, own = np.empty(n), np.empty(n)
    steps = x_log_x[1:] - x_log_x[:-1]
    moved = 0
    for i in range(n):
        old = labels[i]
        for j in range(n):
            if j != i and labels[j] == old:
                within[j] -= marginals[i, j]
        sizes[old] -= 1
        changes[:] = 0.0
        own[:] = 1.0
        for j in range(n):
            if j != i and marginals[i, j] > 0.0:
                changes[labels[j]] -= 2.0 * math.log1p(marginals[i, j] / within[j])
                own[labels[j]] += marginals[i, j]
        best, least = -1, 0.0
        if sizes[old] > 0:
            best = old
            least = changes[old] - 2.0 * math.log(own[old]) + merge_cost * steps[sizes[old]]
            if least > LEAST_GAIN:
                best, least = -1, 0.0
        for k in range(n):
            if k != old and sizes[k] > 0:
                change = changes[k] - 2.0 * math.log(own[k]) + merge_cost * steps[sizes[k]]
                if change < least - LEAST_GAIN:
                    best, least = k, change
        new = best
        if best < 0:
            new = old if sizes[old] == 0 else empty_slot(sizes)
        within[i] = 1.0
        for j in range(n):
            if j != i and labels[j] == new:
                within[j] += marginals[i, j]
                within[i] += marginals[i, j]
        sizes[new] += 1
        labels[i] = new
        moved += new != old
    return moved
