"""Slow, obvious versions of intervals, tests and split-sample errors. Nothing here is taken from the library.

Pairs are tuples (q, y, document). A bin is a list of pairs, bins are ascending in q.
"""

import itertools
import math
from collections.abc import Iterator, Sequence

Pair = tuple[float, int, int]
Bin = list[Pair]


def combined(gaps: Sequence[float], sizes: Sequence[float], norm: str) -> float:
    """Error of bins, from the gap of each and its number of pairs; empty ones have no weight."""
    there = [(abs(gap), size) for gap, size in zip(gaps, sizes, strict=True) if size > 0]
    total = math.fsum(size for _, size in there)
    if norm == "max":
        return max(gap for gap, _ in there)
    if norm == "l1":
        return math.fsum(size * gap for gap, size in there) / total
    square = math.fsum(size * gap**2 for gap, size in there) / total
    return math.sqrt(square) if norm == "rms" else square


def mean_gap(pairs: Bin) -> float:
    return math.fsum(y - q for q, y, _ in pairs) / len(pairs)


def binned_error(bins: Sequence[Bin], norm: str) -> float:
    return combined([mean_gap(each) if each else 0.0 for each in bins], [len(each) for each in bins], norm)


# --- Algorithm 2 -------------------------------------------------------------------------------------------


def simulated_error(bins: Sequence[Bin], normals: Iterator[float], norm: str) -> float:
    """One draw: a normal variable for each bin whose labels differ, in order."""
    gaps = []
    for each in bins:
        share = sum(y for _, y, _ in each) / len(each)
        spread = math.sqrt(share * (1.0 - share) / len(each))
        drawn = share + spread * next(normals) if spread > 0.0 else share
        gaps.append(min(1.0, max(0.0, drawn)) - math.fsum(q for q, _, _ in each) / len(each))
    return combined(gaps, [len(each) for each in bins], norm)


# --- documents ---------------------------------------------------------------------------------------------


def bootstrap_distribution(bins: Sequence[Bin], norm: str) -> list[tuple[float, float, float]]:
    """Error, noise (the error of gaps minus those of all documents) and probability of every resample of documents."""
    documents = sorted({document for each in bins for _, _, document in each})
    gaps = [mean_gap(each) for each in bins]
    distribution: dict[tuple[int, ...], tuple[float, float, float]] = {}
    for picked in itertools.product(documents, repeat=len(documents)):
        times = tuple(picked.count(document) for document in documents)
        resampled = [[pair for document in picked for pair in each if pair[2] == document] for each in bins]
        moved = [mean_gap(each) - gap if each else 0.0 for each, gap in zip(resampled, gaps, strict=True)]
        noise = combined(moved, [len(each) for each in resampled], norm)
        *_, probability = distribution.get(times, (0.0, 0.0, 0.0))
        distribution[times] = binned_error(resampled, norm), noise, probability + len(documents) ** -len(documents)
    return list(distribution.values())


def flipped_errors(bins: Sequence[Bin], norm: str) -> list[float]:
    """Error of every choice of signs for the documents' residuals."""
    documents = sorted({document for each in bins for _, _, document in each})
    errors = []
    for signs in itertools.product((1.0, -1.0), repeat=len(documents)):
        sign = dict(zip(documents, signs, strict=True))
        gaps = [math.fsum(sign[document] * (y - q) for q, y, document in each) / len(each) for each in bins]
        errors.append(combined(gaps, [len(each) for each in bins], norm))
    return errors


# --- inverted intervals ------------------------------------------------------------------------------------


def inverted_interval(
    estimate: float, errors: Sequence[float], noise: Sequence[float], quantiles: Sequence[Sequence[float]]
) -> tuple[float, float]:
    """Ends of the squared errors e, on a grid, that the estimate does not contradict.

    Estimates of e are expected at e plus the mean of the noise, no further below and above than a reach whose square is
    linear in e. An estimate below the mean of the noise counts as that. The quantiles of noise, and of errors, are the
    low one, the high one, and the high one where no estimate is below the lower reach.
    """
    n = len(errors)
    mean_noise, mean_errors = math.fsum(noise) / n, math.fsum(errors) / n
    lower, upper, near_0 = (
        ((mean_noise - of_noise) ** 2, (mean_errors - of_errors) ** 2)
        for of_noise, of_errors in zip(*quantiles, strict=True)
    )

    def reach(ends: tuple[float, float], e: float) -> float:
        return math.sqrt(ends[0] + max(0.0, ends[1] - ends[0]) * e / estimate)

    top = 4.0 * max(*errors, estimate)
    grid = [top * step / 100_000 for step in range(100_001)]
    centre, inside = max(0.0, estimate - mean_noise), []
    for e in grid:
        smallest = e - reach(lower, e)
        if smallest <= centre <= e + reach(upper if smallest > 0.0 else near_0, e):
            inside.append(e)
    return min(inside), max(inside)


# --- labels under perfect calibration ----------------------------------------------------------------------


def exact_p_value(bins: Sequence[Bin], norm: str) -> float:
    """P(error >= the observed one) if every label is Bernoulli(q), summed over all labellings."""
    found = binned_error(bins, norm)
    pairs = [pair for each in bins for pair in each]
    total = 0.0
    for labels in itertools.product((0, 1), repeat=len(pairs)):
        rest = iter(labels)
        relabelled = [[(q, next(rest), document) for q, _, document in each] for each in bins]
        if binned_error(relabelled, norm) >= found - 1e-12:
            total += math.prod(q if y else 1.0 - q for each in relabelled for q, y, _ in each)
    return total
