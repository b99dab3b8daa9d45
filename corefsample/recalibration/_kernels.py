"""Compiled losses of recalibrated antecedents against gold, with derivatives: plain arrays in, plain arrays filled.

Legend of dimensions and names
    i, j : mention      k : candidate antecedent (a mention)
    c : place of a candidate in the flat arrays; indptr[i]:indptr[i+1] are those of mention i
    a, h : kind of a mention and of its antecedent        kinds[i] : kind of mention i
    u : recalibrated score, scores[c] / temperature + offsets[a, h]; NEW has u = 0
Derivatives are in the log temperature (place 0) and in each offset (row-major, from place 1). A mention depends on the
first and on the offsets of its own kind only.
"""

import math

import numpy as np

from corefsample._arrays import Bytes, Floats, Ints, Ints32
from corefsample._jit import inner_kernel, kernel, sums_inner_kernel

# The gold antecedent of a mention.
NO_TERM, IS_NEW, HAS_ANTECEDENT, MISSED = 0, 1, 2, 3
# A candidate antecedent of a mention, according to gold.
WRONG, RIGHT, UNKNOWN = 0, 1, 2


@inner_kernel
def add_moments(
    shares: Floats, weighted: Floats, squares: float, sign: float, first: int, gradient: Floats, hessian: Floats
) -> None:
    """Add a distribution's mean of the features of a choice, and its covariance, times a sign.

    shares[h] : probability of the candidates of kind h; weighted[h] : their summed probability times s / temperature;
    squares : the same of (s / temperature) squared. The features of a candidate of kind h are -s / temperature and 1 at
    place first + h, those of NEW are 0.
    """
    n_kinds = shares.shape[0]
    mean = 0.0
    for h in range(n_kinds):
        mean += weighted[h]
    gradient[0] -= sign * mean
    # The second derivative of u in the log temperature is s / temperature.
    hessian[0, 0] += sign * (squares - mean * mean + mean)
    for h in range(n_kinds):
        across = sign * (weighted[h] - mean * shares[h])
        gradient[first + h] += sign * shares[h]
        hessian[0, first + h] -= across
        hessian[first + h, 0] -= across
        hessian[first + h, first + h] += sign * shares[h]
        for k in range(n_kinds):
            hessian[first + h, first + k] -= sign * shares[h] * shares[k]


@kernel
def likelihood_derivatives(
    indptr: Ints,
    antecedents: Ints32,
    scores: Floats,
    golds: Bytes,
    candidates: Bytes,
    kinds: Bytes,
    temperature: float,
    offsets: Floats,
    gradient: Floats,
    hessian: Floats,
) -> float:
    """-sum of log P(a gold antecedent) of one document; its gradient and Hessian, which must be 0 before, are filled.

    golds[i], candidates[c] : codes of `GoldSet`. With E_p and C_p the mean and the covariance of the features over a
    mention's known candidates and NEW, and E_g and C_g those over the gold ones among them, the gradient is E_p - E_g
    and the Hessian C_p - C_g, and the same difference of the mean second derivatives of u.
    """
    n_kinds = offsets.shape[0]
    shares, weighted = np.zeros(n_kinds), np.zeros(n_kinds)
    widest = 1
    for i in range(kinds.shape[0]):
        widest = max(widest, indptr[i + 1] - indptr[i])
    u = np.empty(widest)
    loss = 0.0
    for i in range(kinds.shape[0]):
        if golds[i] != IS_NEW and golds[i] != HAS_ANTECEDENT:
            continue
        start, kind = indptr[i], kinds[i]
        # First over all known candidates and NEW, then over the gold ones among them. Each sum has its own maximum,
        # because the gold one can be far below the other.
        for is_gold in range(2):
            has_new = is_gold == 0 or golds[i] == IS_NEW
            largest = 0.0 if has_new else -np.inf
            for c in range(start, indptr[i + 1]):
                if candidates[c] == RIGHT or (is_gold == 0 and candidates[c] == WRONG):
                    u[c - start] = scores[c] / temperature + offsets[kind, kinds[antecedents[c]]]
                    largest = max(largest, u[c - start])
            total, squares = math.exp(-largest) if has_new else 0.0, 0.0
            shares[:] = 0.0
            weighted[:] = 0.0
            for c in range(start, indptr[i + 1]):
                if candidates[c] == RIGHT or (is_gold == 0 and candidates[c] == WRONG):
                    h, s = kinds[antecedents[c]], scores[c] / temperature
                    weight = math.exp(u[c - start] - largest)
                    total += weight
                    shares[h] += weight
                    weighted[h] += weight * s
                    squares += weight * s * s
            for h in range(n_kinds):
                shares[h] /= total
                weighted[h] /= total
            sign = 1.0 - 2.0 * is_gold
            loss += sign * (largest + math.log(total))
            add_moments(shares, weighted, squares / total, sign, 1 + kind * n_kinds, gradient, hessian)
    return loss


@sums_inner_kernel
def passed_on(adjoint: Floats, p: float, row: Floats, candidate_adjoint: Floats, size: int) -> float:
    """Add p * adjoint to the adjoint of a candidate, and return the derivative in p."""
    slope = 0.0
    for i in range(size):
        slope += adjoint[i] * row[i]
        candidate_adjoint[i] += p * adjoint[i]
    return slope


@kernel
def link_slopes(
    indptr: Ints,
    antecedents: Ints32,
    probs: Floats,
    scaled: Floats,
    kinds: Bytes,
    marginals: Floats,
    adjoint: Floats,
    by_offset: Floats,
) -> float:
    """Derivative of a function of the link marginals of one document in the log temperature; by_offset[a, h] is filled.

    adjoint[j, i] for i < j : derivative of the function in Q[j, i], the marginal of mentions j and i; 0 elsewhere, and
    changed on return; scaled[c] : score over the temperature. The reverse of Q[j, :j] = sum over c of probs[c]
    Q[antecedents[c], :j]: mentions are visited last to first, and each passes its adjoint on to its candidates.
    """
    by_temperature, widest = 0.0, 1
    by_offset[:] = 0.0
    for j in range(kinds.shape[0]):
        widest = max(widest, indptr[j + 1] - indptr[j])
    by_prob = np.empty(widest)
    for j in range(kinds.shape[0] - 1, 0, -1):
        mention_adjoint, start = adjoint[j], indptr[j]
        for i in range(j):  # what later mentions passed on to Q[i, j], which is Q[j, i]
            mention_adjoint[i] += adjoint[i, j]
        mean = 0.0
        for c in range(start, indptr[j + 1]):
            k, p = antecedents[c], probs[c]
            slope = passed_on(mention_adjoint, p, marginals[k], adjoint[k], j)
            adjoint[k, k] = 0.0  # Q[k, k] is 1
            by_prob[c - start] = slope
            mean += p * slope
        for c in range(start, indptr[j + 1]):
            slope = probs[c] * (by_prob[c - start] - mean)  # in the candidate's score
            by_temperature -= slope * scaled[c]
            by_offset[kinds[j], kinds[antecedents[c]]] += slope
    return by_temperature
