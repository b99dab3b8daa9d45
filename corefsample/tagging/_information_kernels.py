"""Entropy and divergence of linear chains by the chain rule; names are those of _log_kernels.py.

`backward` and `scales` are those of log_backward_pass, so that the logarithm of P(tag t | tag s before it) is
pairwise[s, t] + unary[i + 1, t] + backward[i + 1, t] - backward[i, s] - scales[i].
"""

from __future__ import annotations

import math

import numpy as np

from corefsample._arrays import Floats
from corefsample._jit import inner_kernel, kernel


@inner_kernel
def first_log_probs(unary, backward, log_probs):  # type: ignore[no-untyped-def]
    """log_probs[t] = log P(tag of the first token is t)."""
    n_tags = unary.shape[1]
    largest = -np.inf
    for t in range(n_tags):
        log_probs[t] = unary[0, t] + backward[0, t]
        largest = max(largest, log_probs[t])
    total = 0.0
    for t in range(n_tags):
        total += math.exp(log_probs[t] - largest)
    for t in range(n_tags):
        log_probs[t] -= largest + math.log(total)


@inner_kernel
def next_log_prob(unary, matrix, backward, scales, i, s, t):  # type: ignore[no-untyped-def]
    """Log of P(tag of token i + 1 is t | that of token i is s)."""
    return (matrix[s, t] + unary[i + 1, t] + backward[i + 1, t]) - (backward[i, s] + scales[i])


@kernel
def entropy(unary: Floats, pairwise: Floats, backward: Floats, scales: Floats, probs: Floats) -> float:
    """Entropy of the first tag plus the expected entropy of each tag given the one before it, in nats."""
    n, n_tags = unary.shape
    firsts = np.empty(n_tags)
    first_log_probs(unary, backward, firsts)
    total = 0.0
    for t in range(n_tags):
        if firsts[t] > -np.inf:
            total -= math.exp(firsts[t]) * firsts[t]
    for i in range(n - 1):
        matrix = pairwise[i if pairwise.shape[0] > 1 else 0]
        for s in range(n_tags):
            if probs[i, s] == 0.0:
                continue
            inner = 0.0
            for t in range(n_tags):
                x = next_log_prob(unary, matrix, backward, scales, i, s, t)
                if x > -np.inf:
                    inner -= math.exp(x) * x
            total += probs[i, s] * inner
    return max(total, 0.0)


@kernel
def divergence(
    unary: Floats,
    pairwise: Floats,
    backward: Floats,
    scales: Floats,
    probs: Floats,
    other_unary: Floats,
    other_pairwise: Floats,
    other_backward: Floats,
    other_scales: Floats,
) -> float:
    """Kullback-Leibler divergence of another chain, in nats: of the first tag, and expected of each next tag."""
    n, n_tags = unary.shape
    firsts, other_firsts = np.empty(n_tags), np.empty(n_tags)
    first_log_probs(unary, backward, firsts)
    first_log_probs(other_unary, other_backward, other_firsts)
    total = 0.0
    for t in range(n_tags):
        if firsts[t] > -np.inf and math.exp(firsts[t]) > 0.0:
            total += math.exp(firsts[t]) * (firsts[t] - other_firsts[t])
    for i in range(n - 1):
        matrix = pairwise[i if pairwise.shape[0] > 1 else 0]
        other = other_pairwise[i if other_pairwise.shape[0] > 1 else 0]
        for s in range(n_tags):
            if probs[i, s] == 0.0:
                continue
            inner = 0.0
            for t in range(n_tags):
                x = next_log_prob(unary, matrix, backward, scales, i, s, t)
                p = math.exp(x)
                if p > 0.0:
                    y = -np.inf
                    if other_backward[i, s] > -np.inf:
                        y = next_log_prob(other_unary, other, other_backward, other_scales, i, s, t)
                    inner += p * (x - y)
            total += probs[i, s] * inner
    return max(total, 0.0)
