"""Compiled loop of sampled transitions: scores of states, perturbed so that the largest of the valid ones is a draw.

Legend of dimensions and names
    r : state of a parse that is not complete yet     m : transition (move) of the parser
    f : token that a state looks at                   t : row of a token; the first row of a Doc is for no token
    h : hidden unit of the parser's last layer        p : piece of a hidden unit, of which the largest counts
    g : group of transitions that are valid in the same states
"""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from corefsample._arrays import Ints, Ints32
from corefsample._jit import kernel
from corefsample._random_kernels import GAMMA, mix, uniform

Singles = npt.NDArray[np.float32]
Keys = npt.NDArray[np.uint64]

NEVER = np.float32(-np.inf)
ZERO = np.float32(0.0)


class Layers(NamedTuple):
    """Weights that turn the tokens of a state into scores of transitions."""

    features: Singles  # (t, f, h * p): what each token adds to the hidden units, by its place in the state
    feature_bias: Singles  # (h * p,)
    weights: Singles  # (h, m)
    bias: Singles  # (m,)
    members: Ints  # members[bounds[g]:bounds[g + 1]] are the transitions of group g
    bounds: Ints


class States(NamedTuple):
    """The states whose next transitions are drawn."""

    tokens: Ints32  # (r, f): offsets in the Doc, -1 for none
    first_rows: Ints  # (r,): the first row of the Doc in `Layers.features`
    keys: Keys  # (r,): of the random streams of the Docs
    samples: Ints  # (r,): index of the sample


@kernel
def perturbed_scores(layers: Layers, states: States, inverse_temperature: float, step: int, scores: Singles) -> None:
    """Fill `scores`, (r, m), such that the largest of the valid ones is a draw from the softmax over them.

    The largest of the scores of a group plus Gumbel noise is their log-sum-exp plus Gumbel noise, and is that of each
    transition with the probability of the softmax over the group. So one transition is drawn per group, and the others
    get -inf. A state's scores do not depend on the other states of the batch.
    """
    features, feature_bias, weights, bias, members, bounds = layers
    n_moves, n_units = bias.shape[0], weights.shape[0]
    n_pieces = feature_bias.shape[0] // n_units
    pieces, row = np.empty(feature_bias.shape[0], np.float32), np.empty(n_moves, np.float32)
    sums = np.empty(n_moves)
    for r in range(states.tokens.shape[0]):
        for x in range(pieces.shape[0]):  # adding in the order in which spaCy adds
            pieces[x] = ZERO
        for f in range(states.tokens.shape[1]):
            t = states.first_rows[r] + states.tokens[r, f] + 1
            for x in range(pieces.shape[0]):
                pieces[x] += features[t, f, x]
        for x in range(pieces.shape[0]):
            pieces[x] += feature_bias[x]
        for m in range(n_moves):
            row[m] = bias[m]
            scores[r, m] = NEVER
        for h in range(n_units):
            unit = pieces[h * n_pieces]
            for p in range(1, n_pieces):
                unit = max(unit, pieces[h * n_pieces + p])
            if n_pieces == 1:
                unit = max(unit, ZERO)
            for m in range(n_moves):
                row[m] += unit * weights[h, m]
        word = mix(mix(states.keys[r] + np.uint64(states.samples[r] + 1) * GAMMA) + np.uint64(step + 1) * GAMMA)
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
            noise = -math.log(-math.log(uniform(word)))
            word += GAMMA
            threshold = uniform(word) * total
            choice = first
            while choice < last - 1 and sums[choice] <= threshold:
                choice += 1
            scores[r, members[choice]] = np.float64(largest) * inverse_temperature + math.log(total) + noise
