"""Compiled loop of sampled transitions: scores of states, perturbed so that the largest of the valid ones is a draw.

Legend of dimensions and names
    r : state of a parse that is not complete yet     m : transition (move) of the parser
    h : hidden unit of the parser's last layer        g : group of transitions that are valid in the same states
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from corefsample._arrays import Floats, Ints
from corefsample._jit import inner_kernel, kernel_in_place
from corefsample._random_kernels import GAMMA, mix

Singles = npt.NDArray[np.float32]

U11 = np.uint64(11)
TWO_M53 = 1.0 / 9007199254740992.0
NEVER = np.float32(-np.inf)


@inner_kernel
def _uniform(word):  # type: ignore[no-untyped-def]
    return (np.float64(mix(word) >> U11) + 0.5) * TWO_M53


@kernel_in_place
def perturbed_scores(
    hidden: Singles,
    weights: Singles,
    bias: Singles,
    members: Ints,
    bounds: Ints,
    inverse_temperature: float,
    key: np.uint64,
    samples: Ints,
    step: int,
    row: Singles,
    sums: Floats,
    scores: Singles,
) -> None:
    """Fill `scores`, (r, m), such that the largest of the valid ones is a draw from the softmax over them.

    hidden is (r, h), weights (h, m). members[bounds[g]:bounds[g + 1]] are the transitions of group g. The largest of
    the scores of a group plus Gumbel noise is their log-sum-exp plus Gumbel noise, and is that of each transition with
    the probability of the softmax over the group. So one transition is drawn per group, and the others get -inf.

    A state's scores are sums in the order of h, so they do not depend on the other states of the batch.
    """
    n_moves = bias.shape[0]
    for r in range(hidden.shape[0]):
        for m in range(n_moves):
            row[m] = bias[m]
            scores[r, m] = NEVER
        for h in range(hidden.shape[1]):
            unit = hidden[r, h]
            for m in range(n_moves):
                row[m] += unit * weights[h, m]
        word = mix(mix(key + np.uint64(samples[r] + 1) * GAMMA) + np.uint64(step + 1) * GAMMA)
        for g in range(bounds.shape[0] - 1):
            first, last = bounds[g], bounds[g + 1]
            largest = row[members[first]]
            for c in range(first + 1, last):
                largest = max(largest, row[members[c]])
            total = 0.0
            for c in range(first, last):
                total += math.exp(np.float64(row[members[c]] - largest) * inverse_temperature)
                sums[c] = total
            word += GAMMA
            noise = -math.log(-math.log(_uniform(word)))
            word += GAMMA
            place = _uniform(word) * total
            drawn = first
            while drawn < last - 1 and sums[drawn] <= place:
                drawn += 1
            scores[r, members[drawn]] = np.float64(largest) * inverse_temperature + math.log(total) + noise
