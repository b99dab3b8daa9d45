"""Compiled loops that score antecedents by hashed features, and train their weights.

Legend
    i, k : mention, candidate antecedent (0 <= k < i < n)
    t, b : template, bucket of a weight
    the scores of mention i stand at i (i - 1) / 2 + k in arrays of pairs, n (n - 1) / 2 long
"""

import math
from typing import NamedTuple

import numpy as np

from corefsample._arrays import Floats, Floats32, Ints, Ints8, Ints32, Words, Words32
from corefsample._jit import inner_kernel, kernel, kernel_in_place
from corefsample.scorers.log_linear import _feature_codes as codes
from corefsample.scorers.log_linear._feature_codes import Fact, PairAtom
from corefsample.scorers.log_linear._mention_kernels import U32, U64, mix
from corefsample.scorers.log_linear._pair_kernels import Encoded, compare, description_bonus

Weights = Floats32 | Ints8


class Group(NamedTuple):
    """A document's mentions hashed by the templates of pronouns or of phrases, (n, templates)."""

    mention: Words32
    candidate: Words32
    pair: Words32  # (2, templates): pair atoms
    factor: Ints32  # (templates,): those above 1 come first


class Hashed(NamedTuple):
    """A document's mentions hashed by the templates of both groups, and by those of NEW, (n, templates)."""

    pronoun: Group
    phrase: Group
    new: Words32
    new_best: Ints32  # (templates,): 0 nothing, 1 the best match, 2 the best match and how far it is


@kernel_in_place
def hash_mentions(atoms: Words32, template_atoms: Ints32, seeds: Words32, hashes: Words32) -> None:
    """Hash the atoms of each template by mention; template_atoms (templates, most), -1 for none."""
    for i in range(atoms.shape[0]):
        for t in range(template_atoms.shape[0]):
            code = seeds[t]
            for a in template_atoms[t]:
                if a >= 0:
                    code = mix(code, atoms[i, a])
            hashes[i, t] = code


@inner_kernel
def fill_buckets(group: Group, i: int, k: int, pair: Words32, mask: np.uint32, buckets: Words) -> None:
    """Fill the bucket of each template for one pair.

    The first loop looks the pair's atoms up, so that the second one, which looks nothing up, is vectorised.
    """
    mention, candidate, firsts, seconds = group.mention[i], group.candidate[k], group.pair[0], group.pair[1]
    for t in range(mention.shape[0]):
        buckets[t] = U64(pair[firsts[t]]) * U64(codes.MURMUR3_FACTORS[0])
        buckets[t] += U64(pair[seconds[t]]) * U64(codes.MURMUR3_FACTORS[1])
    for t in range(mention.shape[0]):
        z = buckets[t] + U64(mention[t]) + U64(candidate[t]) * U64(codes.XXH32_PRIMES[0])
        z ^= z >> U64(codes.LOWBIAS32_SHIFTS[0])
        z *= U64(codes.LOWBIAS32_FACTORS[0])
        z ^= z >> U64(codes.LOWBIAS32_SHIFTS[1])
        z *= U64(codes.LOWBIAS32_FACTORS[1])
        buckets[t] = (z ^ (z >> U64(codes.LOWBIAS32_SHIFTS[2]))) & U64(mask)


@inner_kernel
def most_templates(hashed: Hashed) -> int:
    """Largest number of templates of a group."""
    n_templates: int = max(hashed.pronoun.factor.shape[0], hashed.phrase.factor.shape[0])
    return n_templates


@inner_kernel
def new_bucket(code: np.uint32, kind: int, best: int, near: int, mask: np.uint32) -> np.uint32:
    """Bucket of a template of NEW, extended by the best match before the mention if the template has it."""
    if kind == codes.BEST_MATCH:
        code = mix(code, U32(best))
    elif kind == codes.BEST_NEAR:
        code = mix(code, U32(codes.BEST_FACTOR * best + near))
    return code & mask


@inner_kernel
def weight_of(weights: Weights, scale: np.float32, b: int | np.uint32) -> float:
    """Weight of a bucket: its entry in the table times the scale.

    Integers, on the grid of model files, make a table that is small enough for a processor's cache.
    """
    return float(np.float32(weights[b]) * scale)


@inner_kernel
def summed(weights: Weights, scale: np.float32, buckets: Words, factor: Ints32) -> float:
    """Sum of the weights in the buckets times their factors, which are above 1 in the first templates only.

    Four sums at a time, since each addition waits for the one before it.
    """
    n_templates = factor.shape[0]
    fourth = n_templates // 4
    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
    for t in range(fourth):
        s0 += weight_of(weights, scale, buckets[4 * t])
        s1 += weight_of(weights, scale, buckets[4 * t + 1])
        s2 += weight_of(weights, scale, buckets[4 * t + 2])
        s3 += weight_of(weights, scale, buckets[4 * t + 3])
    for t in range(4 * fourth, n_templates):
        s0 += weight_of(weights, scale, buckets[t])
    t = 0
    while t < n_templates and factor[t] != 1:
        s1 += weight_of(weights, scale, buckets[t]) * (factor[t] - 1)
        t += 1
    return (s0 + s1) + (s2 + s3)


@inner_kernel
def score_row(
    doc: Encoded,
    hashed: Hashed,
    i: int,
    weights: Weights,
    scale: np.float32,
    row: Floats,
    buckets: Words,
    pair: Words32,
    between: Ints32,
    best: Ints32,
    with_bonus: bool,
) -> float:
    """Fill the scores of i's candidates and, into best (2,), its best match and how far that is; return NEW's score.

    pair (N_PAIR_ATOMS,), zeros before the first row, and between (3,) are for `compare`.
    with_bonus : add `DESCRIPTION_BONUSES` and `GOVERNOR_BONUSES`, which training does not.
    """
    mask = U32(weights.shape[0] - 1)
    between[0], between[1], between[2] = 0, 0, 0
    group = hashed.pronoun if doc.facts[i, Fact.CLASS] <= codes.CLASS_OTHER_PRONOUN else hashed.phrase
    best[0], best[1] = 0, 0
    for k in range(i - 1, -1, -1):
        level = compare(doc, i, k, between, pair)
        if level > best[0]:
            best[0], best[1] = level, pair[PairAtom.SENTENCES]
        fill_buckets(group, i, k, pair, mask, buckets)
        row[k] = summed(weights, scale, buckets, group.factor) - codes.CLASH_PENALTY * pair[PairAtom.CLASH]
        if with_bonus:
            row[k] += description_bonus(doc, i, k, pair[PairAtom.DESCRIBED])
            row[k] += codes.GOVERNOR_BONUSES[pair[PairAtom.RAISED]]
    score = 0.0
    for t in range(hashed.new.shape[1]):
        bucket = new_bucket(hashed.new[i, t], hashed.new_best[t], best[0], best[1], mask)
        score += weight_of(weights, scale, bucket)
    return score


@kernel
def score_all(
    doc: Encoded, hashed: Hashed, weights: Floats32, scores: Floats, new_scores: Floats, best: Ints32
) -> None:
    """Fill the scores of all pairs, those of NEW (n,), and each mention's best match (n, 2)."""
    n = doc.mentions.shape[0]
    buckets = np.empty(most_templates(hashed), np.uint64)
    pair, between, scale = np.zeros(len(PairAtom), np.uint32), np.empty(3, np.int32), np.float32(1.0)
    for i in range(n):
        start = i * (i - 1) // 2
        row = scores[start : start + i]
        new_scores[i] = score_row(doc, hashed, i, weights, scale, row, buckets, pair, between, best[i], False)


@kernel_in_place
def score_kept(
    doc: Encoded,
    hashed: Hashed,
    weights: Weights,
    scale: np.float32,
    min_prob: float,
    row: Floats,
    buckets: Words,
    pair: Words32,
    between: Ints32,
    best: Ints32,
    first: int,
    indptr: Ints,
    dropped: Floats,
    candidates: Ints32,
    scores: Floats,
) -> int:
    """Fill the candidates of probability min_prob or more, with their scores relative to NEW.

    It begins with mention `first` and returns n, or the mention whose candidates might not fit. Fills indptr (n + 1,)
    and the probability of the candidates left out (n,) too. row (n,); buckets to best: see `score_row`.
    """
    n: int = doc.mentions.shape[0]
    n_kept = indptr[first]
    for i in range(first, n):
        if n_kept + i > candidates.shape[0]:
            return i
        new = score_row(doc, hashed, i, weights, scale, row, buckets, pair, between, best, True)
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
        indptr[i + 1] = n_kept
    return n


@kernel
def add_to_weights(
    doc: Encoded, hashed: Hashed, slopes: Floats, new_slopes: Floats, best: Ints32, floor: float, gradient: Floats32
) -> None:
    """Add slopes in the scores to `gradient`, which is as long as the weights; those below the floor are left out."""
    n = doc.mentions.shape[0]
    mask = U32(gradient.shape[0] - 1)
    pair, between = np.zeros(len(PairAtom), np.uint32), np.zeros(3, np.int32)
    buckets = np.empty(most_templates(hashed), np.uint64)
    for i in range(n):
        start = i * (i - 1) // 2
        between[0], between[1], between[2] = 0, 0, 0
        group = hashed.pronoun if doc.facts[i, Fact.CLASS] <= codes.CLASS_OTHER_PRONOUN else hashed.phrase
        for k in range(i - 1, -1, -1):
            compare(doc, i, k, between, pair)
            slope = slopes[start + k]
            if abs(slope) < floor:
                continue
            fill_buckets(group, i, k, pair, mask, buckets)
            for t in range(group.factor.shape[0]):
                gradient[buckets[t]] += np.float32(slope * group.factor[t])
        for t in range(hashed.new.shape[1]):
            b = new_bucket(hashed.new[i, t], hashed.new_best[t], best[i, 0], best[i, 1], mask)
            gradient[b] += np.float32(new_slopes[i])


@kernel
def antecedent_losses(
    scores: Floats, new_scores: Floats, entities: Ints, losses: Floats, slopes: Floats, new_slopes: Floats
) -> None:
    """Fill -log P(gold antecedents) of each mention, 0 where it is not annotated, and its slopes in the scores.

    Candidates that are not annotated are neither right nor wrong, and are left out.
    """
    for i in range(entities.shape[0]):
        start = i * (i - 1) // 2
        anaphoric = False
        for k in range(i):
            slopes[start + k] = 0.0
            anaphoric = anaphoric or entities[k] == entities[i]
        losses[i], new_slopes[i] = 0.0, 0.0
        if entities[i] < 0:
            continue
        new = new_scores[i]
        largest = new
        for k in range(i):
            if entities[k] >= 0:
                largest = max(largest, scores[start + k])
        total = math.exp(new - largest)
        gold = 0.0 if anaphoric else total
        for k in range(i):
            if entities[k] >= 0:
                slopes[start + k] = math.exp(scores[start + k] - largest)
                total += slopes[start + k]
                if entities[k] == entities[i]:
                    gold += slopes[start + k]
        gold = max(gold, 1e-300)
        losses[i] = math.log(total) - math.log(gold)
        for k in range(i):
            weight = slopes[start + k]
            slopes[start + k] = weight / total - (weight / gold if entities[k] == entities[i] else 0.0)
        new = math.exp(new - largest)
        new_slopes[i] = new / total - (0.0 if anaphoric else new / gold)


@kernel
def antecedent_probs(scores: Floats, new_scores: Floats, floor: float, probs: Floats) -> None:
    """Fill P(a_i = k) (n, n), below the diagonal; probabilities below the floor count as 0."""
    for i in range(new_scores.shape[0]):
        start = i * (i - 1) // 2
        largest = new_scores[i]
        for k in range(i):
            largest = max(largest, scores[start + k])
        total = math.exp(new_scores[i] - largest)
        for k in range(i):
            total += math.exp(scores[start + k] - largest)
        for k in range(i):
            prob = math.exp(scores[start + k] - largest) / total
            probs[i, k] = prob if prob >= floor else 0.0


@kernel
def link_loss(probs: Floats, entities: Ints, weight: float, slack: float, slopes: Floats, new_slopes: Floats) -> float:
    """Log loss of the link marginals over all pairs of annotated mentions; `weight` times its slopes are added.

    slack : marginals are moved that far from 0 and 1, so that the loss of one pair is bounded.
    The marginals follow from the probabilities row by row, Q[i] = P[i] Q; their slopes go back the same way.
    """
    n = entities.shape[0]
    marginals, wanted = np.zeros((n, n)), np.zeros((n, n))
    loss = 0.0
    for i in range(n):
        for k in range(i):
            if probs[i, k] > 0.0:
                for j in range(i):
                    marginals[i, j] += probs[i, k] * marginals[k, j]
        marginals[i, i] = 1.0
        for j in range(i):
            marginals[j, i] = marginals[i, j]
            if entities[i] >= 0 and entities[j] >= 0:
                q = slack + (1.0 - 2.0 * slack) * marginals[i, j]
                right = q if entities[i] == entities[j] else 1.0 - q
                loss -= math.log(right)
                wanted[i, j] = (1.0 - 2.0 * slack) * weight * (-1.0 if entities[i] == entities[j] else 1.0) / right
    for i in range(n - 1, -1, -1):
        start = i * (i - 1) // 2
        mean = 0.0
        for k in range(i):
            p = probs[i, k]
            if p == 0.0:
                continue
            slope = 0.0
            for j in range(i):
                slope += wanted[i, j] * marginals[k, j]
            for j in range(k):
                wanted[k, j] += p * wanted[i, j]
            for j in range(k + 1, i):
                wanted[j, k] += p * wanted[i, j]
            slopes[start + k] += p * slope
            mean += p * slope
        for k in range(i):
            slopes[start + k] -= probs[i, k] * mean
        new_prob = 1.0
        for k in range(i):
            new_prob -= probs[i, k]
        new_slopes[i] -= new_prob * mean
    return loss


@kernel
def adagrad_step(
    weights: Floats32, squares: Floats, late_moves: Floats, gradients: Floats32, rate: float, number: int
) -> None:
    """Move the weights by the summed gradients (buffers, buckets), and clear the gradients.

    number : steps whose averages lack this move; late_moves : sums of the moves times these numbers.
    """
    for b in range(weights.shape[0]):
        slope = 0.0
        for buffer in range(gradients.shape[0]):
            if gradients[buffer, b] != 0.0:
                slope += float(gradients[buffer, b])
                gradients[buffer, b] = 0.0
        if slope != 0.0:
            squares[b] += slope * slope
            moved = np.float32(float(weights[b]) - rate * slope / (1e-4 + math.sqrt(squares[b])))
            late_moves[b] += number * (float(moved) - float(weights[b]))
            weights[b] = moved


@kernel
def shrink(weights: Floats32, squares: Floats, late_moves: Floats, strength: float, number: int) -> None:
    """Move the weights as an L2 penalty does in several steps; `strength` is rate * penalty * steps.

    The penalty's slopes are left out of the squares, so that each weight decays exponentially.
    """
    for b in range(weights.shape[0]):
        if weights[b] != 0.0:
            moved = np.float32(float(weights[b]) * math.exp(-strength / (1e-4 + math.sqrt(squares[b]))))
            late_moves[b] += number * (float(moved) - float(weights[b]))
            weights[b] = moved
