"""Compiled loops that score antecedents by hashed features, and send gradients back to the weights.

Legend
    i, k : mention, candidate antecedent (0 <= k < i < n)
    t    : template; those of candidates differ between pronouns and other mentions (group 0 and 1)
    b    : bucket of a weight, a hash of a template's atoms cut to the size of the table
    the scores of mention i stand at i (i - 1) / 2 + k in arrays of pairs, n (n - 1) / 2 long
A template's atoms of i and of k are hashed once a mention (`hash_mentions`), so that a pair adds two hashes and at
most two atoms of its own.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from corefsample._jit import kernel
from corefsample.mention_ranking.features import _encoding_kernels as enc
from corefsample.mention_ranking.features._encoding_kernels import U32, U64, Ints, Words, mix
from corefsample.mention_ranking.features._pair_kernels import N_PAIR_ATOMS, P_SENTENCES, Encoded, fill_pair

Floats = npt.NDArray[np.float64]
Weights = npt.NDArray[np.float32]


class Hashed(NamedTuple):
    """A document's mentions hashed by the templates of both groups, (n, templates of the group), and those of NEW."""

    mention_0: Words
    candidate_0: Words
    pair_0: Ints  # (templates, 2): pair atoms
    mention_1: Words
    candidate_1: Words
    pair_1: Ints
    new: Words
    new_best: Ints  # (templates,): 0 nothing, 1 the best match, 2 and how far it is


@kernel
def hash_mentions(atoms: Words, template_atoms: Ints, seeds: Words, hashes: Words) -> None:
    """Hash the atoms of each template by mention; template_atoms (templates, most), -1 for none."""
    for i in range(atoms.shape[0]):
        for t in range(template_atoms.shape[0]):
            code = seeds[t]
            for a in template_atoms[t]:
                if a >= 0:
                    code = mix(code, atoms[i, a])
            hashes[i, t] = code


@kernel
def fill_buckets(mention: Words, candidate: Words, atoms: Ints, pair: Words, mask: np.uint32, buckets: Words) -> None:
    """Fill the bucket of each template for one pair."""
    for t in range(mention.shape[0]):
        z = U64(mention[t]) + U64(candidate[t]) * U64(0x9E3779B1)
        z += U64(pair[atoms[t, 0]]) * U64(0x85EBCA6B) + U64(pair[atoms[t, 1]]) * U64(0xC2B2AE35)
        z ^= z >> U64(16)
        z *= U64(0x7FEB352D)
        z ^= z >> U64(15)
        z *= U64(0x846CA68B)
        buckets[t] = U32((z ^ (z >> U64(16))) & U64(mask))


@kernel
def new_bucket(code: np.uint32, kind: int, best: int, near: int, mask: np.uint32) -> np.uint32:
    """Bucket of a template of NEW, extended by the best match before the mention where it asks for it."""
    if kind == 1:
        code = mix(code, U32(best))
    elif kind == 2:
        code = mix(code, U32(64 * best + near))
    return code & mask


@kernel
def summed(weights: Weights, buckets: Words, n_templates: int) -> float:
    """Sum of the weights in the buckets, four sums at a time, since each addition waits for the one before it."""
    fourth = n_templates // 4
    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
    for t in range(fourth):
        s0 += float(weights[buckets[4 * t]])
        s1 += float(weights[buckets[4 * t + 1]])
        s2 += float(weights[buckets[4 * t + 2]])
        s3 += float(weights[buckets[4 * t + 3]])
    for t in range(4 * fourth, n_templates):
        s0 += float(weights[buckets[t]])
    return (s0 + s1) + (s2 + s3)


@kernel
def score_row(doc: Encoded, hashed: Hashed, i: int, weights: Weights, row: Floats, buckets: Words, best: Ints) -> float:
    """Fill the scores of i's candidates and, into best (2,), its best match and how far that is; return NEW's score."""
    mask = U32(weights.shape[0] - 1)
    pair = np.zeros(N_PAIR_ATOMS, np.uint32)
    between = np.zeros(3, np.int32)
    pronoun = doc.facts[i, enc.F_CLASS] <= enc.CLASS_OTHER_PRONOUN
    best[0], best[1] = 0, 0
    for k in range(i - 1, -1, -1):
        level = fill_pair(doc, i, k, between, pair)
        if level > best[0]:
            best[0], best[1] = level, pair[P_SENTENCES]
        if pronoun:
            fill_buckets(hashed.mention_0[i], hashed.candidate_0[k], hashed.pair_0, pair, mask, buckets)
            row[k] = summed(weights, buckets, hashed.pair_0.shape[0])
        else:
            fill_buckets(hashed.mention_1[i], hashed.candidate_1[k], hashed.pair_1, pair, mask, buckets)
            row[k] = summed(weights, buckets, hashed.pair_1.shape[0])
    score = 0.0
    for t in range(hashed.new.shape[1]):
        score += float(weights[new_bucket(hashed.new[i, t], hashed.new_best[t], best[0], best[1], mask)])
    return score


@kernel
def score_all(doc: Encoded, hashed: Hashed, weights: Weights, scores: Floats, new_scores: Floats, best: Ints) -> None:
    """Fill the scores of all pairs, those of NEW (n,), and each mention's best match (n, 2)."""
    n = doc.mentions.shape[0]
    buckets = np.empty(max(hashed.pair_0.shape[0], hashed.pair_1.shape[0]), np.uint32)
    for i in range(n):
        start = i * (i - 1) // 2
        new_scores[i] = score_row(doc, hashed, i, weights, scores[start : start + i], buckets, best[i])


@kernel
def score_kept(
    doc: Encoded, hashed: Hashed, weights: Weights, min_prob: float, indptr: npt.NDArray[np.int64], dropped: Floats
) -> tuple[Ints, Floats]:
    """Candidates of probability min_prob or more, with their scores relative to NEW.

    Fills indptr (n + 1,) and the probability of what is dropped (n,).
    """
    n = doc.mentions.shape[0]
    buckets = np.empty(max(hashed.pair_0.shape[0], hashed.pair_1.shape[0]), np.uint32)
    row, best = np.empty(n), np.zeros(2, np.int32)
    candidates, scores = np.empty(16 * n + 16, np.int32), np.empty(16 * n + 16)
    n_kept = 0
    indptr[0] = 0
    for i in range(n):
        new = score_row(doc, hashed, i, weights, row, buckets, best)
        largest = 0.0
        for k in range(i):
            row[k] -= new
            largest = max(largest, row[k])
        total = np.exp(-largest)
        for k in range(i):
            total += np.exp(row[k] - largest)
        if n_kept + i > candidates.shape[0]:
            grown = np.empty(2 * (n_kept + i), np.int32)
            grown[:n_kept] = candidates[:n_kept]
            candidates = grown
            longer = np.empty(2 * (n_kept + i))
            longer[:n_kept] = scores[:n_kept]
            scores = longer
        for k in range(i):
            prob = np.exp(row[k] - largest) / total
            if prob >= min_prob:
                candidates[n_kept] = k
                scores[n_kept] = row[k]
                n_kept += 1
            else:
                dropped[i] += prob
        indptr[i + 1] = n_kept
    return candidates[:n_kept].copy(), scores[:n_kept].copy()


@kernel
def add_to_weights(
    doc: Encoded,
    hashed: Hashed,
    slopes: Floats,
    new_slopes: Floats,
    best: Ints,
    floor: float,
    gradient: Weights,
) -> None:
    """Add slopes in the scores to `gradient`, which is as long as the weights; those below the floor are left out."""
    n = doc.mentions.shape[0]
    mask = U32(gradient.shape[0] - 1)
    pair = np.zeros(N_PAIR_ATOMS, np.uint32)
    between = np.zeros(3, np.int32)
    buckets = np.empty(max(hashed.pair_0.shape[0], hashed.pair_1.shape[0]), np.uint32)
    for i in range(n):
        start = i * (i - 1) // 2
        between[:] = 0
        pronoun = doc.facts[i, enc.F_CLASS] <= enc.CLASS_OTHER_PRONOUN
        n_templates = hashed.pair_0.shape[0] if pronoun else hashed.pair_1.shape[0]
        for k in range(i - 1, -1, -1):
            fill_pair(doc, i, k, between, pair)
            slope = slopes[start + k]
            if abs(slope) < floor:
                continue
            if pronoun:
                fill_buckets(hashed.mention_0[i], hashed.candidate_0[k], hashed.pair_0, pair, mask, buckets)
            else:
                fill_buckets(hashed.mention_1[i], hashed.candidate_1[k], hashed.pair_1, pair, mask, buckets)
            for t in range(n_templates):
                gradient[buckets[t]] += np.float32(slope)
        for t in range(hashed.new.shape[1]):
            b = new_bucket(hashed.new[i, t], hashed.new_best[t], best[i, 0], best[i, 1], mask)
            gradient[b] += np.float32(new_slopes[i])
