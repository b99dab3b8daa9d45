"""Forward and backward recursions of a linear chain on logarithms, for scores too far apart for their exponentials.

Names are those of _chain_kernels.py, except that forward and backward weights are logarithms here, with a maximum of 0
in each row, and that scores are the caller's own: `unary` (n, n_tags) and `pairwise` (m, n_tags, n_tags).
"""

from __future__ import annotations

import math

import numpy as np

from corefsample._arrays import Floats
from corefsample._jit import kernel


@kernel
def log_forward_pass(unary: Floats, pairwise: Floats, forward: Floats, scales: Floats) -> int:
    """Fill forward[:, :n_tags] and scales, whose rows sum to the log scale of a position; padding becomes -inf.

    Return the first position that no allowed sequence reaches, or -1.
    """
    n, n_tags = unary.shape
    for i in range(n):
        row = forward[i]
        for t in range(row.shape[0]):
            row[t] = -np.inf
        largest = -np.inf
        for t in range(n_tags):
            if unary[i, t] == -np.inf:
                continue
            if i == 0:
                row[t] = unary[i, t]
            else:
                matrix = pairwise[i - 1 if pairwise.shape[0] > 1 else 0]
                best = -np.inf
                for s in range(n_tags):
                    best = max(best, forward[i - 1, s] + matrix[s, t])
                if best == -np.inf:
                    continue
                total = 0.0
                for s in range(n_tags):
                    total += math.exp(forward[i - 1, s] + matrix[s, t] - best)
                row[t] = unary[i, t] + (best + math.log(total))
            largest = max(largest, row[t])
        scales[i] = largest
        if largest == -np.inf:
            return i
        for t in range(n_tags):
            row[t] -= largest
    return -1


@kernel
def log_backward_pass(unary: Floats, pairwise: Floats, backward: Floats, scales: Floats) -> None:
    """Fill backward[:, :n_tags] and scales: the logarithm of each row's maximum before it was subtracted."""
    n, n_tags = unary.shape
    for i in range(n - 1, -1, -1):
        row = backward[i]
        for s in range(row.shape[0]):
            row[s] = 0.0 if i == n - 1 and s < n_tags else -np.inf
        scales[i] = 0.0
        if i == n - 1:
            continue
        matrix = pairwise[i if pairwise.shape[0] > 1 else 0]
        largest = -np.inf
        for s in range(n_tags):
            best = -np.inf
            for t in range(n_tags):
                best = max(best, matrix[s, t] + unary[i + 1, t] + backward[i + 1, t])
            if best == -np.inf:
                continue
            total = 0.0
            for t in range(n_tags):
                total += math.exp(matrix[s, t] + unary[i + 1, t] + backward[i + 1, t] - best)
            row[s] = best + math.log(total)
            largest = max(largest, row[s])
        scales[i] = largest
        for s in range(n_tags):
            row[s] -= largest


@kernel
def log_total(forward: Floats, scales: Floats) -> float:
    """Log of the weight of all sequences, by a compensated sum (Neumaier 1974)."""
    n, w = forward.shape
    total, lost = 0.0, 0.0
    for i in range(n):
        x = scales[i]
        y = total + x
        lost += (total - y) + x if abs(total) >= abs(x) else (x - y) + total
        total = y
    end = 0.0
    for t in range(w):
        end += math.exp(forward[n - 1, t])
    return total + (lost + math.log(end))


@kernel
def log_marginals(forward: Floats, backward: Floats, probs: Floats) -> None:
    """probs[i, t] = P(tag of token i is t)."""
    n, n_tags = probs.shape
    for i in range(n):
        largest = -np.inf
        for t in range(n_tags):
            largest = max(largest, forward[i, t] + backward[i, t])
        total = 0.0
        for t in range(n_tags):
            probs[i, t] = math.exp(forward[i, t] + backward[i, t] - largest)
            total += probs[i, t]
        for t in range(n_tags):
            probs[i, t] /= total


@kernel
def log_pair_marginals(
    unary: Floats, pairwise: Floats, place: int, forward: Floats, backward: Floats, probs: Floats
) -> None:
    """probs[p, s, t] = P(tag of token place + p is s, that of the next is t)."""
    n_places, n_tags, _ = probs.shape
    for p in range(n_places):
        i = place + p
        matrix = pairwise[i if pairwise.shape[0] > 1 else 0]
        largest = -np.inf
        for s in range(n_tags):
            for t in range(n_tags):
                x = forward[i, s] + matrix[s, t] + unary[i + 1, t] + backward[i + 1, t]
                probs[p, s, t] = x
                largest = max(largest, x)
        total = 0.0
        for s in range(n_tags):
            for t in range(n_tags):
                probs[p, s, t] = math.exp(probs[p, s, t] - largest)
                total += probs[p, s, t]
        for s in range(n_tags):
            for t in range(n_tags):
                probs[p, s, t] /= total
