"""Compiled sweeps of the search for a clustering of small expected loss: each mention goes where the loss is least.

Legend: that of `_kernels`, and
    weights[i, j]  : what the Binder loss gains where i and j are together
    marginals[i, j]: P(i and j belong to one entity)
    labels[i]      : cluster of mention i in the estimate, a slot from 0 to n - 1; sizes[k]: mentions in slot k
    m[c, s]        : members of candidate cluster c that sample s has in the mention's cluster
    squares[k, s]  : sum over the cells of cluster k of their squared sizes
"""

from __future__ import annotations

import math

import numpy as np

from corefsample._arrays import Bools, Floats, Ints, Ints32
from corefsample._jit import inner_kernel, kernel
from corefsample.summaries._kernels import (
    B3_PRECISION,
    B3_RECALL,
    CELLS,
    JOINT,
    LEA_PRECISION,
    LEA_RECALL,
    PAIRS,
    SAMPLE_ENTITIES,
    SAMPLE_ENTROPY,
    SAMPLE_PAIRS,
)

NVI, ARI, MUC, B3, LEA = 0, 1, 2, 3, 4
LEAST_GAIN = 1e-10  # smaller improvements are rounding errors
CANDIDATES = 10
NO_ENTROPY = 1e-10  # the smallest positive joint entropy of n mentions is about log(n) / n


@inner_kernel
def empty_slot(sizes: Ints) -> int:
    """Return a cluster without members: there is one whenever a mention has been taken out."""
    for k in range(sizes.shape[0]):
        if sizes[k] == 0:
            return k
    return -1


# --- losses of pairs ---------------------------------------------------------------------------------------


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


# --- losses of samples -------------------------------------------------------------------------------------


@kernel
def vi_sweep(
    merge_cost: float,
    orders: Ints32,
    begins: Ints32,
    rooms: Ints32,
    x_log_x: Floats,
    linked: Bools,
    stamps: Ints,
    seen: Ints,
    labels: Ints,
    sizes: Ints,
) -> int:
    """Move each mention to where the mean generalised VI to the samples is least; return the moves.

    Only clusters that some sample links with the mention can gain. n times the loss is, up to a constant,
    merge_cost * sum of x_log_x[size] over clusters - 2 * mean over samples of the sum of x_log_x[cell].

    stamps[k] is when cluster k last changed, seen[i] when mention i was last looked at: a mention is looked at again
    only if its cluster has changed, or one with a mention that is ever linked with it.
    """
    n_samples, n = orders.shape
    steps = x_log_x[1:] - x_log_x[:-1]
    gains = np.zeros(n)
    count, touched = np.zeros(n, np.int64), np.empty(n, np.int64)
    now = stamps.max()
    moved = 0
    for i in range(n):
        old = labels[i]
        stale = stamps[old] > seen[i]
        for j in range(n):
            if linked[i, j] and stamps[labels[j]] > seen[i]:
                stale = True
                break
        if not stale:
            continue
        sizes[old] -= 1
        gains[:] = 0.0
        for s in range(n_samples):
            n_touched = 0
            order = orders[s]
            begin, room = begins[i, s], rooms[i, s]
            for t in range(begin, begin + room):
                j = order[t]
                if j == i:
                    continue
                k = labels[j]
                if count[k] == 0:
                    touched[n_touched] = k
                    n_touched += 1
                count[k] += 1
            for t in range(n_touched):
                k = touched[t]
                gains[k] += steps[count[k]]
                count[k] = 0
        best, least = -1, 0.0
        if sizes[old] > 0:
            best, least = old, merge_cost * steps[sizes[old]] - 2.0 * gains[old] / n_samples
            if least > LEAST_GAIN:
                best, least = -1, 0.0
        for k in range(n):
            if k != old and gains[k] > 0.0:
                change = merge_cost * steps[sizes[k]] - 2.0 * gains[k] / n_samples
                if change < least - LEAST_GAIN:
                    best, least = k, change
        new = best
        if best < 0:
            new = old if sizes[old] == 0 else empty_slot(sizes)
        sizes[new] += 1
        labels[i] = new
        seen[i] = now
        if new != old:
            moved += 1
            now += 1
            stamps[old] = now
            stamps[new] = now
            seen[i] = now
    return moved


@inner_kernel
def information_total(
    code: int, n: int, m: Ints32, base: Floats, steps: Floats, clusters: float, pairs: float
) -> float:
    """Sum over samples of NVI or 1 - ARI where the mention joins a cluster.

    clusters: the sum of x_log_x of the estimate's sizes; pairs: its pairs.
    """
    total = 0.0
    log_n = math.log(n)
    entropy = log_n - clusters / n
    all_pairs = n * (n - 1) / 2.0
    for s in range(m.shape[0]):
        if code == NVI:
            joint = log_n - (base[s, JOINT] + steps[m[s]]) / n
            if joint > NO_ENTROPY:
                total += 2.0 - (entropy + log_n - base[s, SAMPLE_ENTROPY] / n) / joint
        else:
            expected = pairs * base[s, SAMPLE_PAIRS] / all_pairs
            most = (pairs + base[s, SAMPLE_PAIRS]) / 2.0 - expected
            if most > NO_ENTROPY:
                total += 1.0 - (base[s, PAIRS] + m[s] - expected) / most
    return total


@inner_kernel
def score_total(
    code: int, n: int, m: Ints32, base: Floats, square: Ints, size: int, n_clusters: int, only: Ints32, rooms: Ints32
) -> float:
    """Sum over samples of 1 - F1 of MUC, B3 or LEA where the mention joins a cluster of `size` (0: one of its own).

    only: sizes of the samples' clusters of the cluster's member, if it has a single one; rooms: those of the mention.
    """
    total = 0.0
    for s in range(m.shape[0]):
        c, room = m[s], rooms[s]
        if code == MUC:
            found = n - base[s, CELLS] - (1.0 if c == 0 else 0.0)
            wanted = (n - base[s, SAMPLE_ENTITIES]) + (n - n_clusters)
            total += 1.0 - (2.0 * found / wanted if wanted > 0.0 else 0.0)
            continue
        if code == B3:
            recall = base[s, B3_RECALL] + (2.0 * c + 1.0) / room
            before = square[s] / size if size > 0 else 0.0
            precision = base[s, B3_PRECISION] - before + (square[s] + 2 * c + 1) / (size + 1)
        else:
            recall, precision = base[s, LEA_RECALL], base[s, LEA_PRECISION]
            if size == 0:
                if room == 1:
                    recall += 1.0
                    precision += 1.0
            else:
                if room > 1:
                    recall += 2.0 * c / (room - 1)
                if size == 1 and only[s] == 1:
                    recall -= 1.0
                    precision -= 1.0
                before = (square[s] - size) / (size - 1) if size > 1 else 0.0
                precision += (square[s] + 2 * c - size) / size - before
        total += 1.0 - (2.0 * recall * precision / (n * (recall + precision)) if recall + precision > 0.0 else 0.0)
    return total


@inner_kernel
def take_out(
    n: int, m: Ints32, base: Floats, steps: Floats, square: Ints, size: int, only: Ints32, rooms: Ints32
) -> None:
    """Remove a mention from its cluster, which is left with `size` members, in the sums of each sample."""
    for s in range(m.shape[0]):
        c, room = m[s], rooms[s]
        base[s, JOINT] -= steps[c]
        base[s, PAIRS] -= c
        base[s, CELLS] -= 1.0 if c == 0 else 0.0
        base[s, B3_RECALL] -= (2.0 * c + 1.0) / room
        after = square[s] - 2 * c - 1
        base[s, B3_PRECISION] -= square[s] / (size + 1) - (after / size if size > 0 else 0.0)
        if size == 0:
            if room == 1:
                base[s, LEA_RECALL] -= 1.0
                base[s, LEA_PRECISION] -= 1.0
        else:
            if room > 1:
                base[s, LEA_RECALL] -= 2.0 * c / (room - 1)
            left = (after - size) / (size - 1) if size > 1 else 0.0
            base[s, LEA_PRECISION] -= (square[s] - size - 1) / size - left
            if size == 1 and only[s] == 1:
                base[s, LEA_RECALL] += 1.0
                base[s, LEA_PRECISION] += 1.0
        square[s] = after


@inner_kernel
def put_in(
    n: int, m: Ints32, base: Floats, steps: Floats, square: Ints, size: int, only: Ints32, rooms: Ints32
) -> None:
    """Add a mention to a cluster of `size` members, in the sums of each sample."""
    for s in range(m.shape[0]):
        c, room = m[s], rooms[s]
        base[s, JOINT] += steps[c]
        base[s, PAIRS] += c
        base[s, CELLS] += 1.0 if c == 0 else 0.0
        base[s, B3_RECALL] += (2.0 * c + 1.0) / room
        after = square[s] + 2 * c + 1
        base[s, B3_PRECISION] += after / (size + 1) - (square[s] / size if size > 0 else 0.0)
        if size == 0:
            if room == 1:
                base[s, LEA_RECALL] += 1.0
                base[s, LEA_PRECISION] += 1.0
        else:
            if room > 1:
                base[s, LEA_RECALL] += 2.0 * c / (room - 1)
            before = (square[s] - size) / (size - 1) if size > 1 else 0.0
            base[s, LEA_PRECISION] += (after - size - 1) / size - before
            if size == 1 and only[s] == 1:
                base[s, LEA_RECALL] -= 1.0
                base[s, LEA_PRECISION] -= 1.0
        square[s] = after


@kernel
def sample_sweep(
    code: int,
    orders: Ints32,
    begins: Ints32,
    rooms: Ints32,
    x_log_x: Floats,
    base: Floats,
    squares: Ints,
    labels: Ints,
    sizes: Ints,
) -> int:
    """Move each mention to where the mean loss over the samples is least; return the moves.

    Candidates are the mention's own cluster, one of its own, and
    the CANDIDATES clusters that the samples link with it most often. `base` are the `overlap_statistics` and
    `squares` the squared cells of `labels`; all four are kept up to date.
    """
    n_samples, n = orders.shape
    steps = x_log_x[1:] - x_log_x[:-1]
    m = np.zeros((n + 1, n_samples), np.int32)
    slot, names = np.full(n, -1, np.int64), np.empty(n + 1, np.int64)
    sums = np.zeros(n, np.int64)  # of the members' numbers: of a single member, its number
    shares = np.zeros(n + 1, np.int64)
    n_clusters, pairs, clusters = 0, 0.0, 0.0
    for i in range(n):
        sums[labels[i]] += i
    for k in range(n):
        n_clusters += sizes[k] > 0
        pairs += sizes[k] * (sizes[k] - 1) / 2.0
        clusters += x_log_x[sizes[k]]
    moved = 0
    for i in range(n):
        old = labels[i]
        n_names = 1
        names[0], slot[old] = old, 0
        for s in range(n_samples):
            for t in range(begins[i, s], begins[i, s] + rooms[i, s]):
                j = orders[s, t]
                if j == i:
                    continue
                k = labels[j]
                if slot[k] < 0:
                    slot[k], names[n_names] = n_names, k
                    n_names += 1
                m[slot[k], s] += 1
        for c in range(n_names):
            shares[c] = m[c].sum()
        sizes[old] -= 1
        sums[old] -= i
        n_clusters -= sizes[old] == 0
        pairs -= sizes[old]
        clusters -= steps[sizes[old]]
        only = rooms[sums[old]] if sizes[old] == 1 else rooms[i]
        take_out(n, m[0], base, steps, squares[old], sizes[old], only, rooms[i])
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
            if more >= CANDIDATES:
                continue
            size = sizes[k]
            if code <= ARI:
                loss = information_total(code, n, m[c], base, steps, clusters + steps[size], pairs + size)
            else:
                only = rooms[sums[k]] if size == 1 else rooms[i]
                grown = n_clusters + (size == 0)
                loss = score_total(code, n, m[c], base, squares[k], size, grown, only, rooms[i])
            if c == 0 or loss < least - LEAST_GAIN * n_samples:
                best, least = c, loss
        new = names[best]
        only = rooms[sums[new]] if sizes[new] == 1 else rooms[i]
        put_in(n, m[best], base, steps, squares[new], sizes[new], only, rooms[i])
        n_clusters += sizes[new] == 0
        pairs += sizes[new]
        clusters += steps[sizes[new]]
        sizes[new] += 1
        sums[new] += i
        labels[i] = new
        moved += new != old
        for c in range(n_names):
            slot[names[c]] = -1
            m[c] = 0
    return moved


@kernel
def squared_cells(members: Ints, indptr: Ints, rows: Ints32, squares: Ints) -> None:
    """squares[k, s] = sum of the squared sizes of the cells of cluster k in sample s."""
    n_samples, n = rows.shape
    count = np.zeros(n, np.int64)
    for s in range(n_samples):
        row = rows[s]
        for k in range(indptr.shape[0] - 1):
            total = 0
            for t in range(indptr[k], indptr[k + 1]):
                r = row[members[t]]
                total += 2 * count[r] + 1
                count[r] += 1
            for t in range(indptr[k], indptr[k + 1]):
                count[row[members[t]]] = 0
            squares[k, s] = total
