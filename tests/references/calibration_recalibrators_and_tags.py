"""Slow, obvious versions of recalibration, CORP and the errors of sparse tagsets. Nothing is taken from the library."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

Pair = tuple[float, float, float]  # prediction, label, weight


def mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def weighted_mean(values: Sequence[float], weights: Sequence[float]) -> float:
    return math.fsum(v * w for v, w in zip(values, weights, strict=True)) / math.fsum(weights)


# --- isotonic regression -----------------------------------------------------------------------------------


def isotonic(pairs: Sequence[Pair]) -> dict[float, float]:
    """Value at each distinct prediction, by the max-min formula: the largest over lower ends of the least mean.

    Barlow, Bartholomew, Bremner & Brunk (1972), section 1.4; no adjacent violators are pooled here.
    """
    distinct = sorted({q for q, _, _ in pairs})

    def mean_between(low: float, high: float) -> float:
        inside = [(y, w) for q, y, w in pairs if low <= q <= high]
        return weighted_mean([y for y, _ in inside], [w for _, w in inside])

    def value_at(q: float) -> float:
        above = [value for value in distinct if value >= q]
        return max(min(mean_between(low, high) for high in above) for low in distinct if low <= q)

    return {q: value_at(q) for q in distinct}


def interpolated(points: Mapping[float, float], q: float) -> float:
    """Linear interpolation, constant beyond the ends."""
    known = sorted(points)
    if q <= known[0]:
        return points[known[0]]
    if q >= known[-1]:
        return points[known[-1]]
    above = next(x for x in known if x >= q)
    if above == q:
        return points[q]
    below = max(x for x in known if x < q)
    return points[below] + (points[above] - points[below]) * (q - below) / (above - below)


# --- scores ------------------------------------------------------------------------------------------------


def brier(qs: Sequence[float], ys: Sequence[float]) -> float:
    return mean([(q - y) ** 2 for q, y in zip(qs, ys, strict=True)])


def log_score(qs: Sequence[float], ys: Sequence[float]) -> float:
    return mean([-math.log(q if y == 1 else 1 - q) for q, y in zip(qs, ys, strict=True)])


def corp(qs: Sequence[float], ys: Sequence[float], scoring: str) -> tuple[float, float, float, float]:
    """Score, miscalibration, discrimination, uncertainty: three scores and their differences."""
    score = {"brier": brier, "log": log_score}[scoring]
    fitted = isotonic([(q, y, 1.0) for q, y in zip(qs, ys, strict=True)])
    original = score(qs, ys)
    recalibrated = score([fitted[q] for q in qs], ys)
    constant = score([mean(ys)] * len(ys), ys)
    return original, original - recalibrated, constant - recalibrated, constant


# --- bins --------------------------------------------------------------------------------------------------


def bins_by_number(pairs: Sequence[Pair], n_bins: int) -> list[list[Pair]]:
    """Bins that close with the first prediction at or below which 1, 2, ... of n_bins shares of the weight lie."""
    total = math.fsum(w for _, _, w in pairs)
    bins: list[list[Pair]] = [[]]
    shares_passed = 0
    for value in sorted({q for q, _, _ in pairs}):
        bins[-1] += [pair for pair in pairs if pair[0] == value]
        below = math.fsum(w for q, _, w in pairs if q <= value)
        passed = sum(below * n_bins >= share * total for share in range(1, n_bins))
        if passed > shares_passed:
            shares_passed = passed
            bins.append([])
    return [content for content in bins if content]


def bins_of_equal_width(pairs: Sequence[Pair], n_bins: int) -> list[list[Pair]]:
    """Pairs of each bin [b / n_bins, (b + 1) / n_bins), the last one closed; some may be empty."""
    edges = [b / n_bins for b in range(n_bins)]
    place = [max(b for b in range(n_bins) if edges[b] <= q) for q, _, _ in pairs]
    return [[pair for pair, at in zip(pairs, place, strict=True) if at == b] for b in range(n_bins)]


def rms(bins: Sequence[Sequence[Pair]], n: float) -> float:
    """Root of the mean square distance of mean prediction and mean label, over bins, divided by n."""
    squares = 0.0
    for content in bins:
        weights = [w for _, _, w in content]
        distance = weighted_mean([q for q, _, _ in content], weights) - weighted_mean(
            [y for _, y, _ in content], weights
        )
        squares += math.fsum(weights) * distance**2
    return math.sqrt(squares / n)


def share_positive(content: Sequence[Pair]) -> float:
    return weighted_mean([y for _, y, _ in content], [w for _, _, w in content])


# --- sparse tagsets ----------------------------------------------------------------------------------------


def kranzlein_groups(counts: Mapping[str, int], n_groups: int) -> list[list[str]]:
    """Groups that close above 1 / n_groups, each sum from 0; empty ones left out."""
    total = sum(counts.values())
    groups: list[list[str]] = [[]]
    share = 0.0
    for tag in sorted(counts, key=lambda name: -counts[name]):
        groups[-1].append(tag)
        share += counts[tag] / total
        if share > 1 / n_groups and len(groups) < n_groups:
            groups.append([])
            share = 0.0
    return [group for group in groups if group]


def equal_groups(counts: Mapping[str, int], n_groups: int) -> list[list[str]]:
    """Groups that close at an equal share of the mass outside closed groups."""
    tags = sorted(counts, key=lambda name: (-counts[name], name))
    groups: list[list[str]] = []
    while len(groups) < n_groups - 1:
        wanted = sum(counts[tag] for tag in tags) / (n_groups - len(groups))
        size = next(k for k in range(1, len(tags) + 1) if sum(counts[tag] for tag in tags[:k]) >= wanted)
        groups.append(tags[:size])
        tags = tags[size:]
    return [*groups, tags]


# --- softmax -----------------------------------------------------------------------------------------------


def softmax_loss(logits: Sequence[Sequence[float]], gold: Sequence[int], temperature: float) -> float:
    """Mean negative log-likelihood of the gold classes."""
    losses = []
    for row, right in zip(logits, gold, strict=True):
        scaled = [score / temperature for score in row]
        largest = max(scaled)
        losses.append(largest + math.log(math.fsum(math.exp(s - largest) for s in scaled)) - scaled[right])
    return mean(losses)
