"""Recursions of a linear chain: forward and backward, on exponentials of scores; likeliest sequences, on logarithms.

Samples are drawn by forward filtering and backward sampling.

Legend of dimensions and names
    i    : position of a token               n : number of tokens
    s, t : tag, and the tag that follows it  n_tags : number of tags
    c, k : chain, and its index among those in lockstep; chain c has the rows indptr[c] to indptr[c + 1]
    w    : padded number of tags, a multiple of LANES, so that loops have no remainder. Padding has weight 0.
    emissions[i, t]      exp(unary score - shift of row i)
    transitions[s, t]    exp(pairwise score - shift of the matrix)
    forward[i, t]        proportional to the weight of all beginnings that end in tag t at i, unary score of i included
    backward[i, t]       proportional to the weight of all ends that follow tag t at i

Underflow. All weights are 0 or in [FLOOR, 1], so that a product of three cannot underflow and a sum is 0 only if no
sequence is allowed. What lies below FLOOR is rounded down to 0 in the forward pass and up to FLOOR in the backward
pass, so the forward pass bounds every weight from below and the backward pass from above. `both_passes` measures the
distance of the two bounds; where it is more than rounding, the caller works with logarithms instead (_passes.py).

Lockstep. Four chains advance position by position together, so that a row of the matrix is read once for four tokens,
and so that the processor can work on one chain while it waits for another. What is computed for a chain does not depend
on its neighbours.
"""

from __future__ import annotations

import math

import numpy as np

from corefsample._arrays import Floats, Ints, Ints32
from corefsample._jit import (
    fused_inner_kernel,
    fused_kernel,
    inner_kernel,
    kernel,
    kernel_without_nan,
    sums_inner_kernel,
)
from corefsample._random_kernels import GAMMA, mix

LANES = 8
GROUP = 4  # chains in lockstep
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
    n_tags, w = scores.shape[1], shifted.shape[1]
    for j in range(shifts.shape[0]):
        largest = -np.inf
        for r in range(j * rows_of_shift, (j + 1) * rows_of_shift):
            row, target = scores[r], shifted[r]
            for t in range(n_tags):
                target[t] = row[t]
            for t in range(n_tags, w):
                target[t] = -np.inf
            for t in range(w):  # not n_tags: a loop without remainder is faster
                largest = max(largest, target[t])
        shift = largest if largest > -np.inf else 0.0
        shifts[j] = shift
        for r in range(j * rows_of_shift, (j + 1) * rows_of_shift):
            target = shifted[r]
            for t in range(w):
                target[t] = max(target[t] - shift, LOG_FLOOR) if target[t] > -np.inf else -np.inf


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
def weighted_rows_of_four(weights, a, b, c, d, matrix, n_tags, out):  # type: ignore[no-untyped-def]
    """out[k] = what `weighted_rows` gives for row a, b, c, d of `weights`, bit for bit, in half the time.

    Each row of the matrix is read once for all four. The order of additions is that of `weighted_rows`.
    """
    w = out.shape[1]
    n_used = (n_tags + 3) // 4 * 4  # without most of the padding, which stays 0
    weights_a, weights_b, weights_c, weights_d = weights[a], weights[b], weights[c], weights[d]
    out_a, out_b, out_c, out_d = out[0], out[1], out[2], out[3]
    for t in range(w):
        out_a[t] = 0.0
        out_b[t] = 0.0
        out_c[t] = 0.0
        out_d[t] = 0.0
    for s in range(0, n_tags, 4):
        a0, a1, a2, a3 = weights_a[s], weights_a[s + 1], weights_a[s + 2], weights_a[s + 3]
        b0, b1, b2, b3 = weights_b[s], weights_b[s + 1], weights_b[s + 2], weights_b[s + 3]
        c0, c1, c2, c3 = weights_c[s], weights_c[s + 1], weights_c[s + 2], weights_c[s + 3]
        d0, d1, d2, d3 = weights_d[s], weights_d[s + 1], weights_d[s + 2], weights_d[s + 3]
        rows = matrix[s : s + 4]
        for t in range(n_used):
            r0, r1, r2, r3 = rows[0, t], rows[1, t], rows[2, t], rows[3, t]
            total_a = out_a[t] + a0 * r0
            total_a += a1 * r1
            total_a += a2 * r2
            total_a += a3 * r3
            total_b = out_b[t] + b0 * r0
            total_b += b1 * r1
            total_b += b2 * r2
            total_b += b3 * r3
            total_c = out_c[t] + c0 * r0
            total_c += c1 * r1
            total_c += c2 * r2
            total_c += c3 * r3
            total_d = out_d[t] + d0 * r0
            total_d += d1 * r1
            total_d += d2 * r2
            total_d += d3 * r3
            out_a[t] = total_a
            out_b[t] = total_b
            out_c[t] = total_c
            out_d[t] = total_d


@fused_inner_kernel
def scaled_forward(x, emission, target):  # type: ignore[no-untyped-def]
    """Fill a row of forward weights from those of transitions, `x`, which it changes; return the maximum before."""
    w = target.shape[0]
    largest = 0.0
    for t in range(w):
        x[t] *= emission[t] if emission[t] > ABOVE_FLOOR else 0.0
        if x[t] > largest:
            largest = x[t]
    scale = 1.0 / largest if largest > 0.0 else 0.0
    for t in range(w):
        y = x[t] * scale
        target[t] = y if y >= FLOOR else 0.0
    return largest


@fused_inner_kernel
def scaled_backward(x, target):  # type: ignore[no-untyped-def]
    """Fill a row of backward weights from the sums `x`; return their maximum."""
    w = target.shape[0]
    largest = 0.0
    for s in range(w):
        if x[s] > largest:
            largest = x[s]
    scale = 1.0 / largest if largest > 0.0 else 0.0
    for s in range(w):
        y = x[s] * scale
        floored = y if y > FLOOR else FLOOR
        target[s] = floored if y > 0.0 else 0.0
    return largest


@fused_inner_kernel
def fill_marginals(forward, backward, total, probs):  # type: ignore[no-untyped-def]
    """probs[t] = P(tag is t) of one token, whose products of weights add up to `total`."""
    scale = 1.0 / total if total > 0.0 else 0.0
    for t in range(probs.shape[0]):
        probs[t] = forward[t] * backward[t] * scale


@sums_inner_kernel
def weight_of_all(forward, backward):  # type: ignore[no-untyped-def]
    """Sum over tags of forward * backward."""
    total = 0.0
    for t in range(forward.shape[0]):
        total += forward[t] * backward[t]
    return total


@kernel
def split_transitions(weights: Floats, lower: Floats, transposed: Floats) -> None:
    """Fill `lower` (w, w) with the weights (n_tags, w) above FLOOR, and `transposed` (w, w) with all, transposed."""
    n_tags, w = weights.shape
    for s in range(w):
        for t in range(w):
            x = weights[s, t] if s < n_tags else 0.0
            lower[s, t] = x if x > ABOVE_FLOOR else 0.0
            transposed[t, s] = x


@fused_inner_kernel
def sums_of_group(rows, places, n_active, matrix, n_tags, out):  # type: ignore[no-untyped-def]
    """out[k] = the product of row places[k] and the matrix, for the first `n_active` places."""
    if n_active <= 2:
        for k in range(n_active):
            weighted_rows(rows[places[k]], matrix, out[k])
        return
    d = places[3] if n_active > 3 else places[0]  # a chain that has ended takes any row
    weighted_rows_of_four(rows, places[0], places[1], places[2], d, matrix, n_tags, out)


@fused_inner_kernel
def forward_group(chains, indptr, emissions, lower, n_tags, forward, scales, places, x):  # type: ignore[no-untyped-def]
    """Fill rows of `forward` and `scales` of these chains, the longest first; a row without weight is 0."""
    n_active = chains.shape[0]
    for i in range(indptr[chains[0] + 1] - indptr[chains[0]]):
        while indptr[chains[n_active - 1] + 1] - indptr[chains[n_active - 1]] <= i:
            n_active -= 1
        for k in range(n_active):
            places[k] = indptr[chains[k]] + i - 1
        if i == 0:
            for k in range(n_active):
                for t in range(x.shape[1]):
                    x[k, t] = 1.0
        else:
            sums_of_group(forward, places, n_active, lower, n_tags, x)
        for k in range(n_active):
            row = places[k] + 1
            scales[row] = scaled_forward(x[k], emissions[row], forward[row])


@fused_inner_kernel
def backward_group(  # type: ignore[no-untyped-def]
    chains, indptr, emissions, transposed, forward, scales, backward, probs, apart, places, weights, totals, x
):
    """Fill rows of `backward` and `probs` of these chains, and how far the bounds of their passes are apart."""
    w, n_tags = x.shape[1], probs.shape[1]
    n_active = chains.shape[0]
    for k in range(n_active):
        last = indptr[chains[k] + 1] - 1
        for t in range(w):
            backward[last, t] = 1.0
        totals[k] = weight_of_all(forward[last], backward[last])
        fill_marginals(forward[last], backward[last], totals[k], probs[last])
        apart[chains[k]] = 0.0 if totals[k] > 0.0 else np.inf
        places[k] = k
    for back in range(1, indptr[chains[0] + 1] - indptr[chains[0]]):  # positions before the last
        while indptr[chains[n_active - 1] + 1] - indptr[chains[n_active - 1]] <= back:
            n_active -= 1
        for k in range(n_active):
            after = indptr[chains[k] + 1] - back
            row, emission, weight = backward[after], emissions[after], weights[k]
            for t in range(w):
                weight[t] = emission[t] * row[t]
        sums_of_group(weights, places, n_active, transposed, n_tags, x)
        for k in range(n_active):
            i = indptr[chains[k] + 1] - back - 1
            largest = scaled_backward(x[k], backward[i])
            total = weight_of_all(forward[i], backward[i])
            if largest > 0.0 and totals[k] > 0.0:
                apart[chains[k]] += (total / totals[k]) * (largest / scales[i + 1]) - 1.0
            else:
                apart[chains[k]] = np.inf
            totals[k] = total
            fill_marginals(forward[i], backward[i], total, probs[i])


@fused_kernel
def both_passes(
    indptr: Ints,
    order: Ints,
    emissions: Floats,
    lower: Floats,
    transposed: Floats,
    forward: Floats,
    scales: Floats,
    backward: Floats,
    probs: Floats,
    apart: Floats,
) -> None:
    """Fill the rows of `forward`, `scales`, `backward` and `probs`, and how far the bounds of each chain are apart.

    `lower` (w, w) has the weights of transitions, `transposed` (w, w) all with the tag that follows first; `order` has
    the chains from the longest to the shortest. Rows are scaled to a maximum of 1; scales[i] is the maximum of a row of
    `forward` before.

    apart[c] is relative to the weight of all sequences: the sum over places of the relative change of sum over t of
    forward[i, t] * backward[i, t], which is 0 in exact arithmetic. The error of every marginal is below it. Infinity
    means that it cannot be measured. A chain of infinite or large apart[c] has no valid rows.
    """
    w = forward.shape[1]
    places, totals = np.empty(GROUP, np.int64), np.empty(GROUP)
    weights, x = np.zeros((GROUP, w)), np.zeros((GROUP, w))
    for start in range(0, order.shape[0], GROUP):
        chains = order[start : start + GROUP]
        forward_group(chains, indptr, emissions, lower, probs.shape[1], forward, scales, places, x)
        backward_group(
            chains, indptr, emissions, transposed, forward, scales, backward, probs, apart, places, weights, totals, x
        )


@fused_kernel
def pair_marginals(
    transitions: Floats,
    first_token: int,
    emissions: Floats,
    forward: Floats,
    backward: Floats,
    scales: Floats,
    probs: Floats,
) -> None:
    """probs[p, s, t] = P(tag s of token first_token + p, and tag t of the next token)."""
    n_places, n_tags, _ = probs.shape
    weights = np.empty(forward.shape[1])
    for p in range(n_places):
        i = first_token + p
        before, after, emission = forward[i], backward[i + 1], emissions[i + 1]
        # The sum of all products below is that of the next token, before its row was scaled.
        scale = 1.0 / (weight_of_all(forward[i + 1], after) * scales[i + 1])
        for t in range(weights.shape[0]):
            weights[t] = emission[t] * after[t]
        for s in range(n_tags):
            x = before[s] * scale
            row, target = transitions[s], probs[p, s]
            for t in range(n_tags):
                target[t] = x * (row[t] * weights[t])


@kernel
def best_sequences(unary: Floats, pairwise: Floats, links: Ints32, tags: Ints32, scores: Floats) -> int:
    """Fill tags (k, n) and scores (k,) with the k sequences of the highest scores, best first; return their number.

    links (n, n_tags, k) is working memory: the next tag t and the rank r there of the r-th best end from a tag on, as
    t * k + r. Of equal scores, those with the smaller next tag come first.
    """
    n, n_tags = unary.shape
    k: int = scores.shape[0]
    after, before = np.full((n_tags, k), -np.inf), np.full((n_tags, k), -np.inf)
    for t in range(n_tags):
        after[t, 0] = unary[n - 1, t]
    ranks = np.empty(n_tags, np.int64)
    for i in range(n - 2, -1, -1):
        matrix = pairwise[i if pairwise.shape[0] > 1 else 0]
        for s in range(n_tags):
            for t in range(n_tags):
                ranks[t] = 0
            for r in range(k):
                best, best_t = -np.inf, 0
                for t in range(n_tags):
                    if ranks[t] < k and matrix[s, t] + after[t, ranks[t]] > best:
                        best, best_t = matrix[s, t] + after[t, ranks[t]], t
                before[s, r] = unary[i, s] + best
                links[i, s, r] = best_t * k + ranks[best_t]
                ranks[best_t] += 1
        after, before = before, after
    for t in range(n_tags):
        ranks[t] = 0
    for r in range(k):
        best, tag = -np.inf, 0
        for t in range(n_tags):
            if ranks[t] < k and after[t, ranks[t]] > best:
                best, tag = after[t, ranks[t]], t
        if best == -np.inf:
            return r
        scores[r] = best
        rank = ranks[tag]
        ranks[tag] += 1
        for i in range(n):
            tags[r, i] = tag
            if i < n - 1:
                link = links[i, tag, rank]
                tag, rank = link // k, link % k
    return k


U1 = np.uint64(1)
U11 = np.uint64(11)
STEP = 2.0**-53  # between the uniform numbers that are drawn
SAFE = 1.0 + 1e-12  # above rounding errors: a guide may point to an earlier tag, never to a later one
BLOCK = 256  # samples that are drawn together: their arrays stay in the first-level cache


@inner_kernel
def cumulative_weights(forward, matrix, sums):  # type: ignore[no-untyped-def]
    """sums[s, t] = sum over tags up to s of forward[s] * matrix[s, t], for all next tags at once."""
    n_tags, w = sums.shape
    for t in range(w):
        sums[0, t] = forward[0] * matrix[0, t]
    for s in range(1, n_tags):
        x = forward[s]
        row, before, target = matrix[s], sums[s - 1], sums[s]
        for t in range(w):
            target[t] = before[t] + x * row[t]


@inner_kernel
def fill_guide(sums, column, guide):  # type: ignore[no-untyped-def]
    """guide[g] = a tag up to which every cumulative weight is at most g / len(guide) of the last one, g rounded down.

    The last sum is above every level that is drawn, so a search that begins there ends.
    """
    n_tags, size = sums.shape[0], guide.shape[0]
    scale = SAFE * size / sums[n_tags - 1, column]
    for g in range(size):
        guide[g] = 0
    for s in range(n_tags):
        g = int(sums[s, column] * scale) + 1
        if g < size:
            guide[g] += 1
    for g in range(1, size):
        guide[g] += guide[g - 1]


@kernel
def sample_tags(
    n_tags: int,
    lower: Floats,
    first_token: int,
    stop: int,
    forward: Floats,
    key: np.uint64,
    first: int,
    tags: Ints32,
) -> None:
    """Draw the tags of the tokens from `first_token` to `stop` - 1, from the last backwards, given later tags.

    `lower` (m, at least n_tags, w) has a matrix of weights of transitions for each of these places or one for all. If
    stop is n - 1, the tag of the last token is drawn too.

    Word s of token i is output `first + s` of SplitMix64 seeded with output i of SplitMix64 seeded with `key`. Its high
    53 bits are a uniform number; the tag is the first whose cumulative weight, given the next tag, exceeds it. The
    search begins at a guide that the first bits of the number point to (Chen & Asau 1974), so it takes about one step.
    """
    n, n_samples = tags.shape
    m, _, w = lower.shape
    n_bits = 0
    while 1 << n_bits < w:
        n_bits += 1
    sums = np.empty((n_tags, w))
    guides = np.empty((n_tags, 1 << n_bits), np.int32)
    guided_token = np.full(n_tags, -1, np.int64)  # token for which the guide of a next tag was filled
    picked = np.empty(BLOCK, np.uint64)
    for i in range(stop - 1 + int(stop == n - 1), first_token - 1, -1):
        if i == n - 1:
            sums[:, 0] = np.cumsum(forward[i, :n_tags])
        else:
            cumulative_weights(forward[i], lower[0 if m == 1 else i - first_token], sums)
        key_of_token = mix(np.uint64(key) + np.uint64(i + 1) * GAMMA)
        for start in range(0, n_samples, BLOCK):
            size = min(BLOCK, n_samples - start)
            state = key_of_token + np.uint64(first + start + 1) * GAMMA
            for s in range(size):
                picked[s] = mix(state + np.uint64(s) * GAMMA) >> U11
            target = tags[i, start : start + size]
            following = target if i == n - 1 else tags[i + 1, start : start + size]
            for s in range(size):
                column = np.uint64(0 if i == n - 1 else following[s])
                if guided_token[column] != i:
                    guided_token[column] = i
                    fill_guide(sums, column, guides[column])
                level = np.float64(np.int64(picked[s])) * STEP * sums[n_tags - 1, column]
                tag = np.uint64(guides[column, picked[s] >> np.uint64(53 - n_bits)])
                while sums[tag, column] <= level:
                    tag += U1
                target[s] = tag
