"""Slow, obvious versions of binning, errors and scores. Nothing here is taken from the library.

A pair is (q, y); a bin is a list of pairs.
"""

import itertools
import math
from collections.abc import Sequence
from typing import TypeVar

Pair = tuple[float, int]
Bin = list[Pair]
AnyPair = TypeVar("AnyPair", bound=tuple[float, ...])  # with its document, perhaps


# --- bins --------------------------------------------------------------------------------------------------


def ties(pairs: Sequence[AnyPair]) -> list[list[AnyPair]]:
    """Pairs of equal prediction together, ascending."""
    return [list(tie) for _, tie in itertools.groupby(sorted(pairs), key=lambda pair: pair[0])]


def bins_by_size(pairs: Sequence[AnyPair], bin_size: int) -> list[list[AnyPair]]:
    """A bin closes once it has `bin_size` pairs; a short last one joins the one before."""
    bins: list[list[AnyPair]] = [[]]
    for tie in ties(pairs):
        if len(bins[-1]) >= bin_size:
            bins.append([])
        bins[-1] += tie
    if len(bins) > 1 and len(bins[-1]) < bin_size:
        short = bins.pop()
        bins[-1] += short
    return bins


def bins_by_number(pairs: Sequence[Pair], n_bins: int) -> list[Bin]:
    """A bin ends at the first tie that reaches a share s / n_bins of the pairs, s = 1..n_bins."""
    n, below = len(pairs), 0
    bins: list[Bin] = []
    open_bin: Bin = []
    for tie in ties(pairs):
        shares_before = below * n_bins // n
        below += len(tie)
        open_bin = open_bin + tie
        if below * n_bins // n > shares_before:
            bins.append(open_bin)
            open_bin = []
    return bins


def uniform_bins(pairs: Sequence[Pair], n_bins: int) -> list[Bin]:
    """[b / n_bins, (b + 1) / n_bins), the last one closed; empty ones left out."""
    bins: list[Bin] = [[] for _ in range(n_bins)]
    for q, y in sorted(pairs):
        inside = [b for b in range(n_bins) if b / n_bins <= q and (q < (b + 1) / n_bins or b == n_bins - 1)]
        bins[inside[0]].append((q, y))
    return [each for each in bins if each]


def sums(pairs: Bin) -> tuple[int, float, float, float, float]:
    """n, sum of q, q^2, y, q y."""
    parts = (pairs, [q for q, _ in pairs], [q * q for q, _ in pairs], [y for _, y in pairs], [q * y for q, y in pairs])
    n, *rest = len(parts[0]), *(math.fsum(part) for part in parts[1:])
    return n, *rest  # type: ignore[return-value]


# --- errors and scores -------------------------------------------------------------------------------------


def mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def error(bins: Sequence[Bin], norm: str, *, debiased: bool = False) -> float:
    """Weighted norm of (mean prediction - share of positive labels), over bins."""
    n = sum(len(each) for each in bins)
    total = 0.0
    largest = 0.0
    for each in bins:
        p, distance = mean([y for _, y in each]), abs(mean([q for q, _ in each]) - mean([y for _, y in each]))
        largest = max(largest, distance)
        if norm == "l1":
            total += len(each) / n * distance
        else:
            variance = p * (1 - p) / (len(each) - 1) if debiased and len(each) > 1 else 0.0
            total += len(each) / n * (distance**2 - variance)
    return {"max": largest, "rms": math.sqrt(max(total, 0.0)), "mse": total, "l1": total}[norm]


def brier(pairs: Sequence[Pair]) -> float:
    return mean([(q - y) ** 2 for q, y in pairs])
