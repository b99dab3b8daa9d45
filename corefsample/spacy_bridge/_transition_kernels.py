"""Compiled loop of sampled transitions: the scores of states, perturbed so that the largest is a draw.

Legend of dimensions and names
    r : state of a parse that is not complete yet     m : transition (move) of the parser
    h : hidden unit of the parser's last layer        s : sample, one for each state
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from corefsample._arrays import Floats, Ints
from corefsample._jit import kernel_in_place
from corefsample._random_kernels import GAMMA, mix

Singles = npt.NDArray[np.float32]

U11 = np.uint64(11)
TWO_M53 = 1.0 / 9007199254740992.0


@kernel_in_place
def perturbed_scores(
    hidden: Singles,
    weights: Singles,
    bias: Singles,
    unseen: Singles,
    inverse_temperature: float,
    key: np.uint64,
    samples: Ints,
    step: int,
    row: Floats,
    scores: Singles,
) -> None:
    """Fill `scores` with the scores of transitions, divided by the temperature, plus Gumbel noise.

    hidden is (r, h), weights (h, m); each sum is in the order of h, so that a state's scores do not depend on the
    other states of the batch. `unseen` is -inf for transitions that the parser never saw, and 0 for others.
    """
    n_moves = bias.shape[0]
    for r in range(hidden.shape[0]):
        for m in range(n_moves):
            row[m] = bias[m]
        for h in range(hidden.shape[1]):
            unit = hidden[r, h]
            for m in range(n_moves):
                row[m] += unit * weights[h, m]
        word = mix(mix(key + np.uint64(samples[r] + 1) * GAMMA) + np.uint64(step + 1) * GAMMA)
        for m in range(n_moves):
            word += GAMMA
            uniform = (np.float64(mix(word) >> U11) + 0.5) * TWO_M53
            scores[r, m] = row[m] * inverse_temperature - math.log(-math.log(uniform)) + unseen[m]
