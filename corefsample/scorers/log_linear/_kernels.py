"""Compiled loops that score antecedents by hashed features, and send gradients back to the weights.

Legend
    i, k : mention, candidate antecedent (0 <= k < i < n)
    t, b : template, bucket of a weight
    the scores of mention i stand at i (i - 1) / 2 + k in arrays of pairs, n (n - 1) / 2 long
"""

from __future__ import annotations

import numpy as np

from corefsample._arrays import Floats, Floats32, Ints, Ints32, Words32
from corefsample._jit import inner_kernel, kernel
from corefsample.scorers.log_linear.features import _codes as codes
from corefsample.scorers.log_linear.features._codes import Fact, PairAtom
from corefsample.scorers.log_linear.features._hash_kernels import FACTOR, U32, Hashed, fill_buckets, new_bucket
from corefsample.scorers.log_linear.features._pair_kernels import Encoded, compare


@inner_kernel
def summed(weights: Floats32, buckets: Words32, pair: Ints32) -> float:
    """Sum of the weights in the buckets times their factors, which are above 1 in the first templates only.

    Four sums at a time, since each addition waits for the one before it.
    """
    n_templates = pair.shape[0]
    fourth = n_templates // 4
    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
    for t in range(fourth):
        s0 += float(weights[buckets[4 * t]])
        s1 += float(weights[buckets[4 * t + 1]])
        s2 += float(weights[buckets[4 * t + 2]])
        s3 += float(weights[buckets[4 * t + 3]])
    for t in range(4 * fourth, n_templates):
        s0 += float(weights[buckets[t]])
    t = 0
    while t < n_templates and pair[t, FACTOR] != 1:
        s1 += float(weights[buckets[t]]) * (pair[t, FACTOR] - 1)
        t += 1
    return (s0 + s1) + (s2 + s3)


@inner_kernel
def score_row(
    doc: Encoded,
    hashed: Hashed,
    i: int,
    weights: Floats32,
    row: Floats,
    buckets: Words32,
    pair: Words32,
    between: Ints32,
    best: Ints32,
) -> float:
    """Fill the scores of i's candidates and, into best (2,), its best match and how far that is; return NEW's score.

    pair (N_PAIR_ATOMS,), zeros before the first row, and between (3,) are for `compare`.
    """
    mask = U32(weights.shape[0] - 1)
    between[0], between[1], between[2] = 0, 0, 0
    pronoun = doc.facts[i, Fact.CLASS] <= codes.CLASS_OTHER_PRONOUN
    templates = hashed.pair_0 if pronoun else hashed.pair_1
    best[0], best[1] = 0, 0
    for k in range(i - 1, -1, -1):
        level = compare(doc, i, k, between, pair)
        if level > best[0]:
            best[0], best[1] = level, pair[PairAtom.SENTENCES]
        fill_buckets(hashed, pronoun, i, k, pair, mask, buckets)
        row[k] = summed(weights, buckets, templates) - codes.CLASH_PENALTY * pair[PairAtom.CLASH]
    score = 0.0
    for t in range(hashed.new.shape[1]):
        score += float(weights[new_bucket(hashed.new[i, t], hashed.new_best[t], best[0], best[1], mask)])
    return score


@kernel
def score_all(
    doc: Encoded, hashed: Hashed, weights: Floats32, scores: Floats, new_scores: Floats, best: Ints32
) -> None:
    """Fill the scores of all pairs, those of NEW (n,), and each mention's best match (n, 2)."""
    n = doc.mentions.shape[0]
    buckets = np.empty(max(hashed.pair_0.shape[0], hashed.pair_1.shape[0]), np.uint32)
    pair, between = np.zeros(len(PairAtom), np.uint32), np.empty(3, np.int32)
    for i in range(n):
        start = i * (i - 1) // 2
        row = scores[start : start + i]
        new_scores[i] = score_row(doc, hashed, i, weights, row, buckets, pair, between, best[i])


@inner_kernel
def keep_row(
    i: int,
    new: float,
    min_prob: float,
    row: Floats,
    n_kept: int,
    dropped: Floats,
    candidates: Ints32,
    scores: Floats,
) -> int:
    """Append i's candidates of probability min_prob or more, with scores relative to NEW; return how many there are."""
    largest = 0.0
    for k in range(i):
        row[k] -= new
        if row[k] > largest:
            largest = row[k]
    total = np.exp(-largest)
    for k in range(i):
        total += np.exp(row[k] - largest)
    for k in range(i):
        prob = np.exp(row[k] - largest) / total
        if prob >= min_prob:
            candidates[n_kept] = k
            scores[n_kept] = row[k]
            n_kept += 1
        else:
            dropped[i] += prob
    return n_kept


@kernel
def score_kept(
    doc: Encoded,
    hashed: Hashed,
    weights: Floats32,
    min_prob: float,
    first: int,
    indptr: Ints,
    dropped: Floats,
    candidates: Ints32,
    scores: Floats,
) -> int:
    """Fill the candidates of probability min_prob or more, with their scores relative to NEW.

    It begins with mention `first` and returns n, or the mention whose candidates might not fit. Fills indptr (n + 1,)
    and the probability of the candidates left out (n,) too.
    """
    n: int = doc.mentions.shape[0]
    row, buckets = np.empty(n), np.empty(max(hashed.pair_0.shape[0], hashed.pair_1.shape[0]), np.uint32)
    pair, between, best = np.zeros(len(PairAtom), np.uint32), np.empty(3, np.int32), np.empty(2, np.int32)
    n_kept = indptr[first]
    for i in range(first, n):
        if n_kept + i > candidates.shape[0]:
            return i
        new = score_row(doc, hashed, i, weights, row, buckets, pair, between, best)
        n_kept = keep_row(i, new, min_prob, row, n_kept, dropped, candidates, scores)
        indptr[i + 1] = n_kept
    return n


@kernel
def add_to_weights(
    doc: Encoded,
    hashed: Hashed,
    slopes: Floats,
    new_slopes: Floats,
    best: Ints32,
    floor: float,
    gradient: Floats32,
) -> None:
    """Add slopes in the scores to `gradient`, which is as long as the weights; those below the floor are left out."""
    n = doc.mentions.shape[0]
    mask = U32(gradient.shape[0] - 1)
    pair = np.zeros(len(PairAtom), np.uint32)
    between = np.zeros(3, np.int32)
    buckets = np.empty(max(hashed.pair_0.shape[0], hashed.pair_1.shape[0]), np.uint32)
    for i in range(n):
        start = i * (i - 1) // 2
        between[0], between[1], between[2] = 0, 0, 0
        pronoun = doc.facts[i, Fact.CLASS] <= codes.CLASS_OTHER_PRONOUN
        templates = hashed.pair_0 if pronoun else hashed.pair_1
        for k in range(i - 1, -1, -1):
            compare(doc, i, k, between, pair)
            slope = slopes[start + k]
            if abs(slope) < floor:
                continue
            fill_buckets(hashed, pronoun, i, k, pair, mask, buckets)
            for t in range(templates.shape[0]):
                gradient[buckets[t]] += np.float32(slope * templates[t, FACTOR])
        for t in range(hashed.new.shape[1]):
            b = new_bucket(hashed.new[i, t], hashed.new_best[t], best[i, 0], best[i, 1], mask)
            gradient[b] += np.float32(new_slopes[i])
