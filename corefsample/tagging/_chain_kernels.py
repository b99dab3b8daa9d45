"""Forward and backward recursions of a linear chain, on exponentials of scores: plain arrays in, arrays filled.

Legend of dimensions and names
    i    : position of a token               n : number of tokens
    s, t : tag, and the tag that follows it  n_tags : number of tags
    m    : matrices of transitions, one for all places (1) or one for each place between two tokens (n - 1)
    w    : padded number of tags, a multiple of LANES, so that loops have no remainder. Padding has weight 0.
    emissions[i, t]      exp(unary score - shift of row i)
    transitions[j, s, t] exp(pairwise score - shift of matrix j)
    forward[i, t]        proportional to the weight of all beginnings that end in tag t at i, unary score of i included
    backward[i, t]       proportional to the weight of all ends that follow tag t at i

Underflow. All weights are 0 or in [FLOOR, 1], so that a product of three cannot underflow and a sum is 0 only if no
sequence is allowed. What lies below FLOOR is rounded down to 0 in the forward pass and up to FLOOR in the backward
pass, so the forward pass bounds every weight from below and the backward pass from above. `backward_pass` measures the
distance of the two bounds; where it is more than rounding, the caller works with logarithms instead (_log_kernels.py).
"""

from __future__ import annotations

import math

import numpy as np

from corefsample._arrays import Floats, Ints
from corefsample._jit import fused_inner_kernel, fused_kernel, kernel, kernel_without_nan

LANES = 8
LOG_FLOOR = -230.0
FLOOR = math.exp(LOG_FLOOR)
ABOVE_FLOOR = 1.000001 * FLOOR  # of the exponentials, only the clipped ones lie below
LARGEST_SCORE = 1e300  # 10**8 such scores have a finite sum


@kernel
def count_invalid(scores: Floats) -> int:
    """Count scores that are NaN, +inf, or finite and above LARGEST_SCORE in size."""
    n_invalid = 0
    for c in range(scores.shape[0]):
        x = scores[c]
        n_invalid += int(not ((abs(x) <= LARGEST_SCORE) | (x == -np.inf)))
    return n_invalid


@kernel_without_nan
def shift_rows(scores: Floats, rows_of_shift: int, shifts: Floats, shifted: Floats) -> None:
    """Subtract the maximum of each `rows_of_shift` rows and clip at LOG_FLOOR; -inf stays, and fills the padding.

    `scores` is (rows, n_tags), `shifts` (rows / rows_of_shift,) and `shifted` (rows, w). The shift is 0 where every
    score is -inf.
    """
    n_tags = scores.shape[1]
    for j in range(shifts.shape[0]):
        largest = -np.inf
        for r in range(j * rows_of_shift, (j + 1) * rows_of_shift):
            for t in range(n_tags):
                if scores[r, t] > largest:
                    largest = scores[r, t]
        shift = largest if largest > -np.inf else 0.0
        shifts[j] = shift
        for r in range(j * rows_of_shift, (j + 1) * rows_of_shift):
            row = shifted[r]
            for t in range(n_tags):
                x = scores[r, t] - shift
                clipped = x if x > LOG_FLOOR else LOG_FLOOR
                row[t] = clipped if scores[r, t] > -np.inf else -np.inf
            for t in range(n_tags, row.shape[0]):
                row[t] = -np.inf


@fused_inner_kernel
def weighted_rows(weights, matrix, out):  # type: ignore[no-untyped-def]
    """out[t] = sum over s of weights[s] * matrix[s, t]; the padding is part of both dimensions."""
    w = out.shape[0]
    for t in range(w):
        out[t] = 0.0
    for s in range(0, w, LANES):
        x0, x1, x2, x3 = weights[s], weights[s + 1], weights[s + 2], weights[s + 3]
        x4, x5, x6, x7 = weights[s + 4], weights[s + 5], weights[s + 6], weights[s + 7]
        rows = matrix[s : s + 8]
        for t in range(w):
            # One term after the other: with fused products, a row is one instruction.
            total = out[t] + x0 * rows[0, t]
            total += x1 * rows[1, t]
            total += x2 * rows[2, t]
            total += x3 * rows[3, t]
            total += x4 * rows[4, t]
            total += x5 * rows[5, t]
            total += x6 * rows[6, t]
            total += x7 * rows[7, t]
            out[t] = total


@fused_inner_kernel
def weight_of_all(forward, backward):  # type: ignore[no-untyped-def]
    """Sum over tags of forward * backward, LANES sums at a time: each addition waits for the one before it."""
    s0, s1, s2, s3, s4, s5, s6, s7 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for t in range(0, forward.shape[0], LANES):
        s0 += forward[t] * backward[t]
        s1 += forward[t + 1] * backward[t + 1]
        s2 += forward[t + 2] * backward[t + 2]
        s3 += forward[t + 3] * backward[t + 3]
        s4 += forward[t + 4] * backward[t + 4]
        s5 += forward[t + 5] * backward[t + 5]
        s6 += forward[t + 6] * backward[t + 6]
        s7 += forward[t + 7] * backward[t + 7]
    return ((s0 + s1) + (s2 + s3)) + ((s4 + s5) + (s6 + s7))


@kernel
def split_transitions(transitions: Floats, lower: Floats, transposed: Floats) -> int:
    """Fill `lower` with the weights above FLOOR, and `transposed` with all, row and column exchanged; count the rest.

    `transitions` are (m, n_tags, w), the others (m, w, w). The rest are the weights that were clipped.
    """
    n_clipped = 0
    m, n_tags, w = transitions.shape
    for j in range(m):
        for s in range(n_tags):
            row, target = transitions[j, s], lower[j, s]
            for t in range(w):
                above = row[t] > ABOVE_FLOOR
                target[t] = row[t] if above else 0.0
                n_clipped += int((row[t] > 0.0) & (not above))
        for s in range(n_tags):
            row, target = transitions[j], transposed[j, s]
            for t in range(n_tags):
                target[t] = row[t, s]
            for t in range(n_tags, w):
                target[t] = 0.0
        for s in range(n_tags, w):
            for t in range(w):
                lower[j, s, t] = 0.0
                transposed[j, s, t] = 0.0
    return n_clipped


@fused_kernel
def forward_pass(emissions: Floats, lower: Floats, place: int, stop: int, forward: Floats, scales: Floats) -> int:
    """Fill rows of `forward` and `scales` behind the places from `place` to `stop` - 1, and the first row for place 0.

    Place p is between the tokens p and p + 1. `lower` (m, w, w) has a matrix of transitions for each of these
    places or one for all. Rows are scaled to a maximum of 1; scales[i] is the maximum before. Return the first position
    without weight, or -1.
    """
    w = forward.shape[1]
    shared = lower.shape[0] == 1
    x = np.ones(w)
    for i in range(place + int(place > 0), stop + 1):
        if i > 0:
            weighted_rows(forward[i - 1], lower[0 if shared else i - 1 - place], x)
        emission = emissions[i]
        largest = 0.0
        for t in range(w):
            x[t] *= emission[t] if emission[t] > ABOVE_FLOOR else 0.0
            if x[t] > largest:
                largest = x[t]
        scales[i] = largest
        if largest == 0.0:
            return i
        scale = 1.0 / largest
        target = forward[i]
        for t in range(w):
            y = x[t] * scale
            target[t] = y if y >= FLOOR else 0.0
    return -1


@fused_kernel
def backward_pass(
    emissions: Floats,
    transposed: Floats,
    place: int,
    stop: int,
    forward: Floats,
    scales: Floats,
    backward: Floats,
    probs: Floats,
) -> float:
    """Fill rows of `backward` before the same places as `forward_pass`, the last row for the last place, and `probs`.

    `transposed` (m, w, w) has the matrices with the tag that follows first. probs[i, t] is the probability that the
    tag of token i is t. Return how far the bounds of the two passes are apart, relative to the
    weight of all sequences: the sum over places of the relative change of sum over t of forward[i, t] * backward[i, t],
    which is 0 in exact arithmetic. The error of every marginal is below it. Infinity means that it cannot be measured.
    """
    n, w = forward.shape
    n_tags = probs.shape[1]
    shared = transposed.shape[0] == 1
    weights, x = np.empty(w), np.empty(w)
    if stop == n - 1:
        for t in range(w):
            backward[stop, t] = 1.0
    total = weight_of_all(forward[stop], backward[stop])
    if stop == n - 1:
        scale = 1.0 / total
        for t in range(n_tags):
            probs[stop, t] = forward[stop, t] * scale
    apart = 0.0
    for i in range(stop - 1, place - 1, -1):
        emission, after = emissions[i + 1], backward[i + 1]
        for t in range(w):
            weights[t] = emission[t] * after[t]
        weighted_rows(weights, transposed[0 if shared else i - place], x)
        largest = 0.0
        for s in range(w):
            if x[s] > largest:
                largest = x[s]
        if largest == 0.0 or total == 0.0:
            return np.inf
        scale = 1.0 / largest
        target = backward[i]
        for s in range(w):
            y = x[s] * scale
            floored = y if y > FLOOR else FLOOR
            target[s] = floored if y > 0.0 else 0.0
        before = weight_of_all(forward[i], target)
        apart += (before / total) * (largest / scales[i + 1]) - 1.0
        total = before
        row, first = probs[i], forward[i]
        scale = 1.0 / total
        for t in range(n_tags):
            row[t] = first[t] * target[t] * scale
    return apart


@kernel
def log_weight(forward: Floats, scales: Floats, shifts: Floats, pair_shifts: Floats) -> float:
    """Log of the weight of all sequences, by a compensated sum (Neumaier 1974)."""
    n, w = forward.shape
    total, lost = 0.0, 0.0
    for i in range(n):
        pair_shift = 0.0
        if i > 0:
            pair_shift = pair_shifts[i - 1 if pair_shifts.shape[0] > 1 else 0]
        for x in (shifts[i], pair_shift, math.log(scales[i])):
            y = total + x
            lost += (total - y) + x if abs(total) >= abs(x) else (x - y) + total
            total = y
    end = 0.0
    for t in range(w):
        end += forward[n - 1, t]
    return total + (lost + math.log(end))


@fused_kernel
def both_passes(
    indptr: Ints,
    emissions: Floats,
    shifts: Floats,
    lower: Floats,
    transposed: Floats,
    pair_shifts: Floats,
    forward: Floats,
    scales: Floats,
    backward: Floats,
    probs: Floats,
    apart: Floats,
    log_weights: Floats,
) -> None:
    """Both passes of several chains with one matrix: chain c has the rows indptr[c]:indptr[c + 1] of all arrays."""
    for c in range(indptr.shape[0] - 1):
        a, b = indptr[c], indptr[c + 1]
        f, s, e = forward[a:b], scales[a:b], emissions[a:b]
        apart[c] = np.inf
        if forward_pass(e, lower, 0, b - a - 1, f, s) == -1:
            apart[c] = backward_pass(e, transposed, 0, b - a - 1, f, s, backward[a:b], probs[a:b])
            log_weights[c] = log_weight(f, s, shifts[a:b], pair_shifts)


@fused_kernel
def pair_marginals(
    transitions: Floats,
    place: int,
    emissions: Floats,
    forward: Floats,
    backward: Floats,
    scales: Floats,
    probs: Floats,
) -> None:
    """probs[p, s, t] = P(tag of token place + p is s, that of the next is t); a matrix for each of them, or one."""
    n_places, n_tags, _ = probs.shape
    weights = np.empty(forward.shape[1])
    for p in range(n_places):
        i = place + p
        matrix = transitions[p if transitions.shape[0] > 1 else 0]
        before, after, emission = forward[i], backward[i + 1], emissions[i + 1]
        # The sum of all products below is that of the next token, before its row was scaled.
        scale = 1.0 / (weight_of_all(forward[i + 1], after) * scales[i + 1])
        for t in range(weights.shape[0]):
            weights[t] = emission[t] * after[t]
        for s in range(n_tags):
            x = before[s] * scale
            row, target = matrix[s], probs[p, s]
            for t in range(n_tags):
                target[t] = x * (row[t] * weights[t])
