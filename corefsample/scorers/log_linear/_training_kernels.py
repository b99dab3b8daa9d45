"""Compiled loops of the losses, their slopes in the scores, and the step of the weights.

Legend
    i, j, k : mention, earlier mention, candidate antecedent         n : mentions
    entities (n,) : the entity of each mention, -1 for mentions that are not annotated
    the scores of mention i stand at i (i - 1) / 2 + k in arrays of pairs; P(a_i = NEW) stands apart
"""

from __future__ import annotations

import math

import numpy as np

from corefsample._arrays import Floats, Floats32, Ints
from corefsample._jit import kernel


@kernel
def antecedent_losses(
    scores: Floats,
    new_scores: Floats,
    entities: Ints,
    costs: Floats,
    losses: Floats,
    slopes: Floats,
    new_slopes: Floats,
) -> None:
    """Fill -log P(gold antecedents) of each mention, 0 where it is not annotated, and its slopes in the scores.

    costs (3,) : added to the scores of wrong decisions (softmax margin): false anaphor, false new, wrong link.
    Candidates that are not annotated are neither right nor wrong, and are left out.
    """
    false_anaphor, false_new, wrong_link = costs
    for i in range(entities.shape[0]):
        start = i * (i - 1) // 2
        anaphoric = False
        for k in range(i):
            slopes[start + k] = 0.0
            anaphoric = anaphoric or entities[k] == entities[i]
        losses[i], new_slopes[i] = 0.0, 0.0
        if entities[i] < 0:
            continue
        penalty = wrong_link if anaphoric else false_anaphor
        new = new_scores[i] + (false_new if anaphoric else 0.0)
        largest = new
        for k in range(i):
            if entities[k] >= 0:
                slopes[start + k] = scores[start + k] + (0.0 if entities[k] == entities[i] else penalty)
                largest = max(largest, slopes[start + k])
        total = math.exp(new - largest)
        gold = 0.0 if anaphoric else total
        for k in range(i):
            if entities[k] >= 0:
                slopes[start + k] = math.exp(slopes[start + k] - largest)
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
    weights: Floats32, gradients: Floats32, squares: Floats, rate: float, l2: float, averages: Floats, averaging: bool
) -> None:
    """Move the weights by the summed gradients (buffers, buckets) and the penalty's, and clear the gradients.

    averages : sums of the weights, which grow if `averaging`.
    """
    for b in range(weights.shape[0]):
        slope = 0.0
        for buffer in range(gradients.shape[0]):
            slope += float(gradients[buffer, b])
            gradients[buffer, b] = 0.0
        if slope != 0.0 or weights[b] != 0.0:
            slope += l2 * float(weights[b])
            squares[b] += slope * slope
            weights[b] = float(weights[b]) - rate * slope / (1e-4 + math.sqrt(squares[b]))
        if averaging:
            averages[b] += weights[b]
