"""Slow, obvious versions of isotonic regression. Nothing is taken from the library."""

import math
from collections.abc import Mapping, Sequence

Pair = tuple[float, float]  # prediction and label


def isotonic(pairs: Sequence[Pair]) -> dict[float, float]:
    """Value at each distinct prediction, by the max-min formula: the largest over lower ends of the least mean.

    Barlow, Bartholomew, Bremner & Brunk (1972), section 1.4; no adjacent violators are pooled here.
    """
    distinct = sorted({q for q, _ in pairs})

    def mean_between(low: float, high: float) -> float:
        inside = [y for q, y in pairs if low <= q <= high]
        return math.fsum(inside) / len(inside)

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
