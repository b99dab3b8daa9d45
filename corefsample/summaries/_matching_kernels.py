"""Compiled loops over matchings of an estimate's clusters with those of each sample, for CEAFe in the search.

CEAFe takes the heaviest matching, of the Dice coefficients of matched clusters. Any other matching bounds it from
below, and can be updated when one mention moves.

Legend: that of `_kernels`, and
    partner[k, s] : cluster of sample s that is matched with cluster k of the estimate, -1 for none
    shared[k, s]  : mentions that the two share                rooms[k, s] : mentions of the partner
    free[r, s]    : whether cluster r of sample s has no partner
    weight[s]     : sum of the Dice coefficients
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from corefsample._arrays import Bools, Floats, Ints, Ints32
from corefsample._jit import inner_kernel, kernel
from corefsample.summaries._kernels import Sampled


class Matching(NamedTuple):
    """One matching with each sample: see the legend."""

    partner: Ints32
    shared: Ints32
    rooms: Ints32
    free: Bools
    weight: Floats

    @classmethod
    def of(cls, n: int, n_samples: int) -> Matching:
        """Room for the matchings of n mentions."""
        partner, shared, rooms = (np.empty((n, n_samples), np.int32) for _ in range(3))
        return cls(partner, shared, rooms, np.empty((n, n_samples), np.bool_), np.empty(n_samples))


@kernel
def match_greedily(labels: Ints, sizes: Ints, sampled: Sampled, matching: Matching) -> None:
    """Match the two clusters with the largest Dice coefficient, then of the others, until none overlap.

    Two clusters each of which is the best left for the other are matched at any time without changing the result.
    """
    columns, rooms = sampled.columns, sampled.rooms
    n, n_samples = columns.shape
    shared = np.zeros((n, n), np.int32)  # shared[k, r], of clusters that overlap
    best, best_of = np.empty(n), np.empty(n, np.int64)  # by cluster of the estimate
    other, other_of = np.empty(n), np.empty(n, np.int64)  # by cluster of the sample
    for s in range(n_samples):
        for i in range(n):
            matching.partner[i, s] = -1
            matching.shared[i, s] = 0
            matching.rooms[i, s] = 0
            matching.free[i, s] = True
            shared[labels[i], columns[i, s]] += 1
        matching.weight[s] = 0.0
        while True:
            best[:] = 0.0
            other[:] = 0.0
            for i in range(n):
                k, r = labels[i], columns[i, s]
                if matching.partner[k, s] < 0 and matching.free[r, s]:
                    dice = 2.0 * shared[k, r] / (sizes[k] + rooms[i, s])
                    if dice > best[k] or (dice == best[k] and r < best_of[k]):
                        best[k], best_of[k] = dice, r
                    if dice > other[r] or (dice == other[r] and k < other_of[r]):
                        other[r], other_of[r] = dice, k
            matched = 0
            for i in range(n):
                k, r = labels[i], columns[i, s]
                if best[k] > 0.0 and best_of[k] == r and other_of[r] == k and matching.free[r, s]:
                    matching.partner[k, s] = r
                    matching.shared[k, s] = shared[k, r]
                    matching.rooms[k, s] = rooms[i, s]
                    matching.free[r, s] = False
                    matching.weight[s] += best[k]
                    matched += 1
            if matched == 0:
                break
        for i in range(n):
            shared[labels[i], columns[i, s]] = 0


@inner_kernel
def gain_of(k: int, s: int, c: int, size: int, room: int, r: int, matching: Matching) -> float:
    """Change of a sample's weight where a mention of its cluster r joins cluster k of `size` mentions, c in r."""
    partner, shared = matching.partner[k, s], matching.shared[k, s]
    before, after = 0.0, 0.0
    if partner >= 0:
        before = 2.0 * shared / (size + matching.rooms[k, s])
        after = 2.0 * (shared + (partner == r)) / (size + 1 + matching.rooms[k, s])
    if matching.free[r, s]:
        after = max(after, 2.0 * (c + 1) / (size + 1 + room))
    return after - before


@inner_kernel
def join(k: int, size: int, m: Ints32, column: Ints32, rooms: Ints32, matching: Matching) -> None:
    """Add a mention to cluster k of `size` mentions, of which m[s] are in the mention's cluster of sample s."""
    for s in range(m.shape[0]):
        r, partner = column[s], matching.partner[k, s]
        matching.weight[s] += gain_of(k, s, m[s], size, rooms[s], r, matching)
        kept = 0.0
        if partner >= 0:
            kept = 2.0 * (matching.shared[k, s] + (partner == r)) / (size + 1 + matching.rooms[k, s])
        if matching.free[r, s] and 2.0 * (m[s] + 1) / (size + 1 + rooms[s]) > kept:
            if partner >= 0:
                matching.free[partner, s] = True
            matching.partner[k, s], matching.free[r, s] = r, False
            matching.shared[k, s], matching.rooms[k, s] = m[s] + 1, rooms[s]
        elif partner == r:
            matching.shared[k, s] += 1


@inner_kernel
def leave(k: int, size: int, column: Ints32, matching: Matching) -> None:
    """Remove a mention from cluster k, which is left with `size` mentions."""
    for s in range(column.shape[0]):
        partner = matching.partner[k, s]
        if partner < 0:
            continue
        matching.weight[s] -= 2.0 * matching.shared[k, s] / (size + 1 + matching.rooms[k, s])
        matching.shared[k, s] -= partner == column[s]
        if matching.shared[k, s] == 0:
            matching.partner[k, s] = -1
            matching.free[partner, s] = True
        else:
            matching.weight[s] += 2.0 * matching.shared[k, s] / (size + matching.rooms[k, s])


@kernel
def replaced_weights(
    old: Ints, parts: Ints, indptr: Ints, sizes: Ints, sampled: Sampled, matching: Matching, weights: Floats
) -> None:
    """Weight of each sample where the clusters `old` become others, which are matched with what is then free.

    The mentions of new cluster p are parts[indptr[p]:indptr[p + 1]].
    """
    columns, rooms = sampled.columns, sampled.rooms
    n, n_samples = columns.shape
    count = np.zeros(n, np.int64)
    released, taken = np.zeros(n, np.bool_), np.zeros(n, np.bool_)
    for s in range(n_samples):
        weight = matching.weight[s]
        for k in old:
            partner = matching.partner[k, s]
            if partner >= 0:
                weight -= 2.0 * matching.shared[k, s] / (sizes[k] + matching.rooms[k, s])
                released[partner] = True
        for p in range(indptr.shape[0] - 1):
            begin, end = indptr[p], indptr[p + 1]
            for t in range(begin, end):
                count[columns[parts[t], s]] += 1
            most, chosen = 0.0, -1
            for t in range(begin, end):
                r = columns[parts[t], s]
                if (matching.free[r, s] or released[r]) and not taken[r]:
                    dice = 2.0 * count[r] / (end - begin + rooms[parts[t], s])
                    if dice > most:
                        most, chosen = dice, r
            for t in range(begin, end):
                count[columns[parts[t], s]] = 0
            if chosen >= 0:
                taken[chosen] = True
            weight += most
        for t in range(parts.shape[0]):
            taken[columns[parts[t], s]] = False
        for k in old:
            if matching.partner[k, s] >= 0:
                released[matching.partner[k, s]] = False
        weights[s] = weight
