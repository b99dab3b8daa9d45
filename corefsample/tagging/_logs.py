"""Forward and backward recursions of one chain on logarithms, for scores too far apart for their exponentials.

They also serve chains with a matrix of transitions for each pair of neighbours. Scores are the caller's own: `unary`
(n, n_tags) and `pairwise` (m, n_tags, n_tags), a matrix for all places (1) or for each place between tokens (n - 1).
Rows of forward and backward weights are logarithms with a maximum of 0.
"""

from __future__ import annotations

import numpy as np

from corefsample._arrays import Floats


def log_sums(scores: Floats, axis: int) -> Floats:
    """Logarithm of the sums of exponentials along an axis; -inf where there are none."""
    largest = scores.max(axis=axis, keepdims=True)
    with np.errstate(divide="ignore"):
        sums = np.log(np.exp(scores - np.where(largest > -np.inf, largest, 0.0)).sum(axis=axis))
    return np.asarray(sums + largest.squeeze(axis))


def log_forward(unary: Floats, pairwise: Floats) -> tuple[Floats, Floats]:
    """Forward weights (n, n_tags), and the maximum of each row before it was subtracted: -inf where none is allowed."""
    forward, scales = np.full_like(unary, -np.inf), np.full(len(unary), -np.inf)
    row = unary[0]
    for i in range(len(unary)):
        if i > 0:
            row = unary[i] + log_sums(forward[i - 1][:, None] + pairwise[(i - 1) % len(pairwise)], 0)
        scales[i] = row.max()
        if scales[i] == -np.inf:
            break
        forward[i] = row - scales[i]
    return forward, scales


def log_backward(unary: Floats, pairwise: Floats) -> tuple[Floats, Floats]:
    """Backward weights (n, n_tags), and the maximum of each row before it was subtracted."""
    backward, scales = np.zeros_like(unary), np.zeros(len(unary))
    for i in range(len(unary) - 2, -1, -1):
        row = log_sums(pairwise[i % len(pairwise)] + (unary[i + 1] + backward[i + 1]), 1)
        scales[i] = row.max()
        backward[i] = row - scales[i]
    return backward, scales


def normalised(logs: Floats, axis: int | tuple[int, ...]) -> Floats:
    """Probabilities from their logarithms, which they overwrite; their sum along the axes is 1."""
    logs -= logs.max(axis=axis, keepdims=True)
    np.exp(logs, out=logs)
    logs /= logs.sum(axis=axis, keepdims=True)
    return logs
