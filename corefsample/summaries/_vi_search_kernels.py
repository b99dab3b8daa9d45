"""Compiled sweep of the search under the generalised variation of information.

Legend: that of `_kernels`, and
    linked[i, j] : whether some sample has i and j together
    labels[i]    : cluster of mention i in the estimate, a slot from 0 to n - 1; sizes[k]: mentions in slot k
"""

from __future__ import annotations

import numpy as np

from corefsample._arrays import Bools, Floats, Ints
from corefsample._jit import kernel
from corefsample.summaries._kernels import Sampled
from corefsample.summaries._marginal_search_kernels import LEAST_GAIN, empty_slot


@kernel
def vi_sweep(
    merge_cost: float,
    sampled: Sampled,
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
    orders, begins, rooms = sampled.orders, sampled.begins, sampled.rooms
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
