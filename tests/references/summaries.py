"""Slow, simple versions of losses of clusterings, in plain loops, independent of the library."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from references import metrics

Labels = Sequence[int]


def wrong_pairs(estimate: Labels, truth: Labels) -> tuple[int, int]:
    """Pairs that the estimate separates, and pairs that it joins, wrongly."""
    split, merged = 0, 0
    for i in range(len(truth)):
        for j in range(i):
            split += truth[i] == truth[j] and estimate[i] != estimate[j]
            merged += truth[i] != truth[j] and estimate[i] == estimate[j]
    return split, merged


def entropy(values: Sequence[object]) -> float:
    """Entropy of a uniform draw from `values`, in nats."""
    return -math.fsum(c / len(values) * math.log(c / len(values)) for c in Counter(values).values())


def entropies(estimate: Labels, truth: Labels) -> tuple[float, float, float]:
    return entropy(list(zip(estimate, truth, strict=True))), entropy(estimate), entropy(truth)


def adjusted_rand(estimate: Labels, truth: Labels) -> float:
    """Hubert & Arabie (1985), from the numbers of pairs; 1 where it is 0/0."""
    n_pairs = math.comb(len(truth), 2)
    both = sum(math.comb(c, 2) for c in Counter(zip(estimate, truth, strict=True)).values())
    first, second = (sum(math.comb(c, 2) for c in Counter(labels).values()) for labels in (estimate, truth))
    if first == second and first in (0, n_pairs):
        return 1.0
    expected = first * second / n_pairs
    return (both - expected) / ((first + second) / 2 - expected)


def loss(name: str, estimate: Labels, truth: Labels, split_cost: float = 1.0) -> float:
    """Loss of an estimate, as its name says."""
    n, merge_cost = len(truth), 2.0 - split_cost
    if name == "binder":
        split, merged = wrong_pairs(estimate, truth)
        return 2.0 * (split_cost * split + merge_cost * merged) / n**2
    joint, of_estimate, of_truth = entropies(estimate, truth)
    if name == "vi":
        return split_cost * (joint - of_truth) + merge_cost * (joint - of_estimate)
    if name == "nvi":
        return 0.0 if joint == 0.0 else (2.0 * joint - of_estimate - of_truth) / joint
    if name == "ari":
        return 1.0 - adjusted_rand(estimate, truth)
    scores = metrics.scores(metrics.clusters(truth), metrics.clusters(estimate))
    if name == "conll":
        return 1.0 - float(sum(scores[metric][2] for metric in ("muc", "b3", "ceafe"))) / 3.0
    return 1.0 - float(scores[name][2])


def expected_loss(name: str, estimate: Labels, samples: Sequence[Labels], split_cost: float = 1.0) -> float:
    return math.fsum(loss(name, estimate, sample, split_cost) for sample in samples) / len(samples)
