"""Slow, obvious versions of what the audit does: exact coverage by enumeration, with fractions and no arrays."""

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction

Limits = Callable[[Sequence[int], Sequence[int], Sequence[int]], tuple[float, float]]


def hypergeometric(size: int, positive: int, n: int) -> dict[int, Fraction]:
    """Probabilities of the number of positive labels, by counting samples."""
    whole = math.comb(size, n)
    return {
        k: Fraction(math.comb(positive, k) * math.comb(size - positive, n - k), whole)
        for k in range(max(0, n - (size - positive)), min(n, positive) + 1)
    }


def at_least(k: int, size: int, positive: int, n: int) -> Fraction:
    """P(at least k positive labels)."""
    return sum((p for x, p in hypergeometric(size, positive, n).items() if x >= k), Fraction(0))


def at_most(k: int, size: int, positive: int, n: int) -> Fraction:
    """P(at most k positive labels)."""
    return sum((p for x, p in hypergeometric(size, positive, n).items() if x <= k), Fraction(0))


def equal_tails(k: int, size: int, n: int, alpha: Fraction) -> tuple[int, int]:
    """The numbers of positive documents of which neither tail has at most alpha / 2: the first and the last."""
    kept = [
        t
        for t in range(k, size - (n - k) + 1)
        if at_least(k, size, t, n) > alpha / 2 and at_most(k, size, t, n) > alpha / 2
    ]
    return kept[0], kept[-1]


def blaker(k: int, size: int, n: int, alpha: Fraction) -> tuple[int, int]:
    """The numbers that Blaker's test does not reject: the first and the last. By its definition, over all outcomes."""
    kept = []
    for t in range(k, size - (n - k) + 1):
        pmf = hypergeometric(size, t, n)
        smaller = {x: min(at_least(x, size, t, n), at_most(x, size, t, n)) for x in pmf}
        if sum((pmf[x] for x in pmf if smaller[x] <= smaller[k]), Fraction(0)) > alpha:
            kept.append(t)
    return kept[0], kept[-1]


def coverage(limits: Limits, sizes: Sequence[int], labelled: Sequence[int]) -> Iterator[tuple[tuple[int, ...], float]]:
    """Every population of the strata with the exact coverage of an interval of its total."""
    outcomes = list(itertools.product(*(range(n + 1) for n in labelled)))
    interval = {k: limits(k, labelled, sizes) for k in outcomes}
    for positive in itertools.product(*(range(size + 1) for size in sizes)):
        strata = zip(sizes, positive, labelled, strict=True)
        laws = [hypergeometric(size, t, n) for size, t, n in strata]
        total = Fraction(0)
        for k in itertools.product(*laws):
            lower, upper = interval[k]
            if lower <= sum(positive) <= upper:
                total += math.prod(law[x] for law, x in zip(laws, k, strict=True))
        yield positive, float(total)
