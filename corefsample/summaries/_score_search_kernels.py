"""Compiled sweep of the search under losses that are computed sample by sample: NVI, adjusted Rand and the scores.

Legend: that of `_kernels` and `_matching_kernels`, and
    labels[i]      : cluster of mention i in the estimate, a slot from 0 to n - 1; sizes[k]: mentions in slot k
    m[c, s]        : members of candidate cluster c that sample s has in the mention's cluster
    squares[k, s]  : sum over the cells of cluster k of their squared sizes
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from corefsample._arrays import Floats, Ints, Ints32
from corefsample._jit import inlined, inner_kernel, kernel
from corefsample.summaries._kernels import (
    B3_PRECISION,
    B3_RECALL,
    CELLS,
    CLUSTER_PAIRS,
    CLUSTERS,
    ENTROPY,
    JOINT,
    LEA_PRECISION,
    LEA_RECALL,
    PAIRS,
    Sampled,
)
from corefsample.summaries._marginal_search_kernels import LEAST_GAIN, empty_slot
from corefsample.summaries._matching_kernels import Matching, gain_of, join, leave

NVI, ARI, MUC, B3, LEA, CONLL = 0, 1, 2, 3, 4, 5
CANDIDATES = 10
LEAST_SHARE = 0.01
NO_ENTROPY = 1e-10  # the smallest positive joint entropy of n mentions is about log(n) / n


class Totals(NamedTuple):
    """Sums over the cells of the estimate, by sample, and the matching for CEAFe; kept up to date with its labels."""

    sums: Floats
    squares: Ints
    matching: Matching


class Whole(NamedTuple):
    """Sums over the clusters of the estimate: x_log_x of sizes, pairs, number."""

    entropy: float
    pairs: float
    clusters: int


class Place(NamedTuple):
    """Where a mention can go.

    k, size : cluster, and its mentions without the mention itself; 0 for a cluster of its own
    m       : by sample, mentions of the cluster that are in the mention's cluster of the sample
    only    : by sample, the size of the cluster of the only mention, if there is one
    """

    k: int
    size: int
    m: Ints32
    only: Ints32


@inlined  # inner kernels cannot return arrays
def place_of(k: int, i: int, m: Ints32, sizes: Ints, sums: Ints, sampled: Sampled) -> Place:
    """Place of mention i in cluster k; sums[k] is the number of its only mention, if it has one."""
    only = sums[k] if sizes[k] == 1 else i
    return Place(k, sizes[k], m, sampled.rooms[only])


@inner_kernel
def information_total(code: int, n: int, m: Ints32, sums: Floats, own: Floats, steps: Floats, whole: Whole) -> float:
    """Sum over samples of NVI or 1 - ARI where the mention joins a cluster; `whole` is of the clustering then."""
    total = 0.0
    log_n = math.log(n)
    entropy = log_n - whole.entropy / n
    all_pairs = n * (n - 1) / 2.0
    for s in range(m.shape[0]):
        if code == NVI:
            joint = log_n - (sums[JOINT, s] + steps[m[s]]) / n
            if joint > NO_ENTROPY:
                total += 2.0 - (entropy + log_n - own[ENTROPY, s] / n) / joint
        else:
            expected = whole.pairs * own[CLUSTER_PAIRS, s] / all_pairs
            most = (whole.pairs + own[CLUSTER_PAIRS, s]) / 2.0 - expected
            if most > NO_ENTROPY:
                total += 1.0 - (sums[PAIRS, s] + m[s] - expected) / most
    return total


@inner_kernel
def harmonic(recall: float, precision: float, n: int) -> float:
    """F1 of two numerators with the same denominator n."""
    return 2.0 * recall * precision / (n * (recall + precision)) if recall + precision > 0.0 else 0.0


@inner_kernel
def muc_f1(n: int, c: int, s: int, sums: Floats, own: Floats, clusters: int) -> float:
    """F1 of MUC where the mention joins a cluster with c of its own, and there are `clusters` then."""
    wanted = (n - own[CLUSTERS, s]) + (n - clusters)
    return 2.0 * (n - sums[CELLS, s] - (1.0 if c == 0 else 0.0)) / wanted if wanted > 0.0 else 0.0


@inner_kernel
def b3_f1(n: int, s: int, room: int, place: Place, sums: Floats, square: Ints) -> float:
    """F1 of B3 where the mention joins a cluster."""
    grown = 2.0 * place.m[s] + 1.0
    before = square[s] / place.size if place.size > 0 else 0.0
    precision = sums[B3_PRECISION, s] - before + (square[s] + grown) / (place.size + 1)
    return harmonic(sums[B3_RECALL, s] + grown / room, precision, n)


@inner_kernel
def lea_change(c: int, size: int, room: int, only: int, square: int) -> tuple[float, float]:
    """Change of LEA's recall and precision where a mention joins a cluster with these sizes and squared cells."""
    if size == 0:
        alone = 1.0 if room == 1 else 0.0
        return alone, alone
    recall = 2.0 * c / (room - 1) if room > 1 else 0.0
    before = (square - size) / (size - 1) if size > 1 else 0.0
    precision = (square + 2 * c - size) / size - before
    if size == 1 and only == 1:  # a singleton that was right is gone
        return recall - 1.0, precision - 1.0
    return recall, precision


@inner_kernel
def score_total(code: int, n: int, i: int, place: Place, totals: Totals, sampled: Sampled, clusters: int) -> float:
    """Sum over samples of 1 - F1 of MUC, B3, LEA or CoNLL where mention i joins a cluster."""
    total = 0.0
    sums, own, square = totals.sums, sampled.own, totals.squares[place.k]
    rooms, column = sampled.rooms[i], sampled.columns[i]
    for s in range(rooms.shape[0]):
        c, room = place.m[s], rooms[s]
        if code == MUC:
            total += 1.0 - muc_f1(n, c, s, sums, own, clusters)
        elif code == B3:
            total += 1.0 - b3_f1(n, s, room, place, sums, square)
        elif code == LEA:
            recall, precision = lea_change(c, place.size, room, place.only[s], square[s])
            total += 1.0 - harmonic(sums[LEA_RECALL, s] + recall, sums[LEA_PRECISION, s] + precision, n)
        else:
            matching = totals.matching
            weight = matching.weight[s] + gain_of(place.k, s, c, place.size, room, column[s], matching)
            ceafe = 2.0 * weight / (clusters + own[CLUSTERS, s])
            muc, b3 = muc_f1(n, c, s, sums, own, clusters), b3_f1(n, s, room, place, sums, square)
            total += 1.0 - (muc + b3 + ceafe) / 3.0
    return total


@inner_kernel
def shift(sign: int, code: int, i: int, place: Place, totals: Totals, sampled: Sampled, steps: Floats) -> None:
    """Add mention i to a cluster (sign 1) or remove it (sign -1), in the sums of each sample."""
    sums, square, rooms = totals.sums, totals.squares[place.k], sampled.rooms[i]
    size = place.size
    for s in range(rooms.shape[0]):
        c, room = place.m[s], rooms[s]
        grown = 2 * c + 1
        before = square[s] if sign > 0 else square[s] - grown
        if code <= ARI:
            sums[JOINT, s] += sign * steps[c]
            sums[PAIRS, s] += sign * c
            continue
        sums[CELLS, s] += sign * (1.0 if c == 0 else 0.0)
        if code == LEA:
            recall, precision = lea_change(c, size, room, place.only[s], before)
            sums[LEA_RECALL, s] += sign * recall
            sums[LEA_PRECISION, s] += sign * precision
        else:
            sums[B3_RECALL, s] += sign * grown / room
            sums[B3_PRECISION, s] += sign * ((before + grown) / (size + 1) - (before / size if size > 0 else 0.0))
        square[s] = before + grown if sign > 0 else before
    if code == CONLL:
        if sign > 0:
            join(place.k, size, place.m, sampled.columns[i], rooms, totals.matching)
        else:
            leave(place.k, size, sampled.columns[i], totals.matching)


@inner_kernel
def find_candidates(i: int, labels: Ints, sampled: Sampled, m: Ints32, slot: Ints, names: Ints, shares: Ints) -> int:
    """List the clusters that some sample links with mention i, its own first; return their number.

    names[c] is cluster c of the list, m[c] its overlaps, and shares[c] their sum. slot must be -1, and is again.
    """
    n_names = 1
    names[0], slot[labels[i]] = labels[i], 0
    for s in range(m.shape[1]):
        for t in range(sampled.begins[i, s], sampled.begins[i, s] + sampled.rooms[i, s]):
            j = sampled.orders[s, t]
            if j == i:
                continue
            k = labels[j]
            if slot[k] < 0:
                slot[k], names[n_names] = n_names, k
                n_names += 1
            m[slot[k], s] += 1
    for c in range(n_names):
        shares[c] = m[c].sum()
        slot[names[c]] = -1
    return n_names


@kernel
def sample_sweep(code: int, sampled: Sampled, x_log_x: Floats, totals: Totals, labels: Ints, sizes: Ints) -> int:
    """Move each mention to where the mean loss over the samples is least; return the moves.

    Candidates are the mention's own cluster, one of its own, and of those that the samples link with it at least
    LEAST_SHARE of a time on average, the CANDIDATES most often linked. `totals`, `labels` and `sizes` are kept up to
    date.
    """
    n_samples, n = sampled.orders.shape
    steps = x_log_x[1:] - x_log_x[:-1]
    m = np.zeros((n + 1, n_samples), np.int32)
    slot, names = np.full(n, -1, np.int64), np.empty(n + 1, np.int64)
    sums = np.zeros(n, np.int64)  # of the members' numbers: of a single member, its number
    shares = np.zeros(n + 1, np.int64)
    n_clusters, pairs, entropy = 0, 0.0, 0.0
    for i in range(n):
        sums[labels[i]] += i
    for k in range(n):
        n_clusters += sizes[k] > 0
        pairs += sizes[k] * (sizes[k] - 1) / 2.0
        entropy += x_log_x[sizes[k]]
    moved = 0
    for i in range(n):
        old = labels[i]
        n_names = find_candidates(i, labels, sampled, m, slot, names, shares)
        if n_names == 1 and sizes[old] == 1:  # alone, in all samples too
            continue
        sizes[old] -= 1
        sums[old] -= i
        n_clusters -= sizes[old] == 0
        pairs -= sizes[old]
        entropy -= steps[sizes[old]]
        shift(-1, code, i, place_of(old, i, m[0], sizes, sums, sampled), totals, sampled, steps)
        if sizes[old] > 0:
            names[n_names] = empty_slot(sizes)  # its row of m is 0
            n_names += 1
        shares[n_names - 1] = n_samples * n  # one of its own is a candidate, as is the old cluster
        shares[0] = n_samples * n
        best, least = 0, 0.0
        for c in range(n_names):
            k = names[c]
            more = 0  # candidates that the samples link with the mention more often
            for other in range(n_names):
                more += shares[other] > shares[c]
            if more >= CANDIDATES or shares[c] < LEAST_SHARE * n_samples:
                continue
            size = sizes[k]
            if code <= ARI:
                whole = Whole(entropy + steps[size], pairs + size, n_clusters)
                loss = information_total(code, n, m[c], totals.sums, sampled.own, steps, whole)
            else:
                place = place_of(k, i, m[c], sizes, sums, sampled)
                loss = score_total(code, n, i, place, totals, sampled, n_clusters + (size == 0))
            if c == 0 or loss < least - LEAST_GAIN * n_samples:
                best, least = c, loss
        new = names[best]
        shift(1, code, i, place_of(new, i, m[best], sizes, sums, sampled), totals, sampled, steps)
        n_clusters += sizes[new] == 0
        pairs += sizes[new]
        entropy += steps[sizes[new]]
        sizes[new] += 1
        sums[new] += i
        labels[i] = new
        moved += new != old
        for c in range(n_names):
            m[c] = 0
    return moved


@kernel
def squared_cells(members: Ints, indptr: Ints, columns: Ints32, squares: Ints) -> None:
    """squares[k, s] = sum of the squared sizes of the cells of cluster k in sample s."""
    n, n_samples = columns.shape
    count = np.zeros(n, np.int64)
    for k in range(indptr.shape[0] - 1):
        for s in range(n_samples):
            total = 0
            for t in range(indptr[k], indptr[k + 1]):
                r = columns[members[t], s]
                total += 2 * count[r] + 1
                count[r] += 1
            for t in range(indptr[k], indptr[k + 1]):
                count[columns[members[t], s]] = 0
            squares[k, s] = total
