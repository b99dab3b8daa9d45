"""Compiled loops that draw clusterings in which some pairs of mentions are apart.

Legend of dimensions and names
    i, j : mention, in text order           n : number of mentions
    s    : sample                           p : set of probabilities (a draw of a recalibration)
    earlier[starts[i]:starts[i + 1]] : mentions before i that must not be of its entity
    rows as in _kernels.py: candidates of mention i at indptr[i]:indptr[i + 1]

A draw of antecedents is consistent if no two mentions of a pair have one label. A sample that is inconsistent is drawn
again, with words of its own: try t of sample s has those of SplitMix64 seeded with output t of SplitMix64 seeded with
output s of SplitMix64 seeded with `key`. So a sample depends on nothing but the key and its number, and not on mentions
after the last one that is apart from another.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from corefsample._arrays import Bools, Floats, Ints, Ints32
from corefsample._jit import inner_kernel, kernel
from corefsample._random_kernels import GAMMA, mix

TO_UNIT = 2.0**-53
U11 = np.uint64(11)


class Rows(NamedTuple):
    """Candidates of the mentions, and which mentions are apart."""

    indptr: Ints
    antecedents: Ints32
    probs: Floats
    new_probs: Floats
    starts: Ints
    earlier: Ints32


@kernel
def clashes(starts: Ints, earlier: Ints32, labels: Ints32, clash: Bools) -> None:
    """Mark in clash (n, n_samples) the mentions of each pair that has one label."""
    for i in range(labels.shape[0]):
        for c in range(starts[i], starts[i + 1]):
            own, other = labels[i], labels[earlier[c]]
            of_own, of_other = clash[i], clash[earlier[c]]
            for s in range(own.shape[0]):
                same = own[s] == other[s]
                of_own[s] |= same
                of_other[s] |= same


@inner_kernel
def draw_one(rows: Rows, state: np.uint64, labels: Ints32) -> bool:
    """Draw the labels of one clustering; False as soon as a pair has one label."""
    indptr, antecedents, probs, new_probs, starts, earlier = rows
    for i in range(labels.shape[0]):
        left = np.float64(mix(state + np.uint64(i + 1) * GAMMA) >> U11) * TO_UNIT - new_probs[i]
        labels[i] = i
        for c in range(indptr[i], indptr[i + 1]):
            if left < 0.0:
                break
            labels[i] = labels[antecedents[c]]
            left -= probs[c]
        for c in range(starts[i], starts[i + 1]):
            if labels[earlier[c]] == labels[i]:
                return False
    return True


@kernel
def redraw(
    rows: Rows, key: np.uint64, chosen: Ints, first: int, most_tries: int, most_found: int, labels: Ints32
) -> tuple[int, int]:
    """Draw labels[:, s] for the chosen s until each is consistent; return the numbers of tries and of consistent ones.

    Sample s has the number first + s. A sample that is not consistent after most_tries stays as it was last drawn. It
    ends after most_found consistent samples.
    """
    own = np.empty(labels.shape[0], np.int32)
    n_tries, n_found = 0, 0
    for c in range(chosen.shape[0]):
        s = chosen[c]
        stream = mix(key + np.uint64(first + s + 1) * GAMMA)
        for t in range(most_tries):
            n_tries += 1
            state = mix(stream + np.uint64(t + 1) * GAMMA)
            if draw_one(rows, state, own):
                n_found += 1
                break
        for i in range(labels.shape[0]):
            labels[i, s] = own[i]
        if n_found >= most_found:
            break
    return n_tries, n_found


@kernel
def run_chains(rows: Rows, key: np.uint64, chosen: Ints, first: int, n_steps: int, labels: Ints32) -> None:
    """Draw labels[:, s] for the chosen s by a Metropolis-Hastings sampler for each, with independent proposals.

    A proposal draws each mention's antecedent in turn among those with which no pair has one label. Its weight, its
    probability under the distribution divided by that of being proposed, is the product of the probability that each
    mention's choice had to be left with; a proposal is taken with the ratio of its weight to the present one's.
    """
    indptr, antecedents, probs, new_probs, starts, earlier = rows
    n = labels.shape[0]
    own, barred = np.empty(n, np.int32), np.zeros(n, np.bool_)
    for c in range(chosen.shape[0]):
        s = chosen[c]
        stream = mix(key + np.uint64(first + s + 1) * GAMMA)
        weight = 0.0
        for t in range(n_steps):
            state = mix(stream + np.uint64(t + 1) * GAMMA)
            proposed = 1.0
            for i in range(n):
                for e in range(starts[i], starts[i + 1]):
                    barred[own[earlier[e]]] = True  # by label: entities that i cannot join
                mass = new_probs[i]
                for e in range(indptr[i], indptr[i + 1]):
                    if not barred[own[antecedents[e]]]:
                        mass += probs[e]
                left = np.float64(mix(state + np.uint64(i + 1) * GAMMA) >> U11) * TO_UNIT * mass - new_probs[i]
                own[i] = i
                for e in range(indptr[i], indptr[i + 1]):
                    if left < 0.0:
                        break
                    if not barred[own[antecedents[e]]]:
                        own[i] = own[antecedents[e]]
                        left -= probs[e]
                for e in range(starts[i], starts[i + 1]):
                    barred[own[earlier[e]]] = False
                proposed *= min(mass, 1.0)
            if np.float64(mix(state) >> U11) * TO_UNIT * weight <= proposed:
                weight = proposed
                for i in range(n):
                    labels[i, s] = own[i]
