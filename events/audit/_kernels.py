"""Compiled loops of the audit: tails of the hypergeometric distribution, and exact limits.

Legend of names
    N : documents of a stratum       n : labelled documents among them
    t : positive documents of the stratum, unknown       k : positive labels
    h : stratum
X ~ Hypergeometric(N, t, n) is the number of positive labels: pmf(k) = C(t, k) C(N - t, n - k) / C(N, n).
"""

import math

from corefsample._arrays import Floats, Ints
from corefsample._jit import inner_kernel, kernel

# Tails are compared with this relative tolerance, to the side of the longer interval: the error of lgamma at a million
# documents is about 1e-8.
TOLERANCE = 1e-7


@inner_kernel
def log_choose(n: int, k: int) -> float:
    """Logarithm of the binomial coefficient."""
    return math.lgamma(n + 1.0) - math.lgamma(k + 1.0) - math.lgamma(n - k + 1.0)


@inner_kernel
def pmf(k: int, N: int, t: int, n: int) -> float:  # noqa: N803
    """P(X = k)."""
    if k < 0 or k > n or k > t or n - k > N - t:
        return 0.0
    return math.exp(log_choose(t, k) + log_choose(N - t, n - k) - log_choose(N, n))


@inner_kernel
def sum_up(k: int, N: int, t: int, n: int) -> float:  # noqa: N803
    """P(X >= k), summed from k; k is not far below the mean."""
    first = max(k, 0, n - (N - t))
    term = pmf(first, N, t, n)
    total = 0.0
    x = first
    while term > 0.0 and x <= min(n, t):
        total += term
        if term < 1e-17 * total:
            break
        term *= (t - x) * (n - x) / ((x + 1.0) * (N - t - n + x + 1.0))
        x += 1
    return total


@inner_kernel
def at_least(k: int, N: int, t: int, n: int) -> float:  # noqa: N803
    """P(X >= k)."""
    if k <= max(0, n - (N - t)):
        return 1.0
    if k > min(n, t):
        return 0.0
    if k * N > n * t:
        return min(1.0, sum_up(k, N, t, n))
    return max(0.0, 1.0 - sum_up(n - k + 1, N, N - t, n))  # of negative labels


@inner_kernel
def at_most(k: int, N: int, t: int, n: int) -> float:  # noqa: N803
    """P(X <= k): of at least n - k negative labels."""
    return at_least(n - k, N, N - t, n)


@inner_kernel
def upper_tail(k: int, N: int, t: int, n: int, mid: float) -> float:  # noqa: N803
    """P(X >= k) less the share `mid` of P(X = k)."""
    tail = at_least(k, N, t, n)
    return tail if mid == 0.0 else tail - mid * pmf(k, N, t, n)


@inner_kernel
def tail_limit(k: int, N: int, n: int, alpha: float, mid: float) -> int:  # noqa: N803
    """The smallest t with P(X >= k) above alpha: the lower limit at level 1 - alpha.

    The tail rises with t, from t = k to N - (n - k), where every document without a label is positive.
    """
    low, high = k, N - (n - k)
    limit = alpha * (1.0 - TOLERANCE)
    if upper_tail(k, N, low, n, mid) > limit:
        return low
    while high - low > 1:  # the tail at `low` is not above the limit, that at `high` is
        middle = (low + high) // 2
        if upper_tail(k, N, middle, n, mid) > limit:
            high = middle
        else:
            low = middle
    return high


@inner_kernel
def opposite_tail(k: int, N: int, a: int, b: int, n: int, tail: float) -> float:  # noqa: N803
    """P(X <= x | t = a) of the largest x < k with P(X <= x | t = b) <= tail; 0 without such an x."""
    low, high = -1, k
    while high - low > 1:
        middle = (low + high) // 2
        if at_most(middle, N, b, n) <= tail * (1.0 + TOLERANCE):
            low = middle
        else:
            high = middle
    return 0.0 if low < 0 else at_most(low, N, a, n)


@inner_kernel
def blaker_limit(k: int, N: int, n: int, alpha: float) -> int:  # noqa: N803
    """Lower limit of the values of t that Blaker's exact test at level alpha does not reject.

    The test adds to the smaller tail the largest opposite tail that is not larger. Blocks of values are skipped where
    a bound over the block rejects all of them, so that the limit is exact, or a little too low for large N.
    """
    t = tail_limit(k, N, n, 0.5 * alpha, 0.0)
    limit = alpha * (1.0 - TOLERANCE)
    step = max(1, N // 20000)
    while t < N - (n - k):
        last = min(t + step - 1, N - (n - k))
        if acceptance(k, N, t, last, n) > limit:
            return t
        t = last + 1
    return min(t, N - (n - k))


@inner_kernel
def acceptance(k: int, N: int, a: int, b: int, n: int) -> float:  # noqa: N803
    """Upper bound of the P value of Blaker's test for t from a to b below the estimate; exact for a = b."""
    smaller = at_least(k, N, b, n)
    return 1.0 if smaller >= 0.5 else smaller + opposite_tail(k, N, a, b, n, smaller)


@inner_kernel
def between(limit: int, k: int, N: int, n: int, before: float, after: float, alpha: float) -> float:  # noqa: N803
    """A limit between whole numbers: where the P value, linear between limit - 1 and limit, crosses alpha.

    A sum of such limits, rounded up, is a whole number again. Without it the distance from estimate to limit would be
    too short where the P value jumps far above alpha at the first possible number.
    """
    if k == 0 or n == N or after <= before:
        return float(limit)
    share = (alpha - before) / (after - before)
    return limit - 1.0 + min(max(share, 0.0), 1.0)


@inner_kernel
def lower_limit(k: int, N: int, n: int, alpha: float, kind: int) -> float:  # noqa: N803
    """Lower limit of t, two-sided at level 1 - alpha, between whole numbers."""
    if kind == BLAKER:
        t = blaker_limit(k, N, n, alpha)
        before = acceptance(k, N, t - 1, t - 1, n) if t > k else 0.0
        return between(t, k, N, n, min(before, alpha), acceptance(k, N, t, t, n), alpha)
    mid = 0.5 if kind == MID else 0.0
    t = tail_limit(k, N, n, 0.5 * alpha, mid)
    before = upper_tail(k, N, t - 1, n, mid) if t > k else 0.0
    return between(t, k, N, n, before, upper_tail(k, N, t, n, mid), 0.5 * alpha)


EQUAL, MID, BLAKER = 0, 1, 2


@kernel
def limits(k: Ints, N: Ints, n: Ints, alpha: float, kind: int, lower: Floats, upper: Floats) -> None:  # noqa: N803
    """Fill the exact limits of t of each stratum, two-sided at level 1 - alpha, between whole numbers.

    The upper limit is that of the negative documents, subtracted from all.
    """
    for h in range(k.shape[0]):
        lower[h] = lower_limit(k[h], N[h], n[h], alpha, kind)
        upper[h] = N[h] - lower_limit(n[h] - k[h], N[h], n[h], alpha, kind)
