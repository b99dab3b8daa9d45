"""Slow, simple versions of losses of clusterings, in plain loops, independent of the library."""

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


def loss(name: str, estimate: Labels, truth: Labels, split_cost: float = 1.0, *, singletons: bool = True) -> float:
    """Loss of an estimate, as its name says; scores with or without entities of one mention."""
    n, merge_cost = len(truth), 2.0 - split_cost
    if name == "binder":
        split, merged = wrong_pairs(estimate, truth)
        return 2.0 * (split_cost * split + merge_cost * merged) / n**2
    if name == "vi":
        joint, of_estimate, of_truth = entropies(estimate, truth)
        return split_cost * (joint - of_truth) + merge_cost * (joint - of_estimate)
    entities = [metrics.clusters(labels) for labels in (truth, estimate)]
    scores = metrics.scores(*(entities if singletons else map(metrics.without_singletons, entities)))
    if name == "conll":
        return 1.0 - float(sum(scores[metric][2] for metric in ("muc", "b3", "ceafe"))) / 3.0
    return 1.0 - float(scores[name][2])


def expected_loss(name: str, estimate: Labels, samples: Sequence[Labels], *cost: float, **counted: bool) -> float:
    return math.fsum(loss(name, estimate, sample, *cost, **counted) for sample in samples) / len(samples)
