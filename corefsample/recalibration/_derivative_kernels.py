"""Compiled derivatives of losses in the parameters of a recalibration by kind: plain arrays in, plain arrays filled.

Legend of dimensions and names
    d : document, with mentions bounds[d]:bounds[d+1]        i : mention      k : candidate antecedent (a mention)
    c : place of a candidate in the flat arrays; indptr[i]:indptr[i+1] are those of mention i
    a, h : kind of a mention and of its antecedent           kinds[i] : kind of mention i
    parameters : log temperature, NEW bias, an offset of NEW for each a, an offset for each a and h (row-major)
    u : recalibrated score, scores[c] / temperature - new_bias - new_offsets[a] + link_offsets[a, h]; NEW has u = 0
A mention depends on N_LOCAL of the parameters only: the first two, the offset of NEW of its kind, and the offsets of
its kind with each kind of antecedent.
"""

from __future__ import annotations

import math

import numpy as np

from corefsample._arrays import Bytes, Floats, Ints, Ints32
from corefsample._jit import inner_kernel, kernel, sums_inner_kernel
from corefsample.recalibration._kernels import HAS_ANTECEDENT, IS_NEW, RIGHT, UNKNOWN

GLOBALS, BY_KIND = 2, 3  # of the local parameters: global ones, and where those by kind of antecedent begin


@inner_kernel
def add_moments(
    shares: Floats, weighted: Floats, squares: float, sign: float, slopes: Floats, curvature: Floats
) -> None:
    """Add a distribution's mean of the features of a choice, and its covariance, times a sign.

    shares[h] : probability of the candidates of kind h; weighted[h] : their summed probability times s / temperature;
    squares : the same of (s / temperature) squared. The features of a candidate of kind h are (-s / temperature, -1,
    -1, and 1 at h), those of NEW are 0.
    """
    n_kinds = shares.shape[0]
    linked, mean = 0.0, 0.0
    for h in range(n_kinds):
        linked += shares[h]
        mean += weighted[h]
    slopes[0] -= sign * mean
    slopes[1] -= sign * linked
    slopes[2] -= sign * linked
    # The second derivative of u in the log temperature is s / temperature.
    curvature[0, 0] += sign * (squares - mean * mean + mean)
    across, within = sign * mean * (1.0 - linked), sign * linked * (1.0 - linked)
    curvature[0, 1] += across
    curvature[0, 2] += across
    curvature[1, 1] += within
    curvature[1, 2] += within
    curvature[2, 2] += within
    for h in range(n_kinds):
        slopes[BY_KIND + h] += sign * shares[h]
        curvature[0, BY_KIND + h] -= sign * (weighted[h] - mean * shares[h])
        curvature[1, BY_KIND + h] -= sign * shares[h] * (1.0 - linked)
        curvature[2, BY_KIND + h] -= sign * shares[h] * (1.0 - linked)
        for other in range(h, n_kinds):
            curvature[BY_KIND + h, BY_KIND + other] -= sign * shares[h] * shares[other]
        curvature[BY_KIND + h, BY_KIND + h] += sign * shares[h]


@inner_kernel
def add_local(
    kind: int, n_kinds: int, slopes: Floats, curvature: Floats, gradient: Floats, hessian: Floats, places: Ints
) -> None:
    """Add the derivatives of one mention to those of its document, and clear them."""
    places[0], places[1], places[2] = 0, 1, GLOBALS + kind
    for h in range(n_kinds):
        places[BY_KIND + h] = GLOBALS + n_kinds + kind * n_kinds + h
    for x in range(BY_KIND + n_kinds):
        gradient[places[x]] += slopes[x]
        slopes[x] = 0.0
        for y in range(x, BY_KIND + n_kinds):
            hessian[places[x], places[y]] += curvature[x, y]
            curvature[x, y] = 0.0


@kernel
def likelihood_derivatives(
    bounds: Ints,
    indptr: Ints,
    antecedents: Ints32,
    scores: Floats,
    golds: Bytes,
    candidates: Bytes,
    kinds: Bytes,
    temperature: float,
    new_bias: float,
    offsets: Floats,
    losses: Floats,
    gradients: Floats,
    hessians: Floats,
) -> None:
    """losses[d] = -sum of log P(a gold antecedent); its gradient and its Hessian, the upper triangle of hessians[d].

    golds[i], candidates[c] : as filled by `gold_antecedents`; antecedents are numbered within their document;
    offsets[a, h] = link_offsets[a, h] - new_offsets[a]. With E_p and C_p the mean and the covariance of the features
    over a mention's known candidates and NEW, and E_g and C_g those over the gold ones among them, the gradient is
    E_p - E_g and the Hessian C_p - C_g, and the same difference of the mean second derivatives of u.
    """
    n_kinds = offsets.shape[0]
    n_local = BY_KIND + n_kinds
    shares, weighted, u = np.zeros((2, n_kinds)), np.zeros((2, n_kinds)), np.empty(1)
    slopes, curvature, places = np.zeros(n_local), np.zeros((n_local, n_local)), np.empty(n_local, np.int64)
    widest = 1
    for i in range(bounds[0], bounds[-1]):
        widest = max(widest, indptr[i + 1] - indptr[i])
    u = np.empty(widest)
    for d in range(bounds.shape[0] - 1):
        first = bounds[d]
        loss = 0.0
        for i in range(first, bounds[d + 1]):
            if golds[i] != IS_NEW and golds[i] != HAS_ANTECEDENT:
                continue
            start, kind = indptr[i], kinds[i]
            largest, largest_gold = 0.0, 0.0 if golds[i] == IS_NEW else -np.inf
            for c in range(start, indptr[i + 1]):
                if candidates[c] == UNKNOWN:
                    continue
                x = scores[c] / temperature - new_bias + offsets[kind, kinds[first + antecedents[c]]]
                u[c - start] = x
                largest = max(largest, x)
                if candidates[c] == RIGHT:
                    largest_gold = max(largest_gold, x)
            total, gold_total = math.exp(-largest), 1.0 if golds[i] == IS_NEW else 0.0
            squares, gold_squares = 0.0, 0.0
            for h in range(n_kinds):
                shares[0, h], shares[1, h], weighted[0, h], weighted[1, h] = 0.0, 0.0, 0.0, 0.0
            for c in range(start, indptr[i + 1]):
                if candidates[c] == UNKNOWN:
                    continue
                h, s = kinds[first + antecedents[c]], scores[c] / temperature
                weight = math.exp(u[c - start] - largest)
                total += weight
                shares[0, h] += weight
                weighted[0, h] += weight * s
                squares += weight * s * s
                if candidates[c] == RIGHT and golds[i] == HAS_ANTECEDENT:
                    weight = math.exp(u[c - start] - largest_gold)
                    gold_total += weight
                    shares[1, h] += weight
                    weighted[1, h] += weight * s
                    gold_squares += weight * s * s
            for h in range(n_kinds):
                shares[0, h] /= total
                weighted[0, h] /= total
                shares[1, h] /= gold_total
                weighted[1, h] /= gold_total
            loss += (largest + math.log(total)) - (largest_gold + math.log(gold_total))
            add_moments(shares[0], weighted[0], squares / total, 1.0, slopes, curvature)
            if golds[i] == HAS_ANTECEDENT:
                add_moments(shares[1], weighted[1], gold_squares / gold_total, -1.0, slopes, curvature)
            add_local(kind, n_kinds, slopes, curvature, gradients[d], hessians[d], places)
        losses[d] = loss


@sums_inner_kernel
def passed_on(own: Floats, p: float, row: Floats, other: Floats, size: int) -> float:
    """Add p * own to the adjoint of a candidate, and return the derivative in p."""
    slope = 0.0
    for i in range(size):
        slope += own[i] * row[i]
        other[i] += p * own[i]
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
    gradient: Floats,
) -> None:
    """Add to the gradient of a function of the link marginals of one document, in all parameters.

    adjoint[j, i] for i < j : derivative of the function in Q[j, i], the marginal of mentions j and i; 0 elsewhere, and
    changed on return; scaled[c] : score over the temperature. The reverse of Q[j, :j] = sum over c of probs[c]
    Q[antecedents[c], :j]: mentions are visited last to first, and each passes its adjoint on to its candidates.
    """
    n_kinds = 0
    while GLOBALS + n_kinds + n_kinds * n_kinds < gradient.shape[0]:
        n_kinds += 1
    widest = 1
    for j in range(kinds.shape[0]):
        widest = max(widest, indptr[j + 1] - indptr[j])
    by_prob = np.empty(widest)
    for j in range(kinds.shape[0] - 1, 0, -1):
        own, start = adjoint[j], indptr[j]
        for i in range(j):  # what later mentions passed on to Q[i, j], which is Q[j, i]
            own[i] += adjoint[i, j]
        mean = 0.0
        for c in range(start, indptr[j + 1]):
            k, p = antecedents[c], probs[c]
            slope = passed_on(own, p, marginals[k], adjoint[k], j)
            adjoint[k, k] = 0.0  # Q[k, k] is 1
            by_prob[c - start] = slope
            mean += p * slope
        first = GLOBALS + n_kinds + kinds[j] * n_kinds
        for c in range(start, indptr[j + 1]):
            slope = probs[c] * (by_prob[c - start] - mean)  # in the candidate's score
            gradient[0] -= slope * scaled[c]
            gradient[1] -= slope
            gradient[GLOBALS + kinds[j]] -= slope
            gradient[first + kinds[antecedents[c]]] += slope
