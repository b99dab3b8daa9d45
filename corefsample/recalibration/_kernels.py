"""Compiled losses of recalibrated antecedents against gold: plain arrays in, plain arrays filled.

Legend of dimensions and names
    d : document, with mentions bounds[d]:bounds[d+1]     i, j : mention      k : candidate antecedent (a mention)
    c : place of a candidate in the flat arrays; indptr[i]:indptr[i+1] are those of mention i
    u : recalibrated score, scores[c] / temperature - new_bias; NEW has u = 0
    entities[i] : number of mention i's gold entity, UNANNOTATED if it has none
"""

from __future__ import annotations

import math

import numpy as np

from corefsample._arrays import Bytes, Floats, Ints, Ints32
from corefsample._jit import kernel

UNANNOTATED = -1

# The gold antecedent of a mention.
NO_TERM, IS_NEW, HAS_ANTECEDENT, MISSING = 0, 1, 2, 3
# A candidate antecedent of a mention, according to gold.
WRONG, RIGHT, UNKNOWN = 0, 1, 2

SMALL = 1e-150  # multiplied by a probability of at least 1e-6 it does not underflow


@kernel
def gold_antecedents(indptr: Ints, antecedents: Ints32, entities: Ints, kinds: Bytes, candidates: Bytes) -> None:
    """Classify the gold antecedent of each mention, and each candidate by whether it is a gold antecedent."""
    n_entities = 0
    for i in range(entities.shape[0]):
        n_entities = max(n_entities, entities[i] + 1)
    seen = np.zeros(n_entities, np.bool_)
    for i in range(entities.shape[0]):
        kinds[i] = NO_TERM
        for c in range(indptr[i], indptr[i + 1]):
            candidates[c] = UNKNOWN
        if entities[i] == UNANNOTATED:
            continue
        kinds[i] = MISSING if seen[entities[i]] else IS_NEW
        seen[entities[i]] = True
        for c in range(indptr[i], indptr[i + 1]):
            other = entities[antecedents[c]]
            if other == entities[i]:
                candidates[c] = RIGHT
                kinds[i] = HAS_ANTECEDENT
            elif other != UNANNOTATED:
                candidates[c] = WRONG


@kernel
def floor_missing(indptr: Ints, scores: Floats, kinds: Bytes, candidates: Bytes) -> None:
    """Mark the lowest candidate as right, of each mention whose gold antecedents are all missing."""
    for i in range(kinds.shape[0]):
        if kinds[i] != MISSING:
            continue
        lowest = -1
        for c in range(indptr[i], indptr[i + 1]):
            if candidates[c] == WRONG and (lowest < 0 or scores[c] < scores[lowest]):
                lowest = c
        if lowest >= 0:
            candidates[lowest] = RIGHT
            kinds[i] = HAS_ANTECEDENT


@kernel
def likelihood_losses(
    bounds: Ints,
    indptr: Ints,
    scores: Floats,
    kinds: Bytes,
    candidates: Bytes,
    temperature: float,
    new_bias: float,
    losses: Floats,
    gradients: Floats,
) -> None:
    """losses[d] = -sum of log P(a gold antecedent); gradients[d] by log temperature and by new_bias.

    With E_p over a mention's known candidates and NEW, and E_g over the gold ones among them:
    d/d log temperature = (E_g[s] - E_p[s]) / temperature, where NEW has s = 0; d/d new_bias = P_g(not NEW) - P_p(not
    NEW).
    """
    for d in range(bounds.shape[0] - 1):
        loss, by_temperature, by_bias = 0.0, 0.0, 0.0
        for i in range(bounds[d], bounds[d + 1]):
            kind = kinds[i]
            if kind != IS_NEW and kind != HAS_ANTECEDENT:
                continue
            # Each sum has its own maximum, because the gold one can be far below the other.
            largest, largest_gold = 0.0, 0.0 if kind == IS_NEW else -np.inf
            for c in range(indptr[i], indptr[i + 1]):
                u = scores[c] / temperature - new_bias
                if candidates[c] != UNKNOWN and u > largest:
                    largest = u
                if candidates[c] == RIGHT and u > largest_gold:
                    largest_gold = u
            new = math.exp(-largest)
            gold_new = 1.0 if kind == IS_NEW else 0.0
            linked, weighted, gold_linked, gold_weighted = 0.0, 0.0, 0.0, 0.0
            for c in range(indptr[i], indptr[i + 1]):
                if candidates[c] == UNKNOWN:
                    continue
                u = scores[c] / temperature - new_bias
                weight = math.exp(u - largest)
                linked += weight
                weighted += weight * scores[c]
                if candidates[c] == RIGHT:
                    weight = math.exp(u - largest_gold)
                    gold_linked += weight
                    gold_weighted += weight * scores[c]
            total, gold_total = new + linked, gold_new + gold_linked
            loss += (largest + math.log(total)) - (largest_gold + math.log(gold_total))
            by_temperature += (gold_weighted / gold_total - weighted / total) / temperature
            by_bias += gold_linked / gold_total - linked / total
        losses[d] = loss
        gradients[d, 0] = by_temperature
        gradients[d, 1] = by_bias


@kernel
def squared_link_loss(marginals: Floats, entities: Ints) -> float:
    """Sum over annotated pairs of (P(coreferent) - gold) squared."""
    total = 0.0
    for j in range(entities.shape[0]):
        if entities[j] == UNANNOTATED:
            continue
        row = marginals[j]
        for i in range(j):
            if entities[i] != UNANNOTATED:
                error = row[i] - (1.0 if entities[i] == entities[j] else 0.0)
                total += error * error
    return total


@kernel
def log_link_loss(marginals: Floats, entities: Ints, least: float) -> float:
    """Sum over annotated pairs of -log P(gold), with probabilities of at least `least`."""
    total = 0.0
    for j in range(entities.shape[0]):
        if entities[j] == UNANNOTATED:
            continue
        row = marginals[j]
        product = 1.0  # one logarithm for the product of several probabilities
        for i in range(j):
            if entities[i] != UNANNOTATED:
                right = row[i] if entities[i] == entities[j] else 1.0 - row[i]
                product *= max(right, least)
                if product < SMALL:
                    total -= math.log(product)
                    product = 1.0
        total -= math.log(product)
    return total
