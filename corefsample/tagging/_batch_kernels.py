"""Both passes of several chains that share one matrix of transitions; names are those of _chain_kernels.py.

Chain c has the rows indptr[c] to indptr[c + 1] of all arrays of tokens. Four chains go in lockstep, position by
position, so that a row of the matrix is read once for four tokens, and so that the processor can work on one chain
while it waits for another. What is computed for a chain does not depend on its neighbours.
"""

from __future__ import annotations

import numpy as np

from corefsample._arrays import Floats, Ints
from corefsample._jit import fused_inner_kernel, fused_kernel, kernel
from corefsample.tagging._chain_kernels import (
    fill_marginals,
    log_weight,
    scaled_backward,
    scaled_forward,
    weight_of_all,
    weighted_rows,
    weighted_rows_of_four,
)

GROUP = 4  # chains in lockstep


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
    """Fill the rows of `forward`, `scales`, `backward` and `probs`, and apart[c] as `backward_pass` returns it.

    `order` has the chains from the longest to the shortest. A chain of infinite or large apart[c] has no valid rows.
    """
    w = forward.shape[1]
    places, totals = np.empty(GROUP, np.int64), np.empty(GROUP)
    weights, x = np.zeros((GROUP, w)), np.zeros((GROUP, w))
    for start in range(0, order.shape[0], GROUP):
        chains = order[start : start + GROUP]
        forward_group(chains, indptr, emissions, lower[0], probs.shape[1], forward, scales, places, x)
        backward_group(
            chains,
            indptr,
            emissions,
            transposed[0],
            forward,
            scales,
            backward,
            probs,
            apart,
            places,
            weights,
            totals,
            x,
        )


@kernel
def log_weights(
    indptr: Ints, forward: Floats, scales: Floats, shifts: Floats, pair_shifts: Floats, apart: Floats, logs: Floats
) -> None:
    """logs[c] = log of the weight of all sequences of chain c, where the passes could be measured."""
    for c in range(indptr.shape[0] - 1):
        a, b = indptr[c], indptr[c + 1]
        if apart[c] < np.inf:
            logs[c] = log_weight(forward[a:b], scales[a:b], shifts[a:b], pair_shifts)
